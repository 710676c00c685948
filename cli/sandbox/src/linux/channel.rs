//! The socket between the parent and the helper, and what is said on it.

use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{policy::Policy, status::Walls};

/// Maximum length of a message, in bytes. The policy is the longest.
const MAX_MESSAGE: usize = 64 * 1024;

/// The parent's order to the helper.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) policy: Policy,
    /// The process that has to be the helper's parent.
    pub(super) parent: u32,
    pub(super) mark: u64,
}

/// A place in the helper's memory, so that the parent can try whether it can read there.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Offer {
    pub(super) address: u64,
    pub(super) content: String,
}

/// The parent's answer to an offer.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Watching(pub(super) bool);

/// The helper's messages to the parent, in the order in which they come.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    /// A place in its memory, if it can be watched.
    Offer(Offer),
    /// The listener comes with this message, if the kernel gave one.
    Listener,
    /// All walls are up.
    Done(Walls),
}

/// One end of the socket. Each message arrives whole.
#[derive(Debug)]
pub(super) struct Channel(OwnedFd);

impl Channel {
    /// Both ends.
    pub(super) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok((Self(ours), theirs))
    }

    /// The end that this process was started with, as its standard input.
    pub(super) fn inherited() -> io::Result<Self> {
        let standard_input = io::stdin();
        let family = rustix::net::sockopt::socket_domain(standard_input.as_fd())?;
        if family != AddressFamily::UNIX {
            return Err(io::Error::other("standard input is another kind of socket"));
        }
        Ok(Self(rustix::io::fcntl_dupfd_cloexec(standard_input.as_fd(), 3)?))
    }

    pub(super) fn send(&self, message: &impl Serialize) -> io::Result<()> {
        self.send_with(message, None)
    }

    pub(super) fn send_with(&self, message: &impl Serialize, descriptor: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let text = serde_json::to_vec(message)?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let descriptors: Vec<BorrowedFd<'_>> = descriptor.into_iter().collect();
        if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
            return Err(io::Error::other("there is no room for a descriptor"));
        }
        sendmsg(&self.0, &[IoSlice::new(&text)], &mut control, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    pub(super) fn receive<T: DeserializeOwned>(&self) -> io::Result<T> {
        self.receive_with().map(|(message, _)| message)
    }

    pub(super) fn receive_with<T: DeserializeOwned>(&self) -> io::Result<(T, Option<OwnedFd>)> {
        let mut text = vec![0; MAX_MESSAGE];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let received = rustix::io::retry_on_intr(|| {
            recvmsg(
                &self.0,
                &mut [IoSliceMut::new(&mut text)],
                &mut control,
                RecvFlags::CMSG_CLOEXEC,
            )
        })?;
        if received.bytes == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if received.flags.contains(ReturnFlags::TRUNC) {
            return Err(io::Error::other("a message is too long"));
        }
        let descriptor = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        });
        Ok((serde_json::from_slice(&text[..received.bytes])?, descriptor))
    }
}

//! The watch: makes the connections of the confined program itself, and lets it start nothing more when the run ends.
//!
//! A rule for ports holds at every host. So each `connect` of the program waits until this process has read the address, has
//! connected a socket of its own to its own copy of it, and has put that socket into the place of the program's. What it read
//! cannot be changed by another thread any more. Any other address is refused, and noted.

use std::{
    collections::BTreeSet,
    fs::File,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, TcpStream},
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::FileExt,
    },
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    net::{AddressFamily, SocketFlags, SocketType},
};

use super::kernel::{self, Answer, Request};

/// Maximum length of the address of a socket that is looked at.
const MAX_ADDRESS: usize = 28;
/// Time limit for a connection. The servers are our own, on this machine.
const MAX_CONNECT: Duration = Duration::from_secs(2);
/// Connections that wait for its server.
const BACKLOG: i32 = 128;
/// Maximum number of refused addresses that are kept.
const MAX_REFUSED: usize = 20;

/// Addresses that the program tried to reach and that are none of ours.
pub(super) type Refused = Arc<Mutex<BTreeSet<String>>>;

/// The end of a run, as far as the watch has to do with it.
#[derive(Debug, Default)]
pub(super) struct End {
    /// Nothing may start a process or a thread any more.
    pub(super) near: AtomicBool,
    /// No process with the filter is left, or none was ever watched.
    pub(super) reached: AtomicBool,
}

/// The connections of one confined program.
#[derive(Debug)]
pub(super) struct Watch {
    pub(super) listener: OwnedFd,
    /// The ports of 127.0.0.1 that it may reach.
    pub(super) ports: Vec<u16>,
    /// The ports of 127.0.0.1 that its server may ask for.
    pub(super) server_ports: Vec<u16>,
    pub(super) refused: Refused,
    pub(super) end: Arc<End>,
}

impl Watch {
    /// Answers until no process with the filter lives any more.
    pub(super) fn serve(self) {
        let end = Arc::clone(&self.end);
        self.answer_all();
        end.reached.store(true, Ordering::Release);
    }

    fn answer_all(self) {
        let mut server = Server::None;
        loop {
            let mut descriptors = [PollFd::new(&self.listener, PollFlags::IN)];
            match poll(&mut descriptors, None) {
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return,
                Ok(_) => {}
            }
            let found = descriptors[0].revents();
            if !found.contains(PollFlags::IN) {
                return;
            }
            let request = match kernel::receive(self.listener.as_fd()) {
                Ok(Some(request)) => request,
                Ok(None) => continue,
                Err(error) => {
                    tracing::warn!(%error, "the watch over OpenCode's connections ended; it gets no new ones");
                    return;
                }
            };
            let answer = match request.call {
                libc::SYS_connect => self.connect(&request),
                libc::SYS_bind => self.bind(&request, &mut server),
                libc::SYS_listen => server.listen(),
                // What multiplies faster than it is found would outlive the run.
                _ if self.end.near.load(Ordering::Acquire) => Answer::Refuse(libc::EAGAIN),
                _ => Answer::Continue,
            };
            kernel::answer(self.listener.as_fd(), &request, answer);
        }
    }

    /// The address of a call, which is certainly the waiting thread's.
    fn address(&self, request: &Request) -> Option<Address> {
        let address = address_of(request).ok()?;
        kernel::still_waits(self.listener.as_fd(), request).then_some(address)
    }

    fn connect(&self, request: &Request) -> Answer {
        let target = match self.address(request) {
            None => return Answer::Refuse(libc::EPERM),
            Some(Address::Internet(target @ SocketAddr::V4(_)))
                if target.ip() == IpAddr::V4(Ipv4Addr::LOCALHOST) && self.ports.contains(&target.port()) =>
            {
                target
            }
            Some(other) => {
                self.note(&other);
                return Answer::Refuse(libc::EPERM);
            }
        };
        match self.replace(request, target) {
            Ok(()) => Answer::Done,
            Err(error) => Answer::Refuse(error.raw_os_error().unwrap_or(libc::ECONNREFUSED)),
        }
    }

    /// Connects, and puts the connection in the place of the program's socket.
    fn replace(&self, request: &Request, target: SocketAddr) -> io::Result<()> {
        let number = u32::try_from(request.arguments[0] & 0xffff_ffff).map_err(io::Error::other)?;
        let flags = flags_of(request.thread, number)?;
        if !kernel::still_waits(self.listener.as_fd(), request) {
            return Err(io::Error::from_raw_os_error(libc::EPERM));
        }
        let connection = TcpStream::connect_timeout(&target, MAX_CONNECT)?;
        connection.set_nonblocking(flags & libc::O_NONBLOCK != 0)?;
        let closes = flags & libc::O_CLOEXEC != 0;
        kernel::put(self.listener.as_fd(), request, connection.as_fd(), number, closes)
    }

    /// Binds a socket of this process to 127.0.0.1, and puts it in the place of the program's.
    fn bind(&self, request: &Request, server: &mut Server) -> Answer {
        let Some(Address::Internet(SocketAddr::V4(address))) = self.address(request) else {
            return Answer::Refuse(libc::EPERM);
        };
        if *address.ip() != Ipv4Addr::LOCALHOST || !self.server_ports.contains(&address.port()) || server.is_up() {
            return Answer::Refuse(libc::EPERM);
        }
        match self.bound(request, address) {
            Ok(socket) => {
                *server = Server::Bound(socket);
                Answer::Done
            }
            Err(error) => Answer::Refuse(error.raw_os_error().unwrap_or(libc::EADDRINUSE)),
        }
    }

    fn bound(&self, request: &Request, address: SocketAddrV4) -> io::Result<OwnedFd> {
        let number = u32::try_from(request.arguments[0] & 0xffff_ffff).map_err(io::Error::other)?;
        let flags = flags_of(request.thread, number)?;
        let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        rustix::net::sockopt::set_socket_reuseaddr(&socket, true)?;
        rustix::net::bind(&socket, &address)?;
        rustix::io::ioctl_fionbio(&socket, flags & libc::O_NONBLOCK != 0)?;
        let closes = flags & libc::O_CLOEXEC != 0;
        kernel::put(self.listener.as_fd(), request, socket.as_fd(), number, closes)?;
        Ok(socket)
    }

    fn note(&self, address: &Address) {
        let address = match address {
            Address::Internet(address) => address.to_string(),
            // To disconnect a socket reaches nothing.
            Address::Other(libc::AF_UNSPEC) => return,
            Address::Other(family) => format!("an address of family {family}"),
        };
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < MAX_REFUSED && refused.insert(address.clone()) {
            tracing::warn!(
                address,
                "the agents' process tried to reach an address that is not the run's own; it was refused"
            );
        }
    }
}

/// The one server that the program may have.
enum Server {
    None,
    /// Its socket has an address. The program has the same one.
    Bound(OwnedFd),
    /// It listens.
    Up,
}

impl Server {
    const fn is_up(&self) -> bool {
        matches!(self, Self::Up)
    }

    /// Lets the socket that was bound listen, whichever the program has named. A second server could be anything.
    fn listen(&mut self) -> Answer {
        let Self::Bound(socket) = self else {
            return Answer::Refuse(libc::EPERM);
        };
        match rustix::net::listen(&*socket, BACKLOG) {
            Ok(()) => {
                *self = Self::Up;
                Answer::Done
            }
            Err(error) => Answer::Refuse(error.raw_os_error()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Address {
    Internet(SocketAddr),
    Other(i32),
}

/// The address in the memory of the thread that waits.
fn address_of(request: &Request) -> io::Result<Address> {
    let length = usize::try_from(request.arguments[2])
        .map_err(io::Error::other)?
        .min(MAX_ADDRESS);
    let mut bytes = [0; MAX_ADDRESS];
    read_memory(request.thread, request.arguments[1], &mut bytes[..length])?;
    parse(&bytes[..length]).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// Reads another process's memory. Through its file: containers refuse the system call more often.
pub(super) fn read_memory(thread: u32, at: u64, bytes: &mut [u8]) -> io::Result<()> {
    File::open(format!("/proc/{thread}/mem"))?.read_exact_at(bytes, at)
}

fn parse(bytes: &[u8]) -> Option<Address> {
    let family = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
    let port = || Some(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?));
    let internet = |ip: IpAddr, port: u16| Some(Address::Internet(SocketAddr::new(ip, port)));
    match i32::from(family) {
        libc::AF_INET => {
            let octets: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
            internet(Ipv4Addr::from(octets).into(), port()?)
        }
        libc::AF_INET6 => {
            let octets: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
            internet(Ipv6Addr::from(octets).into(), port()?)
        }
        other => Some(Address::Other(other)),
    }
}

/// The flags of a descriptor of another process.
fn flags_of(thread: u32, descriptor: u32) -> io::Result<i32> {
    let text = std::fs::read_to_string(format!("/proc/{thread}/fdinfo/{descriptor}"))?;
    text.lines()
        .find_map(|line| i32::from_str_radix(line.strip_prefix("flags:")?.trim(), 8).ok())
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_the_kernel_lays_them_out() {
        let [low, high] = u16::try_from(libc::AF_INET).expect("small").to_ne_bytes();
        let four = [low, high, 0x1f, 0x90, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        let wanted = "127.0.0.1:8080".parse().expect("an address");
        assert_eq!(parse(&four), Some(Address::Internet(wanted)));
        let [low, high] = u16::try_from(libc::AF_INET6).expect("small").to_ne_bytes();
        let mut six = [0; 28];
        six[..4].copy_from_slice(&[low, high, 0, 80]);
        six[23] = 1;
        let wanted = "[::1]:80".parse().expect("an address");
        assert_eq!(parse(&six), Some(Address::Internet(wanted)));
        assert_eq!(parse(&[1, 0, b'/', b'x']), Some(Address::Other(libc::AF_UNIX)));
        for short in [&four[..1], &four[..7], &six[..23]] {
            assert_eq!(parse(short), None, "{short:?}");
        }
    }
}

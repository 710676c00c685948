//! The parent's side: the command that becomes the confined program, and what is known of it afterwards.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    io,
    os::fd::OwnedFd,
    process::Command,
    sync::{Arc, PoisonError, atomic::Ordering},
    thread,
};

use camino::Utf8Path;
use tokio::sync::watch;

use super::{
    channel::{Channel, Offer, Order, Report, Watching},
    watch::{End, Refused, Watch, read_memory},
};
use crate::{HELPER_ARGUMENT, policy::Policy, status::SandboxStatus};

/// A confined program that is not started yet.
#[derive(Debug)]
pub struct Launch {
    channel: Channel,
    order: Order,
}

impl Launch {
    /// The command that starts `program` through `helper` (this program, or one that calls [`super::run_helper`] too). Its
    /// environment and directory are the caller's to set, and become the program's; its standard input is taken.
    pub fn prepare(
        helper: &Utf8Path,
        program: impl AsRef<OsStr>,
        policy: Policy,
        mark: u64,
    ) -> io::Result<(Self, Command)> {
        let (channel, theirs) = Channel::pair()?;
        let mut command = Command::new(helper);
        command.arg(HELPER_ARGUMENT).arg(program).stdin(theirs);
        let order = Order {
            policy,
            parent: std::process::id(),
            mark,
        };
        Ok((Self { channel, order }, command))
    }

    /// Gives the started helper, which has this process id, its order, and watches over what it becomes. The command has to be
    /// dropped by then: it holds the helper's end of the socket.
    pub fn started(self, process: u32) -> io::Result<Guard> {
        let (status, known) = watch::channel(None);
        let (refused, end) = (Refused::default(), Arc::new(End::default()));
        let guard = Guard {
            status: known,
            refused: Arc::clone(&refused),
            end: Arc::clone(&end),
        };
        thread::Builder::new().name("sandbox".to_owned()).spawn(move || {
            let (ports, server_ports) = (self.order.policy.connect.clone(), self.order.policy.bind.clone());
            match self.negotiate(process) {
                Ok((found, listener)) => {
                    status.send_replace(Some(found));
                    match listener {
                        Some(listener) => Watch {
                            listener,
                            ports,
                            server_ports,
                            refused,
                            end,
                        }
                        .serve(),
                        None => end.reached.store(true, Ordering::Release),
                    }
                }
                // The helper says why on its standard error, and ends. Without a status, none was put up.
                Err(error) => {
                    end.reached.store(true, Ordering::Release);
                    tracing::debug!(%error, "the sandbox's helper ended early");
                }
            }
        })?;
        Ok(guard)
    }

    fn negotiate(&self, process: u32) -> io::Result<(SandboxStatus, Option<OwnedFd>)> {
        self.channel.send(&self.order)?;
        let mut listener = None;
        loop {
            match self.channel.receive_with()? {
                (Report::Offer(offer), _) => self.channel.send(&Watching(can_read(process, &offer)))?,
                (Report::Listener, descriptor) => listener = descriptor,
                (Report::Done(walls), _) => return Ok((SandboxStatus::of(walls), listener)),
            }
        }
    }
}

/// Tries whether the addresses of connections will be readable.
fn can_read(process: u32, offer: &Offer) -> bool {
    let mut bytes = vec![0; offer.content.len() / 2];
    match read_memory(process, offer.address, &mut bytes) {
        Ok(()) => hex::encode(bytes) == offer.content,
        Err(error) => {
            tracing::debug!(%error, "the memory of the confined program cannot be read: its connections are not watched");
            false
        }
    }
}

/// The walls around a confined program, and what it tried.
#[derive(Debug, Clone)]
pub struct Guard {
    status: watch::Receiver<Option<SandboxStatus>>,
    refused: Refused,
    end: Arc<End>,
}

impl Guard {
    /// Lets nothing inside start a process or a thread from here on.
    pub fn forbid_new(&self) {
        self.end.near.store(true, Ordering::Release);
    }

    /// Returns whether no process inside lives any more, as far as there is a watch that would know.
    pub fn is_empty(&self) -> bool {
        self.end.reached.load(Ordering::Acquire)
    }

    /// Returns whether everything inside is known to carry the mark.
    pub fn is_marked(&self) -> bool {
        let status = self.status.borrow();
        let walls = status.as_ref().and_then(|status| status.walls.as_ref());
        walls.is_some_and(|walls| walls.limits)
    }

    /// Waits until the walls are up. `None` if the helper ended before.
    pub async fn status(&self) -> Option<SandboxStatus> {
        let mut status = self.status.clone();
        status.wait_for(Option::is_some).await.ok()?.clone()
    }

    /// Addresses that the program tried to reach and that are not the run's own.
    pub fn refused(&self) -> BTreeSet<String> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

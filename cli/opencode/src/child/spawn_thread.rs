//! Starting a child that has to die with its parent.
//!
//! The kernel takes the *thread* that forked for the parent of `PR_SET_PDEATHSIG`: started from a worker or a blocking
//! thread that ends when it is idle, the child would be killed in the middle of the run. So a thread of its own starts
//! it, and stays until the child's owner is gone.

use std::{io, sync::mpsc, thread};

use tokio::{
    process::{Child, Command},
    runtime::Handle,
};

/// Keeps the starting thread alive. Dropping it ends the thread, and with it the child.
#[derive(Debug)]
pub(super) struct Anchor(#[expect(dead_code, reason = "its end is what counts")] mpsc::Sender<()>);

/// Starts the command from a thread that ends with the anchor.
pub(super) fn spawn(mut command: Command) -> io::Result<(Child, Anchor)> {
    let runtime = Handle::current();
    let (started, result) = mpsc::channel();
    let (anchor, held) = mpsc::channel::<()>();
    thread::Builder::new().name("opencode".to_owned()).spawn(move || {
        let child = {
            let _entered = runtime.enter();
            command.spawn()
        };
        // It may hold an end of a pipe or socket of the child's.
        drop(command);
        let failed = child.is_err();
        if started.send(child).is_ok() && !failed {
            // Returns once the anchor is dropped.
            let _ = held.recv();
        }
    })?;
    let child = result.recv().map_err(io::Error::other)??;
    Ok((child, Anchor(anchor)))
}

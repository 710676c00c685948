//! Ctrl-C and SIGTERM: the first one ends the run in good order.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use conclave_engine::ports::{StopCause, StopSignal, stop_channel};
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::Exit;

/// Watches for signals as long as it lives.
#[derive(Debug)]
pub(crate) struct Signals {
    stop: StopSignal,
    code: Arc<AtomicU8>,
    task: tokio::task::JoinHandle<()>,
}

impl Signals {
    pub(crate) fn watch() -> Result<Self, std::io::Error> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let (sender, stop) = stop_channel();
        let code = Arc::new(AtomicU8::new(0));
        let noted = Arc::clone(&code);
        let task = tokio::spawn(async move {
            let exit = tokio::select! {
                _ = interrupt.recv() => Exit::Interrupted,
                _ = terminate.recv() => Exit::Terminated,
            };
            noted.store(exit.code(), Ordering::SeqCst);
            sender.send_replace(Some(StopCause::Asked));
            // The channel stays open: a receiver must not take its end for something else.
            sender.closed().await;
        });
        Ok(Self { stop, code, task })
    }

    /// Becomes `true` at the first signal.
    pub(crate) fn stop(&self) -> StopSignal {
        self.stop.clone()
    }

    /// Comes back at the first signal, with its exit code.
    pub(crate) async fn arrived(&self) -> Exit {
        self.stop.stopped().await;
        match self.exit() {
            Some(exit) => exit,
            None => std::future::pending().await,
        }
    }

    /// The exit code of the signal that came, if one did.
    pub(crate) fn exit(&self) -> Option<Exit> {
        [Exit::Interrupted, Exit::Terminated]
            .into_iter()
            .find(|exit| exit.code() == self.code.load(Ordering::SeqCst))
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.task.abort();
    }
}

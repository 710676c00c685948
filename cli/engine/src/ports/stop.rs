//! Ending a run before its end.

use tokio::sync::watch;

use crate::review::StopCause;

/// Tells everybody in a run that it has to end. Cheap to clone.
#[derive(Debug, Clone)]
pub struct StopSignal(watch::Receiver<Option<StopCause>>);

/// A signal and the place to give it.
pub fn stop_channel() -> (watch::Sender<Option<StopCause>>, StopSignal) {
    let (sender, receiver) = watch::channel(None);
    (sender, StopSignal(receiver))
}

impl StopSignal {
    /// The cause, if the run has to end.
    pub fn cause(&self) -> Option<StopCause> {
        *self.0.borrow()
    }

    /// Comes back when the run has to end; never if nobody can say so any more.
    pub async fn stopped(&self) -> StopCause {
        let mut receiver = self.0.clone();
        let cause = receiver.wait_for(Option::is_some).await.ok().and_then(|cause| *cause);
        match cause {
            Some(cause) => cause,
            None => std::future::pending().await,
        }
    }
}

//! What ends a run before its end: Ctrl-C, SIGTERM, the end of its terminal, and the end of its time. The first one ends it in
//! good order, a second signal at once.

use std::{
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use conclave_engine::{
    ports::{StopSignal, stop_channel},
    review::StopCause,
};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
    task::JoinSet,
    time::Instant,
};

use crate::exit::Exit;

/// Time from the first signal in which what is printed has to be taken: a run that is stopped ends within ten seconds.
const PRINTED_WITHIN: Duration = Duration::from_secs(9);

/// Time that it has in any case. A terminal that takes anything needs less.
const PRINTED_AT_ONCE: Duration = Duration::from_secs(1);

/// Watches for signals and the end of time as long as it lives.
#[derive(Debug)]
pub(crate) struct Signals {
    stop: StopSignal,
    stopping: Arc<watch::Sender<Option<StopCause>>>,
    /// The exit codes of the signals that came.
    exits: watch::Sender<Vec<Exit>>,
    /// When the first one came.
    asked: Arc<OnceLock<Instant>>,
    /// What waits for signals and for the end of time; ends with this.
    waiting: Mutex<JoinSet<()>>,
    /// True once signals are watched for: a signal counts once.
    is_watching: AtomicBool,
}

impl Default for Signals {
    fn default() -> Self {
        let (stopping, stop) = stop_channel();
        Self {
            stop,
            stopping: Arc::new(stopping),
            exits: watch::Sender::default(),
            asked: Arc::default(),
            waiting: Mutex::default(),
            is_watching: AtomicBool::new(false),
        }
    }
}

impl Signals {
    /// From here on a signal ends the run in good order, with nothing left behind; a second one at once.
    pub(crate) fn watch(&self) -> Result<(), std::io::Error> {
        if self.is_watching.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = if ignores_hangup() {
            None
        } else {
            Some(signal(SignalKind::hangup())?)
        };
        let (stopping, exits) = (Arc::clone(&self.stopping), self.exits.clone());
        let asked = Arc::clone(&self.asked);
        self.spawn(async move {
            loop {
                let exit = tokio::select! {
                    _ = interrupt.recv() => Exit::Interrupted,
                    _ = terminate.recv() => Exit::Terminated,
                    () = next(&mut hangup) => {
                        // The kernel and the shell both send it when a terminal is closed.
                        hangup = None;
                        Exit::HungUp
                    }
                };
                asked.get_or_init(Instant::now);
                exits.send_modify(|exits| exits.push(exit));
                stop(&stopping, StopCause::Asked);
            }
        });
        Ok(())
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.spawn(task);
    }

    /// Ends the run in good order after this time, if nothing else ends it before, another limit included.
    pub(crate) fn end_in(&self, time: Duration) {
        let stopping = Arc::clone(&self.stopping);
        self.spawn(async move {
            tokio::time::sleep(time).await;
            stop(&stopping, StopCause::OutOfTime);
        });
    }

    /// Ends the run in good order this long after its beginning; the time can be changed while it runs.
    pub(crate) fn end_within(&self, began: Instant, mut limit: watch::Receiver<Duration>) {
        let stopping = Arc::clone(&self.stopping);
        self.spawn(async move {
            loop {
                let until = began + *limit.borrow_and_update();
                tokio::select! {
                    () = tokio::time::sleep_until(until) => break,
                    Ok(()) = limit.changed() => {}
                }
            }
            stop(&stopping, StopCause::OutOfTime);
        });
    }

    /// Says when the run has to end.
    pub(crate) fn stop(&self) -> StopSignal {
        self.stop.clone()
    }

    /// Returns when the run has to end, with its exit code.
    pub(crate) async fn arrived(&self) -> Exit {
        let cause = self.stop.stopped().await;
        self.exit_of(cause)
    }

    /// Returns at the first Ctrl-C.
    pub(crate) async fn interrupted(&self) {
        self.signaled(|exits| exits.first() == Some(&Exit::Interrupted)).await;
    }

    /// Returns at the second signal.
    pub(crate) async fn insisted(&self) -> Exit {
        self.signaled(|exits| exits.len() > 1).await;
        self.exit().unwrap_or(Exit::Terminated)
    }

    /// Returns once what is printed is waited for no longer: at the second signal, or some time after the first.
    pub(crate) async fn out_of_patience(&self) {
        let began = Instant::now();
        let late = async {
            self.signaled(|exits| !exits.is_empty()).await;
            let asked = self.asked_at().unwrap_or(began);
            tokio::time::sleep_until(asked + PRINTED_WITHIN).await;
        };
        tokio::select! {
            _ = self.insisted() => {}
            () = late => {}
        }
        tokio::time::sleep_until(began + PRINTED_AT_ONCE).await;
    }

    async fn signaled(&self, is_awaited: impl FnMut(&Vec<Exit>) -> bool) {
        if self.exits.subscribe().wait_for(is_awaited).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// The moment at which the first signal came, if one did.
    pub(crate) fn asked_at(&self) -> Option<Instant> {
        self.asked.get().copied()
    }

    /// Returns whether a second signal came.
    pub(crate) fn has_insisted(&self) -> bool {
        self.exits.borrow().len() > 1
    }

    /// The exit code of what ended the run early, if something did.
    pub(crate) fn exit(&self) -> Option<Exit> {
        self.stop.cause().map(|cause| self.exit_of(cause))
    }

    fn exit_of(&self, cause: StopCause) -> Exit {
        match cause {
            StopCause::OutOfTime => Exit::OutOfTime,
            StopCause::Asked => self.exits.borrow().first().copied().unwrap_or(Exit::Terminated),
        }
    }
}

/// Waits for this signal; for ever if it is not watched for.
async fn next(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Returns whether the program was started with SIGHUP ignored, as nohup(1) does: a handler would undo that. True where the system
/// does not show it, so that the signal keeps its default action.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // Signal N has bit N - 1.
    ignored.is_none_or(|mask| u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & 1 != 0))
}

/// Stops the run, unless it is being stopped already: the first cause is the one that counts.
fn stop(stopping: &watch::Sender<Option<StopCause>>, cause: StopCause) {
    stopping.send_if_modified(|known| {
        let is_first = known.is_none();
        if is_first {
            *known = Some(cause);
        }
        is_first
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_end_of_time_is_a_cause_of_its_own_and_the_first_limit_counts() {
        let signals = Signals::default();
        signals.end_in(Duration::from_mins(10));
        signals.end_in(Duration::from_mins(1));
        assert_eq!(signals.exit(), None);
        let started = tokio::time::Instant::now();
        assert_eq!(signals.arrived().await, Exit::OutOfTime);
        assert_eq!(started.elapsed().as_secs(), 60);
        assert_eq!(signals.stop().cause(), Some(StopCause::OutOfTime));
        stop(&signals.stopping, StopCause::Asked);
        assert_eq!(signals.exit(), Some(Exit::OutOfTime), "the first cause counts");
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_that_changes_counts_from_the_beginning_of_the_run() {
        for (changed, expected) in [(600, 600), (30, 40)] {
            let signals = Signals::default();
            let limit = watch::Sender::new(Duration::from_mins(1));
            let started = Instant::now();
            signals.end_within(started, limit.subscribe());
            tokio::time::sleep(Duration::from_secs(40)).await;
            limit.send_replace(Duration::from_secs(changed));
            drop(limit);
            assert_eq!(signals.arrived().await, Exit::OutOfTime);
            assert_eq!(started.elapsed().as_secs(), expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_printed_is_given_up_within_ten_seconds_of_a_signal_and_at_once_after_two() {
        for (times, expected) in [(vec![0], 9), (vec![20], 29), (vec![0, 3], 3), (vec![0, 0], 1)] {
            let signals = Arc::new(Signals::default());
            let began = Instant::now();
            let (sent, signals_after) = (Arc::clone(&signals), times.clone());
            signals.spawn(async move {
                for after in signals_after {
                    tokio::time::sleep_until(began + Duration::from_secs(after)).await;
                    sent.asked.get_or_init(Instant::now);
                    sent.exits.send_modify(|exits| exits.push(Exit::Terminated));
                }
            });
            signals.out_of_patience().await;
            assert_eq!(began.elapsed().as_secs(), expected, "{times:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_came_before_the_limit_was_known_counts_for_it() {
        let signals = Signals::default();
        let began = Instant::now();
        tokio::time::sleep(Duration::from_secs(20)).await;
        let limit = watch::Sender::new(Duration::from_mins(1));
        signals.end_within(began, limit.subscribe());
        assert_eq!(signals.arrived().await, Exit::OutOfTime);
        assert_eq!(began.elapsed().as_secs(), 60);
    }
}

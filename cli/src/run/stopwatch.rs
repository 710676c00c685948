//! Where the time of a run goes.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use conclave_engine::{ports::RunTrace, review::StageTime};

/// Measures stage after stage.
pub(crate) struct Stopwatch {
    start: Instant,
    /// When the stage began, and those before it.
    laps: Mutex<(Instant, Vec<StageTime>)>,
    trace: Option<Arc<dyn RunTrace>>,
}

impl Stopwatch {
    pub(crate) fn start(trace: Option<Arc<dyn RunTrace>>) -> Self {
        let now = Instant::now();
        Self {
            start: now,
            laps: Mutex::new((now, Vec::new())),
            trace,
        }
    }

    /// Ends a stage, and returns its time.
    pub(crate) fn lap(&self, stage: &str) -> StageTime {
        let mut laps = self.laps.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let duration = now - laps.0;
        let time = StageTime::new(stage, duration.as_secs_f64());
        laps.1.push(time.clone());
        if let Some(trace) = &self.trace {
            trace.stage_ended(stage, duration);
        }
        laps.0 = now;
        time
    }

    /// The stages so far.
    pub(crate) fn laps(&self) -> Vec<StageTime> {
        let laps = self.laps.lock().unwrap_or_else(PoisonError::into_inner);
        laps.1.clone()
    }

    /// Seconds since the start.
    pub(crate) fn total(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}

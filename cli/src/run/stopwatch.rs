//! Where the time of a run goes.

use std::{sync::Arc, time::Instant};

use conclave_engine::{ports::RunTrace, review::StageTime};

/// Measures stage after stage.
pub(crate) struct Stopwatch {
    start: Instant,
    lap: Instant,
    laps: Vec<StageTime>,
    trace: Option<Arc<dyn RunTrace>>,
}

impl Stopwatch {
    pub(crate) fn start(trace: Option<Arc<dyn RunTrace>>) -> Self {
        let now = Instant::now();
        Self {
            start: now,
            lap: now,
            laps: Vec::new(),
            trace,
        }
    }

    /// Ends a stage.
    pub(crate) fn lap(&mut self, stage: &str) {
        let now = Instant::now();
        let duration = now - self.lap;
        self.laps.push(StageTime::new(stage, duration.as_secs_f64()));
        if let Some(trace) = &self.trace {
            trace.stage_ended(stage, duration);
        }
        self.lap = now;
    }

    /// The stages so far.
    pub(crate) fn laps(&self) -> Vec<StageTime> {
        self.laps.clone()
    }

    /// The last stage.
    pub(crate) fn last(&self) -> Option<StageTime> {
        self.laps.last().cloned()
    }

    /// Seconds since the start.
    pub(crate) fn total(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}

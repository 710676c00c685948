//! Where the time of a run goes.

use std::time::Instant;

use conclave_engine::report::StageTime;

/// Measures stage after stage.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    start: Instant,
    lap: Instant,
    laps: Vec<StageTime>,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        let now = Instant::now();
        Self {
            start: now,
            lap: now,
            laps: Vec::new(),
        }
    }

    /// Ends a stage.
    pub(crate) fn lap(&mut self, stage: &str) {
        let now = Instant::now();
        self.laps.push(StageTime::new(stage, (now - self.lap).as_secs_f64()));
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

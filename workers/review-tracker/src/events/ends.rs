//! Ends of runs: a run counts once, whatever is sent of its end and in whichever order it arrives.
//!
//! A failure wins over a verdict, also over one that was counted before: a review that was never shown is not a review.

use std::collections::{BTreeMap, BTreeSet};

use conclave_shared::telemetry::{Event, EventBody};
use uuid::Uuid;

use super::{Batch, KnownRuns, known_runs::is_failure};

/// The part of an event that is taken, beside the event itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// All of it.
    All,
    /// Its rows: the run counts as something else.
    Rows,
    /// All of it, and what the run was counted as before is taken back.
    InsteadOf,
    /// Nothing: the run's end is known.
    Nothing,
}

/// The ends of runs, as far as they are known.
#[derive(Debug)]
pub(super) struct Ends {
    /// Runs that ended with a verdict.
    completed: BTreeSet<Uuid>,
    /// Runs that are counted as failed.
    failed: BTreeSet<Uuid>,
    /// Runs of these batches that failed.
    failing: BTreeSet<Uuid>,
    /// Runs that an earlier write counted as completed.
    counted: BTreeSet<Uuid>,
}

impl Ends {
    /// The ends that earlier writes have seen, and the runs of the batches that failed.
    pub(super) fn of(known_runs: &KnownRuns, batches: &[Batch]) -> Self {
        // What another project says of a run does not count.
        let mut projects = BTreeMap::new();
        let mut failing = BTreeSet::new();
        for event in batches.iter().flat_map(|batch| &batch.events) {
            let first = projects.entry(event.run_id).or_insert(event.project.as_str());
            let project = known_runs.project(event.run_id).unwrap_or(first);
            if project == event.project && is_failure(&event.event) {
                failing.insert(event.run_id);
            }
        }
        let (completed, failed) = (known_runs.completed(), known_runs.failed());
        Self {
            counted: completed.difference(failed).copied().collect(),
            completed: completed.clone(),
            failed: failed.clone(),
            failing,
        }
    }

    /// The part of an event that is taken. Notes the end that it is, if it is one.
    pub(super) fn part(&mut self, event: &Event) -> Part {
        let run = event.run_id;
        let is_new = match &event.event {
            EventBody::RunCompleted(_) => self.completed.insert(run),
            EventBody::RunFailed(_) => true,
            _ => return Part::All,
        };
        if is_failure(&event.event) {
            if self.failed.insert(run) {
                let was_counted = self.counted.remove(&run);
                return if was_counted { Part::InsteadOf } else { Part::All };
            }
            // Only a verdict has more to say of a run that is known to have failed.
            let has_verdict = matches!(event.event, EventBody::RunCompleted(_));
            return if is_new && has_verdict {
                Part::Rows
            } else {
                Part::Nothing
            };
        }
        match (is_new, self.failing.contains(&run) || self.failed.contains(&run)) {
            (false, _) => Part::Nothing,
            (true, true) => Part::Rows,
            (true, false) => Part::All,
        }
    }
}

//! Everything that the tracker makes of events, one file a kind.
//!
//! The file of a kind has its limits, its rows, what it adds to counts and sums, and its families of `/metrics`. A new kind is a
//! variant of [`EventBody`], a file here, and a line in the list below.

mod accept;
mod batch;
mod ends;
mod families;
mod known_names;
mod known_runs;
mod limits;
mod merge_requests;
mod names;
mod rollup;
mod rows;
mod totals;
mod write;

mod break_glass;
mod circuit_changed;
mod failback;
mod finding;
mod finding_outcome;
mod metrics;
mod reviewer_completed;
mod run_completed;
mod run_failed;
mod run_skipped;
mod run_started;
mod telemetry_dropped;
mod verdict_applied;

use conclave_shared::telemetry::EventBody;

use limits::Checked;
use rollup::Rollup;
use rows::Writer;

pub(crate) use accept::{check, correct};
pub use batch::Batch;
pub(crate) use families::{Families, families};
pub(crate) use known_names::{built_in_agents, built_in_models};
pub use known_runs::KnownRuns;
pub(crate) use known_runs::{COUNTED, CountedRun, STORED, StoredRun};
pub(crate) use names::{AGENTS, MAX_MODELS, MAX_OF_A_PROJECT, MAX_OTHER_AGENTS};
pub use rows::writes;
#[cfg(test)]
pub(crate) use totals::ModelUse;
pub(crate) use totals::{Count, RunCount, Totals};
pub use write::Write;

/// Lists the kinds. Rows are written, and metrics are shown, in this order.
macro_rules! kinds {
    ($($variant:ident => $module:ident,)*) => {
        /// The kind of an event, as the tracker sees it.
        fn meaning(body: &EventBody) -> &dyn Meaning {
            match body {
                $(EventBody::$variant(of) => of,)*
            }
        }

        /// Every kind.
        const KINDS: &[Kind] = &[$($module::KIND,)*];
    };
}

kinds! {
    RunStarted => run_started,
    RunCompleted => run_completed,
    RunFailed => run_failed,
    RunSkipped => run_skipped,
    VerdictApplied => verdict_applied,
    BreakGlass => break_glass,
    ReviewerCompleted => reviewer_completed,
    Finding => finding,
    FindingOutcome => finding_outcome,
    CircuitChanged => circuit_changed,
    Failback => failback,
    TelemetryDropped => telemetry_dropped,
    Metrics => metrics,
}

/// An event of one kind.
trait Meaning {
    /// Refuses what could not be stored, added up or shown; the error names the field.
    fn check(&self) -> Checked;

    /// The tier that its run's events are counted under, where it states one.
    fn tier(&self) -> Option<&'static str> {
        None
    }

    /// The merge request of its run, where it states one.
    fn merge_request(&self) -> Option<u64> {
        None
    }

    /// Adds its rows, counts and sums to a write.
    fn write<'a>(&'a self, to: &mut Writer<'a, '_>);
}

/// A kind apart from its events.
struct Kind {
    /// The statements that write its rows, in order.
    statements: &'static [&'static str],
    /// The rollups that no other kind adds to.
    rollups: &'static [&'static Rollup],
    /// Adds its families to `/metrics`.
    families: fn(&mut Families<'_>),
}

impl Kind {
    /// A kind without rows and families of its own.
    const PLAIN: Self = Self {
        statements: &[],
        rollups: &[],
        families: |_| {},
    };
}

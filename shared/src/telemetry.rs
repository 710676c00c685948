//! Events from the CLI to the tracker: typed, versioned, without anything that belongs to the code or its people.

mod batch;
mod event;
mod failure;
mod finding;
mod metric;
mod proof;

pub use batch::{BatchAnswer, DatabaseSize, EventBatch, MAX_BATCH_BYTES, MAX_BATCH_EVENTS, RejectedEvent};
pub use event::{
    BreakGlass, CircuitChanged, CircuitState, Event, EventBody, Failback, FailbackReason, ReviewerCompleted,
    ReviewerOutcome, RunCompleted, RunCoverage, RunStarted, SCHEMA_VERSION, TelemetryDropped, TokensByModel,
    VerdictApplied, is_keyed_hash,
};
pub use failure::{FailureKind, InconclusiveCause, RunFailed, RunSkipped, RunStage, SkipReason};
pub use finding::{FindingEvent, FindingFate, FindingOutcome, FindingPlacement, SettledBy, Settlement};
pub use metric::{MAX_METRIC_NAME, MAX_METRIC_SAMPLES, MetricSample, Metrics, is_metric_name};

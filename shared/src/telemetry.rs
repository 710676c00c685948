//! What the CLI tells the tracker: typed, versioned, without anything that belongs to the code or its people.

mod batch;
mod event;

pub use batch::{BatchAnswer, EventBatch, MAX_BATCH_BYTES, MAX_BATCH_EVENTS, RejectedEvent};
pub use event::{
    BreakGlass, CircuitChanged, CircuitState, Event, EventBody, Failback, FailbackReason, FindingEvent, FindingFate,
    ReviewerCompleted, ReviewerOutcome, RunCompleted, RunStarted, SCHEMA_VERSION, TelemetryDropped, TokensByModel,
    VerdictApplied,
};

//! Events that arrived together, with what was noticed on their arrival.

use conclave_shared::telemetry::Event;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Events that arrived together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// When they arrived.
    pub received_ms: i64,
    /// The events.
    pub events: Vec<Event>,
    /// Those of them whose clock was ahead, and whose time is therefore that of their arrival.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skewed: Vec<Uuid>,
    /// Outcomes that are proved to come from their project: only these teach its memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proven: Vec<Uuid>,
}

//! Paths of the Workers' HTTP APIs, used by the Workers and by their clients.

/// `reviewer-config`: the effective configuration of a project; query parameter `project`.
pub const CONFIG: &str = "/v1/config";
/// `review-tracker`: takes a batch of events.
pub const EVENTS: &str = "/v1/events";
/// `review-tracker`: metrics for Prometheus.
pub const METRICS: &str = "/metrics";
/// Both: answers 200 when the Worker runs.
pub const HEALTH: &str = "/healthz";

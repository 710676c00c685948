//! Paths of the Workers' HTTP APIs, used by the Workers and by their clients.

/// `reviewer-config`: the effective configuration of a project; query parameter `project`.
pub const CONFIG: &str = "/v1/config";
/// `reviewer-config`: the document as operators write it.
pub const CONFIG_DOCUMENT: &str = "/v1/config/document";
/// `reviewer-config`: checks a document without storing it.
pub const CONFIG_VALIDATE: &str = "/v1/config/validate";
/// `reviewer-config`: the switch of a provider, whose name follows.
pub const PROVIDERS: &str = "/v1/providers";
/// `reviewer-config`: who stands in for whom.
pub const FAILBACK: &str = "/v1/failback";
/// `reviewer-config`: who changed what, when and why; one revision is below it, under its number.
pub const HISTORY: &str = "/v1/history";
/// `reviewer-config`: makes an earlier revision the current one; its number follows.
pub const ROLLBACK: &str = "/v1/rollback";
/// `reviewer-config`: the description of this API.
pub const CONFIG_OPENAPI: &str = "/v1/openapi.json";
/// `reviewer-config`: the JSON Schema of the document.
pub const CONFIG_SCHEMA: &str = "/v1/schema.json";
/// `review-tracker`: takes a batch of events.
pub const EVENTS: &str = "/v1/events";
/// `review-tracker`: what a repository remembers; query parameter `project`.
pub const MEMORY: &str = "/v1/memory";
/// `review-tracker`: what of the accepted events waits for the database, and what it refused.
pub const OUTBOX: &str = "/v1/outbox";
/// `review-tracker`: batches that the database refused; the id of one follows, and `/replay` behind it or alone.
pub const DEAD_LETTERS: &str = "/v1/dead-letters";
/// `review-tracker`: metrics for Prometheus.
pub const METRICS: &str = "/metrics";
/// Both: answers 200 when the Worker runs.
pub const HEALTH: &str = "/healthz";

/// `review-tracker`: the header with a job's own token (`id_tokens`), beside an ingest token. A tracker that knows no job
/// tokens ignores it.
pub const JOB_TOKEN_HEADER: &str = "conclave-job-token";

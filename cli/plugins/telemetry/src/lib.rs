//! The `telemetry` plugin: the client of the tracker. Events go there, fire and forget, and what a repository remembers
//! comes from there.
//!
//! It can neither block nor fail a review. Recording an event only puts it into a queue. A task of its own sends what has
//! gathered, each request within two seconds; of more than 50 pending requests the oldest is dropped, and what was dropped
//! is counted and reported; at the end the rest has two seconds. The memory is asked for in the background, and a review
//! goes on without it when it is not there by the time that it is needed.

mod access;
mod http;
mod person;
mod probe;
mod queue;
mod sender;
mod tracker_client;

pub use access::TrackerAccess;
pub use person::anonymous_person;
pub use probe::{ProbeError, probe};
pub use sender::{Lost, Telemetry};
pub use tracker_client::{MemoryError, TrackerClient};

use conclave_certificates::ExtraCertificates;
use secrecy::SecretString;
use url::Url;
use uuid::Uuid;

/// Where the tracker is and what every event carries.
#[derive(Debug, Clone)]
pub struct TelemetrySettings {
    /// The Worker's address.
    pub url: Url,
    /// How it knows this run.
    pub access: TrackerAccess,
    /// The installation's secret, with which outcomes are signed.
    pub secret: Option<SecretString>,
    /// The run.
    pub run_id: Uuid,
    /// The project.
    pub project: String,
    /// Certificates to trust besides the system's.
    pub certificates: ExtraCertificates,
}

#[cfg(test)]
mod broken_trackers_tests;
#[cfg(test)]
mod tests;

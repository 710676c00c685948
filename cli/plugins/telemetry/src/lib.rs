//! The `telemetry` plugin: the client of the tracker. Events go there, fire and forget, and what a repository remembers
//! comes from there.
//!
//! It can neither block nor fail a review. Recording an event only puts it into a queue. A task of its own sends what has
//! gathered, each request within two seconds; of more than 50 pending requests the oldest is dropped, and what was dropped
//! is counted and reported; at the end the rest has two seconds. The memory is asked for in the background, and a review
//! goes on without it when it is not there by the time that it is needed.

mod access;
mod http;
mod memory;
mod person;
mod probe;
mod queue;
mod sender;

pub use access::TrackerAccess;
pub use memory::{MemoryError, TrackerClient};
pub use person::anonymous_person;
pub use probe::probe;
pub use sender::Telemetry;

use std::sync::Arc;

use conclave_engine::plugin::ReviewPlugin;
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
}

/// The plugin. Its part in a run is to listen, so it has nothing to contribute; without a tracker it is off.
#[derive(Debug)]
pub struct TelemetryPlugin {
    telemetry: Option<Arc<Telemetry>>,
}

impl TelemetryPlugin {
    /// A plugin that sends to this tracker, or to none.
    pub fn start(settings: Option<TelemetrySettings>) -> Self {
        Self::new(settings.map(|settings| Arc::new(Telemetry::start(settings))))
    }

    /// A plugin for a tracker that was reported to before there was a plugin, or for none.
    pub const fn new(telemetry: Option<Arc<Telemetry>>) -> Self {
        Self { telemetry }
    }

    /// Where events go, if there is a tracker.
    pub fn telemetry(&self) -> Option<Arc<Telemetry>> {
        self.telemetry.clone()
    }
}

impl ReviewPlugin for TelemetryPlugin {
    fn name(&self) -> &'static str {
        "telemetry"
    }
}

#[cfg(test)]
mod broken_trackers;
#[cfg(test)]
mod tests;

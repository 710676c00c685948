//! Whether the tracker would take events, asked without sending one.

use std::time::Duration;

use conclave_certificates::FailedConnection;
use conclave_shared::{
    problem::Problem,
    routes,
    telemetry::{BatchAnswer, EventBatch},
};

use crate::{TelemetrySettings, http};

/// Why the tracker would take no events. Completes "the tracker …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// The connection failed.
    #[error(transparent)]
    Connection(FailedConnection),
    /// It cannot be asked, or refuses, with the remedy.
    #[error("{0}")]
    Refused(String),
}

/// Asks the tracker with a batch of no events: it checks the token and its database, and stores nothing. The error says what is wrong
/// and what to do.
pub async fn probe(settings: &TelemetrySettings, limit: Duration) -> Result<BatchAnswer, ProbeError> {
    let access = &settings.access;
    let url = http::route(&settings.url, routes::EVENTS);
    let client = http::client(&url, limit, &settings.certificates)
        .map_err(|error| ProbeError::Refused(format!("cannot be reached, because {error}")))?;
    let request = access.on(client.post(url)).await.map_err(ProbeError::Refused)?;
    let response = request.json(&EventBatch { events: Vec::new() }).send().await;
    let response = response.map_err(|error| {
        if error.is_timeout() {
            ProbeError::Refused(format!("did not answer within {} s", limit.as_secs()))
        } else {
            ProbeError::Connection(http::connection(error))
        }
    })?;
    let status = response.status();
    let refusal = match status.as_u16() {
        // An older tracker says nothing of its database or of a second token.
        200..=299 => return Ok(response.json().await.unwrap_or_default()),
        401 | 403 => access.refused(http::reason(response).await.as_deref()),
        300..=399 | 404 => http::describe_status(&response),
        code => {
            let detail = response.json::<Problem>().await.map(|problem| problem.detail);
            let detail = detail.unwrap_or_else(|_| "without a word about why".to_owned());
            let clean = detail.chars().filter(|character| !character.is_control()).take(300);
            format!("answered {code}: {}", clean.collect::<String>())
        }
    };
    Err(ProbeError::Refused(refusal))
}

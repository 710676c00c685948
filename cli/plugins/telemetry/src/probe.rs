//! Whether the tracker would take events, asked without sending one.

use std::time::Duration;

use conclave_shared::{
    problem::Problem,
    routes,
    telemetry::{BatchAnswer, EventBatch},
};

use crate::{TelemetrySettings, http};

/// Asks the tracker with a batch of no events: it checks the token and its database, and stores nothing. The error says what is wrong
/// and what to do.
pub async fn probe(settings: &TelemetrySettings, limit: Duration) -> Result<BatchAnswer, String> {
    let access = &settings.access;
    let mut url = settings.url.clone();
    url.set_path(&format!("{}{}", url.path().trim_end_matches('/'), routes::EVENTS));
    let client = http::client(&url, limit, &settings.certificates);
    let post = client.map_err(|error| format!("cannot be reached: {error}"))?.post(url);
    let response = access
        .on(post)
        .await?
        .json(&EventBatch { events: Vec::new() })
        .send()
        .await;
    let response = match response {
        Ok(response) => response,
        Err(error) if error.is_timeout() => return Err(format!("did not answer within {} s", limit.as_secs())),
        Err(error) => return Err(format!("cannot be reached: {}", error.without_url())),
    };
    let status = response.status().as_u16();
    match status {
        // An older tracker says nothing of its database or of a second token.
        200..=299 => Ok(response.json().await.unwrap_or_default()),
        401 | 403 => Err(access.refused(http::reason(response).await.as_deref())),
        404 => Err("answered 404: no review-tracker is at that address".to_owned()),
        _ => {
            let detail = response.json::<Problem>().await.map(|problem| problem.detail);
            let detail = detail.unwrap_or_else(|_| "without a word about why".to_owned());
            let clean = detail.chars().filter(|character| !character.is_control()).take(300);
            Err(format!("answered {status}: {}", clean.collect::<String>()))
        }
    }
}

//! A review that does not happen, because a person has broken the glass.

use conclave_engine::ports::ReviewMode;
use conclave_plugin_gitlab::{BreakGlass, GitLab};
use conclave_plugin_telemetry::{TelemetryPlugin, anonymous_person};
use conclave_shared::{
    redact::Redactor,
    telemetry::{self, EventBody},
};
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use super::{observers::Observers, plugin_settings, telemetry::record_stance};
use crate::{
    ci_environment,
    exit::{Exit, Failure},
    output,
    settings::Environment,
};

/// A review that a person has skipped.
pub(crate) struct Skipped<'a> {
    pub(crate) gitlab: &'a GitLab,
    /// Whose word it was.
    pub(crate) glass: &'a BreakGlass,
    /// What a verdict may do.
    pub(crate) mode: ReviewMode,
    /// Whether anything is posted.
    pub(crate) post: bool,
    pub(crate) project: &'a str,
    /// The installation's secret.
    pub(crate) secret: &'a SecretString,
}

/// Says so on the merge request, approves it, and tells the tracker who it was. Nothing else of the review is needed for
/// that, so nothing else can be in the way of it.
pub(crate) async fn break_glass(
    skipped: Skipped<'_>,
    environment: &Environment,
    redactor: &Redactor,
) -> Result<Exit, Failure> {
    let Skipped {
        gitlab,
        glass,
        mode,
        post,
        project,
        secret,
    } = skipped;
    output::note(
        &format!(
            "Break glass: {} has said so in note {}. The merge request is not reviewed.",
            glass.user, glass.note
        ),
        redactor,
    );
    if !post {
        return Ok(Exit::Reviewed);
    }
    let telemetry = TelemetryPlugin::start(plugin_settings::telemetry(environment, Uuid::now_v7(), project)?);
    let observers = Observers::new(telemetry.telemetry(), None);
    let sink = observers.sink();
    sink.record(EventBody::BreakGlass(telemetry::BreakGlass {
        merge_request: glass.merge_request,
        // The note says who; the tracker knows people by their hashes only.
        user: anonymous_person(secret.expose_secret().as_bytes(), "gitlab", glass.user_id)
            .unwrap_or_else(|| "unknown".to_owned()),
        note: glass.note,
        head_sha: glass.head_sha.clone(),
    }));
    let posted = gitlab.skip_review(glass, mode).await;
    if let Ok(outcome) = &posted {
        output::posted(outcome, redactor);
        record_stance(sink.as_ref(), Some(glass.merge_request), outcome);
    }
    let screen = output::screen(
        false,
        ci_environment::is_gitlab_job(environment),
        environment.get("TERM"),
    );
    observers.flush(&output::Display::new(screen, redactor.clone())).await;
    posted?;
    Ok(Exit::Reviewed)
}

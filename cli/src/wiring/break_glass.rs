//! A review that does not happen, because a person has broken the glass.

use conclave_engine::ports::ReviewMode;
use conclave_plugin_gitlab::{BreakGlass, GitLab};
use conclave_plugin_telemetry::TelemetryPlugin;
use conclave_shared::{
    redact::Redactor,
    telemetry::{self, EventBody},
};
use uuid::Uuid;

use super::{observers::Observers, plugin_settings, telemetry::record_stance};
use crate::{
    ci_environment,
    exit::{Exit, Failure},
    output,
    settings::Environment,
};

/// Says so on the merge request, approves it, and tells the tracker who it was. Nothing else of the review is needed for
/// that, so nothing else can be in the way of it.
pub(crate) async fn break_glass(
    gitlab: &GitLab,
    glass: &BreakGlass,
    mode: ReviewMode,
    post: bool,
    project: &str,
    environment: &Environment,
    redactor: &Redactor,
) -> Result<Exit, Failure> {
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
        user: glass.user.clone(),
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

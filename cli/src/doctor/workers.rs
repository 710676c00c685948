//! Both Workers: do they answer, take their tokens, and have what they need?

use conclave_certificates::{FailedConnection, remedy};
use conclave_plugin_reviewer_config::{Unanswered, effective};
use conclave_plugin_telemetry::{ProbeError, probe};
use conclave_shared::telemetry::BatchAnswer;
use uuid::Uuid;

use super::{Check, Found, Request, network::unreachable_step};
use crate::env::names;

pub(super) async fn config(request: &Request<'_>) -> Found {
    const NAME: &str = "reviewer-config";
    let project = request.env.project().unwrap_or_default();
    let source = match request.env.config_source(&project) {
        Ok(Some(source)) if source.access.is_empty() => {
            let advice = request.env.own_token_advice(names::CONFIG_OIDC_TOKEN);
            return Found::one(without_token(NAME, &format!("{NO_CONFIG_TOKEN}, or {advice}")));
        }
        Ok(Some(source)) => source,
        Ok(None) => return Found::absent("reviewer-config: CONCLAVE_CONFIG_URL names it"),
        Err(failure) => return Found::one(without_token(NAME, &failure.to_string())),
    };
    let host = source.url.host_str().unwrap_or_default().to_owned();
    Found::one(match effective(source).await {
        Ok(answer) if !answer.config.warnings.is_empty() => {
            Check::warning(NAME, answer.config.warnings.join("; ")).next("conclave config show, then correct it")
        }
        Ok(answer) => {
            let revision = answer.config.config.revision;
            match answer.refused.first() {
                None => Check::ok(NAME, format!("{host} answers with revision {revision}")),
                // It counts as a guess with every run.
                Some(refused) => {
                    let (wrong, step) = refused.split_once(": ").unwrap_or((refused, ""));
                    let text =
                        format!("{host} answers with revision {revision}, and {wrong}; another credential was let in");
                    Check::warning(NAME, text)
                        .next(format!("{step}, or leave that credential out").trim_start_matches(", or "))
                }
            }
        }
        Err(Unanswered {
            connection: Some(failed),
            ..
        }) => unreached(NAME, &host, &failed),
        Err(unanswered) => refused(NAME, &host, &unanswered.problem),
    })
}

pub(super) async fn tracker(request: &Request<'_>) -> Found {
    const NAME: &str = "review-tracker";
    let settings = match request.env.telemetry(Uuid::nil(), "") {
        Ok(Some(settings)) => settings,
        Ok(None) if request.env.get(names::TRACKER_URL).is_some() => {
            return Found::one(without_token(NAME, &request.env.no_tracker_token()));
        }
        Ok(None) => return Found::absent("review-tracker: CONCLAVE_TRACKER_URL names it"),
        Err(failure) => return Found::one(without_token(NAME, &failure.to_string())),
    };
    let host = settings.url.host_str().unwrap_or_default();
    Found::one(match probe(&settings, request.limit).await {
        Ok(BatchAnswer {
            database: Some(size), ..
        }) if size.is_nearly_full() => {
            let full = format!(
                "its database is {} % full ({} MB of {} MB)",
                size.percent(),
                size.used_bytes / 1_000_000,
                size.max_bytes / 1_000_000
            );
            let check = if size.is_full() {
                Check::failure(NAME, format!("{host} stores no events: {full}"))
            } else {
                Check::warning(NAME, format!("{host} takes events, and {full}"))
            };
            check.next(
                "lower RETENTION_DAYS of the Worker, or move to a plan with more and set DATABASE_MAX_MB; see `docs/operating.md`",
            )
        }
        Ok(BatchAnswer {
            job_refused: Some(why), ..
        }) => Check::warning(
            NAME,
            format!("{host} takes events, and refused the job's token beside the stored one: {why}"),
        )
        .next("correct the audience of the job's token or the Worker's OIDC_* variables, or leave that credential out"),
        Ok(BatchAnswer {
            token_refused: Some(why),
            ..
        }) => Check::warning(
            NAME,
            format!("{host} takes events with the job's token, and refused the stored one beside it: {why}"),
        )
        .next("set CONCLAVE_TRACKER_TOKEN to one of the Worker's INGEST_TOKENS, or leave that credential out"),
        Ok(_) => Check::ok(NAME, format!("{host} takes events")),
        Err(ProbeError::Connection(failed)) => unreached(NAME, host, &failed),
        Err(ProbeError::Refused(problem)) => refused(NAME, host, &problem),
    })
}

/// What is said where nothing opens reviewer-config.
const NO_CONFIG_TOKEN: &str =
    "CONCLAVE_CONFIG_URL is set, but CONCLAVE_CONFIG_TOKEN is not: set it to one of the Worker's READER_TOKENS";

/// An address without a token, or one that is not an address.
fn without_token(name: &str, text: &str) -> Check {
    match text.split_once(": ") {
        Some((wrong, step)) => Check::failure(name, wrong).next(step),
        None => Check::failure(name, text),
    }
}

/// The end of the next step where a Worker does not answer.
const IS_IT_THERE: &str = "reviews go on without it, with a warning. Is the Worker deployed (`scripts/deploy`)?";

/// A connection to a Worker that failed.
fn unreached(name: &str, host: &str, failed: &FailedConnection) -> Check {
    let check = Check::failure(name, format!("{host} {}", failed.problem));
    // A server that is not trusted is there.
    match remedy(&failed.problem) {
        Some(remedy) => check.next(remedy),
        None => check.next(format!("{}; {IS_IT_THERE}", failed.next_step)),
    }
}

/// A Worker that does something else than to answer.
fn refused(name: &str, host: &str, problem: &str) -> Check {
    let check = Check::failure(name, format!("{host} {problem}"));
    if let Some((wrong, step)) = problem.split_once(": ")
        && ["refused", "cannot be asked", "redirects to", "answered 404"]
            .iter()
            .any(|begins| wrong.starts_with(begins))
    {
        return Check::failure(name, format!("{host} {wrong}")).next(step);
    }
    if let Some((wrong, step)) = problem.split_once(". ") {
        return Check::failure(name, format!("{host} {wrong}")).next(step);
    }
    if problem.contains("did not answer") {
        return check.next(format!("{}; {IS_IT_THERE}", unreachable_step(problem)));
    }
    check.next(format!(
        "see the Worker's log (`wrangler tail`) and its address in {}",
        if name == "review-tracker" {
            names::TRACKER_URL
        } else {
            names::CONFIG_URL
        }
    ))
}

//! `/v1/memory`: what a repository remembers. Reviews and people read it; operators clear it.

use conclave_shared::{memory::Forgotten, project};
use conclave_worker_common::{Access, Outcome, allow, configured, holder, json, judge, presented, refusal};
use worker::{Env, Request, Response, console_log};

use crate::{caller, clock, store, texts};

/// The secrets whose tokens may read all projects: those of people who look, and of operators. Reviews read what they may speak
/// for.
const READERS: [&str; 2] = ["DASHBOARD_TOKENS", OPERATOR_TOKENS];
/// The secret that lists the tokens of operators, who may clear.
const OPERATOR_TOKENS: &str = "OPERATOR_TOKENS";
/// As long as in events.
const MAX_PROJECT: usize = 256;
const MAX_FINGERPRINT: usize = 128;

/// Answers what a project remembers, or forgets it.
pub(crate) async fn handle(request: Request, env: &Env) -> Outcome<Response> {
    allow(&request, &["GET", "HEAD", "DELETE"])?;
    if request.inner().method() == "DELETE" {
        forget(&request, env).await
    } else {
        show(&request, env).await
    }
}

async fn show(request: &Request, env: &Env) -> Outcome<Response> {
    let token = presented(request)?;
    let may_read = |name| judge(token.as_deref(), configured(env, name).as_deref()) == Access::Granted;
    let mut review = if READERS.into_iter().any(may_read) {
        None
    } else {
        Some(caller::authorize(request, env).await?)
    };
    let project = asked_project(request)?;
    if let Some(review) = review.as_mut().filter(|review| !review.may_speak_for(&project)) {
        review.prove_project(env).await?;
        if !review.may_speak_for(&project) {
            return Err(refusal(&texts::others_memory(&project))?);
        }
    }
    let memory = store::memory(env, &project, clock::now_ms()).await?;
    Ok(json(200, &memory)?)
}

async fn forget(request: &Request, env: &Env) -> Outcome<Response> {
    let who = holder(request, env, OPERATOR_TOKENS).await?;
    let project = asked_project(request)?;
    let fingerprint = parameter(request, "fingerprint", MAX_FINGERPRINT)?.unwrap_or_default();
    let findings = store::forget(env, &project, &fingerprint, clock::now_ms(), &who).await?;
    console_log!(
        "{}",
        serde_json::json!({
            "message": "memory cleared", "project": project, "fingerprint": fingerprint, "who": who, "findings": findings,
        })
    );
    Ok(json(200, &Forgotten { findings })?)
}

/// The project that is asked for.
fn asked_project(request: &Request) -> Outcome<String> {
    match parameter(request, "project", MAX_PROJECT)? {
        Some(path) => Ok(project::identity(path)),
        None => Err(refusal(&texts::no_project())?),
    }
}

/// A parameter of the query; one that is there has to be good.
fn parameter(request: &Request, name: &str, longest: usize) -> Outcome<Option<String>> {
    let url = request.url()?;
    let Some((_, value)) = url.query_pairs().find(|(key, _)| key == name) else {
        return Ok(None);
    };
    if value.is_empty() || value.len() > longest || value.chars().any(char::is_control) {
        return Err(refusal(&texts::bad_parameter(name, longest))?);
    }
    Ok(Some(value.into_owned()))
}

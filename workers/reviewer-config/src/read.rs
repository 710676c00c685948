//! `GET /v1/config`: the configuration in force.

use conclave_worker_common::{Outcome, Refusal, allow, entity_tag, problem};
use worker::{Env, Request, Response, ResponseBuilder};

use crate::{current, reader, texts};

/// The longest project path, in bytes.
const MAX_PROJECT: usize = 512;

/// Answers with the merged configuration, or 304 where the caller has it already.
pub(crate) async fn handle(request: &Request, env: &Env) -> Outcome<Response> {
    allow(request, &["GET", "HEAD"])?;
    reader::authorize(request, env).await?;
    check_project(request)?;
    let current = current::get(env).await?;
    let known = request
        .headers()
        .get("if-none-match")?
        .is_some_and(|header| entity_tag::matches(&header, &current.tag));
    let response = ResponseBuilder::new()
        .with_header("etag", &current.tag)?
        .with_header("cache-control", "private, no-cache")?;
    if known {
        return Ok(response.with_status(304).empty());
    }
    Ok(response
        .with_header("content-type", "application/json")?
        .fixed(current.body.clone()))
}

/// Every project gets the same configuration today; the path is checked so that clients send it right from the start.
fn check_project(request: &Request) -> Outcome<()> {
    let url = request.url()?;
    let project = url.query_pairs().find(|(name, _)| name == "project");
    if project.is_some_and(|(_, path)| path.len() > MAX_PROJECT || path.chars().any(char::is_control)) {
        return Err(Refusal::Answer(problem(&texts::bad_project(MAX_PROJECT))?));
    }
    Ok(())
}

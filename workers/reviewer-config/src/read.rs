//! `GET /v1/config`: the configuration in force for a project.

use conclave_worker_common::{Outcome, Refusal, allow, entity_tag, problem};
use worker::{Env, Request, Response, ResponseBuilder};

use crate::{
    current,
    reader::{self, Reader},
    texts,
};

/// The longest project path, in bytes.
const MAX_PROJECT: usize = 512;

/// Answers with the configuration of the project, or 304 where the caller has it already.
pub(crate) async fn handle(request: &Request, env: &Env) -> Outcome<Response> {
    allow(request, &["GET", "HEAD"])?;
    let reader = reader::authorize(request, env).await?;
    let project = project(request, reader)?;
    let answer = current::get(env).await?.answer(&project)?;
    let known = request
        .headers()
        .get("if-none-match")?
        .is_some_and(|header| entity_tag::matches(&header, &answer.tag));
    let response = ResponseBuilder::new()
        .with_header("etag", &answer.tag)?
        .with_header("cache-control", "private, no-cache")?;
    if known {
        return Ok(response.with_status(304).empty());
    }
    Ok(response
        .with_header("content-type", "application/json")?
        .fixed(answer.body.clone()))
}

/// The project that is asked for; without one, the document without what is otherwise in some projects. A job may ask for
/// its own project only, and need not name it.
fn project(request: &Request, reader: Reader) -> Outcome<String> {
    let url = request.url()?;
    let asked = url.query_pairs().find(|(name, _)| name == "project");
    let asked = asked.map(|(_, path)| path.into_owned());
    if asked
        .as_ref()
        .is_some_and(|path| path.len() > MAX_PROJECT || path.chars().any(char::is_control))
    {
        return Err(Refusal::Answer(problem(&texts::bad_project(MAX_PROJECT))?));
    }
    match (reader, asked) {
        (Reader::Token, asked) => Ok(asked.unwrap_or_default()),
        (Reader::Job(job), None) => Ok(job.project_path),
        (Reader::Job(job), Some(asked)) if asked.eq_ignore_ascii_case(&job.project_path) => Ok(asked),
        (Reader::Job(job), Some(_)) => Err(Refusal::Answer(problem(&texts::other_project(&job.project_path))?)),
    }
}

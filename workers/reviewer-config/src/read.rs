//! `GET /v1/config`: the configuration in force for a project.

use conclave_worker_common::{Outcome, allow, entity_tag, refusal};
use url::form_urlencoded;
use worker::{Env, Request, Response};

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
    Ok(if known { answer.unchanged() } else { answer.whole() })
}

/// The project that is asked for; without one, the document without what is otherwise in some projects. A job may ask for
/// its own project only, and need not name it.
fn project(request: &Request, reader: Reader) -> Outcome<String> {
    // The runtime has parsed the address already; what is left is its query.
    let address = request.inner().url();
    let query = address.split_once('?').map_or("", |(_, query)| query);
    let asked = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "project");
    let asked = asked.map(|(_, path)| path.into_owned());
    if asked
        .as_ref()
        .is_some_and(|path| path.len() > MAX_PROJECT || path.chars().any(char::is_control))
    {
        return Err(refusal(&texts::bad_project(MAX_PROJECT))?);
    }
    match (reader, asked) {
        (Reader::Token, asked) => Ok(asked.unwrap_or_default()),
        (Reader::Job(job), None) => Ok(job.project_path),
        (Reader::Job(job), Some(asked)) if asked.eq_ignore_ascii_case(&job.project_path) => Ok(asked),
        (Reader::Job(job), Some(_)) => Err(refusal(&texts::other_project(&job.project_path))?),
    }
}

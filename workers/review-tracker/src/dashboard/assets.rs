//! Style sheet, script and icon, part of the program.

use conclave_worker_common::{Outcome, Refusal, allow, entity_tag, not_found, problem};
use worker::{Request, Response, ResponseBuilder};

const STYLE: &str = include_str!("../../assets/dashboard.css");
const LOGIN_SCRIPT: &str = include_str!("../../assets/login.js");
const ICON: &str = include_str!("../../assets/icon.svg");

/// Answers with a file.
pub(crate) fn handle(request: &Request, name: &str) -> Outcome<Response> {
    let (content_type, text) = match name {
        "dashboard.css" => ("text/css; charset=utf-8", STYLE),
        "login.js" => ("text/javascript; charset=utf-8", LOGIN_SCRIPT),
        "icon.svg" => ("image/svg+xml", ICON),
        _ => return Err(Refusal::Answer(problem(&not_found(&request.path()))?)),
    };
    allow(request, &["GET", "HEAD"])?;
    let tag = entity_tag::of(text.as_bytes());
    let known = request.headers().get("if-none-match")?;
    // Asked again each time and answered without a body: a new release is seen at once.
    let response = ResponseBuilder::new()
        .with_header("etag", &tag)?
        .with_header("cache-control", "no-cache")?;
    if known.is_some_and(|known| entity_tag::matches(&known, &tag)) {
        return Ok(response.with_status(304).empty());
    }
    Ok(response
        .with_header("content-type", content_type)?
        .fixed(text.as_bytes().to_vec()))
}

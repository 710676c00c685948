//! Pages as answers, with the headers that keep them safe.

use worker::{Request, Response, ResponseBuilder, Result};

use crate::{Outcome, Refusal, html::Html, problem, texts};

/// Nothing but what the Worker serves itself: no inline script or style, no frame, no form to elsewhere.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A page. It shows internals of a company, so nobody keeps a copy.
pub fn page(status: u16, html: &Html) -> Result<Response> {
    Ok(ResponseBuilder::new()
        .with_status(status)
        .with_header("content-type", "text/html; charset=utf-8")?
        .with_header("cache-control", "no-store")?
        .with_header("content-security-policy", CONTENT_SECURITY_POLICY)?
        .with_header("referrer-policy", "same-origin")?
        .with_header("cross-origin-opener-policy", "same-origin")?
        .fixed(html.clone().into_bytes()))
}

/// "Look there", after a form or without a session.
pub fn see_other(path: &str) -> Result<Response> {
    Ok(ResponseBuilder::new()
        .with_status(303)
        .with_header("location", path)?
        .with_header("cache-control", "no-store")?
        .empty())
}

/// Lets a form pass that was sent from a page of this Worker itself. Browsers name the page's origin with every form that
/// is sent; a form of another site, or something that is no browser, has a wrong one or none.
pub fn same_origin(request: &Request) -> Outcome<()> {
    let own = request.url()?.origin().ascii_serialization();
    let named = request.headers().get("origin")?;
    if named.as_deref() == Some(own.as_str()) {
        return Ok(());
    }
    Err(Refusal::Answer(problem(&texts::other_origin())?))
}

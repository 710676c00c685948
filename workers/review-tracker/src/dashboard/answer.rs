//! Pages as answers, with the headers that keep them safe.

use conclave_worker_common::{Outcome, Refusal};
use worker::{Response, ResponseBuilder, Result};

use super::{html::Html, layout, texts};

/// Nothing but what this Worker serves itself: no inline script or style, no frame, no form to elsewhere.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A page. It shows internals of a company, so nobody keeps a copy.
pub(crate) fn page(status: u16, html: &Html) -> Result<Response> {
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
pub(crate) fn see_other(path: &str) -> Result<Response> {
    Ok(ResponseBuilder::new()
        .with_status(303)
        .with_header("location", path)?
        .with_header("cache-control", "no-store")?
        .empty())
}

/// Refusals as people read them. A redirect stays one; a problem document becomes a page that says the same.
pub(crate) fn page_or_problem(outcome: Outcome<Response>) -> Outcome<Response> {
    match outcome {
        Err(Refusal::Answer(response)) if response.status_code() == 503 => {
            let html = layout::signed_out(
                texts::NOT_READY,
                &layout::notice(texts::NOT_READY, crate::texts::NO_TABLES),
            );
            Ok(page(503, &html)?)
        }
        Err(Refusal::Fault(error)) => {
            worker::console_error!("page failed: {error}");
            let html = layout::signed_out(texts::FAILED, &layout::notice(texts::FAILED, texts::FAILED_DETAIL));
            Ok(page(500, &html)?)
        }
        other => other,
    }
}

//! Pages as answers, with the headers that keep them safe.

use worker::{Request, Response, ResponseBuilder, Result};

use crate::{Outcome, html::Html, refusal, texts};

/// Nothing but what the Worker serves itself: no inline script or style, no frame, no form to elsewhere.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A page. It shows internals of a company, so no copy of it is kept.
pub fn page(status: u16, html: Html) -> Result<Response> {
    Ok(ResponseBuilder::new()
        .with_status(status)
        .with_header("content-type", "text/html; charset=utf-8")?
        .with_header("cache-control", "no-store")?
        .with_header("content-security-policy", CONTENT_SECURITY_POLICY)?
        .with_header("referrer-policy", "same-origin")?
        .with_header("cross-origin-opener-policy", "same-origin")?
        .fixed(html.0.into_bytes()))
}

/// "Look there", after a form or without a session.
pub fn see_other(path: &str) -> Result<Response> {
    Ok(ResponseBuilder::new()
        .with_status(303)
        .with_header("location", path)?
        .with_header("cache-control", "no-store")?
        .empty())
}

/// Lets a form pass that was sent from a page of this Worker itself. Browsers name the page's origin with every form that is sent; a
/// form of another site, or something that is not a browser, has a wrong one or none. From a page whose address no other site may learn
/// (`Referrer-Policy: no-referrer`), browsers send `null` for it; then `Sec-Fetch-Site` says the same, which no page can set.
pub fn same_origin(request: &Request) -> Outcome<()> {
    let own = request.url()?.origin().ascii_serialization();
    let origin = request.headers().get("origin")?;
    let site = request.headers().get("sec-fetch-site")?;
    if is_same_origin(&own, origin.as_deref(), site.as_deref()) {
        return Ok(());
    }
    Err(refusal(&texts::other_origin())?)
}

fn is_same_origin(own: &str, origin: Option<&str>, site: Option<&str>) -> bool {
    match (origin, site) {
        (Some(origin), None | Some("same-origin")) if origin == own => true,
        (Some("null"), Some("same-origin")) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_same_origin;

    #[test]
    fn only_forms_of_our_own_pages_pass() {
        let own = "https://tracker.example.com";
        for (origin, site, passes) in [
            (Some(own), None, true),
            (Some(own), Some("same-origin"), true),
            (Some("null"), Some("same-origin"), true),
            (Some(own), Some("cross-site"), false),
            (Some(own), Some("same-site"), false),
            (Some("null"), None, false),
            (Some("null"), Some("cross-site"), false),
            (Some("null"), Some("none"), false),
            (Some("https://evil.example"), Some("same-origin"), false),
            (Some("https://evil.example"), None, false),
            (Some(""), None, false),
            (None, Some("same-origin"), false),
            (None, None, false),
        ] {
            assert_eq!(is_same_origin(own, origin, site), passes, "{origin:?} {site:?}");
        }
    }
}

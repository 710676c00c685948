//! Style sheets, scripts and icons, part of the program.

use worker::{Request, Response, ResponseBuilder};

use crate::{Outcome, allow, entity_tag, not_found, refusal};

/// The icon of every page.
pub const ICON: Asset = Asset {
    name: "icon.svg",
    content_type: "image/svg+xml",
    parts: &[include_str!("../assets/icon.svg")],
};

/// The beginning of every page's style sheet: colors, type, frame, log-in.
pub const BASE_STYLE: &str = include_str!("../assets/base.css");

/// A file that belongs to the program.
#[derive(Debug, Clone, Copy)]
pub struct Asset {
    /// Its name below `/assets/`.
    pub name: &'static str,
    /// Its media type.
    pub content_type: &'static str,
    /// Its parts, one after another.
    pub parts: &'static [&'static str],
}

impl Asset {
    /// A style sheet.
    pub const fn style(name: &'static str, parts: &'static [&'static str]) -> Self {
        Self {
            name,
            content_type: "text/css; charset=utf-8",
            parts,
        }
    }

    /// A script.
    pub const fn script(name: &'static str, parts: &'static [&'static str]) -> Self {
        Self {
            name,
            content_type: "text/javascript; charset=utf-8",
            parts,
        }
    }
}

/// Answers with the asset of a name.
pub fn asset(request: &Request, assets: &[Asset], name: &str) -> Outcome<Response> {
    let Some(asset) = assets.iter().find(|asset| asset.name == name) else {
        return Err(refusal(&not_found(&request.path()))?);
    };
    allow(request, &["GET", "HEAD"])?;
    let body = asset.parts.concat();
    let tag = entity_tag::of(body.as_bytes());
    let known = request.headers().get("if-none-match")?;
    // Asked again each time and answered without a body: a new release is seen at once.
    let response = ResponseBuilder::new()
        .with_header("etag", &tag)?
        .with_header("cache-control", "no-cache")?;
    if known.is_some_and(|known| entity_tag::matches(&known, &tag)) {
        return Ok(response.with_status(304).empty());
    }
    Ok(response
        .with_header("content-type", asset.content_type)?
        .fixed(body.into_bytes()))
}

//! `GET /`: what is in force, and who changed it.

use conclave_worker_common::{Outcome, allow, html::html, page as finished};
use worker::{Env, Request, Response};

use super::{require_login, sections, signed_in, texts};
use crate::{
    current,
    ledger::{self, Ask, HistoryEntry},
};

/// Revisions that the page shows at once.
const REVISIONS: u32 = 20;

/// Answers with the page.
pub(crate) async fn page(request: &Request, env: &Env) -> Outcome<Response> {
    allow(request, &["GET", "HEAD"])?;
    let who = require_login(request, env).await?;
    let current = current::fresh(env).await?;
    let url = request.url()?;
    let before = url.query_pairs().find(|(name, _)| name == "before");
    let before: Option<u64> = before.and_then(|(_, value)| value.parse().ok());
    // One more than is shown reveals whether there are older ones.
    let asked = Ask::History {
        before,
        limit: REVISIONS + 1,
    };
    // Without the ledger the switches in KV still count, and the page says what is known of them.
    let mut history: Vec<HistoryEntry> = ledger::ask(env, &asked).await.unwrap_or_default();
    let more = history.len() > REVISIONS as usize;
    history.truncate(REVISIONS as usize);
    let older = history.last().filter(|_| more).map(|entry| entry.revision);

    let effective = current.effective();
    let config = &effective.config;
    let body = html! {
        div.heading { h1 { (texts::TITLE) } p.note { (texts::revision(config.revision)) } }
        (sections::warnings(&effective.warnings))
        (sections::providers(config))
        div.columns { (sections::reviewers(config)) }
        (sections::projects(config))
        (sections::prices(config))
        (sections::history(&history))
        nav.pages aria-label=(texts::HISTORY) {
            @if before.is_some() { a href="/" rel="prev" { (texts::NEWEST) } }
            @if let Some(older) = older { a href={ "/?before=" (older) } rel="next" { (texts::OLDER) } }
        }
    };
    Ok(finished(200, signed_in(&who, &body))?)
}

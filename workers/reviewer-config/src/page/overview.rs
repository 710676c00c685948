//! `GET /`: what is in force, and who changed it.

use conclave_worker_common::{
    Outcome, allow,
    html::{Html, html},
    page as finished,
};
use worker::{Env, Request, Response};

use super::{require_login, sections, signed_in, texts};
use crate::{
    current,
    ledger::{self, Ask, HistoryEntry},
};

/// How many revisions the page shows at once.
const REVISIONS: u32 = 20;

/// Answers with the page.
pub(crate) async fn page(request: &Request, env: &Env) -> Outcome<Response> {
    allow(request, &["GET", "HEAD"])?;
    let who = require_login(request, env).await?;
    let current = current::fresh(env).await?;
    let url = request.url()?;
    let before = url.query_pairs().find(|(name, _)| name == "before");
    let before: Option<u64> = before.and_then(|(_, value)| value.parse().ok());
    // One more than is shown tells whether there are older ones.
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
    let body = html!(
        r#"<div class="heading"><h1>{}</h1><p class="note">{}</p></div>
{}{}<div class="columns">{}</div>{}{}{}"#,
        texts::TITLE,
        texts::revision(config.revision),
        sections::warnings(&effective.warnings),
        sections::providers(config),
        sections::reviewers(config),
        sections::projects(config),
        sections::prices(config),
        history_section(&history, older, before.is_some()),
    );
    Ok(finished(200, &signed_in(&who, &body))?)
}

fn history_section(history: &[HistoryEntry], older: Option<u64>, paged: bool) -> Html {
    let newest = paged.then(|| html!(r#"<a href="/" rel="prev">{}</a>"#, texts::NEWEST));
    let older = older.map(|revision| html!(r#"<a href="/?before={}" rel="next">{}</a>"#, revision, texts::OLDER));
    html!(
        r#"{}<nav class="pages" aria-label="{}">{}{}</nav>"#,
        sections::history(history),
        texts::HISTORY,
        newest,
        older,
    )
}

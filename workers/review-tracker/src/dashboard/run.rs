//! `GET /runs/{id}`: one review.

use conclave_shared::pricing::TokenUsage;
use conclave_worker_common::{
    Outcome, Refusal,
    html::{Html, breakable, html},
};
use uuid::Uuid;
use worker::{Env, Request, Response};

use super::{
    format, layout, page as finished, require_login, run_tables,
    runs_table::{findings, merge_request, or_nothing, tier, verdict},
    texts,
};
use crate::{
    clock,
    store::{self, RunDetail},
};

/// Answers with a review's page.
pub(crate) async fn page(request: &Request, env: &Env, id: &str) -> Outcome<Response> {
    require_login(request, env)?;
    let Ok(id) = Uuid::parse_str(id) else {
        return Err(unknown()?);
    };
    let Some(run) = store::run(env, id).await? else {
        return Err(unknown()?);
    };
    let title = format!("{} {}", run.row.project, merge_request(&run.row));
    let now_ms = clock::now_ms();
    let body = html!(
        r#"<nav class="back"><a href="/">{}</a></nav>
<div class="heading"><h1><span class="path">{}</span> <span class="mr">{}</span></h1><div class="badges">{}{}{}{}</div></div>
<section aria-label="{}"><dl class="figures facts">{}</dl></section>
{}{}"#,
        texts::BACK,
        breakable(&run.row.project),
        merge_request(&run.row),
        verdict(&run.row, now_ms),
        tier(&run.row),
        degraded(&run),
        run.row.verdict.is_some().then(|| findings(&run.row)),
        texts::FACTS,
        facts(&run, now_ms),
        run_tables::sessions(&run),
        run_tables::findings(&run),
    );
    finished(&title, &body)
}

fn unknown() -> worker::Result<Refusal> {
    let notice = layout::notice(texts::UNKNOWN_RUN, texts::UNKNOWN_RUN_DETAIL);
    let html = layout::signed_in(texts::UNKNOWN_RUN, &notice);
    conclave_worker_common::page(404, &html).map(Refusal::Answer)
}

fn degraded(run: &RunDetail) -> Option<Html> {
    (run.more.degraded == Some(1)).then(|| {
        html!(
            r#"<span class="chip warn" title="{}">{}</span>"#,
            texts::DEGRADED_DETAIL,
            texts::DEGRADED,
        )
    })
}

fn facts(run: &RunDetail, now_ms: i64) -> Html {
    let tokens = tokens(run);
    let cost: f64 = run.usage.iter().map(|usage| usage.cost_usd).sum();
    let detail = |detail: Option<String>| detail.unwrap_or_default();
    let lines = run.more.lines.zip(run.more.filtered_files);
    Html::join([
        fact(
            texts::STARTED,
            &html!("{}", format::moment(run.row.at_ms, now_ms)),
            &detail(run.more.client_version.as_deref().map(texts::started_detail)),
        ),
        fact(
            texts::DURATION,
            &text(run.row.duration_ms.map(format::duration)),
            &texts::sessions(run.sessions.len()),
        ),
        fact(
            texts::CHANGE,
            &text(run.row.files.map(texts::files)),
            &detail(lines.map(|(lines, filtered)| texts::lines(lines, filtered))),
        ),
        fact(
            texts::COST,
            &html!("{}", format::money(run.row.cost_usd.unwrap_or(cost))),
            &texts::calls(run.usage.iter().map(|usage| usage.calls).sum()),
        ),
        fact(
            texts::TOKENS_IN,
            &html!(
                "{}",
                format::short(tokens.input + tokens.cache_read + tokens.cache_write)
            ),
            &detail(
                tokens
                    .cache_hit_rate()
                    .map(|rate| texts::cached(&format::percent(rate))),
            ),
        ),
        fact(
            texts::TOKENS_OUT,
            &html!("{}", format::short(tokens.output + tokens.reasoning)),
            &texts::reasoning(&format::short(tokens.reasoning)),
        ),
    ])
}

fn text(value: Option<String>) -> Html {
    html!("{}", or_nothing(value))
}

fn fact(name: &str, value: &Html, detail: &str) -> Html {
    html!(
        r#"<div class="figure"><dt>{}</dt><dd><strong>{}</strong><span>{}</span></dd></div>"#,
        name,
        value,
        detail,
    )
}

/// The run's tokens, or those of its sessions so far.
fn tokens(run: &RunDetail) -> TokenUsage {
    let more = &run.more;
    if let (Some(input), Some(output), Some(reasoning), Some(cache_read), Some(cache_write)) = (
        more.input,
        more.output,
        more.reasoning,
        more.cache_read,
        more.cache_write,
    ) {
        return TokenUsage {
            input,
            output,
            reasoning,
            cache_read,
            cache_write,
        };
    }
    let mut sum = TokenUsage::default();
    for usage in &run.usage {
        sum += usage.tokens();
    }
    sum
}

//! `GET /runs/{id}`: one review.

use conclave_shared::pricing::TokenUsage;
use conclave_worker_common::{
    Outcome, Refusal,
    html::{Html, breakable, html},
};
use uuid::Uuid;
use worker::{Env, Request, Response};

use super::{
    FRAME,
    cells::{findings, merge_request, tier, verdict},
    format, layout,
    page::{Asked, csv_of},
    run_tables, runs,
    summary::{figure, figures},
    texts,
};
use crate::store::{self, RunDetail};

/// Answers with a review's page.
pub(crate) async fn page(request: &Request, env: &Env, id: &str) -> Outcome<Response> {
    let asked = Asked::of(request, env).await?;
    let Ok(id) = Uuid::parse_str(id) else {
        return Err(unknown(&asked)?);
    };
    let Some(run) = store::run(env, id).await? else {
        return Err(unknown(&asked)?);
    };
    let path = format!("/runs/{id}");
    let mut tables = vec![run_tables::sessions(&run), run_tables::findings(&run)];
    tables.extend(
        [run_tables::incidents(&run), run_tables::settled(&run)]
            .into_iter()
            .filter(|table| !table.rows.is_empty()),
    );
    if let Some(answer) = csv_of(&asked, &path, &tables)? {
        return Ok(answer);
    }
    let title = format!("{} {}", run.row.project, merge_request(&run.row));
    let now_ms = asked.now_ms;
    let sections = tables
        .iter()
        .map(|table| table.section(&format!("{path}?csv={}", table.id), now_ms));
    let body = html!(
        r#"<nav class="back" aria-label="{}"><a href="{}">{}</a></nav>
<div class="heading"><h1><span class="path">{}</span> <span class="mr">{}</span></h1><div class="badges">{}{}{}{}</div></div>
{}<div class="sections">{}</div>"#,
        texts::WAY_BACK,
        runs::PATH,
        texts::BACK_TO_RUNS,
        breakable(&run.row.project),
        merge_request(&run.row),
        verdict(&run.row, now_ms),
        tier(&run.row),
        marks(&run),
        run.row.verdict.is_some().then(|| findings(&run.row)),
        figures("six", facts(&run, now_ms)),
        Html::join(sections),
    );
    Ok(conclave_worker_common::page(
        200,
        &layout::signed_in(&asked, &title, &path, &body, false),
    )?)
}

fn unknown(asked: &Asked) -> worker::Result<Refusal> {
    let notice = FRAME.notice(texts::UNKNOWN_RUN, texts::UNKNOWN_RUN_DETAIL);
    let html = layout::signed_in(asked, texts::UNKNOWN_RUN, "", &notice, false);
    conclave_worker_common::page(404, &html).map(Refusal::Answer)
}

/// What else has to be known of the verdict.
fn marks(run: &RunDetail) -> Html {
    let chip = |shown: bool, name: &str, detail: &str| {
        if shown {
            html!(r#"<span class="chip warn" title="{}">{}</span>"#, detail, name)
        } else {
            Html::default()
        }
    };
    let more = &run.more;
    let missed = more.not_read.unwrap_or_default() + more.cut.unwrap_or_default() + more.gaps.unwrap_or_default();
    let applied = texts::not_applied(more.wanted.as_deref(), more.shown.as_deref());
    let failed = run.row.failed_stage.as_deref().zip(run.row.failed_kind.as_deref());
    let failed = failed.map(|(stage, kind)| texts::failed_detail(stage, kind));
    Html::join([
        chip(
            failed.is_some() && run.row.verdict.is_none(),
            failed.as_deref().unwrap_or_default(),
            texts::FAILED_BY_STAGE_NOTE,
        ),
        chip(more.degraded == Some(1), texts::DEGRADED, texts::DEGRADED_DETAIL),
        chip(missed > 0, &texts::missed(missed), texts::MISSED_DETAIL),
        chip(more.mismatch == Some(1), texts::MISMATCH, &applied),
    ])
}

fn facts(run: &RunDetail, now_ms: i64) -> [Html; 6] {
    let tokens = tokens(run);
    let cost: f64 = run.usage.iter().map(|usage| usage.cost_usd).sum();
    let detail = |detail: Option<String>| detail.unwrap_or_default();
    let lines = run.more.lines.zip(run.more.filtered_files);
    [
        figure(
            texts::STARTED,
            &format::moment(run.row.at_ms, now_ms),
            &detail(run.more.client_version.as_deref().map(texts::started_detail)),
        ),
        figure(
            texts::DURATION,
            &text(run.row.duration_ms.map(format::duration)),
            &texts::sessions(run.sessions.len()),
        ),
        figure(
            texts::CHANGE,
            &text(run.row.files.map(texts::files)),
            &detail(lines.map(|(lines, filtered)| texts::lines(lines, filtered))),
        ),
        figure(
            texts::COST,
            &format::money(run.row.cost_usd.unwrap_or(cost)),
            &texts::counted(run.usage.iter().map(|usage| usage.calls).sum(), "call"),
        ),
        figure(
            texts::TOKENS_IN,
            &format::short(tokens.input + tokens.cache_read + tokens.cache_write),
            &detail(
                tokens
                    .cache_hit_rate()
                    .map(|rate| texts::cached(&format::percent(rate))),
            ),
        ),
        figure(
            texts::TOKENS_OUT,
            &format::short(tokens.output + tokens.reasoning),
            &texts::reasoning(&format::short(tokens.reasoning)),
        ),
    ]
}

fn text(value: Option<String>) -> String {
    value.unwrap_or_else(|| format::NOTHING.to_owned())
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

//! `GET /runs/{id}`: one review.

use conclave_shared::pricing::TokenUsage;
use conclave_worker_common::{
    Outcome, Refusal,
    html::{Html, breakable, html},
    page as answer,
};
use uuid::Uuid;
use worker::{Env, Request, Response};

use super::{
    FRAME,
    cells::{failed_detail, findings, merge_request, tier, verdict},
    figures::{figure, figures},
    format::{self, counted, or_nothing},
    page::{Asked, RUNS, csv_of},
    run_tables,
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
    let path = format!("{}/{id}", RUNS.path);
    let mut tables = vec![run_tables::sessions(&run), run_tables::findings(&run)];
    let more = [run_tables::incidents(&run), run_tables::settled(&run)];
    tables.extend(more.into_iter().filter(|table| !table.is_empty()));
    if let Some(answer) = csv_of(&asked, &path, &tables)? {
        return Ok(answer);
    }
    let title = format!("{} {}", run.row.project, merge_request(&run.row));
    let now_ms = asked.now_ms;
    let body = html! {
        nav.back aria-label="Way back" { a href=(RUNS.path) { "All reviews" } }
        div.heading {
            h1 { span.path { (breakable(&run.row.project)) } " " span.mr { (merge_request(&run.row)) } }
            div.badges {
                (verdict(&run.row, now_ms)) (tier(&run.row)) (marks(&run))
                @if run.row.verdict.is_some() { (findings(&run.row)) }
            }
        }
        (figures("six", facts(&run, now_ms)))
        div.sections { @for table in &tables { (table.section(&format!("{path}?csv={}", table.id), now_ms)) } }
    };
    Ok(answer(200, asked.document(&title, &path, &body, false))?)
}

fn unknown(asked: &Asked) -> worker::Result<Refusal> {
    let title = "No such review";
    let notice = FRAME.notice(
        title,
        "Nothing has been heard of this review, or it is older than what is kept.",
    );
    answer(404, asked.document(title, "", &notice, false)).map(Refusal::Answer)
}

/// Remarks on the verdict.
fn marks(run: &RunDetail) -> Html {
    let more = &run.more;
    let failed = run.row.failed_stage.as_deref().zip(run.row.failed_kind.as_deref());
    let unposted = run.row.verdict.as_deref().filter(|_| failed.is_some());
    let missed = more.not_read.unwrap_or_default() + more.cut.unwrap_or_default() + more.gaps.unwrap_or_default();
    let words = |name: &Option<String>| name.as_deref().map_or_else(|| "nothing".to_owned(), format::words);
    let chips = [
        failed.map(|(stage, kind)| {
            (
                failed_detail(stage, kind),
                "Reviews that ended before a verdict was posted.".to_owned(),
            )
        }),
        unposted.map(|verdict| {
            (
                format!("not posted: {}", format::words(verdict).to_lowercase()),
                "The verdict of a review that could not be posted. It counts as failed.".to_owned(),
            )
        }),
        (more.degraded == Some(1)).then(|| {
            (
                "without the coordinator".to_owned(),
                "The coordinator did not answer, so the verdict was computed from the findings alone.".to_owned(),
            )
        }),
        (missed > 0).then(|| {
            (
                format!("{} not reviewed", counted(missed, "part")),
                "Something that had to be reviewed was not, or only in part.".to_owned(),
            )
        }),
        (more.mismatch == Some(1)).then(|| {
            let detail = format!(
                "Asked of the forge: {}; it shows: {}.",
                words(&more.wanted),
                words(&more.shown)
            );
            ("not applied".to_owned(), detail)
        }),
    ];
    html! {
        @for (name, detail) in chips.into_iter().flatten() { span class="chip warn" title=(detail) { (name) } }
    }
}

fn facts(run: &RunDetail, now_ms: i64) -> [Html; 6] {
    let tokens = tokens(run);
    let cost: f64 = run.usage.iter().map(|usage| usage.cost_usd).sum();
    let calls = run.usage.iter().map(|usage| usage.calls).sum();
    let client = run.more.client_version.as_deref();
    let lines = run.more.lines.zip(run.more.filtered_files);
    let read = tokens.input + tokens.cache_read + tokens.cache_write;
    let sessions = u64::try_from(run.sessions.len()).unwrap_or(u64::MAX);
    [
        figure(
            "Started",
            format::moment(run.row.at_ms, now_ms),
            client
                .map(|client| format!("UTC, Conclave {client}"))
                .unwrap_or_default(),
        ),
        figure(
            "Duration",
            or_nothing(run.row.duration_ms, format::duration),
            counted(sessions, "session"),
        ),
        figure(
            "Change",
            or_nothing(run.row.files, |files| counted(files, "file")),
            lines
                .map(|(lines, filtered)| format!("{}; {} left out", counted(lines, "line"), counted(filtered, "file")))
                .unwrap_or_default(),
        ),
        figure(
            "Cost",
            format::money(run.row.cost_usd.unwrap_or(cost)),
            counted(calls, "call"),
        ),
        figure(
            "Tokens read",
            format::short(read),
            tokens.cache_hit_rate().map(format::cached).unwrap_or_default(),
        ),
        figure(
            "Tokens written",
            format::short(tokens.output + tokens.reasoning),
            format!("{} of them reasoning", format::short(tokens.reasoning)),
        ),
    ]
}

/// The run's tokens, or those of its sessions so far.
fn tokens(run: &RunDetail) -> TokenUsage {
    let more = &run.more;
    let whole = || {
        Some(TokenUsage {
            input: more.input?,
            output: more.output?,
            reasoning: more.reasoning?,
            cache_read: more.cache_read?,
            cache_write: more.cache_write?,
        })
    };
    whole().unwrap_or_else(|| run_tables::tokens(&run.usage))
}

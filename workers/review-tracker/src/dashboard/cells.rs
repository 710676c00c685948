//! Cells that several pages have: verdicts, severities, reviewers, runs.

use conclave_shared::reviewer::ReviewerName;
use conclave_worker_common::html::{Html, breakable, html};
use uuid::Uuid;

use super::{
    format,
    table::{Cell, Column, Row, Table},
    texts,
};
use crate::store::RunRow;

/// Verdicts in the order in which they are shown, from good to bad to unknown.
pub(crate) const VERDICTS: [&str; 5] = [
    "approved",
    "approved_with_comments",
    "minor_issues",
    "significant_concerns",
    "inconclusive",
];

/// Severities, the worst first.
pub(crate) const SEVERITIES: [&str; 3] = ["critical", "warning", "suggestion"];

/// A name on the wire as words.
pub(crate) fn named(name: &str) -> Cell {
    Cell::Named(format::words(name), name.to_owned())
}

/// A reviewer, or the coordinator.
pub(crate) fn agent(name: &str) -> Cell {
    Cell::Named(agent_name(name), name.to_owned())
}

/// A reviewer's name as people read it.
pub(crate) fn agent_name(name: &str) -> String {
    ReviewerName::new(name).map_or_else(|_| name.to_owned(), |known| format::words(&known.display_name()))
}

/// A severity with its mark.
pub(crate) fn severity(name: &str) -> Cell {
    let markup = html!(
        r#"<span class="severity s-{}"><span class="mark" aria-hidden="true"></span>{}</span>"#,
        name,
        format::words(name)
    );
    Cell::Markup(markup, name.to_owned())
}

/// A column for each severity.
pub(crate) fn severity_columns() -> [Column; 3] {
    SEVERITIES.map(|severity| Column::number(&format::words(severity), severity))
}

/// Counts by severity, and all of them.
pub(crate) fn severity_counts(counts: [u64; 3]) -> Vec<Cell> {
    let all = counts.iter().sum();
    counts.into_iter().chain([all]).map(count_or_nothing).collect()
}

/// The name of a row of sums, which no file has.
pub(crate) fn sum_name() -> Cell {
    Cell::Named(texts::SUM.to_owned(), String::new())
}

/// A number that says nothing where it is zero.
pub(crate) fn count_or_nothing(count: u64) -> Cell {
    if count == 0 { Cell::Nothing } else { Cell::Count(count) }
}

/// A part of a whole.
pub(crate) fn share(part: u64, whole: u64) -> Cell {
    Cell::or_nothing(ratio(part, whole), Cell::Share)
}

/// A part of a whole, if there is a whole.
pub(crate) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| as_f64(part) / as_f64(whole))
}

/// A count as a number to divide by.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub(crate) const fn as_f64(count: u64) -> f64 {
    count as f64
}

/// A link to a run, by its project.
pub(crate) fn run_link(run: Uuid, project: &str) -> Cell {
    let markup = html!(r#"<a href="/runs/{}">{}</a>"#, run, breakable(project));
    Cell::Markup(markup, run.to_string())
}

/// The merge request's number as GitLab writes it.
pub(crate) fn merge_request(run: &RunRow) -> String {
    run.merge_request
        .map_or_else(|| texts::LOCAL.to_owned(), |number| format!("!{number}"))
}

/// A verdict as a coloured mark with its name; without one, whether the review may still be going on.
pub(crate) fn verdict(run: &RunRow, now_ms: i64) -> Html {
    match &run.verdict {
        Some(verdict) => html!(
            r#"<span class="verdict v-{}">{}</span>"#,
            verdict,
            format::words(verdict)
        ),
        None => match end_of(run, now_ms) {
            End::Skipped => mark("v-none", texts::SKIPPED_DETAIL, texts::SKIPPED),
            End::Unneeded => mark("v-none", texts::UNNEEDED_DETAIL, texts::UNNEEDED),
            End::Failed(stage, kind) => mark("v-failed", &texts::failed_detail(stage, kind), texts::FAILED),
            End::Running => html!(r#"<span class="verdict v-running">{}</span>"#, texts::RUNNING),
            End::Lost => mark("v-lost", texts::LOST_DETAIL, texts::LOST),
        },
    }
}

fn mark(class: &str, detail: &str, name: &str) -> Html {
    html!(r#"<span class="verdict {}" title="{}">{}</span>"#, class, detail, name)
}

/// How a run without a verdict ended, or has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End<'a> {
    /// A person skipped it.
    Skipped,
    /// There was nothing to review.
    Unneeded,
    /// It failed, at a stage, for a reason.
    Failed(&'a str, &'a str),
    /// Its end was not heard of within its limit.
    Lost,
    /// It may be going on.
    Running,
}

/// How a run ended that has no verdict.
pub(crate) fn end_of(run: &RunRow, now_ms: i64) -> End<'_> {
    match (run.skipped, &run.failed_stage, &run.failed_kind) {
        (1, ..) => End::Skipped,
        (0, Some(stage), Some(kind)) => End::Failed(stage, kind),
        (0, ..) if now_ms > run.deadline_ms() => End::Lost,
        (0, ..) => End::Running,
        _ => End::Unneeded,
    }
}

/// The same as one word, empty while nothing is known.
fn outcome(run: &RunRow, now_ms: i64) -> String {
    let ended = || match end_of(run, now_ms) {
        End::Skipped => "skipped",
        End::Unneeded => "nothing_to_review",
        End::Failed(..) => "failed",
        End::Lost => "lost",
        End::Running => "",
    };
    run.verdict.clone().unwrap_or_else(|| ended().to_owned())
}

/// The tier as a chip.
pub(crate) fn tier(run: &RunRow) -> Html {
    run.tier
        .as_ref()
        .map_or_else(Html::default, |tier| html!(r#"<span class="chip">{}</span>"#, tier))
}

/// Findings by severity: a mark of its own shape and a number each, the severity in words for whoever cannot see it.
pub(crate) fn findings(run: &RunRow) -> Html {
    let (Some(critical), Some(warning), Some(suggestion)) = (run.critical, run.warning, run.suggestion) else {
        return html!("{}", format::NOTHING);
    };
    if critical + warning + suggestion == 0 {
        return html!(r#"<span class="none">{}</span>"#, texts::NONE);
    }
    let counts = SEVERITIES.into_iter().zip([critical, warning, suggestion]);
    Html::join(counts.filter(|(_, count)| *count > 0).map(|(severity, count)| {
        html!(
            r#"<span class="severity s-{}" title="{}"><span class="mark" aria-hidden="true"></span>{}<span class="hidden"> {} </span></span>"#,
            severity,
            texts::severity_count(count, severity),
            format::count(count),
            severity,
        )
    }))
}

/// A table of runs.
pub(crate) fn runs_table(runs: &[RunRow], now_ms: i64) -> Table {
    let rows = runs.iter().map(|run| {
        let name = html!(
            r#"<span class="path">{}</span> <span class="mr">{}</span>"#,
            breakable(&run.project),
            merge_request(run)
        );
        Row {
            cells: vec![
                Cell::Markup(name, run.project.clone()),
                Cell::Moment(run.at_ms),
                Cell::Markup(tier(run), run.tier.clone().unwrap_or_default()),
                Cell::Markup(verdict(run, now_ms), outcome(run, now_ms)),
                Cell::Markup(findings(run), found(run)),
                Cell::or_nothing(run.files, Cell::Count),
                Cell::or_nothing(run.duration_ms, duration),
                Cell::or_nothing(run.cost_usd, Cell::Money),
                // Only in the file: the page has them in its links.
                Cell::Markup(
                    Html::default(),
                    run.merge_request.map(|number| number.to_string()).unwrap_or_default(),
                ),
                Cell::Markup(Html::default(), run.run_id.to_string()),
            ],
            href: Some(format!("/runs/{}", run.run_id)),
            class: if run.verdict.is_some() || end_of(run, now_ms) != End::Running {
                "ended"
            } else {
                "open"
            },
        }
    });
    Table {
        id: "runs",
        title: texts::RUNS,
        note: texts::TIMES_ARE_UTC,
        columns: vec![
            Column::words(texts::PROJECT, "project"),
            Column::words(texts::STARTED, "started"),
            Column::words(texts::TIER, "tier"),
            Column::words(texts::VERDICT, "verdict"),
            Column::words(texts::FINDINGS, "findings"),
            Column::number(texts::FILES, "files"),
            Column::number(texts::DURATION, "duration_seconds"),
            Column::number(texts::COST, "cost_usd"),
            Column::only_csv("merge_request"),
            Column::only_csv("run_id"),
        ],
        rows: rows.collect(),
        nothing: texts::NOTHING_HERE_DETAIL,
        ..Table::default()
    }
}

fn found(run: &RunRow) -> String {
    let all = run.critical.zip(run.warning).zip(run.suggestion);
    all.map(|((critical, warning), suggestion)| (critical + warning + suggestion).to_string())
        .unwrap_or_default()
}

/// A duration in milliseconds.
#[expect(clippy::cast_precision_loss, reason = "durations stay far below 2^53")]
pub(crate) const fn duration(milliseconds: i64) -> Cell {
    Cell::Duration(milliseconds as f64)
}

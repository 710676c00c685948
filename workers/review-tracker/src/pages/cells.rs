//! Cells that several pages have: verdicts, severities, reviewers, runs.

use conclave_shared::reviewer::ReviewerName;
use conclave_worker_common::html::{Html, breakable, html};
use uuid::Uuid;

use super::{
    format,
    table::{Cell, TableOf},
};
use crate::{sketch::float, store::RunRow};

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

/// Says that the filters leave nothing.
pub(crate) const NOTHING_HERE: &str =
    "No review fits these filters. Look at a longer period, another tier or all projects.";

/// A name on the wire as words; nothing for an empty one.
pub(crate) fn named(name: &str) -> Cell {
    match name {
        "" => Cell::Nothing,
        name => Cell::name(format::words(name), name),
    }
}

/// A reviewer, or the coordinator.
pub(crate) fn agent(name: &str) -> Cell {
    let known = ReviewerName::new(name).map(|known| format::words(&known.display_name()));
    Cell::name(known.unwrap_or_else(|_| name.to_owned()), name)
}

/// Reviews or findings that belong to no tier or reviewer.
pub(crate) fn unclassified() -> Cell {
    Cell::name("Unclassified", "unclassified")
}

/// A colored mark with a name.
pub(crate) fn mark(class: &str, detail: Option<&str>, name: &str) -> Html {
    html! { span class={ "verdict " (class) } title=[detail] { (name) } }
}

/// A severity with its mark.
pub(crate) fn severity(name: &str) -> Cell {
    let markup = html! {
        span class={ "severity s-" (name) } { span.mark aria-hidden="true" {} (format::words(name)) }
    };
    Cell::markup(markup, name)
}

/// A file.
pub(crate) fn file(path: &str) -> Cell {
    Cell::markup(html! { span.file { (breakable(path)) } }, path)
}

impl<T> TableOf<T> {
    /// Adds a column for each severity, and one for all of them.
    pub(crate) fn severities(mut self, counts: impl Fn(&T) -> [u64; 3]) -> Self {
        for (place, severity) in SEVERITIES.into_iter().enumerate() {
            let count = |item: &T| counts(item).get(place).copied().unwrap_or_default();
            self = self.number(&format::words(severity), severity, |item| count_or_nothing(count(item)));
        }
        self.number("Total", "total", |item| count_or_nothing(counts(item).iter().sum()))
    }
}

/// A number that says nothing where it is zero.
pub(crate) const fn count_or_nothing(count: u64) -> Cell {
    if count == 0 { Cell::Nothing } else { Cell::Count(count) }
}

/// A part of a whole.
pub(crate) fn share(part: u64, whole: u64) -> Cell {
    Cell::or_nothing(ratio(part, whole), Cell::Share)
}

/// A part of a whole, if there is a whole.
pub(crate) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| float(part) / float(whole))
}

/// A link to a run, by its project.
pub(crate) fn run_link(run: Uuid, project: &str) -> Cell {
    Cell::markup(
        html! { a href={ "/runs/" (run) } { (breakable(project)) } },
        run.to_string(),
    )
}

/// The reason for which a model was replaced.
pub(crate) fn failback_reason(reason: &str) -> Cell {
    Cell::name(failback_reason_words(reason), reason)
}

/// The same in words.
pub(crate) fn failback_reason_words(reason: &str) -> String {
    match reason {
        "reprompted" => "Prompted again".to_owned(),
        other => format::words(other),
    }
}

/// The place where a finding was posted.
pub(crate) fn placement(place: &str) -> Cell {
    let words = match place {
        "line" => "On the line".to_owned(),
        "file" => "On the file".to_owned(),
        "summary" => "In the summary".to_owned(),
        other => format::words(other),
    };
    Cell::name(words, place)
}

/// The merge request's number as GitLab writes it.
pub(crate) fn merge_request(run: &RunRow) -> String {
    run.merge_request
        .map_or_else(|| "local".to_owned(), |number| format!("!{number}"))
}

/// A verdict as a colored mark with its name; without one, whether the review may still be going on.
pub(crate) fn verdict(run: &RunRow, now_ms: i64) -> Html {
    if let Some(verdict) = posted_verdict(run) {
        return mark(&format!("v-{verdict}"), None, &format::words(verdict));
    }
    match end_of(run, now_ms) {
        End::Skipped => mark(
            "v-none",
            Some("A person skipped this review with a comment: break glass."),
            "Skipped",
        ),
        End::Unneeded => mark(
            "v-none",
            Some("The change has nothing that could be reviewed."),
            "Nothing to review",
        ),
        End::Failed(stage, kind) => mark("v-failed", Some(&failed_detail(stage, kind)), "Failed"),
        End::Running => mark("v-running", None, "In progress"),
        End::Lost => mark(
            "v-lost",
            Some(
                "The end of this review was not reported within its time limit: its job was killed, or it could not reach the tracker.",
            ),
            "Lost",
        ),
    }
}

/// The verdict of a run that did not fail: one that could not be posted is none.
fn posted_verdict(run: &RunRow) -> Option<&str> {
    run.verdict.as_deref().filter(|_| run.failed_kind.is_none())
}

/// The stage and the kind of a failure.
pub(crate) fn failed_detail(stage: &str, kind: &str) -> String {
    format!("{}: {}", format::words(stage), format::words(kind).to_lowercase())
}

/// The end of a run without a verdict, if it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End<'a> {
    /// A person skipped it.
    Skipped,
    /// There was nothing to review.
    Unneeded,
    /// It failed, at a stage, for a reason.
    Failed(&'a str, &'a str),
    /// Its end was not reported within its limit.
    Lost,
    /// It may be going on.
    Running,
}

/// The end of a run that has no verdict.
fn end_of(run: &RunRow, now_ms: i64) -> End<'_> {
    match (run.skipped, &run.failed_stage, &run.failed_kind) {
        // Also where a person wanted to skip it, and the forge did not take that.
        (_, Some(stage), Some(kind)) => End::Failed(stage, kind),
        (1, ..) => End::Skipped,
        (0, ..) if now_ms > run.deadline_ms() => End::Lost,
        (0, ..) => End::Running,
        _ => End::Unneeded,
    }
}

/// The verdict or the end as one word, empty while nothing is known.
fn outcome(run: &RunRow, now_ms: i64) -> &str {
    posted_verdict(run).unwrap_or_else(|| match end_of(run, now_ms) {
        End::Skipped => "skipped",
        End::Unneeded => "nothing_to_review",
        End::Failed(..) => "failed",
        End::Lost => "lost",
        End::Running => "",
    })
}

/// The tier as a chip.
pub(crate) fn tier(run: &RunRow) -> Html {
    html! { @if let Some(tier) = &run.tier { span.chip { (tier) } } }
}

/// Findings that stand, by severity.
fn findings_of(run: &RunRow) -> Option<[u64; 3]> {
    Some([run.critical?, run.warning?, run.suggestion?])
}

/// Findings by severity: a mark of its own shape and a number each, the severity in words for readers who cannot see it.
pub(crate) fn findings(run: &RunRow) -> Html {
    let Some(counts) = findings_of(run) else {
        return html! { (format::NOTHING) };
    };
    html! {
        @if counts == [0; 3] { span.none { "none" } }
        @for (severity, count) in SEVERITIES.into_iter().zip(counts).filter(|(_, count)| *count > 0) {
            span class={ "severity s-" (severity) } title={ (count) " " (severity) } {
                span.mark aria-hidden="true" {} (format::count(count)) span.hidden { " " (severity) " " }
            }
        }
    }
}

/// A table of runs.
pub(crate) fn runs_table<'a>(title: &'static str, runs: &'a [RunRow], now_ms: i64) -> TableOf<&'a RunRow> {
    TableOf::new("runs", title, runs)
        .note("Times are UTC.")
        .nothing(NOTHING_HERE)
        .href(|run| format!("/runs/{}", run.run_id))
        .class(|run| match outcome(run, now_ms) {
            "" => "open",
            _ => "ended",
        })
        .words("Project", "project", |run| {
            let name = html! { span.path { (breakable(&run.project)) } " " span.mr { (merge_request(run)) } };
            Cell::markup(name, &run.project)
        })
        .words("Started", "started", |run| Cell::Moment(run.at_ms))
        .words("Tier", "tier", |run| {
            Cell::markup(tier(run), run.tier.as_deref().unwrap_or_default())
        })
        .words("Verdict", "verdict", |run| {
            Cell::markup(verdict(run, now_ms), outcome(run, now_ms))
        })
        .words("Findings", "findings", |run| {
            let all = findings_of(run).map(|counts| counts.iter().sum::<u64>().to_string());
            Cell::markup(findings(run), all.unwrap_or_default())
        })
        .number("Files", "files", |run| Cell::or_nothing(run.files, Cell::Count))
        .number("Duration", "duration_seconds", |run| {
            Cell::or_nothing(run.duration_ms, duration)
        })
        .number("Cost", "cost_usd", |run| Cell::or_nothing(run.cost_usd, Cell::Money))
        // Only in the file: the page has them in its links.
        .only_csv("merge_request", |run| {
            let number = run.merge_request.map(|number| number.to_string());
            Cell::only_csv(number.unwrap_or_default())
        })
        .only_csv("run_id", |run| Cell::only_csv(run.run_id.to_string()))
}

/// A duration in milliseconds.
#[expect(clippy::cast_precision_loss, reason = "durations stay far below 2^53")]
pub(crate) const fn duration(milliseconds: i64) -> Cell {
    Cell::Duration(milliseconds as f64)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_run_that_failed_is_shown_as_failed_also_if_a_person_wanted_to_skip_it() {
        let end = |skipped: u8, failed: bool| {
            let (stage, kind) = if failed {
                (json!("publish"), json!("unauthorized"))
            } else {
                (Value::Null, Value::Null)
            };
            let run = json!({ "run_id": Uuid::nil(), "project": "p", "at_ms": 0, "skipped": skipped, "failed_stage": stage,
                "failed_kind": kind });
            let run: RunRow = serde_json::from_value(run).expect("a row");
            outcome(&run, 1).to_owned()
        };
        assert_eq!([end(0, true), end(1, true)], ["failed", "failed"]);
        assert_eq!(
            [end(0, false), end(1, false), end(2, false)],
            ["", "skipped", "nothing_to_review"]
        );
    }
}

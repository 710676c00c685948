//! What people read on the dashboard, in one place.

use super::format;

pub(crate) const SKIP: &str = "Skip to the content";
pub(crate) const LOG_OUT: &str = "Log out";
pub(crate) const BACK: &str = "Back to all reviews";

pub(crate) const LOG_IN: &str = "Log in";
pub(crate) const LOG_IN_TITLE: &str = "Conclave reviews";
pub(crate) const TOKEN: &str = "Access token";
pub(crate) const LOG_IN_HINT: &str = "It is one of this Worker's DASHBOARD_TOKENS. A link that ends in /login#token=… logs \
    in by itself; what follows the # is never sent in a request's address.";
pub(crate) const WRONG_TOKEN: &str =
    "That token is not accepted. It may have been replaced: ask whoever runs this tracker.";
pub(crate) const NO_DASHBOARD_TOKENS: &str = "Nobody can log in yet";
pub(crate) const NO_DASHBOARD_TOKENS_DETAIL: &str = "No token is configured. Run `wrangler secret put DASHBOARD_TOKENS -e \
    review-tracker` and give it one or more tokens separated by commas. For a local run, put the line \
    DASHBOARD_TOKENS=… into .dev.vars beside wrangler.toml.";

pub(crate) const NOT_READY: &str = "The tracker is not set up yet";
pub(crate) const FAILED: &str = "That did not work";
pub(crate) const FAILED_DETAIL: &str =
    "The page could not be made. Try again in a moment; the reason is in the Worker's log.";
pub(crate) const UNKNOWN_RUN: &str = "No such review";
pub(crate) const UNKNOWN_RUN_DETAIL: &str = "Nothing has been heard of this review, or it is older than what is kept.";

pub(crate) const OVERVIEW: &str = "Reviews";
pub(crate) const PROJECT: &str = "Project";
pub(crate) const ALL_PROJECTS: &str = "All projects";
pub(crate) const TIER: &str = "Tier";
pub(crate) const ALL_TIERS: &str = "All";
pub(crate) const WINDOW: &str = "Period";
pub(crate) const SHOW: &str = "Show";
pub(crate) const FIGURES: &str = "Key figures";
pub(crate) const REVIEWS: &str = "Reviews";
pub(crate) const COST: &str = "Cost";
pub(crate) const MEDIAN_DURATION: &str = "Median duration";
pub(crate) const CACHE_HIT_RATE: &str = "Cache hit rate";
pub(crate) const CACHE_HIT_RATE_DETAIL: &str = "of cacheable prompt tokens";
pub(crate) const FINDINGS_A_REVIEW: &str = "Findings per review";
pub(crate) const REVIEWS_A_DAY: &str = "Reviews per day";
pub(crate) const VERDICTS: &str = "Verdicts";
pub(crate) const RUNS: &str = "Latest reviews";
pub(crate) const TIMES_ARE_UTC: &str = "Times are UTC.";
pub(crate) const OLDER: &str = "Older reviews";
pub(crate) const NEWEST: &str = "Newest reviews";

pub(crate) const STARTED: &str = "Started";
pub(crate) const VERDICT: &str = "Verdict";
pub(crate) const DURATION: &str = "Duration";
pub(crate) const FINDINGS: &str = "Findings";
pub(crate) const FILES: &str = "Files";
pub(crate) const RUNNING: &str = "In progress";
pub(crate) const NO_END: &str = "No end seen";
pub(crate) const NO_END_DETAIL: &str =
    "The end of this review was never reported: it was cancelled, or it could not reach the tracker.";
pub(crate) const NONE: &str = "none";
pub(crate) const LOCAL: &str = "local";

pub(crate) const EMPTY_TITLE: &str = "No review has reported here yet";
pub(crate) const EMPTY_LEAD: &str = "Each review tells this tracker what it cost, how long it took and what it found. It never \
    sends code, prompts or names of people, and a tracker that is down never holds up a review.";
/// Title, explanation and what to type.
pub(crate) const EMPTY_STEPS: [(&str, &str, &str); 3] = [
    (
        "Let reviews in",
        "Give this Worker a token that they report with.",
        "npx wrangler secret put INGEST_TOKENS -e review-tracker",
    ),
    (
        "Tell reviews where to report",
        "Set two variables, in CI or in your shell: this page's address and that token.",
        "CONCLAVE_TRACKER_URL\nCONCLAVE_TRACKER_TOKEN",
    ),
    (
        "Review something",
        "Open a merge request, or review a working tree. The review is listed here as soon as it starts.",
        "",
    ),
];
pub(crate) const NOTHING_HERE_TITLE: &str = "No review fits these filters";
pub(crate) const NOTHING_HERE_DETAIL: &str = "Look at a longer period, another tier or all projects.";
pub(crate) const RESET: &str = "Clear the filters";

pub(crate) const FACTS: &str = "The review in figures";
pub(crate) const TOKENS_IN: &str = "Tokens read";
pub(crate) const TOKENS_OUT: &str = "Tokens written";
pub(crate) const CHANGE: &str = "Change";
pub(crate) const SESSIONS: &str = "Sessions";
pub(crate) const SESSIONS_NOTE: &str =
    "Each bar runs from a session's first prompt to its end, over the time of the whole review.";
pub(crate) const NO_SESSIONS: &str = "No session has ended yet.";
pub(crate) const REVIEWER: &str = "Reviewer";
pub(crate) const OUTCOME: &str = "Outcome";
pub(crate) const TIMELINE: &str = "Timeline";
pub(crate) const MODELS: &str = "Models";
pub(crate) const SUM: &str = "Sum";
pub(crate) const NO_FINDINGS: &str = "No finding was reported: the panel had nothing to say, or has not got there yet.";
pub(crate) const SEVERITY: &str = "Severity";
pub(crate) const CATEGORY: &str = "Category";
pub(crate) const FILE: &str = "File";
pub(crate) const FATE: &str = "Judged";
pub(crate) const REASON: &str = "Reason";
pub(crate) const DEGRADED: &str = "without the coordinator";
pub(crate) const DEGRADED_DETAIL: &str =
    "The coordinator did not answer, so the verdict was computed from the findings alone.";

pub(crate) fn window(days: u16) -> String {
    match days {
        1 => "Today".to_owned(),
        days => format!("{days} days"),
    }
}

pub(crate) fn reviews_a_day(rate: &str) -> String {
    format!("{rate} a day")
}

pub(crate) fn cost_each(mean: &str, median: &str) -> String {
    format!("{mean} average, {median} median")
}

pub(crate) fn ninety_percent(duration: &str) -> String {
    format!("90% within {duration}")
}

pub(crate) fn findings_in_all(count: &str) -> String {
    format!("{count} in all")
}

pub(crate) fn day_label(day: &str, runs: u64, cost: &str) -> String {
    format!("{day}: {}, {cost}", counted(runs, "review"))
}

pub(crate) fn chart_label(first: &str, last: &str, most: u64) -> String {
    format!("Reviews per day from {first} to {last}; {most} on the busiest day")
}

pub(crate) fn severity_count(count: u64, severity: &str) -> String {
    format!("{count} {severity}")
}

pub(crate) fn files(count: u64) -> String {
    counted(count, "file")
}

pub(crate) fn lines(lines: u64, filtered: u64) -> String {
    format!("{}; {} left out", counted(lines, "line"), counted(filtered, "file"))
}

pub(crate) fn sessions(count: usize) -> String {
    counted(u64::try_from(count).unwrap_or(u64::MAX), "session")
}

pub(crate) fn started_detail(client: &str) -> String {
    format!("UTC, Conclave {client}")
}

pub(crate) fn cached(share: &str) -> String {
    format!("{share} from the cache")
}

pub(crate) fn reasoning(tokens: &str) -> String {
    format!("{tokens} of them reasoning")
}

pub(crate) fn attempts(attempts: u32) -> String {
    format!("{attempts} attempts")
}

pub(crate) fn calls(count: u64) -> String {
    counted(count, "call")
}

/// How a session ended, in words.
pub(crate) fn outcome(name: &str) -> String {
    if name == "ok" {
        "OK".to_owned()
    } else {
        format::words(name)
    }
}

fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", format::count(count))
}

pub(crate) fn span_label(from: &str, duration: &str) -> String {
    format!("starts after {from}, takes {duration}")
}

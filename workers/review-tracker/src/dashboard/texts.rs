//! What people read on the dashboard, in one place.

use conclave_shared::{oidc::OidcError, telemetry::DatabaseSize};

use super::format;
use crate::store::FailbackRow;

pub(crate) const BACK: &str = "Back to the overview";

pub(crate) const LOG_IN_TITLE: &str = "Conclave reviews";
pub(crate) const TOKEN: &str = "Access token";
pub(crate) const LOG_IN_HINT: &str = "It is one of this Worker's DASHBOARD_TOKENS. A link that ends in /login#token=… \
    fills it in; what follows the # is never sent in a request's address.";
pub(crate) const LOG_IN_BY_LINK: &str =
    "The link that you have opened brings an access token. Log in with it only if you know who sent it.";
pub(crate) const WRONG_TOKEN: &str =
    "That token is not accepted. It may have been replaced: ask whoever runs this tracker.";
pub(crate) const NO_DASHBOARD_TOKENS: &str = "Nobody can log in yet";
pub(crate) const NO_DASHBOARD_TOKENS_DETAIL: &str = "No token is configured. Run `wrangler secret put DASHBOARD_TOKENS -e \
    review-tracker` and give it one or more tokens separated by commas. For a local run, put the line \
    DASHBOARD_TOKENS=… into .dev.vars beside wrangler.toml.";
pub(crate) const ACCESS_ONLY: &str = "Come through Cloudflare Access";
pub(crate) const ACCESS_ONLY_DETAIL: &str = "This dashboard has no tokens of its own. Open it at the address that your \
    organisation's Access protects, and log in there.";
pub(crate) const ACCESS_REFUSED: &str = "Cloudflare Access let you in, this Worker does not";
pub(crate) const ACCESS_NO_KEYS: &str = "The keys of Cloudflare Access cannot be read, so nobody can be let in through it \
    now. Try again in a moment; the reason is in the Worker's log.";

pub(crate) const NOT_READY: &str = "The tracker is not set up yet";
pub(crate) const FAILED_DETAIL: &str =
    "The page could not be made. Try again in a moment; the reason is in the Worker's log.";
pub(crate) const UNKNOWN_RUN: &str = "No such review";
pub(crate) const UNKNOWN_RUN_DETAIL: &str = "Nothing has been heard of this review, or it is older than what is kept.";

pub(crate) const PAGES: &str = "Pages";
pub(crate) const OVERVIEW: &str = "Overview";
pub(crate) const FINDINGS: &str = "Findings";
pub(crate) const MODELS: &str = "Models";
pub(crate) const RUNS: &str = "Reviews";
pub(crate) const HEALTH: &str = "Health";

pub(crate) const FILTERS: &str = "Filters";
pub(crate) const PROJECT: &str = "Project";
pub(crate) const ALL_PROJECTS: &str = "All projects";
pub(crate) const TIER: &str = "Tier";
pub(crate) const ALL_TIERS: &str = "All tiers";
pub(crate) const WINDOW: &str = "Period";
pub(crate) const FROM: &str = "From";
pub(crate) const TO: &str = "To";
pub(crate) const SHOW: &str = "Show";
pub(crate) const RESET: &str = "Clear the filters";
pub(crate) const SEARCH: &str = "Search";
pub(crate) const SEARCH_EXAMPLE: &str = "Project, !number or run";
pub(crate) const ANY_VERDICT: &str = "Any verdict";
pub(crate) const DATABASE: &str = "Database";
pub(crate) const SHOW_TABLE: &str = "Figures as a table";

pub(crate) const FIGURES: &str = "Key figures";
pub(crate) const REVIEWS: &str = "Reviews";
pub(crate) const REVIEW: &str = "Review";
pub(crate) const COST: &str = "Cost";
pub(crate) const MEDIAN_DURATION: &str = "Median duration";
pub(crate) const CACHE_HIT_RATE: &str = "Cache hit rate";
pub(crate) const CACHE_HIT_RATE_DETAIL: &str = "of cacheable prompt tokens";
pub(crate) const FINDINGS_A_REVIEW: &str = "Findings per review";
pub(crate) const COST_A_FINDING: &str = "Cost per finding";
pub(crate) const COST_A_FINDING_DETAIL: &str = "that stands in a review";
pub(crate) const INCONCLUSIVE: &str = "Inconclusive";
pub(crate) const BREAK_GLASS: &str = "Break glass";
pub(crate) const REVIEWS_PER_REQUEST: &str = "Reviews per merge request";
pub(crate) const RE_REVIEWS: &str = "Re-reviews";
pub(crate) const FAILED_REVIEWS: &str = "Failed reviews";
pub(crate) const LOST_REVIEWS: &str = "Lost reviews";
pub(crate) const LOST_REVIEWS_DETAIL: &str = "no end within their time limit";
pub(crate) const FAILED_BY_STAGE: &str = "Failed reviews by stage";
pub(crate) const FAILED_BY_STAGE_NOTE: &str = "Reviews that ended before a verdict.";
pub(crate) const NONE_FAILED: &str = "No review failed in this period.";
pub(crate) const STAGE: &str = "Stage";
pub(crate) const CAUSE: &str = "Cause";
pub(crate) const INCONCLUSIVE_BY_CAUSE: &str = "Inconclusive reviews by cause";
pub(crate) const INCONCLUSIVE_BY_CAUSE_NOTE: &str = "Unknown: counted before causes were kept.";
pub(crate) const NONE_INCONCLUSIVE: &str = "No review was inconclusive in this period.";
pub(crate) const REPOSITORIES: &str = "Repositories";
pub(crate) const REPOSITORIES_NOTE: &str = "The 50 with the most reviews. A click shows one alone.";
pub(crate) const REPOSITORY: &str = "Repository";
pub(crate) const LAST_REVIEW: &str = "Last review";
pub(crate) const CRITICAL: &str = "Critical";
pub(crate) const REVIEWS_BY_DAY: &str = "Reviews by verdict";
pub(crate) const VERDICTS: &str = "Verdicts";
pub(crate) const QUANTILES: &str = "A review";
pub(crate) const QUANTILES_NOTE: &str = "Quantiles are right to within 1%.";
pub(crate) const OF_A_REVIEW: &str = "Of a review";
pub(crate) const MEDIAN: &str = "Median";
pub(crate) const AVERAGE: &str = "Average";
pub(crate) const TIERS: &str = "By tier";
pub(crate) const TIERS_NOTE: &str = "Unclassified: reviews that began and have not reported an end.";
pub(crate) const AVERAGE_COST: &str = "Average cost";
pub(crate) const MEDIAN_COST: &str = "Median cost";
pub(crate) const P95_COST: &str = "P95 cost";
pub(crate) const P99_COST: &str = "P99 cost";
pub(crate) const WITHOUT_COORDINATOR: &str = "No coordinator";
pub(crate) const WITH_GAPS: &str = "With gaps";
pub(crate) const UNCLASSIFIED: &str = "Unclassified";
pub(crate) const LATEST: &str = "Latest reviews";
pub(crate) const ALL_RUNS: &str = "All reviews";
pub(crate) const TIMES_ARE_UTC: &str = "Times are UTC.";
pub(crate) const OLDER: &str = "Older reviews";
pub(crate) const NEWEST: &str = "Newest reviews";
pub(crate) const DAY: &str = "Day";
pub(crate) const SHARE: &str = "Share";
pub(crate) const TOTAL: &str = "Total";
pub(crate) const SUM: &str = "Sum";

pub(crate) const STARTED: &str = "Started";
pub(crate) const VERDICT: &str = "Verdict";
pub(crate) const DURATION: &str = "Duration";
pub(crate) const FILES: &str = "Files";
pub(crate) const RUNNING: &str = "In progress";
pub(crate) const NO_END: &str = "No end seen";
pub(crate) const LOST: &str = "Lost";
pub(crate) const LOST_DETAIL: &str = "The end of this review was not reported within its time limit: its job was killed, or it could not reach the tracker.";
pub(crate) const FAILED: &str = "Failed";
pub(crate) const UNNEEDED: &str = "Nothing to review";
pub(crate) const UNNEEDED_DETAIL: &str = "The change has nothing that could be reviewed.";
pub(crate) const SKIPPED: &str = "Skipped";
pub(crate) const SKIPPED_DETAIL: &str = "A person skipped this review with a comment: break glass.";
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
pub(crate) const NOTHING_HERE_DETAIL: &str =
    "No review fits these filters. Look at a longer period, another tier or all projects.";

pub(crate) const REPORTED: &str = "Reported";
pub(crate) const REPORTED_DETAIL: &str = "by reviewers, before the judge";
pub(crate) const KEPT: &str = "Kept by the judge";
pub(crate) const DROPPED_BY_JUDGE: &str = "Dropped by the judge";
pub(crate) const FIXED: &str = "Fixed";
pub(crate) const RESOLVED: &str = "Resolved by people";
pub(crate) const REJECTED: &str = "Rejected";
pub(crate) const FINDINGS_BY_DAY: &str = "Findings that stand";
pub(crate) const NO_FINDINGS_YET: &str = "No finding was reported in this period.";
pub(crate) const BY_REVIEWER: &str = "By reviewer and severity";
pub(crate) const BY_REVIEWER_NOTE: &str =
    "Findings that stand, and tokens. Unclassified: counted by a review and told by no reviewer.";
pub(crate) const REVIEWER: &str = "Reviewer";
pub(crate) const INPUT: &str = "Input";
pub(crate) const OUTPUT: &str = "Output";
pub(crate) const CACHE_READ: &str = "Cache read";
pub(crate) const CACHE_WRITE: &str = "Cache write";
pub(crate) const JUDGED: &str = "What the judge does";
pub(crate) const JUDGED_NOTE: &str = "Merged: another report of a finding that stands.";
pub(crate) const KEPT_SHARE: &str = "Kept share";
pub(crate) const OUTCOMES: &str = "What becomes of findings";
pub(crate) const OUTCOMES_NOTE: &str = "Of those that were settled in this period.";
pub(crate) const FIXED_SHARE: &str = "Fixed share";
pub(crate) const REJECTED_SHARE: &str = "Rejected share";
pub(crate) const NO_OUTCOMES_YET: &str = "No finding was settled in this period.";
pub(crate) const HOT_FILES: &str = "Hot files";
pub(crate) const HOT_FILES_NOTE: &str = "The most findings that stand, by whole weeks, at most the last 14.";
pub(crate) const CATEGORIES: &str = "Categories";
pub(crate) const REASONS: &str = "Why findings do not stand";
pub(crate) const NOTHING_DROPPED: &str = "Nothing was merged or dropped in this period.";
pub(crate) const REMOVED: &str = "What judges removed";
pub(crate) const REMOVED_NOTE: &str = "A critical finding is removed only by code that refutes it.";
pub(crate) const REMOVED_BY_JUDGE: &str = "Removed by the judge";
pub(crate) const REMOVED_CRITICAL: &str = "Critical ones removed";
pub(crate) const REMOVED_CRITICAL_DETAIL: &str = "each by code that refutes it";
pub(crate) const REMOVED_SHARE: &str = "Share removed";
pub(crate) const REMOVED_SHARE_DETAIL: &str = "of all reported findings";
pub(crate) const REFUTED_BY: &str = "Refuted by";
pub(crate) const PLACEMENTS: &str = "Where findings were posted";
pub(crate) const PLACE: &str = "Place";
pub(crate) const NOTHING_POSTED: &str = "Nothing was posted in this period.";

pub(crate) const COST_BY_DAY: &str = "Cost by model";
pub(crate) const OTHERS: &str = "Others";
pub(crate) const BY_MODEL: &str = "By model";
pub(crate) const BY_AGENT: &str = "By agent";
pub(crate) const MODEL: &str = "Model";
pub(crate) const AGENT: &str = "Agent";
pub(crate) const CALLS: &str = "Calls";
pub(crate) const COST_SHARE: &str = "Share of cost";
pub(crate) const NO_CALLS_YET: &str = "No model was asked in this period.";
pub(crate) const TOKENS_IN: &str = "Tokens read";
pub(crate) const TOKENS_IN_DETAIL: &str = "from caches included";
pub(crate) const TOKENS_OUT: &str = "Tokens written";
pub(crate) const TOKENS_OUT_DETAIL: &str = "reasoning included";
pub(crate) const SESSIONS_BY_AGENT: &str = "How sessions end";
pub(crate) const FAILURE_RATE: &str = "Failed share";
pub(crate) const NO_SESSIONS_YET: &str = "No session ended in this period.";
pub(crate) const FAILBACKS: &str = "Failbacks";
pub(crate) const FAILBACKS_NOTE: &str = "Another model took over.";
pub(crate) const FROM_MODEL: &str = "From";
pub(crate) const TO_MODEL: &str = "To";
pub(crate) const TIMES: &str = "Times";
pub(crate) const NO_FAILBACKS: &str = "No model had to stand in for another in this period.";
pub(crate) const SWITCHES: &str = "Provider switches";
pub(crate) const SWITCHES_DETAIL: &str = "to another provider";
pub(crate) const NO_SWITCHES: &str = "No session went on with another provider in this period.";
pub(crate) const CIRCUITS: &str = "Circuit history";
pub(crate) const NO_CIRCUITS: &str = "No circuit changed in this period.";
pub(crate) const LATEST_FIFTY: &str = "The latest 50. Times are UTC.";
pub(crate) const WHEN: &str = "When";
pub(crate) const STATE: &str = "State";

pub(crate) const WAY_BACK: &str = "Way back";
pub(crate) const BACK_TO_RUNS: &str = "All reviews";
pub(crate) const CHANGE: &str = "Change";
pub(crate) const SESSIONS: &str = "Sessions";
pub(crate) const SESSIONS_NOTE: &str =
    "Bars run from a session's first prompt to its end, over the time of the review.";
pub(crate) const NO_SESSIONS: &str = "No session has ended yet.";
pub(crate) const OUTCOME: &str = "Outcome";
pub(crate) const TIMELINE: &str = "Timeline";
pub(crate) const NO_ANSWER: &str = "no answer";
pub(crate) const NO_FINDINGS: &str = "No finding was reported: the panel had nothing to say, or has not got there yet.";
pub(crate) const SEVERITY: &str = "Severity";
pub(crate) const CATEGORY: &str = "Category";
pub(crate) const FILE: &str = "File";
pub(crate) const FATE: &str = "Judged";
pub(crate) const REASON: &str = "Reason";
pub(crate) const DEGRADED: &str = "without the coordinator";
pub(crate) const DEGRADED_DETAIL: &str =
    "The coordinator did not answer, so the verdict was computed from the findings alone.";
pub(crate) const MISSED_DETAIL: &str = "Something that had to be reviewed was not, or only in part.";
pub(crate) const MISMATCH: &str = "not applied";
pub(crate) const INCIDENTS: &str = "Retries and stand-ins";
pub(crate) const AFTER: &str = "After";
pub(crate) const WHAT: &str = "What";
pub(crate) const SETTLED: &str = "Settled findings of earlier reviews";

pub(crate) const NO_OUTBOX: &str =
    "What waits to be stored cannot be read now. The reason is in the Worker's log; nothing is lost.";
pub(crate) const WAITING: &str = "Waiting events";
pub(crate) const NOTHING_WAITS: &str = "everything is stored";
pub(crate) const DEAD_LETTERS: &str = "Dead letters";
pub(crate) const DEAD_LETTERS_DETAIL: &str = "batches that could not be stored";
pub(crate) const DEAD_LETTERS_NOTE: &str =
    "Batches that the database refused again and again. Replay them once the reason is gone.";
pub(crate) const NO_LETTERS: &str = "None: everything that was accepted is stored, or will be.";
pub(crate) const LETTER: &str = "Letter";
pub(crate) const TRIED: &str = "Tried";
pub(crate) const FAULT: &str = "What the database said";
pub(crate) const ACTIONS: &str = "Actions";
pub(crate) const REPLAY: &str = "Replay";
pub(crate) const REPLAY_ALL: &str = "Replay all";
pub(crate) const DISCARD: &str = "Discard";
pub(crate) const EVENTS: &str = "Events";
pub(crate) const EVENTS_DETAIL: &str = "accepted and stored";
pub(crate) const NEWEST_EVENT: &str = "Newest event";
pub(crate) const LAG: &str = "Ingest lag";
pub(crate) const DROPPED: &str = "Dropped";
pub(crate) const DROPPED_DETAIL: &str = "by reviews that could not send them";
pub(crate) const SKEWED: &str = "Clock ahead";
pub(crate) const SKEWED_DETAIL: &str = "counted when they came";
pub(crate) const MISMATCHES: &str = "Verdicts not shown";
pub(crate) const MISMATCHES_DETAIL: &str = "as they were asked of the forge";
pub(crate) const LAG_BY_DAY: &str = "Ingest lag";
pub(crate) const LAG_NOTE: &str = "From when a batch was accepted until it is in every figure, over all projects.";
pub(crate) const EVENTS_BY_DAY: &str = "Events by day";
pub(crate) const ACCEPTED: &str = "Accepted";
pub(crate) const NO_EVENTS_YET: &str = "No event came in this period.";
pub(crate) const KINDS: &str = "Kinds of events";
pub(crate) const KIND: &str = "Kind";
pub(crate) const APPLIED: &str = "Verdicts on the forge";
pub(crate) const APPLIED_NOTE: &str = "What was asked, and what was seen afterwards.";
pub(crate) const ASKED: &str = "Asked";
pub(crate) const SEEN: &str = "Seen";
pub(crate) const DIFFERS: &str = "Differs";
pub(crate) const AS_ASKED: &str = "As asked";
pub(crate) const NONE_APPLIED: &str = "No verdict was put on a forge in this period.";
pub(crate) const RUN_FIGURES: &str = "Figures of the runs themselves";
pub(crate) const RUN_FIGURES_NOTE: &str = "What conclave measures of itself; the unit is the end of the name.";
pub(crate) const FIGURE: &str = "Figure";
pub(crate) const LARGEST: &str = "Largest";
pub(crate) const NO_FIGURES: &str = "No run told figures of itself in this period.";

pub(crate) fn window(days: u16) -> String {
    match days {
        1 => "Today".to_owned(),
        days => format!("{days} days"),
    }
}

pub(crate) fn left_out(events: u64) -> String {
    format!(
        "Left out: {} of reviews whose tier is not known. What was counted before tiers were kept has none.",
        counted(events, "event")
    )
}

pub(crate) fn csv_label(table: &str) -> String {
    format!("{table} as CSV")
}

pub(crate) fn chart_label(table: &str) -> String {
    format!("A chart of the table “{table}”, which follows.")
}

pub(crate) fn reviews_of(rate: &str, merge_requests: &str) -> String {
    format!("{rate} a day, {merge_requests} new merge requests")
}

pub(crate) fn failed_detail(stage: &str, kind: &str) -> String {
    format!("{}: {}", format::words(stage), format::words(kind).to_lowercase())
}

/// Of how many reviews a share is.
pub(crate) fn of_reviews(part: u64, whole: u64) -> String {
    format!("{} of {}", format::count(part), counted(whole, "review"))
}

pub(crate) fn cost_each(mean: &str, median: &str) -> String {
    format!("{mean} average, {median} median")
}

pub(crate) fn ninety_percent(duration: &str) -> String {
    format!("90% within {duration}")
}

pub(crate) fn of_tokens(tokens: &str) -> String {
    format!("of {tokens} tokens in all")
}

pub(crate) fn findings_in_all(count: &str) -> String {
    format!("{count} in all")
}

pub(crate) const SKIPPED_HAVE_NO_TIER: &str = "skipped reviews have no tier";

pub(crate) fn break_glass_detail(uses: u64) -> String {
    format!("of merge requests, {} skipped", counted(uses, "review"))
}

pub(crate) fn failbacks_each(rate: Option<f64>) -> String {
    rate.map_or_else(String::new, |rate| format!("{} of calls", format::percent(rate)))
}

pub(crate) fn p99(lag: &str) -> String {
    format!("median; 99% within {lag}")
}

pub(crate) fn oldest_waits(duration: &str) -> String {
    format!("the oldest for {duration}")
}

pub(crate) fn write_fails(fault: &str) -> String {
    format!("The last write to the database failed and is tried again: {fault}")
}

pub(crate) fn action_on(action: &str, letter: &str) -> String {
    format!("{action} letter {letter}")
}

pub(crate) fn came(moment: &str) -> String {
    format!("of all projects, came {moment}, UTC")
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

/// How a session ended, in words.
pub(crate) fn outcome(name: &str) -> String {
    if name == "ok" {
        "OK".to_owned()
    } else {
        format::words(name)
    }
}

pub(crate) fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", format::count(count))
}

pub(crate) fn span_label(from: &str, duration: &str) -> String {
    format!("starts after {from}, takes {duration}")
}

pub(crate) fn missed(count: u64) -> String {
    format!("{} not reviewed", counted(count, "part"))
}

pub(crate) fn not_applied(wanted: Option<&str>, shown: Option<&str>) -> String {
    let words = |name: Option<&str>| name.map_or_else(|| "nothing".to_owned(), format::words);
    format!("Asked of the forge: {}; it shows: {}.", words(wanted), words(shown))
}

pub(crate) fn failback_reason(reason: &str) -> String {
    match reason {
        "failed" => "It failed".to_owned(),
        "circuit_open" => "Left alone after failures".to_owned(),
        "reprompted" => "Asked again from the start".to_owned(),
        other => format::words(other),
    }
}

pub(crate) fn stand_in(row: &FailbackRow) -> String {
    format!(
        "{} took over from {}: {}",
        row.to_model,
        row.from_model,
        failback_reason(&row.reason).to_lowercase()
    )
}

pub(crate) fn circuit_state(state: &str) -> String {
    match state {
        "open" => "Left alone".to_owned(),
        "half_open" => "Tried again".to_owned(),
        "closed" => "In use again".to_owned(),
        other => format::words(other),
    }
}

pub(crate) fn circuit_changed(model: &str, state: &str) -> String {
    format!("{model}: {}", circuit_state(state).to_lowercase())
}

pub(crate) fn placement(place: &str) -> String {
    match place {
        "line" => "On the line".to_owned(),
        "file" => "On the file".to_owned(),
        "summary" => "In the summary".to_owned(),
        other => format::words(other),
    }
}

pub(crate) fn settled(outcome: &str) -> String {
    match outcome {
        "resolved" => "Resolved by a person".to_owned(),
        other => format::words(other),
    }
}

pub(crate) fn access_refused(error: &OidcError) -> String {
    format!(
        "Its token {error}. Whoever runs this tracker can compare that with the Worker's ACCESS_TEAM_DOMAIN and ACCESS_AUD."
    )
}

pub(crate) fn access_unset(name: &str) -> String {
    format!("People come through Cloudflare Access, and the Worker's variable {name} is not set, or is no address.")
}

/// On every page of a tracker that has little room left.
pub(crate) fn nearly_full(database: DatabaseSize) -> String {
    format!(
        "The database is {} % full ({}). When it is full, nothing new is stored: lower RETENTION_DAYS, or move to a larger plan and set \
         DATABASE_MAX_MB to what it allows.",
        database.percent(),
        database_size(database),
    )
}

/// So much of so much.
pub(crate) fn database_size(database: DatabaseSize) -> String {
    format!(
        "{} MB of {} MB",
        format::count(database.used_bytes / 1_000_000),
        format::count(database.max_bytes / 1_000_000)
    )
}

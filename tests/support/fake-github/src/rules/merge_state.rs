//! Whether a pull request could be merged, and what is missing.

use std::collections::BTreeMap;

use crate::ids::PullRef;
use crate::rules::permission;
use crate::state::State;
use crate::state::checks::{CheckRun, Status};
use crate::state::pull::{PullState, ReviewState};
use crate::state::repository::Protection;

/// `reviewDecision`: nothing where no rule asks for reviews.
pub(crate) fn review_decision(state: &State, at: PullRef) -> Option<&'static str> {
    let required = protection(state, at).required_approvals;
    if required == 0 {
        return None;
    }
    let counts = |review: &&crate::state::pull::Review| permission::can_push(state, review.post.author, at.repository);
    let pull = state.pull(at);
    let opinions: Vec<_> = pull.opinions().into_iter().filter(counts).collect();
    let is_blocked = opinions
        .iter()
        .any(|review| review.state == ReviewState::ChangesRequested);
    let enough = usize::try_from(required).is_ok_and(|required| opinions.len() >= required);
    Some(match (is_blocked, enough) {
        (true, _) => "CHANGES_REQUESTED",
        (false, true) => "APPROVED",
        (false, false) => "REVIEW_REQUIRED",
    })
}

/// `mergeStateStatus`, which REST has in lower case as `mergeable_state`.
pub(crate) fn merge_state(state: &State, at: PullRef) -> &'static str {
    let pull = state.pull(at);
    if pull.unmergeable_reads > 0 || pull.state != PullState::Open {
        return "UNKNOWN";
    }
    if pull.merge_commit.is_none() {
        return "DIRTY";
    }
    if pull.draft {
        return "DRAFT";
    }
    let protection = protection(state, at);
    let is_missing = |(name, app): &(String, Option<crate::ids::AppId>)| !passes(state, at, name, *app);
    let is_undecided = review_decision(state, at).is_some_and(|decision| decision != "APPROVED");
    let is_unresolved = protection.require_resolution && pull.threads.iter().any(|thread| thread.resolved_by.is_none());
    if is_undecided || is_unresolved || protection.required_checks.iter().any(is_missing) {
        return "BLOCKED";
    }
    let checks = latest_checks(state, at.repository, &pull.head);
    if checks.iter().all(|check| is_passed(check)) {
        "CLEAN"
    } else {
        "UNSTABLE"
    }
}

/// The newest check run of each name and App at a commit.
pub(crate) fn latest_checks<'a>(
    state: &'a State,
    repository: crate::ids::RepositoryId,
    sha: &str,
) -> Vec<&'a CheckRun> {
    let mut latest = BTreeMap::new();
    for check in state
        .repository(repository)
        .checks
        .iter()
        .filter(|check| check.head == sha)
    {
        latest.insert((check.text("name"), check.app), check);
    }
    let mut latest: Vec<&CheckRun> = latest.into_values().collect();
    latest.sort_by_key(|check| check.id);
    latest
}

/// The newest status of each context at a commit.
pub(crate) fn latest_statuses<'a>(
    state: &'a State,
    repository: crate::ids::RepositoryId,
    sha: &str,
) -> Vec<&'a Status> {
    let statuses = state
        .repository(repository)
        .statuses
        .iter()
        .filter(|status| status.sha == sha);
    let latest: BTreeMap<&str, &Status> = statuses.map(|status| (status.context.as_str(), status)).collect();
    latest.into_values().collect()
}

fn protection(state: &State, at: PullRef) -> Protection {
    let protections = &state.repository(at.repository).protections;
    protections
        .get(&state.pull(at).base_branch)
        .cloned()
        .unwrap_or_default()
}

fn passes(state: &State, at: PullRef, name: &str, app: Option<crate::ids::AppId>) -> bool {
    let head = &state.pull(at).head;
    let checks = latest_checks(state, at.repository, head).into_iter();
    let mut named = checks
        .filter(|check| check.text("name") == Some(name) && app.is_none_or(|app| app == check.app))
        .peekable();
    if named.peek().is_some() {
        return named.all(is_passed);
    }
    let mut statuses = latest_statuses(state, at.repository, head).into_iter();
    app.is_none() && statuses.any(|status| status.context == name && status.state == "success")
}

fn is_passed(check: &CheckRun) -> bool {
    matches!(check.text("conclusion"), Some("success" | "neutral" | "skipped"))
}

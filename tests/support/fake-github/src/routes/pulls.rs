//! Pull requests, their files and commits, and who was asked for a review.

use serde_json::{Value, json};

use crate::call::Call;
use crate::entities::{commit, people, pull};
use crate::ids::{PullRef, UserId};
use crate::reply::{Outcome, Refusal, Reply};
use crate::state::pull::{Pull, PullState};

pub(super) fn list(call: &mut Call<'_>) -> Outcome {
    let repository = call.repository()?;
    let wanted = call.query("state").unwrap_or("open");
    let is_wanted = |pull: &Pull| match wanted {
        "all" => true,
        "closed" => pull.state != PullState::Open,
        _ => pull.state == PullState::Open,
    };
    let owner_of = |pull: &Pull| {
        let source = call.state.repository(pull.head_repository);
        format!("{}:{}", call.state.user(source.owner).login, pull.head_branch)
    };
    let is_head = |pull: &Pull| call.query("head").is_none_or(|head| owner_of(pull) == head);
    let is_base = |pull: &Pull| call.query("base").is_none_or(|base| pull.base_branch == base);
    let pulls = call.state.repository(repository).pulls.iter();
    let mut numbers: Vec<u64> = pulls
        .filter(|(_, pull)| is_wanted(pull) && is_head(pull) && is_base(pull))
        .map(|(number, _)| *number)
        .collect();
    if call.query("direction") != Some("asc") {
        numbers.reverse();
    }
    let rows = numbers
        .into_iter()
        .map(|number| pull::simple(call.state, PullRef { repository, number }));
    Ok(Reply::list(rows.collect()))
}

pub(super) fn get(call: &mut Call<'_>) -> Outcome {
    let at = call.pull()?;
    if call.wants("diff") {
        let pull = call.state.pull(at);
        let diff = call
            .state
            .repository(at.repository)
            .git
            .patch(&pull.merge_base, &pull.head);
        return Ok(Reply::raw(
            200,
            "application/vnd.github.diff; charset=utf-8",
            diff.into_bytes(),
        ));
    }
    let reply = Reply::json(200, pull::full(call.state, at));
    let pull = call.state.pull_mut(at);
    pull.unmergeable_reads = pull.unmergeable_reads.saturating_sub(1);
    Ok(reply)
}

pub(super) fn files(call: &mut Call<'_>) -> Outcome {
    let at = call.pull()?;
    let pull = call.state.pull(at);
    let files = call
        .state
        .repository(at.repository)
        .git
        .diff(&pull.merge_base, &pull.head);
    let rows = files
        .iter()
        .map(|file| commit::file(call.state, at.repository, &pull.head, file));
    Ok(Reply::list(rows.take(3_000).collect()))
}

pub(super) fn commits(call: &mut Call<'_>) -> Outcome {
    let at = call.pull()?;
    let pull = call.state.pull(at);
    let commits = call
        .state
        .repository(at.repository)
        .git
        .commits(&format!("{}..{}", pull.merge_base, pull.head));
    let rows = commits
        .iter()
        .map(|one| commit::commit(call.state, at.repository, one, None));
    Ok(Reply::list(rows.take(250).collect()))
}

/// The pull requests of a commit; those from forks are not found by it.
pub(super) fn of_commit(call: &mut Call<'_>) -> Outcome {
    let repository = call.repository()?;
    let sha = call.part("commit_sha");
    let git = &call.state.repository(repository).git;
    let is_own = |pull: &Pull| {
        pull.head_repository == repository
            && git.is_ancestor(sha, &pull.head)
            && !git.is_ancestor(sha, &pull.merge_base)
    };
    let pulls = call.state.repository(repository).pulls.iter();
    let found = pulls.filter(|(_, pull)| is_own(pull));
    let rows = found.map(|(number, _)| {
        pull::simple(
            call.state,
            PullRef {
                repository,
                number: *number,
            },
        )
    });
    Ok(Reply::list(rows.collect()))
}

/// Lists, adds or removes requested reviewers.
pub(super) fn reviewers(call: &mut Call<'_>, method: &str) -> Outcome {
    let at = call.pull()?;
    let names = |field: &str| {
        let names = call.body[field].as_array().into_iter().flatten();
        names
            .filter_map(|name| Some(name.as_str()?.to_owned()))
            .collect::<Vec<_>>()
    };
    let (logins, teams) = (names("reviewers"), names("team_reviewers"));
    let author = call.state.pull(at).author;
    if method == "GET" {
        let pull = call.state.pull(at);
        let users: Vec<Value> = pull
            .requested_reviewers
            .iter()
            .map(|user| people::simple(call.state, *user))
            .collect();
        let team = |slug: &String| people::team(call.state, at.repository, slug, "team");
        let teams: Vec<Value> = pull.requested_teams.iter().map(team).collect();
        return Ok(Reply::json(200, json!({ "users": users, "teams": teams })));
    }
    let mut users: Vec<UserId> = Vec::new();
    for login in &logins {
        let user = call.state.find_user(login);
        let is_member = |user: &UserId| call.state.repository(at.repository).role(*user).is_some();
        match user.filter(is_member) {
            Some(user) if user == author && method == "POST" => {
                return Err(Refusal::new(
                    422,
                    "Review cannot be requested from pull request author.",
                ));
            }
            Some(user) => users.push(user),
            None => {
                let message = "Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a collaborator of the repository.";
                return Err(Refusal::new(422, format!("{message} ({login})")));
            }
        }
    }
    let owner = call.state.repository(at.repository).owner;
    let known = call.state.teams.get(&owner).cloned().unwrap_or_default();
    if let Some(unknown) = teams.iter().find(|team| !known.contains(team)) {
        return Err(Refusal::new(
            422,
            format!("Could not resolve to a node with the global id of '{unknown}'."),
        ));
    }
    let pull = call.state.pull_mut(at);
    pull.requested_reviewers.retain(|user| !users.contains(user));
    pull.requested_teams.retain(|team| !teams.contains(team));
    if method == "POST" {
        pull.requested_reviewers.extend(users);
        pull.requested_teams.extend(teams);
    }
    let status = if method == "POST" { 201 } else { 200 };
    Ok(Reply::json(status, pull::simple(call.state, at)))
}

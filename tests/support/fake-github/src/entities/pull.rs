//! Pull requests.

use serde_json::{Value, json};

use super::{fill, link, people, repository, with};
use crate::git::diff::FileDiff;
use crate::ids::{Kind, PullRef, RepositoryId, UserId};
use crate::rules::merge_state;
use crate::state::State;
use crate::state::people::Role;
use crate::state::pull::PullState;

/// The address of a pull request in the API.
pub(crate) fn url(state: &State, at: PullRef) -> String {
    format!(
        "{}/repos/{}/pulls/{}",
        state.api_url,
        state.full_name(at.repository),
        at.number
    )
}

/// The address of a pull request for people.
pub(crate) fn html_url(state: &State, at: PullRef) -> String {
    format!("{}/{}/pull/{}", state.url, state.full_name(at.repository), at.number)
}

/// How an account relates to a repository: a hint, never a right.
pub(crate) fn association(state: &State, repository: RepositoryId, user: UserId) -> &'static str {
    let repository = state.repository(repository);
    match repository.collaborators.get(&user) {
        _ if repository.owner == user => "OWNER",
        Some(Role::Read) => "COLLABORATOR",
        Some(_) => "MEMBER",
        None => "NONE",
    }
}

/// A pull request as it stands in lists.
pub(crate) fn simple(state: &State, at: PullRef) -> Value {
    fill("pull-request-simple", facts(state, at))
}

/// A pull request on its own.
pub(crate) fn full(state: &State, at: PullRef) -> Value {
    let pull = state.pull(at);
    let git = &state.repository(at.repository).git;
    let files = git.diff(&pull.merge_base, &pull.head);
    let sum = files
        .iter()
        .map(FileDiff::counts)
        .fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
    let is_known = pull.unmergeable_reads == 0 && pull.state == PullState::Open;
    let more = json!({
        "merged": pull.state == PullState::Merged,
        "mergeable": is_known.then(|| pull.merge_commit.is_some()),
        "mergeable_state": merge_state::merge_state(state, at).to_lowercase(),
        "comments": pull.comments.len(),
        "review_comments": pull.review_comments().count(),
        "commits": git.commits(&format!("{}..{}", pull.merge_base, pull.head)).len(),
        "additions": sum.0,
        "deletions": sum.1,
        "changed_files": files.len(),
    });
    fill("pull-request", with(facts(state, at), more))
}

fn facts(state: &State, at: PullRef) -> Value {
    let pull = state.pull(at);
    let (url, html_url) = (url(state, at), html_url(state, at));
    let api = url.rsplit_once("/pulls/").map_or("", |(api, _)| api);
    let issue_url = format!("{api}/issues/{}", at.number);
    let statuses_url = format!("{api}/statuses/{}", pull.head);
    let end = |owner: RepositoryId, branch: &str, sha: &str| {
        let source = state.repository(owner);
        let repository = if source.deleted {
            Value::Null
        } else {
            repository::repository(state, owner, "repository")
        };
        json!({
            "label": format!("{}:{branch}", state.user(source.owner).login),
            "ref": branch,
            "sha": sha,
            "repo": repository,
            "user": people::simple(state, source.owner),
        })
    };
    let label = |name: &String| {
        json!({ "id": 1, "node_id": Kind::Label.node(1), "url": format!("{api}/labels/{name}"), "name": name,
            "description": null, "color": "ededed", "default": false })
    };
    let reviewer = |user: &UserId| people::simple(state, *user);
    let team = |slug: &String| people::team(state, at.repository, slug, "team-simple");
    let merged_at = (pull.state == PullState::Merged).then_some(&pull.closed_at);
    json!({
        "url": url,
        "id": pull.id,
        "node_id": Kind::Pull.node(pull.id),
        "html_url": html_url,
        "diff_url": format!("{html_url}.diff"),
        "patch_url": format!("{html_url}.patch"),
        "issue_url": issue_url,
        "commits_url": format!("{url}/commits"),
        "review_comments_url": format!("{url}/comments"),
        "review_comment_url": format!("{api}/pulls/comments{{/number}}"),
        "comments_url": format!("{issue_url}/comments"),
        "statuses_url": statuses_url,
        "number": at.number,
        "state": if pull.state == PullState::Open { "open" } else { "closed" },
        "locked": pull.locked,
        "title": pull.title,
        "body": if pull.body.is_empty() { Value::Null } else { json!(pull.body) },
        "user": people::simple(state, pull.author),
        "labels": pull.labels.iter().map(label).collect::<Vec<_>>(),
        "created_at": pull.created_at,
        "updated_at": pull.updated_at,
        "closed_at": pull.closed_at,
        "merged_at": merged_at,
        "merge_commit_sha": pull.merge_commit,
        "requested_reviewers": pull.requested_reviewers.iter().map(reviewer).collect::<Vec<_>>(),
        "requested_teams": pull.requested_teams.iter().map(team).collect::<Vec<_>>(),
        "assignees": [],
        "head": end(pull.head_repository, &pull.head_branch, &pull.head),
        "base": end(at.repository, &pull.base_branch, &pull.base),
        "draft": pull.draft,
        "author_association": association(state, at.repository, pull.author),
        "auto_merge": pull.auto_merge.then(|| json!({
            "enabled_by": people::simple(state, pull.author), "merge_method": "merge",
            "commit_title": "", "commit_message": "",
        })),
        "_links": {
            "self": link(&url),
            "html": link(&html_url),
            "issue": link(&issue_url),
            "comments": link(&format!("{issue_url}/comments")),
            "review_comments": link(&format!("{url}/comments")),
            "review_comment": link(&format!("{api}/pulls/comments{{/number}}")),
            "commits": link(&format!("{url}/commits")),
            "statuses": link(&statuses_url),
        },
    })
}

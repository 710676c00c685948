//! The state of a pull request in a form that compares and serializes well.

use serde::Serialize;

use crate::ids::{PullRef, UserId};
use crate::rules::merge_state;
use crate::state::State;
use crate::state::pull::{Post, PullState, ReviewState, Side};

/// A pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PullSnapshot {
    /// Open, closed or merged.
    pub state: PullState,
    /// The head.
    pub head: String,
    /// The merge base of head and target branch.
    pub merge_base: String,
    /// The logins of requested reviewers, then the slugs of requested teams.
    pub requested_reviewers: Vec<String>,
    /// The issue comments.
    pub comments: Vec<PostSnapshot>,
    /// The reviews, also pending and empty ones.
    pub reviews: Vec<ReviewSnapshot>,
    /// The threads.
    pub threads: Vec<ThreadSnapshot>,
    /// The newest check run of each name and App at the head.
    pub checks: Vec<CheckSnapshot>,
    /// The newest status of each context at the head.
    pub statuses: Vec<StatusSnapshot>,
    /// `reviewDecision`.
    pub review_decision: Option<&'static str>,
    /// `mergeStateStatus`.
    pub merge_state: &'static str,
}

/// A text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PostSnapshot {
    /// Its id.
    pub id: u64,
    /// The author's login, as in REST.
    pub author: String,
    /// The text.
    pub body: String,
    /// The login of who edited it last.
    pub editor: Option<String>,
    /// Why it was minimized, as in `RESOLVED`.
    pub minimized: Option<String>,
}

/// A review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReviewSnapshot {
    /// Its text.
    pub post: PostSnapshot,
    /// Its state.
    pub state: ReviewState,
    /// The commit it is shown for.
    pub commit: String,
}

/// A thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ThreadSnapshot {
    /// The file.
    pub path: String,
    /// The side of its last line.
    pub side: Side,
    /// Its last line; nothing for a file or once outdated.
    pub line: Option<u64>,
    /// Its first line, if it has several.
    pub start_line: Option<u64>,
    /// The line it was made for.
    pub original_line: Option<u64>,
    /// Whether it stands at the file and not at a line.
    pub is_file: bool,
    /// Whether its line is gone.
    pub outdated: bool,
    /// The login of who resolved it.
    pub resolved_by: Option<String>,
    /// Its comments.
    pub comments: Vec<PostSnapshot>,
    /// What the first comment would put in the place of its lines.
    pub suggestion: Option<String>,
}

/// A check run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckSnapshot {
    /// Its name.
    pub name: String,
    /// The slug of its App.
    pub app: String,
    /// `queued`, `in_progress` or `completed`.
    pub status: String,
    /// Its conclusion, once completed.
    pub conclusion: Option<String>,
    /// `external_id`.
    pub external_id: String,
    /// The title of its output.
    pub title: Option<String>,
    /// The summary of its output.
    pub summary: Option<String>,
    /// Its annotations as `path:line message`.
    pub annotations: Vec<String>,
}

/// A commit status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StatusSnapshot {
    /// Its name.
    pub context: String,
    /// Its state.
    pub state: String,
    /// Its text.
    pub description: Option<String>,
}

/// Takes a snapshot.
pub(crate) fn take(state: &State, at: PullRef) -> PullSnapshot {
    let pull = state.pull(at);
    let login = |user: UserId| state.user(user).rest_login();
    let post = |post: &Post| PostSnapshot {
        id: post.id,
        author: login(post.author),
        body: post.body.clone(),
        editor: post.edited.as_ref().map(|(editor, _)| login(*editor)),
        minimized: post.minimized.clone(),
    };
    let reviewers = pull.requested_reviewers.iter().map(|user| login(*user));
    let text = |value: Option<&str>| value.map(str::to_owned);
    let checks = merge_state::latest_checks(state, at.repository, &pull.head).into_iter();
    let statuses = merge_state::latest_statuses(state, at.repository, &pull.head).into_iter();
    PullSnapshot {
        state: pull.state,
        head: pull.head.clone(),
        merge_base: pull.merge_base.clone(),
        requested_reviewers: reviewers.chain(pull.requested_teams.clone()).collect(),
        comments: pull.comments.iter().map(post).collect(),
        reviews: pull
            .reviews
            .iter()
            .map(|review| ReviewSnapshot {
                post: post(&review.post),
                state: review.state,
                commit: review.commit.clone(),
            })
            .collect(),
        threads: pull
            .threads
            .iter()
            .map(|thread| ThreadSnapshot {
                path: thread.place.path.clone(),
                side: thread.place.side,
                line: thread.place.line,
                start_line: thread.place.start_line,
                original_line: thread.place.original_line,
                is_file: thread.place.is_file,
                outdated: thread.place.outdated,
                resolved_by: thread.resolved_by.map(login),
                comments: thread.comments.iter().map(|comment| post(&comment.post)).collect(),
                suggestion: thread
                    .comments
                    .first()
                    .and_then(|first| suggestion(&first.post.body))
                    .map(|(text, _)| text),
            })
            .collect(),
        checks: checks
            .map(|check| CheckSnapshot {
                name: check.text("name").unwrap_or_default().to_owned(),
                app: state.apps[&check.app].slug.clone(),
                status: check.text("status").unwrap_or_default().to_owned(),
                conclusion: text(check.text("conclusion")),
                external_id: check.text("external_id").unwrap_or_default().to_owned(),
                title: text(check.fields["output"]["title"].as_str()),
                summary: text(check.fields["output"]["summary"].as_str()),
                annotations: check
                    .annotations
                    .iter()
                    .map(|one| {
                        format!(
                            "{}:{} {}",
                            one["path"].as_str().unwrap_or_default(),
                            one["start_line"],
                            one["message"].as_str().unwrap_or_default()
                        )
                    })
                    .collect(),
            })
            .collect(),
        statuses: statuses
            .map(|status| StatusSnapshot {
                context: status.context.clone(),
                state: status.state.clone(),
                description: text(status.description.as_str()),
            })
            .collect(),
        review_decision: merge_state::review_decision(state, at),
        merge_state: merge_state::merge_state(state, at),
    }
}

/// The first suggestion of a text, and the length of its fence.
pub(crate) fn suggestion(body: &str) -> Option<(String, usize)> {
    let mut lines = body.split_inclusive('\n');
    while let Some(line) = lines.next() {
        let fence = line.chars().take_while(|mark| *mark == '`').count();
        let header = line[fence..].trim();
        if fence < 3 || header.contains('`') {
            continue;
        }
        let is_end = |line: &&str| {
            let line = line.trim_end();
            line.len() >= fence && line.chars().all(|mark| mark == '`')
        };
        // What stands inside of another block is code.
        let block: String = lines.by_ref().take_while(|line| !is_end(line)).collect();
        if header == "suggestion" {
            return Some((block, fence));
        }
    }
    None
}

//! What quick actions do.

use serde_json::{Map, Value, json};

use super::Command;
use crate::MergeRequestRef;
use crate::reply::ApiError;
use crate::review::states;
use crate::state::State;
use crate::state::merge_request::{ExecutedCommand, MergeRequestState, Reviewer, StateEvent};
use crate::state::people::AccessLevel;

/// What the commands of one note did.
#[derive(Debug, Clone, Default)]
pub(crate) struct Summary {
    pub(crate) messages: Vec<String>,
    pub(crate) failed: bool,
    pub(crate) changes: Map<String, Value>,
}

impl Summary {
    fn done(&mut self, message: &str) {
        self.messages.push(message.to_owned());
    }

    fn failed(&mut self, message: &str) {
        self.messages.push(message.to_owned());
        self.failed = true;
    }

    fn report(&mut self, success: bool, done: &str, failed: &str) {
        if success { self.done(done) } else { self.failed(failed) }
    }
}

/// Publishes all drafts of a user.
pub(crate) type PublishDrafts = fn(&mut State, MergeRequestRef, u64) -> Result<(), ApiError>;

/// Runs commands with the rights of `user`. Without `publish`, `/submit_review` does nothing.
pub(crate) fn execute(
    state: &mut State,
    key: MergeRequestRef,
    user: u64,
    commands: &[Command],
    publish: Option<PublishDrafts>,
) -> Summary {
    let mut summary = Summary::default();
    for command in commands {
        let text = format!("/{} {}", command.name, command.argument).trim_end().to_owned();
        state
            .merge_request_mut(key)
            .executed_commands
            .push(ExecutedCommand { user, command: text });
        run(state, key, user, command, publish, &mut summary);
    }
    summary
}

fn run(
    state: &mut State,
    key: MergeRequestRef,
    user: u64,
    command: &Command,
    publish: Option<PublishDrafts>,
    summary: &mut Summary,
) {
    match command.name.as_str() {
        "submit_review" => submit_review(state, key, user, command, publish, summary),
        "request_changes" => {
            // Offered to reviewers only, and the only command that reports how it went.
            let offered = state.merge_request(key).is_reviewer(user);
            let set = offered && states::set_reviewer_state(state, key, user, "requested_changes").is_ok();
            summary.report(
                set,
                "Changes requested to the current merge request.",
                "Could not apply request_changes command.",
            );
        }
        "approve" => {
            let approved = states::approve(state, key, user);
            summary.report(
                approved,
                "Approved the current merge request.",
                "Failed to approve the current merge request.",
            );
        }
        "unapprove" => {
            let unapproved = states::unapprove(state, key, user);
            summary.report(
                unapproved,
                "Unapproved the current merge request.",
                "Could not apply unapprove command.",
            );
        }
        "assign_reviewer" | "reviewer" | "request_review" => assign_reviewer(state, key, user, command, summary),
        _ if !state.has_access(key.project.0, user, AccessLevel::Developer) => {
            summary.failed(&format!("Could not apply {} command.", command.name));
        }
        "close" => change_state(state, key, user, MergeRequestState::Closed, summary),
        "reopen" => change_state(state, key, user, MergeRequestState::Opened, summary),
        "merge" => change_state(state, key, user, MergeRequestState::Merged, summary),
        "label" | "labels" | "unlabel" => change_labels(state, key, command, summary),
        "title" => {
            state.merge_request_mut(key).title.clone_from(&command.argument);
            summary.done(&format!("Changed the title to \"{}\".", command.argument));
        }
        "draft" => {
            let merge_request = state.merge_request_mut(key);
            if !merge_request.is_draft() {
                merge_request.title.insert_str(0, "Draft: ");
            }
            summary.done("Marked this merge request as a draft.");
        }
        "ready" => {
            let merge_request = state.merge_request_mut(key);
            let title = merge_request.title.trim_start_matches("Draft:").trim_start().to_owned();
            merge_request.title = title;
            summary.done("Marked this merge request as ready.");
        }
        // The other commands leave nothing that a test of reviews looks at, except that they ran.
        other => summary.done(&format!("Applied {other} command.")),
    }
}

/// The result of a reviewer state is not reported: only the state of the merge request tells.
fn submit_review(
    state: &mut State,
    key: MergeRequestRef,
    user: u64,
    command: &Command,
    publish: Option<PublishDrafts>,
    summary: &mut Summary,
) {
    let Some(publish) = publish else { return };
    if publish(state, key, user).is_err() {
        summary.failed("Failed to publish the current review.");
        return;
    }
    let word = if command.argument.is_empty() {
        "reviewed"
    } else {
        command.argument.as_str()
    };
    if word == "approve" {
        let approved = states::approve(state, key, user);
        summary.report(
            approved,
            "Approved the current merge request.",
            "Failed to approve the current merge request.",
        );
        return;
    }
    states::set_reviewer_state(state, key, user, word).ok();
    summary.done("Submitted the current review.");
}

fn assign_reviewer(state: &mut State, key: MergeRequestRef, user: u64, command: &Command, summary: &mut Summary) {
    let wanted = command.argument.trim_start_matches('@');
    let found = match wanted {
        "me" => Some(user),
        name => state
            .users
            .values()
            .find(|user| user.username == name)
            .map(|user| user.id),
    };
    let created_at = state.now();
    let merge_request = state.merge_request_mut(key);
    match found {
        Some(id) if !merge_request.is_reviewer(id) => {
            merge_request.reviewers.push(Reviewer {
                user: id,
                state: "unreviewed".to_owned(),
                created_at,
            });
            summary.changes.insert("reviewer_ids".to_owned(), json!([id]));
            summary.done(&format!("Assigned @{wanted} as reviewer."));
        }
        _ => summary.failed("Failed to assign a reviewer because no user was specified."),
    }
}

/// Changes the state and records the event.
pub(crate) fn change_state(
    state: &mut State,
    key: MergeRequestRef,
    user: u64,
    to: MergeRequestState,
    summary: &mut Summary,
) {
    let (id, created_at) = (state.take_id(), state.now());
    let merge_request = state.merge_request_mut(key);
    let (event, message) = match to {
        MergeRequestState::Opened => ("reopened", "Reopened this merge request."),
        MergeRequestState::Merged => ("merged", "Merged this merge request."),
        _ => ("closed", "Closed this merge request."),
    };
    merge_request.state = to;
    merge_request.state_events.push(StateEvent {
        id,
        user,
        state: event,
        created_at,
    });
    states::add_system_note(state, key, user, event);
    summary.changes.insert("state_event".to_owned(), json!(event));
    summary.done(message);
}

fn change_labels(state: &mut State, key: MergeRequestRef, command: &Command, summary: &mut Summary) {
    let names: Vec<String> = command
        .argument
        .split('~')
        .skip(1)
        .map(|name| name.trim().trim_matches('"').to_owned())
        .collect();
    let labels = &mut state.merge_request_mut(key).labels;
    if command.name == "unlabel" {
        labels.retain(|label| !names.is_empty() && !names.contains(label));
    } else {
        let missing: Vec<String> = names.iter().filter(|name| !labels.contains(name)).cloned().collect();
        labels.extend(missing);
    }
    summary.done(&format!("Changed labels: {}.", names.join(", ")));
}

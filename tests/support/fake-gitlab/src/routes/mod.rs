//! The handlers, one per operation of the document.

mod approvals;
mod discussions;
mod drafts;
pub(crate) mod graphql;
mod identity;
mod merge_request_writes;
mod merge_requests;
mod notes;
mod repository;
pub(crate) mod settings;
pub(crate) mod tokens;
pub(crate) mod users;

use crate::call::Call;
use crate::reply::Outcome;
use crate::spec::Operation;

type Handler = fn(&mut Call<'_>) -> Outcome;

/// Calls the operation's handler.
pub(crate) fn dispatch(operation: &Operation, call: &mut Call<'_>) -> Outcome {
    let handler = find(&operation.method, &operation.path).expect("every operation of the document has a handler");
    handler(call)
}

fn find(method: &str, path: &str) -> Option<Handler> {
    if let Some(rest) = path.strip_prefix("/projects/{id}/merge_requests") {
        // Three names stand for the iid.
        let rest = ["/{merge_request_iid}", "/{noteable_id}", "/{eventable_id}"]
            .into_iter()
            .find_map(|name| rest.strip_prefix(name));
        return match rest {
            Some(rest) => find_in_merge_request(method, rest),
            None if method == "GET" => Some(merge_requests::list),
            None => Some(merge_request_writes::create),
        };
    }
    Some(match (method, path) {
        ("GET", "/user") => identity::user,
        ("GET", "/version" | "/metadata") => identity::metadata,
        ("GET", "/job") => identity::job,
        ("GET", "/projects/{id}") => identity::project,
        ("GET", "/projects/{id}/members/all/{user_id}") => identity::member,
        ("GET", "/projects/{id}/repository/compare") => repository::compare,
        ("GET", "/projects/{id}/repository/files/{file_path}/raw") => repository::raw_file,
        _ => return None,
    })
}

fn find_in_merge_request(method: &str, rest: &str) -> Option<Handler> {
    Some(match (method, rest) {
        ("GET", "") => merge_requests::read,
        ("PUT", "") => merge_request_writes::update,
        ("DELETE", "") => merge_request_writes::delete,
        ("GET", "/resource_state_events") => merge_requests::state_events,
        ("GET", "/reviewers") => merge_requests::reviewers,
        ("GET", "/commits") => merge_requests::commits,
        ("GET", "/versions") => merge_requests::versions,
        ("GET", "/versions/{version_id}") => merge_requests::version,
        ("GET", "/diffs") => merge_requests::diffs,
        ("GET", "/raw_diffs") => merge_requests::raw_diffs,
        ("GET", "/approvals") => approvals::read,
        ("GET", "/approval_state") => approvals::state,
        ("POST", "/approve") => approvals::approve,
        ("POST", "/unapprove") => approvals::unapprove,
        ("PUT", "/reset_approvals") => approvals::reset,
        ("GET", "/notes") => notes::list,
        ("POST", "/notes") => notes::create,
        ("GET", "/notes/{note_id}") => notes::read,
        ("PUT", "/notes/{note_id}") => notes::update,
        ("DELETE", "/notes/{note_id}" | "/discussions/{discussion_id}/notes/{note_id}") => notes::delete,
        ("GET", "/discussions") => discussions::list,
        ("POST", "/discussions") => discussions::create,
        ("GET", "/discussions/{discussion_id}") => discussions::read,
        ("PUT", "/discussions/{discussion_id}") => discussions::resolve,
        ("GET", "/discussions/{discussion_id}/notes") => discussions::notes,
        ("POST", "/discussions/{discussion_id}/notes") => discussions::reply,
        ("GET", "/discussions/{discussion_id}/notes/{note_id}") => discussions::read_note,
        ("PUT", "/discussions/{discussion_id}/notes/{note_id}") => discussions::update_note,
        ("GET", "/draft_notes") => drafts::list,
        ("POST", "/draft_notes") => drafts::create,
        ("POST", "/draft_notes/bulk_publish") => drafts::publish_all,
        ("GET", "/draft_notes/{draft_note_id}") => drafts::read,
        ("PUT", "/draft_notes/{draft_note_id}") => drafts::update,
        ("DELETE", "/draft_notes/{draft_note_id}") => drafts::delete,
        ("PUT", "/draft_notes/{draft_note_id}/publish") => drafts::publish_one,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::spec::Spec;

    #[test]
    fn every_operation_has_a_handler() {
        let operations = &Spec::shared().operations;
        assert!(operations.len() > 40);
        for operation in operations {
            assert!(
                super::find(&operation.method, &operation.path).is_some(),
                "{}",
                operation.name()
            );
        }
    }
}

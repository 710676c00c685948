//! Where the document is known to be wrong. Each table names the operations or properties it corrects.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::adapt::OPEN;
use super::{CheckedSchema, ResponseRule};

/// Properties declared as one object that are arrays.
const ARRAYS: &[(&str, &[&str])] = &[
    ("APIEntitiesDiscussion", &["notes"]),
    ("APIEntitiesMergeRequest", &["assignees", "reviewers"]),
    ("APIEntitiesMergeRequestBasic", &["assignees", "reviewers"]),
    ("APIEntitiesMergeRequestApprovals", &["approved_by"]),
    ("APIEntitiesNote", &["suggestions"]),
    ("APIEntitiesUserPublic", &["identities", "scim_identities"]),
];

/// Properties declared as strings that are integers.
const INTEGERS: &[(&str, &[&str])] = &[
    ("APIEntitiesMember", &["access_level"]),
    ("APIEntitiesProjectAccess", &["access_level", "notification_level"]),
    ("APIEntitiesGroupAccess", &["access_level", "notification_level"]),
    ("APIEntitiesUserPublic", &["followers", "following"]),
    ("APIEntitiesUser", &["followers", "following"]),
];

/// Properties declared as strings that are booleans.
const BOOLEANS: &[(&str, &[&str])] = &[(
    "APIEntitiesProjectsWithAccessAndCatalogSetting",
    &[
        "merge_pipelines_enabled",
        "merge_trains_enabled",
        "requirements_enabled",
        "security_and_compliance_enabled",
    ],
)];

/// Lists declared as one object, with the schema of an element where it is also wrong.
const LISTS: &[(&str, &str)] = &[
    (
        "GET /projects/{id}/merge_requests/{noteable_id}/discussions",
        "APIEntitiesDiscussion",
    ),
    (
        "GET /projects/{id}/merge_requests/{noteable_id}/notes",
        "APIEntitiesNote",
    ),
    (
        "GET /projects/{id}/merge_requests/{noteable_id}/discussions/{discussion_id}/notes",
        "APIEntitiesNote",
    ),
    (
        "GET /projects/{id}/merge_requests/{eventable_id}/resource_state_events",
        "APIEntitiesResourceStateEvent",
    ),
];

const DRAFT_NOTE: &str = "/projects/{id}/merge_requests/{merge_request_iid}/draft_notes/{draft_note_id}";
const NOTE: &str = "/projects/{id}/merge_requests/{noteable_id}/notes/{note_id}";
const THREAD_NOTE: &str = "/projects/{id}/merge_requests/{noteable_id}/discussions/{discussion_id}/notes/{note_id}";
const NOTES: &str = "/projects/{id}/merge_requests/{noteable_id}/notes";
const DISCUSSIONS: &str = "/projects/{id}/merge_requests/{noteable_id}/discussions";
const MERGE_REQUESTS: &str = "/projects/{id}/merge_requests";
const MERGE_REQUEST: &str = "/projects/{id}/merge_requests/{merge_request_iid}";

/// Corrects the component schemas of responses.
pub(super) fn correct_schemas(schemas: &mut Value) {
    for_properties(
        schemas,
        ARRAYS,
        |property| json!({ "type": "array", "items": property }),
    );
    for_properties(schemas, INTEGERS, |_| json!({ "type": "integer" }));
    for_properties(schemas, BOOLEANS, |_| json!({ "type": "boolean" }));
    schemas["APIEntitiesCiJob"]["properties"]["project"]["properties"]["ci_job_token_scope_enabled"] =
        json!({ "type": "boolean" });
    schemas["APIEntitiesNote"]["properties"]["attachment"] = json!({ "type": "object" });
    // Enterprise servers add `approvals_required`, `approvals_left` and more.
    schemas["APIEntitiesMergeRequestApprovals"][OPEN] = json!(true);
}

/// Corrects the schema of an operation's answer.
pub(super) fn correct_response(operation: &str, schema: &Value) -> Value {
    match LISTS.iter().find(|(name, _)| *name == operation) {
        Some((_, element)) => {
            json!({ "type": "array", "items": { "$ref": format!("#/components/schemas/{element}") } })
        }
        None => schema.clone(),
    }
}

/// Corrects the schema of an operation's request body.
pub(super) fn correct_body(operation: &str, schema: &Value) -> Value {
    let mut schema = schema.clone();
    if operation == format!("POST {DISCUSSIONS}") {
        schema["properties"]["commit_id"] = json!({ "type": ["string", "null"] });
    }
    if operation == format!("POST {MERGE_REQUESTS}") || operation == format!("PUT {MERGE_REQUEST}") {
        // Labels may also be one comma-separated string.
        for name in ["labels", "add_labels", "remove_labels"] {
            let declared = schema["properties"][name].clone();
            schema["properties"][name] = json!({ "anyOf": [declared, { "type": "string" }] });
        }
    }
    schema
}

/// Corrects the status codes of an operation.
pub(super) fn correct_statuses(operation: &str, rules: &mut BTreeMap<u16, ResponseRule>, components: &Arc<Value>) {
    let (method, path) = operation.split_once(' ').unwrap_or_default();
    match (method, path) {
        ("DELETE", DRAFT_NOTE | NOTE | THREAD_NOTE) => {
            rules.remove(&200);
            rules.insert(204, ResponseRule { json: None });
        }
        ("POST", NOTES) | ("PUT", NOTE) => {
            let schema = json!({
                "type": "object",
                "required": ["commands_changes", "summary"],
                "properties": {
                    "commands_changes": { "type": "object" },
                    "summary": { "type": "array", "items": { "type": "string" } },
                },
                "additionalProperties": false,
            });
            rules.insert(
                202,
                ResponseRule {
                    json: Some(CheckedSchema::new(schema, components)),
                },
            );
        }
        ("PUT", path) if path.ends_with("/reset_approvals") => {
            rules.remove(&200);
            rules.insert(202, ResponseRule { json: None });
        }
        _ => {}
    }
}

fn for_properties(schemas: &mut Value, table: &[(&str, &[&str])], correct: impl Fn(&Value) -> Value) {
    for (schema, properties) in table {
        for property in *properties {
            let place = &mut schemas[*schema]["properties"][*property];
            *place = correct(place);
        }
    }
}

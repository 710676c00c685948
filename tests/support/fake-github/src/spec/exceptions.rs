//! Where the document is known to be wrong or too lenient.

use serde_json::{Value, json};

/// Properties that are `null` although the document does not say so: lines of outdated comments, the repository of a head
/// whose fork was deleted.
const NULLABLE: &[(&str, &[&str])] = &[
    (
        "pull-request-review-comment",
        &["line", "original_line", "position", "original_position", "start_line"],
    ),
    ("review-comment", &["line", "original_line", "original_position"]),
];

/// Corrects the component schemas of answers.
pub(super) fn correct_schemas(schemas: &mut Value) {
    for (schema, properties) in NULLABLE {
        for property in *properties {
            schemas[*schema]["properties"][*property]["nullable"] = json!(true);
        }
    }
    for schema in ["pull-request", "pull-request-simple"] {
        let repository = &mut schemas[schema]["properties"]["head"]["properties"]["repo"];
        *repository = json!({ "anyOf": [repository.clone()], "nullable": true });
    }
    // Only GitHub itself sets this conclusion, after 14 days.
    let conclusions = schemas["check-run"]["properties"]["conclusion"]["enum"].as_array_mut();
    conclusions.expect("a check run has a conclusion").push(json!("stale"));
}

/// Corrects the schema of a request body.
pub(super) fn correct_body(operation: &str, schema: &mut Value) {
    let sides = json!(["LEFT", "RIGHT"]);
    if operation.ends_with("/pulls/{pull_number}/comments") {
        schema["properties"]["start_side"]["enum"] = sides;
        // What is checked is a comment with its lines; `position` counts rows of a patch and is deprecated.
    } else if operation.ends_with("/pulls/{pull_number}/reviews") {
        let comment = &mut schema["properties"]["comments"]["items"]["properties"];
        for name in ["side", "start_side"] {
            comment[name]["enum"] = sides.clone();
        }
    } else if operation.contains("/check-runs") {
        schema["properties"]["output"]["properties"]["title"]["maxLength"] = json!(255);
    }
}

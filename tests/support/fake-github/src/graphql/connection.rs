//! Pages of GraphQL.

use apollo_compiler::response::{JsonMap, JsonValue};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::Failure;

/// The most rows of a page.
const MAX_PAGE: usize = 100;
/// The events of a timeline that are known.
const DISMISSALS: &str = "REVIEW_DISMISSED_EVENT";

/// Cuts a page out of the nodes of a field.
pub(super) fn page(field: &str, nodes: &[Value], arguments: &JsonMap) -> Result<Value, Failure> {
    let number = |name: &str| {
        arguments
            .get(name)
            .and_then(JsonValue::as_u64)
            .and_then(|count| usize::try_from(count).ok())
    };
    let (first, last) = (number("first"), number("last"));
    let Some(size) = first.or(last) else {
        let message =
            format!("You must provide a `first` or `last` value to properly paginate the `{field}` connection.");
        return Err(Failure::new("MISSING_PAGINATION_BOUNDARIES", message));
    };
    if size > MAX_PAGE {
        let name = if first.is_some() { "first" } else { "last" };
        let message = format!(
            "Requesting {size} records on the `{field}` connection exceeds the `{name}` limit of {MAX_PAGE} records."
        );
        return Err(Failure::new("EXCESSIVE_PAGINATION", message));
    }
    let kinds = arguments.get("itemTypes").and_then(JsonValue::as_array);
    let is_known = kinds.is_some_and(|kinds| kinds.iter().all(|kind| kind.as_str() == Some(DISMISSALS)));
    if field == "timelineItems" && !is_known {
        let message = format!("The stand-in knows {DISMISSALS} only; ask for it in `itemTypes`.");
        return Err(Failure::new("UNKNOWN_BOUNDARIES", message));
    }
    let nodes: Vec<&Value> = nodes.iter().filter(|node| is_wanted(node, arguments)).collect();
    let cursor = |name: &str| arguments.get(name).and_then(JsonValue::as_str).and_then(decode);
    let from = cursor("after")
        .unwrap_or(0)
        .saturating_add(number("skip").unwrap_or(0))
        .min(nodes.len());
    let to = cursor("before")
        .map_or(nodes.len(), |index| index.saturating_sub(1))
        .clamp(from, nodes.len());
    let (start, end) = if first.is_some() {
        (from, to.min(from + size))
    } else {
        (from.max(to.saturating_sub(size)), to)
    };
    let rows = &nodes[start..end];
    Ok(json!({
        "nodes": rows,
        "totalCount": nodes.len(),
        "pageInfo": {
            "hasNextPage": end < nodes.len(),
            "hasPreviousPage": start > 0,
            "startCursor": (!rows.is_empty()).then(|| encode(start + 1)),
            "endCursor": (!rows.is_empty()).then(|| encode(end)),
        },
    }))
}

/// The filters of reviews.
fn is_wanted(node: &Value, arguments: &JsonMap) -> bool {
    let states = arguments.get("states").and_then(JsonValue::as_array);
    let has_state = states.is_none_or(|states| states.iter().any(|state| state.as_str() == node["state"].as_str()));
    let author = arguments.get("author").and_then(JsonValue::as_str);
    let has_author = author.is_none_or(|author| node["author"]["login"] == author);
    let writers_only = arguments.get("writersOnly").and_then(JsonValue::as_bool) == Some(true);
    has_state && has_author && (!writers_only || node["authorCanPushToRepository"] == true)
}

fn encode(index: usize) -> String {
    BASE64_STANDARD.encode(format!("cursor:{index}"))
}

fn decode(cursor: &str) -> Option<usize> {
    let bytes = BASE64_STANDARD.decode(cursor).ok()?;
    String::from_utf8(bytes).ok()?.strip_prefix("cursor:")?.parse().ok()
}

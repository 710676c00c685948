//! OpenCode's events, read leniently: unknown types are ignored, missing fields are no error.

use conclave_engine::ports::{Remedy, SessionEvent};
use serde_json::Value;

/// The session that an event is about, and what it means for whoever watches that session.
pub(crate) fn interpret(event: &Value) -> Option<(String, Vec<SessionEvent>)> {
    let properties = event.get("properties")?;
    let kind = event.get("type")?.as_str()?;
    let part = properties.get("part");
    let session = properties
        .get("sessionID")
        .or_else(|| part.and_then(|part| part.get("sessionID")))
        .or_else(|| properties.get("info").and_then(|info| info.get("sessionID")))?
        .as_str()?
        .to_owned();
    let events = match kind {
        "message.part.delta" => vec![SessionEvent::Alive],
        "message.part.updated" => part_event(part?),
        "session.idle" => vec![SessionEvent::Idle],
        "session.status" => {
            let status = properties.get("status")?;
            match status.get("type").and_then(Value::as_str) {
                Some("retry") => {
                    vec![SessionEvent::Retrying {
                        attempt: status.get("attempt").and_then(Value::as_u64).unwrap_or(0),
                    }]
                }
                _ => Vec::new(),
            }
        }
        "session.error" => vec![error_event(properties.get("error")?)],
        _ => Vec::new(),
    };
    Some((session, events))
}

fn part_event(part: &Value) -> Vec<SessionEvent> {
    match part.get("type").and_then(Value::as_str) {
        Some("step-finish") => {
            let reason = part.get("reason").and_then(Value::as_str).unwrap_or("unknown");
            vec![SessionEvent::StepFinished(reason.to_owned())]
        }
        Some("tool" | "text" | "reasoning") => vec![SessionEvent::Alive],
        // A step's start is OpenCode's own doing, not the model's: no sign of life.
        _ => Vec::new(),
    }
}

/// The file that a `read` succeeded on, relative to the workspace. Taken from the messages, which are complete when the
/// answer is: events may lag behind it by seconds.
pub(crate) fn file_read(part: &Value, workspace: &str) -> Option<String> {
    let text = |pointer: &str| part.pointer(pointer).and_then(Value::as_str);
    let succeeded = text("/tool") == Some("read") && text("/state/status") == Some("completed");
    let path = text("/state/input/filePath").filter(|_| succeeded)?;
    let relative = path
        .strip_prefix(workspace)
        .map_or(path, |rest| rest.trim_start_matches('/'));
    Some(relative.trim_start_matches("./").to_owned())
}

/// What the gateway says when no model is left that it could ask without the session noticing. Found anywhere in the
/// text: OpenCode wraps errors in various ways.
const NO_HEALTHY_MODEL: &str = "conclave: no healthy model";

fn error_event(error: &Value) -> SessionEvent {
    let name = error
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or("UnknownError")
        .to_owned();
    let data = error.get("data");
    let message = data
        .and_then(|data| data.get("message"))
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let retryable = data
        .and_then(|data| data.get("isRetryable"))
        .and_then(Value::as_bool)
        .unwrap_or(false);
    let final_by_name = matches!(
        name.as_str(),
        "ProviderAuthError" | "ContextOverflowError" | "MessageAbortedError" | "StructuredOutputError"
    );
    let remedy = if final_by_name {
        Remedy::None
    } else if message.contains(NO_HEALTHY_MODEL) {
        Remedy::OtherProvider
    } else if retryable {
        Remedy::OtherModel
    } else {
        Remedy::None
    };
    SessionEvent::Error { name, message, remedy }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn seen(event: &Value) -> Vec<SessionEvent> {
        interpret(event).map(|(_, events)| events).unwrap_or_default()
    }

    #[test]
    fn a_read_of_a_patch_is_seen_with_its_path_in_the_workspace() {
        let part = |tool: &str, status: &str, path: &str| json!({"type": "tool", "tool": tool, "state": {"status": status, "input": {"filePath": path}}});
        let patch = ".conclave-review/patches/0001-a.patch";
        for path in [&format!("/run/ws/{patch}"), &format!("./{patch}"), patch] {
            assert_eq!(
                file_read(&part("read", "completed", path), "/run/ws").as_deref(),
                Some(patch)
            );
        }
        assert_eq!(file_read(&part("read", "error", patch), "/run/ws"), None);
        assert_eq!(file_read(&part("grep", "completed", patch), "/run/ws"), None);
        let event = json!({"type": "message.part.updated", "properties": {"sessionID": "s",
            "part": part("read", "running", patch)}});
        assert_eq!(seen(&event), [SessionEvent::Alive]);
    }

    #[test]
    fn errors_say_what_could_help() {
        let error = |name: &str, message: &str, retryable: bool| {
            let event = json!({"type": "session.error", "properties": {"sessionID": "s",
                "error": {"name": name, "data": {"message": message, "isRetryable": retryable}}}});
            match &seen(&event)[..] {
                [SessionEvent::Error { remedy, .. }] => *remedy,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(error("APIError", "overloaded", true), Remedy::OtherModel);
        assert_eq!(
            error("APIError", "conclave: no healthy model", false),
            Remedy::OtherProvider
        );
        let wrapped = r#"{"message":"conclave: no healthy model"}"#;
        assert_eq!(error("UnknownError", wrapped, false), Remedy::OtherProvider);
        assert_eq!(error("APIError", "conclave: run budget spent", false), Remedy::None);
        assert_eq!(error("ContextOverflowError", "prompt is too long", true), Remedy::None);
        assert_eq!(error("ProviderAuthError", "", true), Remedy::None);
    }

    #[test]
    fn unknown_events_and_odd_shapes_are_ignored() {
        for event in [
            json!({}),
            json!({"type": "plugin.added", "properties": {}}),
            json!([]),
            json!({"type": 3}),
        ] {
            assert_eq!(interpret(&event), None);
        }
        let unknown = json!({"type": "session.diff", "properties": {"sessionID": "s"}});
        assert_eq!(interpret(&unknown), Some(("s".into(), Vec::new())));
    }
}

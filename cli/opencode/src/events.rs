//! OpenCode's events, read leniently: unknown types are ignored, missing fields are no error.

use conclave_engine::ports::{FileRead, Remedy, SessionEvent, SessionFault};
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
        "session.error" => vec![SessionEvent::Error(fault(properties.get("error")?))],
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

/// What a successful `read` has shown of a file, its path relative to the workspace. Taken from the messages, which are
/// complete when the answer is: events may lag behind it by seconds.
///
/// `OpenCode` shows 2000 lines or 50 KB at once, and 2000 characters of a line.
pub(crate) fn file_read(part: &Value, workspace: &str) -> Option<FileRead> {
    let text = |pointer: &str| part.pointer(pointer).and_then(Value::as_str);
    let succeeded = text("/tool") == Some("read") && text("/state/status") == Some("completed");
    let path = text("/state/input/filePath").filter(|_| succeeded)?;
    let relative = path
        .strip_prefix(workspace)
        .map_or(path, |rest| rest.trim_start_matches('/'));
    let shown = part.pointer("/state/metadata/display");
    let number = |name: &str| shown.and_then(|shown| shown.get(name)).and_then(Value::as_u64);
    let flag = |value: Option<&Value>| value.and_then(Value::as_bool).unwrap_or(false);
    let truncated =
        flag(part.pointer("/state/metadata/truncated")) || flag(shown.and_then(|shown| shown.get("truncated")));
    let first = number("lineStart")
        .or_else(|| part.pointer("/state/input/offset").and_then(Value::as_u64))
        .unwrap_or(1)
        .max(1);
    let lines = shown.and_then(|shown| shown.get("text")).and_then(Value::as_str);
    Some(FileRead {
        path: relative.trim_start_matches("./").to_owned(),
        first,
        // A part without its last line shows nothing that could be counted.
        last: truncated.then(|| number("lineEnd").unwrap_or(first - 1)),
        cut_lines: lines.is_some_and(|lines| lines.lines().any(|line| line.ends_with(LINE_CUT))),
    })
}

/// How `OpenCode` ends a line that it has cut.
const LINE_CUT: &str = "... (line truncated to 2000 chars)";

/// What the gateway says when no model is left that it could ask without the session noticing. Found anywhere in the
/// text: OpenCode wraps errors in various ways.
const NO_HEALTHY_MODEL: &str = "conclave: no healthy model";

/// What the gateway says when an operator has switched the provider off.
const SWITCHED_OFF: &str = "conclave: provider switched off";

/// What an error of an event or of a message says.
pub(crate) fn fault(error: &Value) -> SessionFault {
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
        "ProviderAuthError" | "MessageAbortedError" | "StructuredOutputError"
    );
    let remedy = if name == "ContextOverflowError" {
        Remedy::LessToRead
    } else if final_by_name {
        Remedy::None
    } else if message.contains(NO_HEALTHY_MODEL) || message.contains(SWITCHED_OFF) {
        Remedy::OtherProvider
    } else if retryable {
        Remedy::OtherModel
    } else {
        Remedy::None
    };
    SessionFault { name, message, remedy }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn seen(event: &Value) -> Vec<SessionEvent> {
        interpret(event).map(|(_, events)| events).unwrap_or_default()
    }

    fn read_of(path: &str, metadata: &Value) -> Value {
        json!({"type": "tool", "tool": "read",
            "state": {"status": "completed", "input": {"filePath": path}, "metadata": metadata}})
    }

    #[test]
    fn a_read_of_a_patch_is_seen_with_its_path_in_the_workspace() {
        let patch = ".conclave-review/patches/0001-a.patch";
        let whole = json!({"truncated": false, "display": {"type": "file", "text": "x", "lineStart": 1, "lineEnd": 1,
            "totalLines": 1, "truncated": false}});
        for path in [&format!("/run/ws/{patch}"), &format!("./{patch}"), patch] {
            let seen = file_read(&read_of(path, &whole), "/run/ws").expect("a read");
            assert_eq!((seen.path.as_str(), seen.first, seen.last), (patch, 1, None));
        }
        let mut other = read_of(patch, &whole);
        other["state"]["status"] = json!("error");
        assert_eq!(file_read(&other, "/run/ws"), None);
        other["state"]["status"] = json!("completed");
        other["tool"] = json!("grep");
        assert_eq!(file_read(&other, "/run/ws"), None);
        let event = json!({"type": "message.part.updated", "properties": {"sessionID": "s",
            "part": read_of(patch, &whole)}});
        assert_eq!(seen(&event), [SessionEvent::Alive]);
    }

    #[test]
    fn a_part_of_a_file_is_no_whole_file() {
        let part = |first: u64, last: u64, truncated: bool, text: &str| {
            let metadata = json!({"truncated": truncated, "display": {"type": "file", "text": text,
                "lineStart": first, "lineEnd": last, "totalLines": 5000, "truncated": truncated}});
            file_read(&read_of("p", &metadata), "/run/ws").expect("a read")
        };
        let first = part(1, 2000, true, "x");
        assert_eq!((first.first, first.last, first.cut_lines), (1, Some(2000), false));
        let rest = part(2001, 5000, false, "x");
        assert_eq!((rest.first, rest.last), (2001, None));
        // A first line of more than 50 KB: nothing was shown.
        let nothing = part(1, 0, true, "");
        assert_eq!((nothing.first, nothing.last), (1, Some(0)));
        assert!(part(1, 2, false, "short\nlong... (line truncated to 2000 chars)").cut_lines);
    }

    #[test]
    fn errors_say_what_could_help() {
        let error = |name: &str, message: &str, retryable: bool| {
            let event = json!({"type": "session.error", "properties": {"sessionID": "s",
                "error": {"name": name, "data": {"message": message, "isRetryable": retryable}}}});
            match &seen(&event)[..] {
                [SessionEvent::Error(fault)] => fault.remedy,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(error("APIError", "overloaded", true), Remedy::OtherModel);
        assert_eq!(
            error("APIError", "conclave: no healthy model", false),
            Remedy::OtherProvider
        );
        assert_eq!(
            error("APIError", "conclave: provider switched off", false),
            Remedy::OtherProvider
        );
        let wrapped = r#"{"message":"conclave: no healthy model"}"#;
        assert_eq!(error("UnknownError", wrapped, false), Remedy::OtherProvider);
        assert_eq!(error("APIError", "conclave: run budget spent", false), Remedy::None);
        assert_eq!(
            error("ContextOverflowError", "prompt is too long", true),
            Remedy::LessToRead
        );
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

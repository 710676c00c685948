//! OpenCode's events, read leniently: unknown types are ignored, missing fields are no error.

use std::hash::{DefaultHasher, Hash, Hasher};

use camino::Utf8Path;
use conclave_engine::{
    ports::{FileRead, Remedy, SessionEvent, SessionFault},
    review::REVIEW_DIRECTORY,
};
use serde_json::Value;

/// The session that an event is about, and its meaning for a watcher of that session.
pub(crate) fn interpret(event: &Value) -> Option<(String, Vec<SessionEvent>)> {
    let properties = &event["properties"];
    let (part, info) = (&properties["part"], &properties["info"]);
    let session = [properties, part, info]
        .into_iter()
        .find_map(|place| place.get("sessionID"))?;
    let events = match event["type"].as_str()? {
        "message.part.delta" => vec![SessionEvent::Alive],
        "message.part.updated" => part_event(part),
        "session.idle" => vec![SessionEvent::Idle],
        "session.status" if properties["status"]["type"] == "retry" => {
            let attempt = properties["status"]["attempt"].as_u64().unwrap_or(0);
            vec![SessionEvent::Retrying { attempt }]
        }
        "session.error" => vec![SessionEvent::Error(fault(properties.get("error")?))],
        _ => Vec::new(),
    };
    Some((session.as_str()?.to_owned(), events))
}

fn part_event(part: &Value) -> Vec<SessionEvent> {
    match part["type"].as_str() {
        Some("step-finish") => {
            let reason = part["reason"].as_str().unwrap_or("unknown");
            vec![SessionEvent::StepFinished(reason.to_owned())]
        }
        Some("tool") => call_ended(part).into_iter().chain([SessionEvent::Alive]).collect(),
        Some("text" | "reasoning") => vec![SessionEvent::Alive],
        // A step's start is OpenCode's own doing, not the model's: no sign of life.
        _ => Vec::new(),
    }
}

/// The call of a tool that has ended.
fn call_ended(part: &Value) -> Option<SessionEvent> {
    let state = &part["state"];
    let ended = matches!(state["status"].as_str(), Some("completed" | "error"));
    let id = part["callID"].as_str().filter(|_| ended)?;
    let mut hasher = DefaultHasher::new();
    (part["tool"].as_str(), state["input"].to_string()).hash(&mut hasher);
    Some(SessionEvent::Called {
        message: part["messageID"].as_str()?.to_owned(),
        id: id.to_owned(),
        call: hasher.finish(),
    })
}

/// The lines of files that a successful call of `read` or `grep` has shown.
pub(crate) fn file_reads(part: &Value, workspace: &str) -> Vec<FileRead> {
    match part["tool"].as_str() {
        Some("read") => file_read(part, workspace).into_iter().collect(),
        Some("grep") => found_lines(part, workspace),
        _ => Vec::new(),
    }
}

/// The lines that a `grep` among the patches has shown. Elsewhere file names are the author's, and could look like lines of the
/// result; those of patches are ours.
///
/// `OpenCode` shows 100 lines, and 2000 characters of each.
fn found_lines(part: &Value, workspace: &str) -> Vec<FileRead> {
    let state = &part["state"];
    let patches = format!("{REVIEW_DIRECTORY}/patches");
    let relative = |path: &str| {
        let rest = path
            .strip_prefix(workspace)
            .map_or(path, |rest| rest.trim_start_matches('/'));
        rest.trim_start_matches("./").trim_end_matches('/').to_owned()
    };
    let asked = state["input"]["path"].as_str().map(relative).unwrap_or_default();
    let is_among_patches = asked == patches || Utf8Path::new(&asked).parent() == Some(Utf8Path::new(&patches));
    let (true, "completed") = (is_among_patches, state["status"].as_str().unwrap_or_default()) else {
        return Vec::new();
    };
    let mut path = String::new();
    let mut found = Vec::new();
    for line in state["output"].as_str().unwrap_or_default().lines() {
        if let Some((number, text)) = line.strip_prefix("  Line ").and_then(|rest| rest.split_once(": ")) {
            if let Ok(number) = number.parse() {
                found.push(FileRead {
                    path: path.clone(),
                    first: number,
                    last: Some(number),
                    cut_lines: text.ends_with("...") && text.encode_utf16().count() >= MAX_FOUND,
                });
            }
        } else if let Some(name) = line.strip_suffix(':') {
            path = relative(name);
        }
    }
    found
}

/// Length of a found line, in UTF-16 units, from which on `OpenCode` may have cut it.
const MAX_FOUND: usize = 2000;

/// The lines of a file that a successful `read` has shown, its path relative to the workspace. Taken from the messages, which are
/// complete when the answer is: events may lag behind it by seconds.
///
/// `OpenCode` shows 2000 lines or 50 KB at once, and 2000 characters of a line.
fn file_read(part: &Value, workspace: &str) -> Option<FileRead> {
    let (state, shown) = (&part["state"], &part["state"]["metadata"]["display"]);
    let succeeded = part["tool"] == "read" && state["status"] == "completed";
    let path = state["input"]["filePath"].as_str().filter(|_| succeeded)?;
    let relative = path
        .strip_prefix(workspace)
        .map_or(path, |rest| rest.trim_start_matches('/'));
    let truncated = state["metadata"]["truncated"] == true || shown["truncated"] == true;
    let first = shown["lineStart"]
        .as_u64()
        .or_else(|| state["input"]["offset"].as_u64());
    let first = first.unwrap_or(1).max(1);
    let lines = shown["text"].as_str();
    Some(FileRead {
        path: relative.trim_start_matches("./").to_owned(),
        first,
        // A part without its last line shows nothing that could be counted.
        last: truncated.then(|| shown["lineEnd"].as_u64().unwrap_or(first - 1)),
        cut_lines: lines.is_some_and(|lines| lines.lines().any(|line| line.ends_with(LINE_CUT))),
    })
}

/// The end of a line that `OpenCode` has cut.
const LINE_CUT: &str = "... (line truncated to 2000 chars)";

/// The gateway's error when no model is left that it could ask without the session noticing. Found anywhere in the
/// text: OpenCode wraps errors in various ways.
const NO_HEALTHY_MODEL: &str = "conclave: no healthy model";

/// The gateway's error when an operator has switched the provider off.
const SWITCHED_OFF: &str = "conclave: provider switched off";

/// The fault in an error of an event or of a message.
pub(crate) fn fault(error: &Value) -> SessionFault {
    let data = &error["data"];
    let name = error["name"].as_str().unwrap_or("UnknownError").to_owned();
    let message = data["message"].as_str().unwrap_or_default().to_owned();
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
    } else if data["isRetryable"] == true {
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
    fn lines_that_grep_shows_of_a_patch_are_read() {
        let grep = |path: &str, output: &str| {
            json!({"type": "tool", "tool": "grep", "callID": "c",
                "state": {"status": "completed", "input": {"pattern": "", "path": path}, "output": output}})
        };
        let long = "x".repeat(2000);
        let output = format!(
            "Found 3 matches\n/run/ws/.conclave-review/patches/0001-a.patch:\n  Line 1: diff --git a/a b/a\n\n  Line 2: \
             +a: b:\n\n\n/run/ws/.conclave-review/patches/0002-b.patch:\n  Line 7: {long}...\n"
        );
        let read = |path: &str, line: u64, cut_lines: bool| FileRead {
            path: format!(".conclave-review/patches/{path}"),
            first: line,
            last: Some(line),
            cut_lines,
        };
        let expected = [
            read("0001-a.patch", 1, false),
            read("0001-a.patch", 2, false),
            read("0002-b.patch", 7, true),
        ];
        for path in [
            ".conclave-review/patches",
            "./.conclave-review/patches/",
            "/run/ws/.conclave-review/patches/0001-a.patch",
        ] {
            assert_eq!(file_reads(&grep(path, &output), "/run/ws"), expected, "{path}");
        }
        // A file's name could say anything there.
        for path in ["", "src", ".conclave-review/patches/../..", ".conclave-review"] {
            assert_eq!(file_reads(&grep(path, &output), "/run/ws"), [], "{path}");
        }
        let mut failed = grep(".conclave-review/patches", &output);
        failed["state"]["status"] = json!("error");
        assert_eq!(file_reads(&failed, "/run/ws"), []);
    }

    #[test]
    fn calls_that_are_alike_have_the_same_number() {
        let call = |id: &str, input: Value, status: &str| {
            let part = json!({"type": "tool", "tool": "read", "messageID": "m", "callID": id, "state": {"status": status, "input": input}});
            part_event(&part)
        };
        let number = |events: &[SessionEvent]| match events {
            [SessionEvent::Called { call, .. }, SessionEvent::Alive] => Some(*call),
            _ => None,
        };
        let one = number(&call("a", json!({"filePath": "x"}), "completed"));
        assert!(one.is_some());
        assert_eq!(one, number(&call("b", json!({"filePath": "x"}), "error")));
        assert_ne!(one, number(&call("c", json!({"filePath": "y"}), "completed")));
        assert_eq!(number(&call("d", json!({"filePath": "x"}), "running")), None);
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

use std::io::Write;

use conclave_shared::redact::Redactor;
use serde_json::json;

use super::*;

fn cleaner() -> Cleaner {
    Cleaner {
        places: vec![("/tmp/run-2/workspace".to_owned(), "{workspace}".to_owned())],
        redactors: [Redactor::default(), Redactor::default()],
    }
}

fn recording(lines: &[Value], rest: &str) -> Result<Arc<Recording>, ConfigError> {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    for line in lines {
        writeln!(file, "{line}").expect("written");
    }
    write!(file, "{rest}").expect("written");
    Recording::open(file.path()).map(Arc::new)
}

fn head() -> Value {
    json!({"recording": {"version": 1, "providers": [{"name": "anthropic", "wire": "anthropic"}], "notes": {"a": "b"}}})
}

fn call(number: u64, reviewer: &str, body: &Value) -> Value {
    json!({"call": {"call": number, "reviewer": reviewer, "session": "ses_1", "model": "anthropic/m", "body": body}})
}

fn frame(number: u64, data: &str) -> Value {
    json!({"frame": {"call": number, "milliseconds": 3, "data": data}})
}

fn ended(number: u64, fault: Option<&str>) -> Value {
    json!({"ended": {"call": number, "fault": fault}})
}

fn body(text: &str) -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": text}]})
}

fn find(recording: &Arc<Recording>, reviewer: &str, text: &str) -> Result<Playback, String> {
    recording.find(&cleaner(), reviewer, body(text).to_string().as_bytes())
}

#[test]
fn answers_come_in_order_each_once_and_calls_may_be_mixed() {
    let lines = [
        head(),
        call(1, "security", &body("read {workspace}/a")),
        call(2, "security", &body("read {workspace}/a")),
        frame(2, "second"),
        frame(1, "one "),
        frame(1, "two"),
        ended(1, None),
        ended(2, Some("cut stream")),
    ];
    let recording = recording(&lines, "").expect("a recording");
    assert_eq!(recording.note("a"), Some("b"));
    assert_eq!(recording.providers()[0].wire, crate::Wire::Anthropic);
    let text = "read /tmp/run-2/workspace/a";
    let mut first = find(&recording, "security", text)
        .and_then(|playing| playing.begin().map_err(|_| String::new()))
        .expect("recorded");
    assert_eq!(first.chunk(), Ok(Some(Bytes::from("one "))));
    assert_eq!(first.chunk(), Ok(Some(Bytes::from("two"))));
    assert_eq!(first.chunk(), Ok(None));
    let mut second = find(&recording, "security", text).expect("recorded twice");
    assert_eq!(second.chunk(), Ok(Some(Bytes::from("second"))));
    assert_eq!(second.chunk(), Err(ProviderFault::CutStream));
    let third = find(&recording, "security", text).expect_err("not three times");
    assert!(third.contains("security asks more often than it did"), "{third}");
}

#[test]
fn failures_fail_again() {
    let lines = [
        head(),
        call(1, "a", &body("x")),
        json!({"refused": {"call": 1, "status": 529, "retry_after_ms": 1500, "body": "Overloaded"}}),
        call(2, "a", &body("y")),
        ended(2, Some("timeout")),
    ];
    let recording = recording(&lines, "").expect("a recording");
    let failure = |text| {
        find(&recording, "a", text)
            .expect("recorded")
            .begin()
            .expect_err("it failed")
    };
    let refused = failure("x");
    assert_eq!(refused.class, CallFailure::from(ProviderFault::Overloaded).class);
    assert_eq!(refused.retry_after, Some(Duration::from_millis(1500)));
    assert_eq!(refused.said, "Overloaded");
    assert_eq!(failure("y"), ProviderFault::Timeout.into());
}

#[test]
fn a_request_that_was_not_recorded_is_told_from_the_one_that_was_due() {
    let lines = [
        head(),
        call(7, "security", &body("What about src/users.py, line 6?")),
        ended(7, None),
    ];
    let recording = recording(&lines, "").expect("a recording");
    let told = find(&recording, "security", "What about src/users.py, line 9?").expect_err("another one");
    assert!(told.contains("call 7"), "{told}");
    assert!(told.contains("/messages/0/content says"), "{told}");
    assert!(told.contains("line 9?") && told.contains("line 6?"), "{told}");
    let told = find(&recording, "release", "x").expect_err("no reviewer of that name");
    assert!(told.contains("has no call of release"), "{told}");
}

#[test]
fn differences_are_named_by_their_place() {
    let of = |recorded: Value, now: Value| difference("", &recorded, &now).unwrap_or_default();
    assert_eq!(
        of(json!({"a": {"b": 1}}), json!({"a": {"b": 2}})),
        "/a/b is 2 in place of 1"
    );
    assert_eq!(of(json!({"a": 1}), json!({"a": 1, "c": 2})), "/c is new");
    assert_eq!(of(json!({"a": 1, "c": 2}), json!({"a": 1})), "/c is missing");
    assert_eq!(
        of(json!({"a": [1]}), json!({"a": [1, 2]})),
        "/a has 2 elements in place of 1"
    );
}

#[test]
fn what_is_no_recording_is_refused_and_half_a_last_line_is_not() {
    let error = |lines: &[Value]| recording(lines, "").expect_err("no recording").to_string();
    assert!(error(&[]).contains("not a recording of model calls"));
    assert!(error(&[json!({"type": "session.idle"})]).contains("line 1 is not part of a recording"));
    let mut newer = head();
    newer["recording"]["version"] = json!(2);
    assert!(error(&[newer]).contains("version 2"));
    let killed = [head(), call(1, "a", &body("x")), frame(1, "one")];
    let recording = recording(&killed, "{\"frame\":{\"call\":1,\"mil").expect("what there is");
    let mut playing = find(&recording, "a", "x").expect("recorded");
    assert_eq!(playing.chunk(), Ok(Some(Bytes::from("one"))));
    assert_eq!(playing.chunk(), Ok(None), "the stream is cut, and treated so");
}

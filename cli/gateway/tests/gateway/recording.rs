//! Recording a run, and answering one from a recording.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use conclave_engine::ports::UsageLedger;
use conclave_gateway::{Gateway, GatewayEvent, Recording, RecordingMode, Rejection};
use conclave_scripted_provider::{Fault, Position};
use serde_json::Value;

use crate::{
    client::{Outcome, RUN_KEY, body, call, read},
    rig::{CREDENTIAL, FORMATS, OPUS_NEW, Rig, config, model, rig_with, session, wire_of},
};

fn recorded(file: PathBuf) -> impl FnOnce(&mut conclave_gateway::GatewayConfig) {
    move |config| {
        let notes = BTreeMap::from([("boundary".to_owned(), "ab12".to_owned())]);
        config.recording = RecordingMode::Record { file, notes };
        config.places = vec![("/tmp/run-1/workspace".to_owned(), "{workspace}".to_owned())];
    }
}

/// A gateway that has nothing but the recording: a provider that is not there, and no key.
async fn replaying(file: &std::path::Path) -> Gateway {
    let mut config = config("http://127.0.0.1:9");
    for upstream in &mut config.providers {
        upstream.credential = None;
    }
    config.recording = RecordingMode::Replay(Arc::new(Recording::open(file).unwrap()));
    config.places = vec![("/tmp/run-2/workspace".to_owned(), "{workspace}".to_owned())];
    let gateway = Gateway::start(config).await.unwrap();
    gateway.assign(&session("ses_of_another_run"), "security", &[model(OPUS_NEW)]);
    gateway
}

async fn ask(gateway: &Gateway, name: &str, text: &str) -> Outcome {
    let id = model(name);
    let wire = wire_of(id.provider());
    let body = body(wire, id.model(), text).to_string();
    let request = call(
        &gateway.base_url(id.provider()),
        wire,
        RUN_KEY,
        "ses_of_another_run",
        body,
    );
    read(request.send().await.unwrap()).await
}

fn lines(file: &std::path::Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn a_recorded_run_is_answered_without_any_provider() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("new/model-calls.jsonl");
    let rig = rig_with(recorded(file.clone())).await;
    let mut answers = Vec::new();
    for name in FORMATS {
        answers.push(rig.ask(name, "look at /tmp/run-1/workspace/a.rs").await.body);
    }
    let Rig { gateway, provider } = rig;
    gateway.shutdown().await;
    drop(provider);

    let again = replaying(&file).await;
    for (name, recorded) in FORMATS.iter().zip(answers) {
        let outcome = ask(&again, name, "look at /tmp/run-2/workspace/a.rs").await;
        assert!(outcome.is_whole(), "{outcome:?}");
        assert_eq!(outcome.body, recorded, "{name}");
    }
    let usage = |gateway: &Gateway, name: &str| gateway.usage(&session(name));
    assert_eq!(
        usage(&again, "ses_of_another_run"),
        usage(&gateway, "ses_a"),
        "the same tokens and cost"
    );
}

/// A recording that stays as it is: it was made when this version of the file's shape was new.
#[tokio::test]
async fn a_recording_of_an_earlier_program_is_answered() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/fixtures/recordings/version-1.jsonl"
    );
    let gateway = replaying(file.as_ref()).await;
    for name in FORMATS {
        let outcome = ask(&gateway, name, "look at /tmp/run-2/workspace/a.rs").await;
        assert!(outcome.is_whole(), "{outcome:?}");
    }
    // Call 4 was refused by an overloaded provider, and repeated.
    let outcome = ask(&gateway, OPUS_NEW, "after an overload in /tmp/run-2/workspace").await;
    assert!(outcome.is_whole(), "{outcome:?}");
    assert!(ask(&gateway, OPUS_NEW, "cut short").await.broken);
    let events = gateway.events();
    let count = |is: fn(&GatewayEvent) -> bool| events.iter().filter(|event| is(event)).count();
    assert_eq!(count(|event| matches!(event, GatewayEvent::Retried { .. })), 1);
    assert_eq!(count(|event| matches!(event, GatewayEvent::StreamCut { .. })), 1);
    assert_eq!(count(|event| matches!(event, GatewayEvent::Rejected { .. })), 0);
}

#[tokio::test]
async fn a_recording_holds_no_secret_and_tells_every_call() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("model-calls.jsonl");
    let rig = rig_with(recorded(file.clone())).await;
    rig.provider.inject(Fault::status(529).retry_after(1).times(1));
    let text = format!("{CREDENTIAL} and {RUN_KEY} and sk-ant-0123456789abcdef0123 in /tmp/run-1/workspace");
    assert!(rig.ask(OPUS_NEW, &text).await.is_whole());
    rig.provider.inject(Fault::cut().at(Position::MidContent).times(1));
    assert!(rig.ask(OPUS_NEW, "y").await.broken);
    let all = std::fs::read_to_string(&file).unwrap();
    for secret in [
        CREDENTIAL,
        RUN_KEY,
        "sk-ant-0123456789abcdef0123",
        "/tmp/run-1",
        "x-api-key",
    ] {
        assert!(!all.contains(secret), "{secret}");
    }
    let lines = lines(&file);
    assert_eq!(lines[0]["recording"]["notes"]["boundary"], "ab12");
    let kind = |line: &Value| line.as_object().unwrap().keys().next().unwrap().clone();
    let count = |name: &str| lines.iter().filter(|line| kind(line) == name).count();
    assert_eq!((count("call"), count("refused"), count("ended")), (3, 1, 2));
    assert_eq!(lines[1]["call"]["reviewer"], "security");
    assert_eq!(lines[2]["refused"]["status"], 529);
    assert_eq!(lines.last().unwrap()["ended"]["fault"], "cut stream");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "prompts and source are in it");
    }
}

#[tokio::test]
async fn failures_are_replayed_as_well() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("model-calls.jsonl");
    let rig = rig_with(recorded(file.clone())).await;
    rig.provider.inject(Fault::status(529).times(1));
    assert!(rig.ask(OPUS_NEW, "x").await.is_whole());
    let retried = |gateway: &Gateway| {
        let events = gateway.events();
        events
            .iter()
            .filter(|event| matches!(event, GatewayEvent::Retried { .. }))
            .count()
    };
    assert_eq!(retried(&rig.gateway), 1);
    let again = replaying(&file).await;
    assert!(ask(&again, OPUS_NEW, "x").await.is_whole());
    assert_eq!(retried(&again), 1);
}

#[tokio::test]
async fn what_was_not_recorded_is_final_and_names_what_differs() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("model-calls.jsonl");
    let rig = rig_with(recorded(file.clone())).await;
    assert!(rig.ask(OPUS_NEW, "the change is A").await.is_whole());
    let again = replaying(&file).await;
    let outcome = ask(&again, OPUS_NEW, "the change is B").await;
    assert_eq!(
        (outcome.status, outcome.message().as_str()),
        (400, Rejection::NotRecorded.marker())
    );
    let told = again.events().into_iter().find_map(|event| match event {
        GatewayEvent::NotRecorded { difference, .. } => Some(difference),
        _ => None,
    });
    let told = told.unwrap();
    assert!(
        told.contains("/messages/0/content/0/text") && told.contains("change is B"),
        "{told}"
    );
}

#[tokio::test]
async fn a_place_that_cannot_be_written_stops_the_start() {
    let mut config = config("http://127.0.0.1:9");
    recorded("/proc/nowhere/model-calls.jsonl".into())(&mut config);
    let error = Gateway::start(config).await.unwrap_err().to_string();
    assert!(error.contains("/proc/nowhere/model-calls.jsonl"), "{error}");
}

//! The record: soon on disk, in order, bounded, without secrets.

use camino::Utf8PathBuf;

use super::*;

struct Rig {
    _directory: tempfile::TempDir,
    path: Utf8PathBuf,
    journal: Journal,
    handle: JournalHandle,
}

fn rig(redactor: Redactor, limits: JournalLimits) -> Rig {
    let directory = tempfile::tempdir().expect("a directory");
    let path = Utf8PathBuf::from_path_buf(directory.path().join("events.jsonl")).expect("UTF-8");
    let (journal, handle) = Journal::on(File::create(&path), redactor, limits);
    Rig {
        _directory: directory,
        path,
        journal,
        handle,
    }
}

fn append(journal: &Journal, event: Value) {
    let size = event.to_string().len();
    journal.append(event, size);
}

fn lines(path: &Utf8Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("readable");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("an object a line"))
        .collect()
}

#[tokio::test]
async fn every_line_is_written_in_order_and_soon() {
    let rig = rig(Redactor::default(), JournalLimits::default());
    append(&rig.journal, json!({"n": 0}));
    // The journal is not closed here: the line has to arrive by itself.
    tokio::time::timeout(Duration::from_mins(1), async {
        while std::fs::read_to_string(&rig.path).expect("readable").is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("the line is written without a flush");
    for n in 1..500 {
        append(&rig.journal, json!({"n": n}));
    }
    drop(rig.journal);
    assert_eq!(rig.handle.finished().await, None);
    let numbers: Vec<i64> = lines(&rig.path)
        .iter()
        .map(|line| line["n"].as_i64().expect("a number"))
        .collect();
    assert_eq!(numbers, (0..500).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_hundred_lines_do_not_wait_and_a_single_one_waits_fifty_milliseconds() {
    let rig = rig(Redactor::default(), JournalLimits::default());
    let written = || std::fs::read_to_string(&rig.path).expect("readable").lines().count();
    for n in 0..100 {
        append(&rig.journal, json!({"n": n}));
    }
    tokio::task::yield_now().await;
    assert_eq!(written(), 100, "without any time passing");
    append(&rig.journal, json!({"n": 100}));
    tokio::time::sleep(MAX_WAIT / 2).await;
    assert_eq!(written(), 100);
    tokio::time::sleep(MAX_WAIT).await;
    assert_eq!(written(), 101);
}

#[tokio::test]
async fn a_secret_that_the_agent_came_across_is_not_recorded() {
    let redactor = Redactor::new(["a-\"secret\"-value".to_owned()]);
    let rig = rig(redactor, JournalLimits::default());
    append(&rig.journal, json!({"output": ["token = a-\"secret\"-value"]}));
    drop(rig.journal);
    rig.handle.finished().await;
    assert_eq!(lines(&rig.path), [json!({"output": ["token = [redacted]"]})]);
}

#[tokio::test]
async fn a_flood_of_events_is_bounded_and_counted_and_the_sessions_ends_are_kept() {
    let limits = JournalLimits {
        queue: 1 << 20,
        line: 4096,
        deltas: 20_000,
        file: 60_000,
    };
    let rig = rig(Redactor::default(), limits);
    let text = "x".repeat(300);
    for number in 0..1000 {
        append(
            &rig.journal,
            json!({"type": "message.part.delta", "properties": {"delta": text}}),
        );
        append(
            &rig.journal,
            json!({"type": "message.part.updated", "properties": {"text": text}}),
        );
        if number % 100 == 0 {
            append(
                &rig.journal,
                json!({"type": "session.idle", "properties": {"sessionID": number}}),
            );
            tokio::task::yield_now().await;
        }
    }
    drop(rig.journal);
    let missing = rig.handle.finished().await.expect("it says what is missing");
    assert!(missing.contains("events were too many"), "{missing}");
    let size = std::fs::metadata(&rig.path).expect("a file").len();
    assert!((50_000..95_000).contains(&size), "{size}");
    let lines = lines(&rig.path);
    let count = |kind: &str| lines.iter().filter(|line| line["type"] == kind).count();
    assert_eq!(count("session.idle"), 10);
    assert!(count("message.part.delta") < count("message.part.updated"));
    assert!(count("conclave.record.incomplete") >= 1);
}

#[tokio::test]
async fn one_event_that_is_too_large_is_named_and_a_full_queue_drops() {
    let limits = JournalLimits {
        queue: 10_000,
        line: 1000,
        deltas: 1 << 20,
        file: 1 << 20,
    };
    let rig = rig(Redactor::default(), limits);
    append(
        &rig.journal,
        json!({"type": "message.part.updated", "properties": {"sessionID": "s", "text": "x".repeat(5000)}}),
    );
    // Nothing was written yet, so this one finds no place.
    append(&rig.journal, json!({"type": "x", "text": "x".repeat(6000)}));
    drop(rig.journal);
    let missing = rig.handle.finished().await.expect("it says what is missing");
    assert!(missing.starts_with("2 events"), "{missing}");
    let lines = lines(&rig.path);
    assert_eq!(lines[0]["properties"]["sessionID"], "s");
    assert!(lines[0]["conclave"]["left_out_bytes"].as_u64().expect("a number") > 5000);
}

#[tokio::test]
async fn what_stands_in_its_place_is_not_written_to() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = Utf8PathBuf::from_path_buf(directory.path().join("events.jsonl")).expect("UTF-8");
    let precious = path.with_file_name("precious");
    std::os::unix::fs::symlink(&precious, &path).expect("a link");
    let (journal, handle) = Journal::create(&path, Redactor::default());
    append(&journal, json!({"n": 0}));
    drop(journal);
    let missing = handle.finished().await.expect("it says so");
    assert!(missing.contains("File exists"), "{missing}");
    assert!(!precious.exists());
    std::fs::remove_file(&path).expect("removed");
    let (journal, handle) = Journal::create(&path, Redactor::default());
    drop(journal);
    assert_eq!(handle.finished().await, None);
}

#[tokio::test]
async fn a_full_disk_ends_the_record_and_is_told() {
    // The kernel's own full disk.
    let full = OpenOptions::new().write(true).open("/dev/full").expect("it opens");
    let (journal, handle) = Journal::on(Ok(full), Redactor::default(), JournalLimits::default());
    append(&journal, json!({"n": 0}));
    drop(journal);
    let missing = handle.finished().await.expect("it says so");
    assert!(missing.contains("No space left on device"), "{missing}");
}

//! Reading the records of a run that is over, however it ended.

use std::{
    collections::HashMap,
    fs::File,
    io::{BufRead, BufReader, ErrorKind, Read},
};

use camino::Utf8Path;
use conclave_engine::review::{Review, SCHEMA_VERSION};
use conclave_shared::{finding::Finding, model::ModelId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    exit::Failure,
    output::{Excerpts, PROGRESS_FILE, RecordedEvent, RecordedLine, read_record},
};

/// The longest line of `events.jsonl` that is looked at; longer ones hold a whole file's content.
const MAX_LINE: u64 = 1 << 20;

/// The content of the records of a run.
#[derive(Debug)]
pub(crate) struct Run {
    /// The messages while it went on.
    pub(crate) lines: Vec<RecordedLine>,
    /// Its end.
    pub(crate) end: End,
}

/// The end of a run.
#[derive(Debug)]
pub(crate) enum End {
    /// With a review.
    Finished(Box<Review>, Excerpts),
    /// Without one: it failed, or it was killed.
    Unfinished(Unfinished),
}

/// What is known of a run without a review.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Unfinished {
    /// Always `false`: this tells the document from a `review.json`.
    pub(crate) finished: bool,
    /// The last stage that began.
    pub(crate) stage: Option<String>,
    /// The last time that is on record, in seconds since the start.
    pub(crate) seconds: f64,
    /// The sessions, in the order in which they began.
    pub(crate) sessions: Vec<SessionRecord>,
    /// What the sessions that had ended found: checked against the code, not judged.
    pub(crate) findings: Vec<Finding>,
    /// Lines of the record that cannot be read; the last line of a killed run often cannot.
    pub(crate) unreadable: usize,
}

/// What is known of a session.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub(crate) struct SessionRecord {
    /// Whose session.
    pub(crate) reviewer: String,
    /// Its name in the runtime.
    pub(crate) session: String,
    /// The models that it was prompted with, in order.
    pub(crate) models: Vec<ModelId>,
    /// Its end; `None` if it had not.
    pub(crate) outcome: Option<String>,
    /// Why not well.
    pub(crate) reason: Option<String>,
    /// Findings, if it had ended.
    pub(crate) findings: Option<usize>,
    /// Tokens of all kinds.
    pub(crate) tokens: u64,
    /// US dollars.
    pub(crate) cost_usd: f64,
    /// True if it had not ended: it used at least these tokens, and what a call that was out cost is not known.
    pub(crate) cost_incomplete: bool,
    /// What it was last seen doing.
    pub(crate) last_seen: Option<String>,
}

/// Reads a run directory.
pub(crate) fn read(directory: &Utf8Path) -> Result<Run, Failure> {
    let (lines, unreadable) = read_record(directory).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Failure::Settings(format!(
            "{directory} is not a run directory: there is no {PROGRESS_FILE} in it. A review prints its run directory as \
             `records`; `--output DIR` chooses it"
        )),
        _ => Failure::io(format!("read {PROGRESS_FILE} in {directory}"))(error),
    })?;
    let end = match review(directory)? {
        Some(review) => End::Finished(Box::new(review), excerpts(directory)),
        None => End::Unfinished(unfinished(&lines, unreadable, &last_seen(directory))),
    };
    Ok(Run { lines, end })
}

fn review(directory: &Utf8Path) -> Result<Option<Review>, Failure> {
    #[derive(Deserialize)]
    struct Versioned {
        schema_version: u32,
    }
    let path = directory.join("review.json");
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::io(format!("read {path}"))(error)),
    };
    match serde_json::from_str::<Versioned>(&text) {
        Ok(Versioned { schema_version }) if schema_version > SCHEMA_VERSION => {
            return Err(Failure::Settings(format!(
                "{path} has the schema version {schema_version}, and this conclave knows {SCHEMA_VERSION}: use the newer \
                 conclave that wrote it"
            )));
        }
        // A run that was killed while it wrote its review has none.
        Err(error) if error.is_eof() => return Ok(None),
        Ok(_) | Err(_) => {}
    }
    serde_json::from_str(&text)
        .map(Some)
        .map_err(|error| Failure::Settings(format!("{path} is not a review: {error}")))
}

/// The lines around the findings; a review without them can still be shown.
fn excerpts(directory: &Utf8Path) -> Excerpts {
    std::fs::read(directory.join(Excerpts::FILE))
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default()
}

fn unfinished(lines: &[RecordedLine], unreadable: usize, last_seen: &HashMap<String, String>) -> Unfinished {
    let mut run = Unfinished {
        finished: false,
        stage: None,
        seconds: lines.iter().map(|line| line.seconds).fold(0.0, f64::max),
        sessions: Vec::new(),
        findings: Vec::new(),
        unreadable,
    };
    for line in lines {
        match &line.event {
            RecordedEvent::Stage { text } => run.stage = Some(text.clone()),
            RecordedEvent::SessionStarted {
                reviewer,
                session,
                model,
                ..
            } => {
                let record = session_of(&mut run.sessions, reviewer);
                record.session.clone_from(session);
                record.models.push(model.clone());
                record.outcome = None;
            }
            RecordedEvent::Usage {
                reviewer,
                tokens,
                cost_usd,
            } => {
                let record = session_of(&mut run.sessions, reviewer);
                (record.tokens, record.cost_usd) = (*tokens, *cost_usd);
            }
            RecordedEvent::SessionDone {
                reviewer,
                outcome,
                findings,
                reason,
                ..
            } => {
                let record = session_of(&mut run.sessions, reviewer);
                record.outcome = Some(outcome.clone());
                record.reason.clone_from(reason);
                record.findings = findings.as_ref().map(Vec::len);
                run.findings.extend(findings.iter().flatten().cloned());
            }
            RecordedEvent::Thinking { .. } | RecordedEvent::Waiting { .. } | RecordedEvent::Warning { .. } => {}
        }
    }
    for record in run.sessions.iter_mut().filter(|record| record.outcome.is_none()) {
        record.last_seen = last_seen.get(&record.session).cloned();
        record.cost_incomplete = true;
    }
    run
}

fn session_of<'a>(sessions: &'a mut Vec<SessionRecord>, reviewer: &str) -> &'a mut SessionRecord {
    let known = sessions.iter().position(|record| record.reviewer == reviewer);
    let index = known.unwrap_or_else(|| {
        sessions.push(SessionRecord {
            reviewer: reviewer.to_owned(),
            ..SessionRecord::default()
        });
        sessions.len() - 1
    });
    &mut sessions[index]
}

/// What each session was last seen doing, from the runtime's own events. Read line by line, as the file may be large.
fn last_seen(directory: &Utf8Path) -> HashMap<String, String> {
    let mut seen = HashMap::new();
    let Ok(file) = File::open(directory.join("events.jsonl")) else {
        return seen;
    };
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    loop {
        line.clear();
        match reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return seen,
            // A line that is too long fails to parse in each of its pieces.
            Ok(_) => {
                let event: Value = serde_json::from_slice(&line).unwrap_or_default();
                let part = &event["properties"]["part"];
                if let Some((session, doing)) = part["sessionID"].as_str().zip(describe(part)) {
                    seen.insert(session.to_owned(), doing);
                }
            }
        }
    }
}

/// Describes the activity that a part of a session's message shows.
fn describe(part: &Value) -> Option<String> {
    match (part["type"].as_str()?, part["tool"].as_str()) {
        ("text", _) => Some("writing".to_owned()),
        ("reasoning", _) => Some("thinking".to_owned()),
        ("tool", Some(tool)) => {
            let input = &part["state"]["input"];
            let target = input.get("filePath").or_else(|| input.get("pattern"));
            let target = target.and_then(Value::as_str).unwrap_or_default();
            Some(format!("{tool} {target}").trim_end().to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use camino::Utf8PathBuf;
    use tempfile::TempDir;

    use super::*;

    fn run_directory(records: &[(&str, &str)]) -> (TempDir, Utf8PathBuf) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = Utf8PathBuf::from_path_buf(directory.path().to_owned()).expect("UTF-8");
        for (name, content) in records {
            std::fs::write(path.join(name), content).expect("writable");
        }
        (directory, path)
    }

    const PROGRESS: &str = r#"{"seconds":0.1,"event":"stage","text":"Reviewing"}
{"seconds":1.0,"event":"session_started","reviewer":"security","session":"ses_1","model":"anthropic/claude-sonnet-5","attempt":1}
{"seconds":1.1,"event":"session_started","reviewer":"documentation","session":"ses_2","model":"anthropic/claude-haiku-4-5","attempt":1}
{"seconds":4.0,"event":"usage","reviewer":"security","tokens":1200,"cost_usd":0.01}
{"seconds":5.0,"event":"session_started","reviewer":"security","session":"ses_1","model":"openai/gpt-5.3-codex","attempt":2}
{"seconds":9.5,"event":"session_done","reviewer":"documentation","outcome":"failed","findings":[],"session_seconds":8.4,"reason":"the answer is empty"}
{"seconds":9.9,"event":"us"#;

    #[test]
    fn a_killed_run_shows_what_each_session_was_doing() {
        let long = format!(
            r#"{{"properties":{{"part":{{"sessionID":"ses_1","type":"text","text":"{}"}}}}}}"#,
            "x".repeat(3 << 20)
        );
        let events = format!(
            "{}\n{long}\n{}\n{}",
            r#"{"type":"server.connected","properties":{}}"#,
            r#"{"type":"message.part.updated","properties":{"part":{"sessionID":"ses_1","type":"tool","tool":"read","state":{"input":{"filePath":"src/db.py"}}}}}"#,
            r#"{"type":"message.part.updated","properties":{"part":{"sessi"#
        );
        let (_keep, path) = run_directory(&[(PROGRESS_FILE, PROGRESS), ("events.jsonl", &events)]);
        let run = read(&path).expect("records");
        assert_eq!(run.lines.len(), 6);
        let End::Unfinished(run) = run.end else {
            panic!("no review was written")
        };
        assert_eq!((run.seconds, run.unreadable), (9.5, 1));
        assert_eq!(run.stage.as_deref(), Some("Reviewing"));
        let [security, documentation] = &run.sessions[..] else {
            panic!("{:?}", run.sessions)
        };
        assert_eq!(security.models.len(), 2);
        assert_eq!((security.tokens, security.outcome.as_deref()), (1200, None));
        assert!(security.cost_incomplete && !documentation.cost_incomplete);
        assert_eq!(security.last_seen.as_deref(), Some("read src/db.py"));
        assert_eq!(documentation.outcome.as_deref(), Some("failed"));
        assert_eq!(documentation.reason.as_deref(), Some("the answer is empty"));
    }

    #[test]
    fn what_is_no_run_is_refused_with_what_to_do() {
        let (_keep, path) = run_directory(&[]);
        let error = read(&path).expect_err("empty").to_string();
        assert!(
            error.contains("is not a run directory") && error.contains("--output DIR"),
            "{error}"
        );
        let (_keep, path) = run_directory(&[(PROGRESS_FILE, PROGRESS), ("review.json", r#"{"schema_version":99}"#)]);
        let error = read(&path).expect_err("newer").to_string();
        assert!(error.contains("schema version 99"), "{error}");
        let (_keep, path) = run_directory(&[(PROGRESS_FILE, PROGRESS), ("review.json", r#"{"schema_version":1}"#)]);
        let error = read(&path).expect_err("no review").to_string();
        assert!(error.contains("review.json is not a review: missing field"), "{error}");
    }

    #[test]
    fn a_run_that_was_killed_while_it_wrote_its_review_has_none() {
        let (_keep, path) = run_directory(&[
            (PROGRESS_FILE, PROGRESS),
            ("review.json", r#"{"schema_version":1,"run"#),
        ]);
        assert!(matches!(read(&path).expect("records").end, End::Unfinished(_)));
    }
}

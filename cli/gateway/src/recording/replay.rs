//! Replaying: answers from a recording instead of a provider.
//!
//! A request is answered by the recorded one of the same reviewer with the same body, each once and in the recorded
//! order. There is no guessing: a request that was not recorded gets an error that names what differs from the one that
//! was due, because a run that went another way is not the run that was recorded.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    fs::File,
    io::{BufRead, BufReader},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use conclave_resilience::classify::ProviderFault;
use serde_json::{Value, value::RawValue};
use sha2::{Digest, Sha256};

use super::{Cleaner, Line, RecordedProvider, VERSION};
use crate::{
    errors::{CallFailure, ConfigError},
    lock::locked,
};

/// The recording of a run.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    file: File,
    providers: Vec<RecordedProvider>,
    notes: BTreeMap<String, String>,
    state: Mutex<State>,
}

/// The place of a line in the file.
type Span = (u64, usize);

#[derive(Debug, Default)]
struct State {
    calls: Vec<Call>,
    /// Calls that were not replayed yet, by reviewer and body.
    due: HashMap<(String, [u8; 32]), VecDeque<usize>>,
}

#[derive(Debug)]
struct Call {
    reviewer: String,
    line: Span,
    answer: Vec<Span>,
    replayed: bool,
}

fn digest(body: &RawValue) -> [u8; 32] {
    Sha256::digest(body.get().as_bytes()).into()
}

impl Recording {
    /// Opens a recording. Only where its lines are is kept in memory.
    pub fn open(path: &Path) -> Result<Self, ConfigError> {
        let wrong = |problem: String| ConfigError::Recording(path.to_owned(), problem);
        let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
        let mut reader = BufReader::new(file.try_clone().map_err(|error| wrong(error.to_string()))?);
        let mut head = None;
        let mut state = State::default();
        let mut numbers: HashMap<u64, usize> = HashMap::new();
        let (mut at, mut number, mut text) = (0u64, 0u64, String::new());
        loop {
            text.clear();
            let length = reader.read_line(&mut text).map_err(|error| wrong(error.to_string()))?;
            if length == 0 {
                break;
            }
            number += 1;
            let span = (at, length);
            at += length as u64;
            let line = match serde_json::from_str::<Line>(&text) {
                Ok(line) => line,
                // The last line of a run that was killed may be half a line.
                Err(_) if !text.ends_with('\n') => break,
                Err(error) => return Err(wrong(format!("line {number} is not part of a recording: {error}"))),
            };
            let answer_of = match line {
                Line::Recording { version, .. } if version != VERSION => {
                    return Err(wrong(format!(
                        "it has version {version}, and this program reads {VERSION}"
                    )));
                }
                Line::Recording { providers, notes, .. } => {
                    head = Some((providers, notes));
                    continue;
                }
                Line::Call {
                    call, reviewer, body, ..
                } => {
                    let index = state.calls.len();
                    numbers.insert(call, index);
                    let key = (reviewer.clone(), digest(&body));
                    state.due.entry(key).or_default().push_back(index);
                    state.calls.push(Call {
                        reviewer,
                        line: span,
                        answer: Vec::new(),
                        replayed: false,
                    });
                    continue;
                }
                Line::Frame { call, .. } | Line::Refused { call, .. } | Line::Ended { call, .. } => call,
            };
            if let Some(call) = numbers.get(&answer_of).and_then(|index| state.calls.get_mut(*index)) {
                call.answer.push(span);
            }
        }
        let Some((providers, notes)) = head else {
            return Err(wrong("it is not a recording of model calls".to_owned()));
        };
        Ok(Self {
            path: path.to_owned(),
            file,
            providers,
            notes,
            state: Mutex::new(state),
        })
    }

    /// The providers of the recorded run.
    pub fn providers(&self) -> &[RecordedProvider] {
        &self.providers
    }

    /// The recorded run's note of this name.
    pub fn note(&self, name: &str) -> Option<&str> {
        self.notes.get(name).map(String::as_str)
    }

    /// The answer to a request, or the difference to the recorded one.
    pub(crate) fn find(self: &Arc<Self>, cleaner: &Cleaner, reviewer: &str, body: &[u8]) -> Result<Playback, String> {
        let body = cleaner.body(body);
        let mut state = locked(&self.state);
        let due = state.due.get_mut(&(reviewer.to_owned(), digest(&body)));
        if let Some(index) = due.and_then(VecDeque::pop_front)
            && let Some(call) = state.calls.get_mut(index)
        {
            call.replayed = true;
            return Ok(Playback {
                recording: Arc::clone(self),
                answer: std::mem::take(&mut call.answer).into(),
            });
        }
        let mut of_reviewer = state.calls.iter().filter(|call| call.reviewer == reviewer);
        let next = of_reviewer.find(|call| !call.replayed).map(|call| call.line);
        let any = state.calls.iter().any(|call| call.reviewer == reviewer);
        drop(state);
        let Some(Line::Call { call, body: due, .. }) = next.and_then(|span| self.line(span)) else {
            return Err(if any {
                format!("{reviewer} asks more often than it did in {}", self.path.display())
            } else {
                format!("{} has no call of {reviewer}", self.path.display())
            });
        };
        let parse = |body: &RawValue| serde_json::from_str(body.get()).unwrap_or_default();
        let what = difference("", &parse(&due), &parse(&body))
            .unwrap_or_else(|| "the two say the same in other words".to_owned());
        Err(format!(
            "a request of {reviewer} is not the one that was recorded (call {call}): {what}"
        ))
    }

    fn line(&self, (at, length): Span) -> Option<Line> {
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, at).ok()?;
        serde_json::from_slice(&bytes).ok()
    }
}

/// An answer that is being replayed.
#[derive(Debug)]
pub(crate) struct Playback {
    recording: Arc<Recording>,
    answer: VecDeque<Span>,
}

impl Playback {
    fn line(&mut self) -> Option<Line> {
        let span = self.answer.pop_front()?;
        self.recording.line(span)
    }

    /// Begins; a call that failed fails again.
    pub(crate) fn begin(mut self) -> Result<Self, CallFailure> {
        let Some(span) = self.answer.front().copied() else {
            return Err(ProviderFault::Network.into());
        };
        match self.recording.line(span) {
            Some(Line::Refused {
                status,
                retry_after_ms,
                body,
                ..
            }) => Err(CallFailure::refused(
                status,
                retry_after_ms.map(Duration::from_millis),
                &body,
            )),
            Some(Line::Ended { fault: Some(name), .. }) => {
                self.answer.clear();
                Err(fault(&name).into())
            }
            _ => Ok(self),
        }
    }

    pub(crate) fn chunk(&mut self) -> Result<Option<Bytes>, ProviderFault> {
        match self.line() {
            Some(Line::Frame { data, .. }) => Ok(Some(Bytes::from(data))),
            Some(Line::Ended { fault: Some(name), .. }) => Err(fault(&name)),
            _ => Ok(None),
        }
    }
}

/// The fault with this name.
fn fault(name: &str) -> ProviderFault {
    let known = ProviderFault::ALL.into_iter().find(|fault| fault.as_str() == name);
    known.unwrap_or(ProviderFault::CutStream)
}

/// The first place where two values differ, and how.
fn difference(place: &str, recorded: &Value, now: &Value) -> Option<String> {
    if recorded == now {
        return None;
    }
    let name = |place: &str| if place.is_empty() { "/" } else { place }.to_owned();
    match (recorded, now) {
        (Value::Object(recorded), Value::Object(now)) => {
            let keys = recorded
                .keys()
                .chain(now.keys().filter(|key| !recorded.contains_key(*key)));
            keys.into_iter().find_map(|key| {
                let inner = format!("{place}/{key}");
                match (recorded.get(key), now.get(key)) {
                    (Some(recorded), Some(now)) => difference(&inner, recorded, now),
                    (Some(_), None) => Some(format!("{inner} is missing")),
                    _ => Some(format!("{inner} is new")),
                }
            })
        }
        (Value::Array(recorded), Value::Array(now)) => {
            let inner = recorded
                .iter()
                .zip(now)
                .enumerate()
                .find_map(|(at, (recorded, now))| difference(&format!("{place}/{at}"), recorded, now));
            inner.or_else(|| {
                Some(format!(
                    "{} has {} elements in place of {}",
                    name(place),
                    now.len(),
                    recorded.len()
                ))
            })
        }
        (Value::String(recorded), Value::String(now)) => {
            let same = recorded.chars().zip(now.chars()).take_while(|(a, b)| a == b).count();
            let from = same.saturating_sub(20);
            let show = |text: &str| text.chars().skip(from).take(60).collect::<String>();
            Some(format!(
                "{} says {:?} in place of {:?}",
                name(place),
                show(now),
                show(recorded)
            ))
        }
        _ => Some(format!("{} is {now} in place of {recorded}", name(place))),
    }
}

#[cfg(test)]
#[path = "replay_tests.rs"]
mod tests;

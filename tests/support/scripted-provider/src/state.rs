//! What all requests share: what came, what was refused, what was spent.

use crate::ai_gateway::AiGateway;
use crate::books::{Books, Entry, Usage};
use crate::cache::{Lookup, PrefixCache};
use crate::fault::Faulty;
use crate::locked;
use crate::model::{Format, ModelRequest};
use crate::scripted::Scripted;
use crate::tokens;
use crate::wire::{Frame, Refusal, Stage};
use axum::http::HeaderMap;
use bytes::Bytes;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// A request as it came.
#[derive(Debug, Clone)]
pub struct RequestRecord {
    /// The number of the request, from 0.
    pub number: usize,
    /// When it came.
    pub received: Instant,
    /// The wire format, if the path is one of a format.
    pub format: Option<Format>,
    /// The path.
    pub path: String,
    /// The headers, without the keys.
    pub headers: Vec<(String, String)>,
    /// The body, byte by byte.
    pub body: Bytes,
    /// The model; empty if the request was refused before it was read.
    pub model: String,
    /// The agent; empty likewise.
    pub agent: String,
    /// The turn; 0 likewise.
    pub turn: usize,
    /// The status of the answer; `None` while none was sent.
    pub status: Option<u16>,
}

impl RequestRecord {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A request that a real provider would not have taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The number of the request.
    pub number: usize,
    /// The status of the answer.
    pub status: u16,
    /// What is wrong.
    pub message: String,
}

/// What all requests share.
pub(crate) struct State {
    pub(crate) key: Option<String>,
    /// True if it is a model server that asks for no key.
    pub(crate) keyless: bool,
    pub(crate) ai_gateway: Option<AiGateway>,
    /// Our own address.
    pub(crate) host: String,
    pub(crate) models: Option<Vec<String>>,
    pub(crate) delay: Duration,
    pub(crate) faulty: Faulty<Scripted>,
    pub(crate) books: Mutex<Books>,
    pub(crate) cache: Mutex<PrefixCache>,
    pub(crate) requests: Mutex<Vec<RequestRecord>>,
    pub(crate) violations: Mutex<Vec<Violation>>,
    pub(crate) closing: CancellationToken,
}

impl State {
    pub(crate) fn record(&self, format: Option<Format>, path: &str, headers: &HeaderMap, body: &Bytes) -> usize {
        let mut requests = locked(&self.requests);
        let number = requests.len();
        requests.push(RequestRecord {
            number,
            received: Instant::now(),
            format,
            path: path.to_owned(),
            headers: headers
                .iter()
                .filter(|(name, _)| !matches!(name.as_str(), "authorization" | "x-api-key" | "cf-aig-authorization"))
                .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
                .collect(),
            body: body.clone(),
            model: String::new(),
            agent: String::new(),
            turn: 0,
            status: None,
        });
        number
    }

    pub(crate) fn identify(&self, number: usize, request: &ModelRequest) {
        let mut requests = locked(&self.requests);
        let record = &mut requests[number];
        record.model.clone_from(&request.model);
        record.agent.clone_from(&request.agent);
        record.turn = request.turn;
    }

    pub(crate) fn set_status(&self, number: usize, status: u16) {
        locked(&self.requests)[number].status = Some(status);
    }

    pub(crate) fn note_refusal(&self, number: usize, refusal: &Refusal) {
        self.set_status(number, refusal.status);
        locked(&self.violations).push(Violation {
            number,
            status: refusal.status,
            message: refusal.message.clone(),
        });
    }

    pub(crate) fn open_entry(&self, number: usize, request: &ModelRequest, session: Option<&str>) -> usize {
        let mut books = locked(&self.books);
        books.entries.push(Entry {
            number,
            format: request.format,
            model: request.model.clone(),
            agent: request.agent.clone(),
            session: session.map(str::to_owned),
            turn: request.turn,
            usage: Usage::default(),
            finished: false,
        });
        books.entries.len() - 1
    }
}

/// Books one answer while it goes out.
pub(crate) struct Tally {
    pub(crate) state: Arc<State>,
    pub(crate) entry: usize,
    pub(crate) lookup: Option<Lookup>,
    pub(crate) chars: usize,
}

impl Tally {
    /// The answer begins: the prompt is paid for, and in the cache.
    pub(crate) fn begin(&mut self) {
        if let Some(lookup) = self.lookup.take() {
            locked(&self.state.cache).remember(&lookup);
            locked(&self.state.books).entries[self.entry].usage = lookup.usage;
        }
    }

    /// A frame goes out.
    pub(crate) fn sent(&mut self, frame: &Frame) {
        self.begin();
        self.chars += frame.chars;
        let mut books = locked(&self.state.books);
        let entry = &mut books.entries[self.entry];
        entry.usage.output = tokens(self.chars);
        entry.finished |= frame.stage == Stage::Terminal;
    }

    /// Waits until the provider shuts down.
    pub(crate) async fn closing(&self) {
        self.state.closing.cancelled().await;
    }
}

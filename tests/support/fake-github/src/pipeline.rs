//! The way of a request: hooks, log, faults, limits, answer, and the headers that every answer has.

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::Value;
use sha1::{Digest as _, Sha1};
use tokio::sync::watch;
use url::form_urlencoded;

use crate::fault::{FaultKind, Faults};
use crate::ids::RepositoryId;
use crate::incoming::Incoming;
use crate::limits::{Counted, Limits};
use crate::log::{Log, RequestRecord, ViolationKind};
use crate::reply::{Refusal, Reply, ReplyBody};
use crate::respond::Responder;
use crate::state::State;
use crate::template::Template;

/// How a request ends.
#[derive(Debug)]
pub(crate) enum Ending {
    Answer(Reply),
    /// Headers and half of the body, then the connection breaks.
    Truncated(Reply),
    /// The connection breaks before the first byte.
    Cut,
    /// No answer at all.
    Hang,
}

/// What a test does around a request.
pub(crate) struct Hook {
    pub(crate) method: String,
    pub(crate) pattern: Template,
    /// Whether it runs after the request was handled, and before it is answered.
    pub(crate) is_after: bool,
    pub(crate) run: Box<dyn FnOnce() + Send>,
}

/// What all requests share.
pub(crate) struct Core {
    pub(crate) state: State,
    pub(crate) log: Log,
    pub(crate) faults: Faults,
    pub(crate) hooks: Vec<Hook>,
    limits: Limits,
    started: Instant,
    /// Called on every answer of a handler before it is checked; for tests of the check itself.
    pub(crate) tamper: Option<fn(&mut Value)>,
}

/// The server's inside: one lock, and a bell that rings whenever the log grows.
pub(crate) struct Server {
    core: Mutex<Core>,
    pub(crate) bell: watch::Sender<u64>,
}

impl Server {
    pub(crate) fn new(state: State) -> Self {
        let core = Core {
            state,
            log: Log::default(),
            faults: Faults::default(),
            hooks: Vec::new(),
            limits: Limits::default(),
            started: Instant::now(),
            tamper: None,
        };
        Self {
            core: Mutex::new(core),
            bell: watch::Sender::new(0),
        }
    }

    /// The state. A handler that panicked has already failed its test, so a poisoned lock is taken all the same.
    pub(crate) fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Handles one request. Blocks: handlers run git, and hooks use the server.
    pub(crate) fn process(&self, incoming: &Incoming) -> (Ending, Duration) {
        let path = self.core().path_of(incoming);
        self.run_hooks(&incoming.method, &path, false);
        let ending = self.core().process(incoming, &path);
        self.run_hooks(&incoming.method, &path, true);
        self.bell.send_modify(|count| *count += 1);
        ending
    }

    /// Writes a request that another part answers, such as git's, into the log.
    pub(crate) fn note(&self, incoming: &Incoming, user: Option<String>, status: u16) {
        let mut core = self.core();
        let index = core.record(incoming, &incoming.path, user);
        core.log.requests[index].status = Some(status);
        drop(core);
        self.bell.send_modify(|count| *count += 1);
    }

    fn run_hooks(&self, method: &str, path: &str, is_after: bool) {
        let matches = |hook: &mut Hook| {
            hook.is_after == is_after && hook.method == method && hook.pattern.matches(path).is_some()
        };
        let hooks: Vec<Hook> = self.core().hooks.extract_if(.., matches).collect();
        for hook in hooks {
            (hook.run)();
        }
    }
}

impl Core {
    /// The path below the API's address, with the repository by its name.
    fn path_of(&self, incoming: &Incoming) -> String {
        let path = if self.state.options.enterprise.is_none() {
            incoming.path.as_str()
        } else if incoming.path == "/api/graphql" {
            "/graphql"
        } else {
            incoming.path.strip_prefix("/api/v3").unwrap_or(&incoming.path)
        };
        let by_id = path
            .strip_prefix("/repositories/")
            .map(|rest| rest.split_once('/').unwrap_or((rest, "")));
        let found = by_id.and_then(|(id, rest)| Some((RepositoryId(id.parse().ok()?), rest)));
        match found.filter(|(id, _)| self.state.repositories.contains_key(id)) {
            Some((id, rest)) => format!("/repos/{}/{rest}", self.state.full_name(id))
                .trim_end_matches('/')
                .to_owned(),
            None => path.to_owned(),
        }
    }

    fn record(&mut self, incoming: &Incoming, path: &str, user: Option<String>) -> usize {
        let body = if incoming.body.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&incoming.body)
                .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&incoming.body).into_owned()))
        };
        self.log.requests.push(RequestRecord {
            method: incoming.method.clone(),
            path: path.to_owned(),
            query: form_urlencoded::parse(incoming.query.as_bytes()).into_owned().collect(),
            body,
            user,
            status: None,
            fault: None,
            at: self.started.elapsed(),
        });
        self.log.requests.len() - 1
    }

    fn process(&mut self, incoming: &Incoming, path: &str) -> (Ending, Duration) {
        let token = incoming.token().and_then(|text| self.state.tokens.get(text)).cloned();
        let user = token.as_ref().map(|token| self.state.user(token.user).rest_login());
        let index = self.record(incoming, path, user);
        let fault = self.faults.take(&incoming.method, path, &incoming.body);
        self.log.requests[index].fault = fault.as_ref().map(|fault| format!("{fault:?}"));
        let record = self.log.requests[index].clone();
        let creates = incoming.method == "POST"
            && ["/comments", "/replies", "/reviews", "/check-runs"]
                .iter()
                .any(|end| path.ends_with(end));
        let counted = Counted {
            token: incoming.token().unwrap_or_default(),
            kind: token.as_ref().map(|token| token.kind),
            resource: if path == "/graphql" { "graphql" } else { "core" },
            is_write: record.is_write(),
            creates,
        };
        if let Some(gap) = self.limits.hasty(&self.state.options, &counted) {
            let reason = format!("the write came {} ms after the one before", gap.as_millis());
            self.log.violate(ViolationKind::Request, &incoming.method, path, reason);
        }
        let limited = self.limits.count(&self.state.options, &counted);
        let ending = match (&fault, limited) {
            (Some(FaultKind::Hang), _) => Ending::Hang,
            (Some(FaultKind::CutBeforeStore), _) => Ending::Cut,
            (Some(fault), _) if fault.reply().is_some() => Ending::Answer(fault.reply().expect("checked by the guard")),
            (_, Some(limited)) => Ending::Answer(limited),
            (fault, None) => {
                let reply = self.responder().answer(incoming, path, token.as_ref(), &record.query);
                match fault {
                    Some(FaultKind::ErrorAfterStore) if reply.status < 400 => {
                        Ending::Answer(Refusal::new(502, "Server Error").reply())
                    }
                    Some(FaultKind::CutAfterStore) => Ending::Cut,
                    Some(FaultKind::TruncatedBody) => Ending::Truncated(reply),
                    _ => Ending::Answer(self.tag(incoming, &counted, reply)),
                }
            }
        };
        let delay = fault.as_ref().map(FaultKind::delay).unwrap_or_default();
        let ending = match ending {
            Ending::Answer(reply) => {
                self.log.requests[index].status = Some(reply.status);
                let reply = self.limits.describe(&self.state.options, &counted, reply);
                let reply = reply.header("x-github-request-id", &format!("FAKE:{index}"));
                Ending::Answer(match &self.state.options.enterprise {
                    Some(version) => reply.header("x-github-enterprise-version", version),
                    None => reply,
                })
            }
            other => other,
        };
        (ending, delay)
    }

    fn responder(&mut self) -> Responder<'_> {
        Responder {
            state: &mut self.state,
            log: &mut self.log,
            tamper: self.tamper,
        }
    }

    /// Gives an answer its `ETag`; one that the client already has is 304, which costs nothing.
    fn tag(&mut self, incoming: &Incoming, counted: &Counted<'_>, reply: Reply) -> Reply {
        let ReplyBody::Json(body) = &reply.body else {
            return reply;
        };
        if incoming.method != "GET" || reply.status != 200 {
            return reply;
        }
        let tag = format!("W/\"{}\"", hex::encode(Sha1::digest(body.to_string())));
        if incoming.header("if-none-match") == tag {
            self.limits.refund(counted);
            return Reply::empty(304).header("etag", &tag);
        }
        reply.header("etag", &tag)
    }
}

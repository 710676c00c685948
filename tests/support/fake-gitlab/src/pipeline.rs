//! From a request to its answer: log, fault, route, token, contract, handler, page, contract again.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, MutexGuard},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::sync::watch;
use url::form_urlencoded;

use crate::auth;
use crate::call::Call;
use crate::fault::{FaultKind, Faults, server_error};
use crate::incoming::Incoming;
use crate::log::{Log, RequestRecord, ViolationKind};
use crate::paging;
use crate::reply::{Reply, ReplyBody};
use crate::review::versions;
use crate::routes;
use crate::spec::{API_PREFIX, IncomingBody, Operation, Problem, Spec};
use crate::state::State;

/// How a request ends.
#[derive(Debug)]
pub(crate) enum Ending {
    Answer(Reply),
    /// Headers and half of the body, then the connection breaks.
    Truncated(Reply),
    /// No answer at all.
    Hang,
}

/// What all requests share.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) state: State,
    pub(crate) log: Log,
    pub(crate) faults: Faults,
    /// When notes were posted in the last minute, by user.
    pub(crate) posted: BTreeMap<String, VecDeque<Instant>>,
    /// Called on every answer of a handler before it is checked; for tests of the check itself.
    pub(crate) tamper: Option<fn(&mut Value)>,
}

/// The server's inside: one lock, and a bell that rings whenever the log grows.
#[derive(Debug)]
pub(crate) struct Server {
    core: Mutex<Core>,
    sub_path: String,
    pub(crate) bell: watch::Sender<u64>,
}

impl Server {
    pub(crate) fn new(state: State, sub_path: String) -> Self {
        let core = Core {
            state,
            log: Log::default(),
            faults: Faults::default(),
            posted: BTreeMap::new(),
            tamper: None,
        };
        Self {
            core: Mutex::new(core),
            sub_path,
            bell: watch::Sender::new(0),
        }
    }

    /// The state. A handler that panicked has already failed its test, so a poisoned lock is taken all the same.
    pub(crate) fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Handles one request. Blocks: handlers run git.
    pub(crate) fn process(&self, incoming: &Incoming) -> Ending {
        let ending = self.core().process(&self.sub_path, incoming);
        self.bell.send_modify(|count| *count += 1);
        ending
    }
}

impl Core {
    fn process(&mut self, sub_path: &str, incoming: &Incoming) -> Ending {
        let query: Vec<(String, String)> = form_urlencoded::parse(incoming.query.as_bytes()).into_owned().collect();
        let below = incoming.path.strip_prefix(sub_path).unwrap_or_default();
        let path = below.strip_prefix(API_PREFIX).unwrap_or(below).to_owned();
        let user = auth::peek(&self.state, &incoming.credentials);
        let index = self.log.requests.len();
        self.log.requests.push(RequestRecord {
            method: incoming.method.clone(),
            path: if path.is_empty() {
                incoming.path.clone()
            } else {
                path.clone()
            },
            query: query.clone(),
            body: logged_body(&incoming.body),
            user,
            status: None,
            fault: None,
        });
        if !incoming.path.starts_with(sub_path) {
            // Below another path of the host there is something else, which is no GitLab.
            self.log.requests[index].status = Some(404);
            return Ending::Answer(Reply::raw(404, "text/html", b"<html>Not here</html>".to_vec()));
        }
        let too_many = self.is_too_fast(incoming, &path);
        let fault = self.faults.take(&incoming.method, &path).or(too_many);
        self.log.requests[index].fault = fault.as_ref().map(|fault| format!("{fault:?}"));
        let ending = match &fault {
            Some(FaultKind::Hang) => Ending::Hang,
            Some(fault) if fault.reply().is_some() => Ending::Answer(fault.reply().expect("checked by the guard")),
            _ => {
                let reply = if below == "/api/graphql" {
                    routes::graphql::handle(&mut self.state, incoming)
                } else if below.starts_with(API_PREFIX)
                    && incoming.method == "GET"
                    && let Some(id) = path.strip_prefix(routes::users::BELOW)
                {
                    routes::users::read(&self.state, incoming, id)
                } else if below.starts_with(API_PREFIX) && path == routes::users::PATH && incoming.method == "GET" {
                    routes::users::find(&self.state, incoming, &query)
                } else if below.starts_with(API_PREFIX)
                    && path == routes::tokens::PATH
                    && self.state.options.describes_tokens
                {
                    routes::tokens::own(&self.state, incoming)
                } else if below.starts_with(API_PREFIX)
                    && incoming.method == "GET"
                    && let Some(reply) = routes::settings::handle(&mut self.state, incoming, &path)
                {
                    reply
                } else if below.starts_with(API_PREFIX) {
                    self.route(incoming, &path, &query)
                } else {
                    self.unknown(&incoming.method, &incoming.path, 404, "404 Not Found")
                };
                match fault {
                    Some(FaultKind::ErrorAfterStore) if reply.status < 400 => Ending::Answer(server_error()),
                    Some(FaultKind::TruncatedBody) => Ending::Truncated(reply),
                    _ => Ending::Answer(reply),
                }
            }
        };
        self.log.requests[index].status = match &ending {
            Ending::Answer(reply) | Ending::Truncated(reply) => Some(reply.status),
            Ending::Hang => None,
        };
        ending
    }

    /// Counts notes, and says when a user posts more of them in a minute than this server allows.
    fn is_too_fast(&mut self, incoming: &Incoming, path: &str) -> Option<FaultKind> {
        const MINUTE: Duration = Duration::from_mins(1);
        let most = self.state.options.notes_per_minute?;
        let is_note = path.ends_with("/notes") || path.ends_with("/discussions");
        if incoming.method != "POST" || !is_note {
            return None;
        }
        let user = auth::peek(&self.state, &incoming.credentials)?;
        let posted = self.posted.entry(user).or_default();
        while posted.front().is_some_and(|first| first.elapsed() > MINUTE) {
            posted.pop_front();
        }
        if posted.len() >= most {
            return Some(FaultKind::ApplicationLimit);
        }
        posted.push_back(Instant::now());
        None
    }

    fn route(&mut self, incoming: &Incoming, path: &str, query: &[(String, String)]) -> Reply {
        let spec = Spec::shared();
        let Some((operation, path_parameters)) = spec.find(&incoming.method, path) else {
            return if spec.knows_path(path) {
                self.unknown(&incoming.method, path, 405, "405 Not Allowed")
            } else {
                self.unknown(&incoming.method, path, 404, "404 Not Found")
            };
        };
        // Somebody may have pushed straight into the bare repository.
        versions::synchronise(&mut self.state, None);
        let address = format!("{}{API_PREFIX}{path}", self.state.url);
        let reply = match auth::admit(&self.state, &incoming.credentials, operation) {
            Err(refusal) => refusal,
            Ok(caller) => {
                let mut problems = operation.check_parameters(path_parameters.iter(), query);
                let body = operation.check_body(&incoming.body).unwrap_or_else(|found| {
                    problems.extend(found);
                    Value::Null
                });
                if !problems.is_empty() {
                    return self.refuse(operation, path, &problems);
                }
                let mut call = Call {
                    state: &mut self.state,
                    caller,
                    path: path_parameters,
                    query: query.to_vec(),
                    body,
                };
                match routes::dispatch(operation, &mut call) {
                    Ok(reply) => reply,
                    Err(error) => {
                        if let Some(reason) = &error.violation {
                            self.log.violate(ViolationKind::Request, &incoming.method, path, reason);
                        }
                        error.reply()
                    }
                }
            }
        };
        let mut reply = match reply {
            Reply {
                body: ReplyBody::List(rows),
                headers,
                ..
            } if operation.is_paged() => {
                let mut page = paging::cut(rows, query, &address, &self.state.options.pagination);
                page.headers.extend(headers);
                page
            }
            other => paging::whole(other),
        };
        if let (ReplyBody::Json(body), Some(tamper)) = (&mut reply.body, self.tamper) {
            tamper(body);
        }
        self.check(operation, path, &reply);
        reply
    }

    /// Answers a request that breaks the contract.
    fn refuse(&mut self, operation: &Operation, path: &str, problems: &[Problem]) -> Reply {
        for problem in problems {
            self.log
                .violate(ViolationKind::Request, &operation.method, path, &problem.text);
        }
        let status = problems.iter().map(|problem| problem.status).max().unwrap_or(400);
        let texts: Vec<&str> = problems.iter().map(|problem| problem.text.as_str()).collect();
        Reply::json(status, json!({ "error": texts.join(", ") }))
    }

    fn unknown(&mut self, method: &str, path: &str, status: u16, error: &str) -> Reply {
        self.log
            .violate(ViolationKind::UnknownRoute, method, path, "there is no such route");
        Reply::json(status, json!({ "error": error }))
    }

    /// Holds the fake to the contract, too.
    fn check(&mut self, operation: &Operation, path: &str, reply: &Reply) {
        let body = match &reply.body {
            ReplyBody::Json(value) => Some(value),
            _ => None,
        };
        for reason in operation.check_response(reply.status, body) {
            self.log
                .violate(ViolationKind::Response, &operation.method, path, reason);
        }
    }
}

fn logged_body(body: &IncomingBody) -> Value {
    if body.bytes.is_empty() {
        return Value::Null;
    }
    serde_json::from_slice(&body.bytes)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&body.bytes).into_owned()))
}

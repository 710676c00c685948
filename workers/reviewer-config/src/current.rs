//! The configuration in force, from memory if it is fresh.
//!
//! Every running review asks every few seconds, so an isolate keeps what it read for a second. A flipped switch is seen
//! by all of them within that second and their own interval.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    rc::Rc,
};

use conclave_shared::config::{EffectiveConfig, ProjectRules};
use conclave_worker_common::now_ms;
use worker::{Env, Headers, Response, ResponseBuilder, Result, console_error};

use crate::{
    ledger::{self, Ask},
    merge::{Snapshot, deleted_by_hand, document_in_force, merge},
    store::{self, Stored},
    texts,
};

/// The time that an isolate answers from memory, unless the variable [`MEMORY_MS`] says otherwise.
const FRESH_MS: i64 = 1_000;

/// The variable that sets it, in milliseconds; 0 reads both stores for every request.
const MEMORY_MS: &str = "MEMORY_MS";

/// Everything that was read at one moment.
#[derive(Debug)]
pub(crate) struct Current {
    read_at_ms: i64,
    /// The state of the Durable Object.
    pub(crate) snapshot: Snapshot,
    /// The values of KV.
    pub(crate) stored: Stored,
    /// Both merged, ready to be answered with.
    served: Rc<Served>,
}

/// The configuration in force, and the answers for the projects that have asked so far.
#[derive(Debug)]
struct Served {
    effective: EffectiveConfig,
    projects: ProjectRules,
    /// By the entries that name the project: projects are many, and most of them have the same configuration.
    answers: RefCell<BTreeMap<Vec<usize>, Rc<Answer>>>,
}

/// The answer to a project.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The effective configuration as JSON.
    pub(crate) body: Vec<u8>,
    /// Its entity tag.
    pub(crate) tag: String,
    /// The headers of the answer with the body, and of the one that says that nothing has changed. Made once, because each
    /// header that is set crosses into the runtime.
    headers: [Headers; 2],
}

impl Answer {
    fn new(body: Vec<u8>, tag: String) -> Result<Self> {
        let unchanged = Headers::new();
        unchanged.set("etag", &tag)?;
        unchanged.set("cache-control", "private, no-cache")?;
        let whole = unchanged.clone();
        whole.set("content-type", "application/json")?;
        Ok(Self {
            body,
            tag,
            headers: [whole, unchanged],
        })
    }

    /// The configuration.
    pub(crate) fn whole(&self) -> Response {
        with(&self.headers[0]).fixed(self.body.clone())
    }

    /// That the caller has it already.
    pub(crate) fn unchanged(&self) -> Response {
        with(&self.headers[1]).with_status(304).empty()
    }
}

/// An answer with these very headers: a response copies them when it is made, so they are not copied here.
fn with(headers: &Headers) -> ResponseBuilder {
    ResponseBuilder::new().with_headers(Headers(headers.0.clone()))
}

/// Maximum number of answers that are kept. More combinations of entries than this are made anew each time.
const MAX_ANSWERS: usize = 64;

impl Served {
    fn new(effective: EffectiveConfig) -> Self {
        Self {
            projects: ProjectRules::new(effective.config.clone()),
            effective,
            answers: RefCell::default(),
        }
    }

    fn answer(&self, project: &str) -> Result<Rc<Answer>> {
        let matching = self.projects.matching(project);
        if let Some(known) = self.answers.borrow().get(&matching) {
            return Ok(Rc::clone(known));
        }
        let (config, more) = self.projects.with(&matching);
        let warnings = &self.effective.warnings;
        // What is said of the whole document is not said again for the project.
        let more = more.into_iter().filter(|more| !warnings.contains(more));
        let warnings = warnings.iter().cloned().chain(more).collect();
        let body = serde_json::to_vec(&EffectiveConfig {
            config,
            warnings,
            document_fault: self.effective.document_fault.clone(),
        })?;
        let tag = tag(self.effective.config.revision, &body);
        let answer = Rc::new(Answer::new(body, tag)?);
        let mut answers = self.answers.borrow_mut();
        if answers.len() < MAX_ANSWERS {
            answers.insert(matching, Rc::clone(&answer));
        }
        Ok(answer)
    }
}

thread_local! {
    static MEMORY: RefCell<Option<Rc<Current>>> = const { RefCell::new(None) };
    /// When the request that is reading the stores began to.
    static READING_SINCE_MS: Cell<Option<i64>> = const { Cell::new(None) };
    /// Number of times that the memory was forgotten: what was being read meanwhile is not kept.
    static FORGOTTEN: Cell<u64> = const { Cell::new(0) };
}

/// The configuration, at most a second old.
///
/// In the last quarter of that time one request reads the stores again while the others still answer from memory: a second
/// must not end with all of them reading.
pub(crate) async fn get(env: &Env) -> Result<Rc<Current>> {
    let known = MEMORY.with_borrow(Clone::clone);
    let (now, fresh) = (now_ms(), fresh_ms(env));
    if let Some(current) = &known {
        let age = now - current.read_at_ms;
        let is_being_read = READING_SINCE_MS
            .get()
            .is_some_and(|since| (0..fresh).contains(&(now - since)));
        if (0..fresh).contains(&age) && (age < fresh / 4 * 3 || is_being_read) {
            return Ok(Rc::clone(current));
        }
    }
    READING_SINCE_MS.set(Some(now));
    read(env, known).await
}

fn fresh_ms(env: &Env) -> i64 {
    let configured = env.var(MEMORY_MS).ok().and_then(|value| value.to_string().parse().ok());
    configured.unwrap_or(FRESH_MS)
}

/// The configuration as it is now.
pub(crate) async fn fresh(env: &Env) -> Result<Rc<Current>> {
    let known = MEMORY.with_borrow(Clone::clone);
    read(env, known).await
}

/// Forgets what was read: it has just been changed through this isolate.
pub(crate) fn forget() {
    MEMORY.with_borrow_mut(|memory| *memory = None);
    FORGOTTEN.set(FORGOTTEN.get() + 1);
}

/// Reads both stores. One of them is enough: the review of a whole company must not wait for the other.
async fn read(env: &Env, known: Option<Rc<Current>>) -> Result<Rc<Current>> {
    let (forgotten, began_ms) = (FORGOTTEN.get(), now_ms());
    let (snapshot, stored) = futures_util::join!(ledger::ask::<Snapshot>(env, &Ask::Current), store::load(env));
    let before = known.as_ref().map(|known| Rc::clone(&known.served));
    let (snapshot, stored) = match (snapshot, stored) {
        (Ok(snapshot), Ok(stored)) => (snapshot, stored),
        (Ok(snapshot), Err(error)) => {
            console_error!("KV cannot be read: {error}");
            let stored = Stored {
                warnings: vec![texts::kv_down(snapshot.revision)],
                ..Stored::default()
            };
            (unsettled(snapshot), stored)
        }
        (Err(error), Ok(mut stored)) => {
            console_error!("the ledger cannot be read: {error}");
            let snapshot = known.map(|known| known.snapshot.clone()).unwrap_or_default();
            stored.warnings.push(texts::ledger_down(snapshot.revision));
            (snapshot, stored)
        }
        (Err(error), Err(other)) => {
            console_error!("neither store can be read: {error}; {other}");
            return known.ok_or(error);
        }
    };
    let effective = merge(&snapshot, &stored, now_ms());
    // Mostly nothing has changed, and then the answers that are there are still the right ones.
    let served = before
        .filter(|before| before.effective == effective)
        .unwrap_or_else(|| Rc::new(Served::new(effective)));
    let current = Rc::new(Current {
        read_at_ms: began_ms,
        snapshot,
        stored,
        served,
    });
    if forgotten == FORGOTTEN.get() {
        MEMORY.with_borrow_mut(|memory| *memory = Some(Rc::clone(&current)));
    }
    READING_SINCE_MS.set(None);
    Ok(current)
}

/// Without KV it is not known what was deleted there: what was written through the API stands.
fn unsettled(mut snapshot: Snapshot) -> Snapshot {
    for write in snapshot.writes.values_mut() {
        write.synced = false;
    }
    snapshot
}

/// The revision, and a digest of values that were written to KV by hand.
fn tag(revision: u64, body: &[u8]) -> String {
    let digest = conclave_worker_common::entity_tag::of(body);
    format!("\"{revision}-{}\"", digest.trim_matches('"'))
}

impl Current {
    /// Returns the answer to a project; the empty path stands for none.
    pub(crate) fn answer(&self, project: &str) -> Result<Rc<Answer>> {
        self.served.answer(project)
    }

    /// The configuration in force, with what is otherwise in some projects.
    pub(crate) fn effective(&self) -> &EffectiveConfig {
        &self.served.effective
    }

    /// The entity tag of the document as operators write it.
    pub(crate) fn document_tag(&self) -> String {
        match self.document() {
            // Written by hand: it has no revision of its own.
            (_, Some(text)) => tag(self.snapshot.revision, text.as_bytes()),
            // Deleted by hand: what the revision wrote is not in force any more.
            (None, None) if self.snapshot.state.document.is_some() => tag(self.snapshot.revision, b""),
            _ => format!("\"{}\"", self.snapshot.revision),
        }
    }

    /// The document as operators write it, and its text if it was written to KV by hand.
    pub(crate) fn document(&self) -> (Option<serde_json::Value>, Option<&str>) {
        document_in_force(&self.snapshot, &self.stored, self.read_at_ms)
    }

    /// The keys in KV that are of no revision: written by hand, or deleted.
    pub(crate) fn of_no_revision(&self) -> Vec<String> {
        let deleted = deleted_by_hand(&self.snapshot, &self.stored, self.read_at_ms);
        self.by_hand().into_keys().chain(deleted).collect()
    }

    /// The texts in KV that were written by hand, by key.
    pub(crate) fn by_hand(&self) -> std::collections::BTreeMap<String, String> {
        let document = self
            .stored
            .document
            .iter()
            .map(|value| (crate::keys::DOCUMENT.to_owned(), value));
        let switches = self.stored.switches.iter().map(|(key, value)| (key.clone(), value));
        document
            .chain(switches)
            .filter(|(_, value)| value.revision.is_none())
            .map(|(key, value)| (key, value.text.clone()))
            .collect()
    }
}

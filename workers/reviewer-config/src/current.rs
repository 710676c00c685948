//! The configuration in force, from memory if it is fresh.
//!
//! Every running review asks every few seconds, so an isolate keeps what it read for a second. A flipped switch is seen
//! by all of them within that second and their own interval.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use conclave_shared::config::{EffectiveConfig, ProjectRules};
use conclave_worker_common::now_ms;
use worker::{Env, Result, console_error};

use crate::{
    ledger::{self, Ask},
    merge::{Snapshot, document_in_force, merge},
    store::{self, Stored},
    texts,
};

/// How long an isolate answers from memory, unless the variable [`MEMORY_MS`] says otherwise.
const FRESH_MS: i64 = 1_000;

/// The variable that sets it, in milliseconds; 0 reads both stores for every request.
const MEMORY_MS: &str = "MEMORY_MS";

/// Everything that was read at one moment.
#[derive(Debug)]
pub(crate) struct Current {
    read_at_ms: i64,
    /// What the Durable Object knows.
    pub(crate) snapshot: Snapshot,
    /// What KV holds.
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

/// What a project is answered with.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The effective configuration as JSON.
    pub(crate) body: Vec<u8>,
    /// Its entity tag.
    pub(crate) tag: String,
}

/// The most answers that are kept. More combinations of entries than this are made anew each time.
const MOST_ANSWERS: usize = 64;

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
        let warnings = self.effective.warnings.iter().cloned().chain(more).collect();
        let body = serde_json::to_vec(&EffectiveConfig { config, warnings })?;
        let answer = Rc::new(Answer {
            tag: tag(self.effective.config.revision, &body),
            body,
        });
        let mut answers = self.answers.borrow_mut();
        if answers.len() < MOST_ANSWERS {
            answers.insert(matching, Rc::clone(&answer));
        }
        Ok(answer)
    }
}

thread_local! {
    static MEMORY: RefCell<Option<Rc<Current>>> = const { RefCell::new(None) };
}

/// The configuration, at most a second old.
pub(crate) async fn get(env: &Env) -> Result<Rc<Current>> {
    let known = MEMORY.with_borrow(Clone::clone);
    match known {
        Some(current) if (0..fresh_ms(env)).contains(&(now_ms() - current.read_at_ms)) => Ok(current),
        known => read(env, known).await,
    }
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
}

/// Reads both stores. One of them is enough: the review of a whole company must not wait for the other.
async fn read(env: &Env, known: Option<Rc<Current>>) -> Result<Rc<Current>> {
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
    let now = now_ms();
    let effective = merge(&snapshot, &stored, now);
    // Mostly nothing has changed, and then the answers that are there are still the right ones.
    let served = before
        .filter(|before| before.effective == effective)
        .unwrap_or_else(|| Rc::new(Served::new(effective)));
    let current = Rc::new(Current {
        read_at_ms: now,
        snapshot,
        stored,
        served,
    });
    MEMORY.with_borrow_mut(|memory| *memory = Some(Rc::clone(&current)));
    Ok(current)
}

/// Without KV nobody knows what was deleted there: what was written through the API stands.
fn unsettled(mut snapshot: Snapshot) -> Snapshot {
    for write in snapshot.writes.values_mut() {
        write.synced = false;
    }
    snapshot
}

/// The revision, and what tells values apart that were written to KV by hand.
fn tag(revision: u64, body: &[u8]) -> String {
    let digest = conclave_worker_common::entity_tag::of(body);
    format!("\"{revision}-{}\"", digest.trim_matches('"'))
}

impl Current {
    /// What a project is answered with; the empty path stands for none.
    pub(crate) fn answer(&self, project: &str) -> Result<Rc<Answer>> {
        self.served.answer(project)
    }

    /// The configuration in force, with what is otherwise in some projects.
    pub(crate) fn effective(&self) -> &EffectiveConfig {
        &self.served.effective
    }

    /// The entity tag of the document as operators write it.
    pub(crate) fn document_tag(&self) -> String {
        match document_in_force(&self.snapshot, &self.stored, self.read_at_ms).1 {
            // Written by hand: it has no revision of its own.
            Some(text) => tag(self.snapshot.revision, text.as_bytes()),
            None => format!("\"{}\"", self.snapshot.revision),
        }
    }

    /// The document as operators write it, and its text if it was written to KV by hand.
    pub(crate) fn document(&self) -> (Option<serde_json::Value>, Option<&str>) {
        document_in_force(&self.snapshot, &self.stored, self.read_at_ms)
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

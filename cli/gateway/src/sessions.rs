//! What the gateway knows of each session: its models, its requests under way, its books.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use conclave_engine::ports::{CallOutcome, SessionId};
use conclave_resilience::classify::FailureClass;
use conclave_shared::{
    model::ModelId,
    pricing::{ModelFacts, TokenUsage},
};

use crate::{call_report::CallReport, circuits::Pass, loop_guard::LoopGuard};

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The monotonic clock, which tests can pause.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// All sessions by id.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<HashMap<SessionId, Arc<Session>>>);

impl Sessions {
    /// Makes a session known, or gives a known one another reviewer and other models.
    pub(crate) fn assign(&self, id: &SessionId, reviewer: &str, models: &[ModelId]) {
        let session = Arc::clone(
            locked(&self.0)
                .entry(id.clone())
                .or_insert_with(|| Arc::new(Session::new(id.clone()))),
        );
        let mut state = locked(&session.state);
        reviewer.clone_into(&mut state.reviewer);
        state.models = models.to_vec();
        state.stand_ins.clear();
        state.cuts = 0;
    }

    pub(crate) fn get(&self, id: &SessionId) -> Option<Arc<Session>> {
        locked(&self.0).get(id).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Session>> {
        locked(&self.0).values().cloned().collect()
    }
}

/// One session of the runtime.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: SessionId,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    reviewer: String,
    models: Vec<ModelId>,
    stand_ins: HashMap<ModelId, StandIn>,
    books: BTreeMap<ModelId, Account>,
    flights: HashMap<u64, Instant>,
    next_flight: u64,
    loops: LoopGuard,
    cuts: u32,
    seals: HashMap<u64, ModelId>,
    /// The models that the runtime asks for under the spare name, by their providers.
    spares: HashMap<String, ModelId>,
}

#[derive(Debug)]
struct StandIn {
    model: ModelId,
    until: Instant,
}

/// What one model did for one session.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Account {
    /// Requests that were sent.
    pub(crate) calls: u64,
    /// What the provider said they used.
    pub(crate) tokens: TokenUsage,
    /// What that cost, each call by its own price; nothing for a model without a known price.
    pub(crate) cost_usd: f64,
    /// No price of the model is known.
    pub(crate) unpriced: bool,
    /// Answers that broke off before the provider had said what they use.
    pub(crate) uncounted: u64,
    /// Events of a kind that is not known.
    pub(crate) unknown_events: u64,
}

impl Session {
    fn new(id: SessionId) -> Self {
        Self {
            id,
            state: Mutex::default(),
        }
    }

    pub(crate) fn reviewer(&self) -> String {
        locked(&self.state).reviewer.clone()
    }

    /// The models that were assigned, best first.
    pub(crate) fn models(&self) -> Vec<ModelId> {
        locked(&self.state).models.clone()
    }

    /// From now on the spare name of the model's provider stands for this one.
    pub(crate) fn use_spare_for(&self, model: &ModelId) {
        locked(&self.state)
            .spares
            .insert(model.provider().to_owned(), model.clone());
    }

    /// The model that the spare name of a provider stands for.
    pub(crate) fn spare(&self, provider: &str) -> Option<ModelId> {
        locked(&self.state).spares.get(provider).cloned()
    }

    /// Notes a request; `false` if the session is in a loop.
    pub(crate) fn admits(&self, last_message: u64) -> bool {
        locked(&self.state).loops.admits(now(), last_message)
    }

    /// The model that has lately taken over for this one.
    pub(crate) fn stand_in(&self, model: &ModelId) -> Option<ModelId> {
        let state = locked(&self.state);
        let stand_in = state.stand_ins.get(model).filter(|stand_in| stand_in.until > now())?;
        Some(stand_in.model.clone())
    }

    /// Stays with a model that took over. Going back and forth with every request would cost the attempts at the
    /// failing model and the prompt cache each time.
    pub(crate) fn keep_stand_in(&self, model: &ModelId, stand_in: &ModelId, time: Duration) {
        let mut state = locked(&self.state);
        if model == stand_in {
            state.stand_ins.remove(model);
        } else if state
            .stand_ins
            .get(model)
            .is_none_or(|known| known.model != *stand_in || known.until <= now())
        {
            let until = now() + time;
            state.stand_ins.insert(
                model.clone(),
                StandIn {
                    model: stand_in.clone(),
                    until,
                },
            );
        }
    }

    /// Goes back to this model with the next request.
    pub(crate) fn forget_stand_in(&self, model: &ModelId) {
        locked(&self.state).stand_ins.remove(model);
    }

    /// Notes who made a reasoning block.
    pub(crate) fn seal(&self, seals: &[String], model: &ModelId) {
        if !seals.is_empty() {
            let seals = seals.iter().map(|seal| (hash(seal), model.clone()));
            locked(&self.state).seals.extend(seals);
        }
    }

    /// Who made the reasoning block with this seal, if it came through here.
    pub(crate) fn maker(&self, seal: &str) -> Option<ModelId> {
        locked(&self.state).seals.get(&hash(seal)).cloned()
    }

    /// Whether the history may hold reasoning of a model other than this one.
    pub(crate) fn has_foreign_seals(&self, model: &ModelId) -> bool {
        locked(&self.state).seals.values().any(|maker| maker != model)
    }

    /// Counts an answer that broke off: how many in a row that makes.
    pub(crate) fn cut(&self) -> u32 {
        let mut state = locked(&self.state);
        state.cuts = state.cuts.saturating_add(1);
        state.cuts
    }

    /// An answer came to its end.
    pub(crate) fn completed(&self) {
        locked(&self.state).cuts = 0;
    }

    /// The time since the last progress of a request under way.
    pub(crate) fn idle_for(&self) -> Option<Duration> {
        let state = locked(&self.state);
        let last = state.flights.values().max()?;
        Some(now().saturating_duration_since(*last))
    }

    pub(crate) fn accounts(&self) -> BTreeMap<ModelId, Account> {
        locked(&self.state).books.clone()
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// A request under way, until it is dropped.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) session: Arc<Session>,
    number: u64,
    /// The right to the call of which the answer is passing through.
    pass: Mutex<Option<Pass>>,
}

impl Flight {
    pub(crate) fn begin(session: Arc<Session>) -> Self {
        let mut state = locked(&session.state);
        let number = state.next_flight;
        state.next_flight += 1;
        state.flights.insert(number, now());
        drop(state);
        Self {
            session,
            number,
            pass: Mutex::default(),
        }
    }

    /// An answer has begun. Whoever comes to its end tells so; if nobody does, it says nothing about the provider.
    pub(crate) fn keep(&self, pass: Pass) {
        *locked(&self.pass) = Some(pass);
    }

    /// The answer came to its end.
    pub(crate) fn completed(&self) {
        if let Some(pass) = locked(&self.pass).take() {
            pass.succeeded();
        }
        self.session.completed();
    }

    /// The answer broke off: how many in a row that makes for the session.
    pub(crate) fn cut(&self, class: FailureClass) -> u32 {
        if let Some(pass) = locked(&self.pass).take() {
            pass.failed(class);
        }
        self.session.cut()
    }

    /// Notes progress.
    pub(crate) fn touch(&self) {
        locked(&self.session.state).flights.insert(self.number, now());
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        locked(&self.session.state).flights.remove(&self.number);
    }
}

/// The entry of one call in the books. What is known of its tokens is booked at once, so that a call that is cut or
/// cancelled counts with what was told until then.
#[derive(Debug)]
pub(crate) struct Booking {
    session: Arc<Session>,
    model: ModelId,
    facts: Option<ModelFacts>,
    booked: TokenUsage,
    report: Option<CallReport>,
    cost_usd: f64,
    unknown_events: u64,
    /// The answer has begun.
    began: bool,
    /// The provider has said what it uses.
    told: bool,
}

impl Booking {
    /// Opens the entry and counts the call.
    pub(crate) fn open(session: Arc<Session>, model: ModelId, facts: Option<ModelFacts>) -> Self {
        let mut state = locked(&session.state);
        let account = state.books.entry(model.clone()).or_default();
        account.calls += 1;
        account.unpriced = facts.is_none();
        drop(state);
        Self {
            session,
            model,
            facts,
            booked: TokenUsage::default(),
            report: None,
            cost_usd: 0.0,
            unknown_events: 0,
            began: false,
            told: false,
        }
    }

    /// Has the call reported when it ends.
    pub(crate) fn reported(mut self, report: Option<CallReport>) -> Self {
        self.report = report;
        self
    }

    /// Notes how the call ended, for its report.
    pub(crate) fn ended(&mut self, outcome: CallOutcome) {
        if let Some(report) = &mut self.report {
            report.outcome = outcome;
        }
    }

    pub(crate) fn model(&self) -> &ModelId {
        &self.model
    }

    /// Books what the call has used in all so far, if that was told.
    pub(crate) fn set(&mut self, usage: Option<TokenUsage>, unknown_events: u64) {
        self.began = true;
        if unknown_events > self.unknown_events {
            let more = unknown_events - self.unknown_events;
            self.unknown_events = unknown_events;
            let mut state = locked(&self.session.state);
            state.books.entry(self.model.clone()).or_default().unknown_events += more;
        }
        let Some(usage) = usage else { return };
        self.told = true;
        if usage == self.booked {
            return;
        }
        // By the call, not by the sum: a long prompt may have a price of its own.
        let cost_usd = self.facts.map_or(0.0, |facts| facts.cost_usd(&usage));
        let mut state = locked(&self.session.state);
        let account = state.books.entry(self.model.clone()).or_default();
        account.cost_usd += cost_usd - self.cost_usd;
        let tokens = &mut account.tokens;
        let swap = |total: &mut u64, old: u64, new: u64| *total = (*total).saturating_sub(old).saturating_add(new);
        swap(&mut tokens.input, self.booked.input, usage.input);
        swap(&mut tokens.output, self.booked.output, usage.output);
        swap(&mut tokens.reasoning, self.booked.reasoning, usage.reasoning);
        swap(&mut tokens.cache_read, self.booked.cache_read, usage.cache_read);
        swap(&mut tokens.cache_write, self.booked.cache_write, usage.cache_write);
        drop(state);
        self.booked = usage;
        self.cost_usd = cost_usd;
    }
}

impl Drop for Booking {
    fn drop(&mut self) {
        if self.began && !self.told {
            let mut state = locked(&self.session.state);
            state.books.entry(self.model.clone()).or_default().uncounted += 1;
        }
        if let Some(report) = self.report.take() {
            report.send(&self.session, &self.model, self.booked);
        }
    }
}

#[cfg(test)]
#[path = "sessions_tests.rs"]
mod tests;

//! Sessions: the memory between their calls.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use conclave_engine::ports::{SessionId, StrayCall};
use conclave_resilience::classify::FailureClass;
use conclave_shared::{effort::Effort, model::ModelId};

use super::loop_guard::LoopGuard;
use crate::{
    clock::now,
    lock::locked,
    wire::{CarriedAnswers, Signatures},
};

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
        state.fallbacks.clear();
        state.cuts = 0;
    }

    pub(crate) fn get(&self, id: &SessionId) -> Option<Arc<Session>> {
        locked(&self.0).get(id).cloned()
    }
}

/// One session of the runtime.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: SessionId,
    /// The makers of the reasoning in its history.
    pub(crate) signatures: Signatures,
    /// Fields that its models want back with their answers.
    pub(crate) carried: CarriedAnswers,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    reviewer: String,
    models: Vec<ModelId>,
    effort: Option<Effort>,
    fallbacks: HashMap<ModelId, Fallback>,
    /// The last progress of each request in flight.
    in_flight: HashMap<u64, Instant>,
    next_request: u64,
    /// When a model is asked for the request that waits, if one does.
    waits_until: Option<Instant>,
    loops: LoopGuard,
    cuts: u32,
    /// The models that the runtime asks for under the spare name, by their providers.
    spares: HashMap<String, ModelId>,
    stray_calls: Vec<StrayCall>,
    broken_answers: Vec<String>,
    last_failure: Option<(FailureClass, String)>,
    /// True if the last answer came in one piece.
    is_unstreamed: bool,
    /// The provider's word for the last answer's stop, where that is neither an end nor a limit.
    odd_stop: Option<String>,
}

/// Number of answers that broke off whose texts are kept of a session, and the length of all of them in bytes.
const MAX_BROKEN: usize = 50;
const MAX_BROKEN_BYTES: usize = 2_000_000;

/// Number of stray calls that are kept of a session.
const MAX_STRAY_CALLS: usize = 50;

#[derive(Debug)]
struct Fallback {
    model: ModelId,
    until: Instant,
}

/// A request of a session waits, until this is dropped.
#[derive(Debug)]
#[must_use]
pub(super) struct Waiting<'s>(&'s Session);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        locked(&self.0.state).waits_until = None;
    }
}

impl Session {
    fn new(id: SessionId) -> Self {
        Self {
            id,
            signatures: Signatures::default(),
            carried: CarriedAnswers::default(),
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

    /// The effort of its models; `None` where it was not set.
    pub(crate) fn effort(&self) -> Option<Effort> {
        locked(&self.state).effort
    }

    pub(crate) fn set_effort(&self, effort: Effort) {
        locked(&self.state).effort = Some(effort);
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

    /// The fallback model that answers for this one at the moment.
    pub(crate) fn fallback(&self, model: &ModelId) -> Option<ModelId> {
        let state = locked(&self.state);
        let fallback = state.fallbacks.get(model).filter(|fallback| fallback.until > now())?;
        Some(fallback.model.clone())
    }

    /// Stays with a fallback model. Going back and forth with every request would cost the attempts at the failing model
    /// and the prompt cache each time.
    pub(crate) fn keep_fallback(&self, model: &ModelId, fallback: &ModelId, time: Duration) {
        let mut state = locked(&self.state);
        if model == fallback {
            state.fallbacks.remove(model);
        } else if state
            .fallbacks
            .get(model)
            .is_none_or(|known| known.model != *fallback || known.until <= now())
        {
            let fallback = Fallback {
                model: fallback.clone(),
                until: now() + time,
            };
            state.fallbacks.insert(model.clone(), fallback);
        }
    }

    /// Goes back to this model with the next request.
    pub(crate) fn forget_fallback(&self, model: &ModelId) {
        locked(&self.state).fallbacks.remove(model);
    }

    /// Notes calls that may tell what no tool takes, each once.
    pub(crate) fn add_stray_calls(&self, calls: Vec<StrayCall>) {
        if calls.is_empty() {
            return;
        }
        let known = &mut locked(&self.state).stray_calls;
        for call in calls {
            if known.len() < MAX_STRAY_CALLS && !known.contains(&call) {
                known.push(call);
            }
        }
    }

    /// The calls that may tell what no tool takes.
    pub(crate) fn stray_calls(&self) -> Vec<StrayCall> {
        locked(&self.state).stray_calls.clone()
    }

    /// Keeps the text of an answer that broke off, each once.
    pub(crate) fn add_broken_answer(&self, text: String) {
        if text.trim().is_empty() {
            return;
        }
        let known = &mut locked(&self.state).broken_answers;
        let length: usize = known.iter().map(String::len).sum();
        if known.len() < MAX_BROKEN && length + text.len() <= MAX_BROKEN_BYTES && !known.contains(&text) {
            known.push(text);
        }
    }

    /// The texts of the answers that broke off, as far as they came.
    pub(crate) fn broken_answers(&self) -> Vec<String> {
        locked(&self.state).broken_answers.clone()
    }

    /// Counts an answer that broke off: how many in a row that makes.
    pub(crate) fn cut(&self) -> u32 {
        let mut state = locked(&self.state);
        state.cuts = state.cuts.saturating_add(1);
        state.cuts
    }

    /// Notes whether an answer comes in one piece, and not as a stream.
    pub(crate) fn set_unstreamed(&self, is_unstreamed: bool) {
        locked(&self.state).is_unstreamed = is_unstreamed;
    }

    /// Returns whether the last answer came in one piece.
    pub(crate) fn is_unstreamed(&self) -> bool {
        locked(&self.state).is_unstreamed
    }

    /// An answer came to its end.
    pub(crate) fn completed(&self) {
        let mut state = locked(&self.state);
        (state.cuts, state.last_failure) = (0, None);
    }

    /// Notes how an answer stopped: with the provider's word, where that is neither an end nor a limit.
    pub(crate) fn stopped(&self, odd_stop: Option<String>) {
        locked(&self.state).odd_stop = odd_stop;
    }

    /// The provider's word for the last answer's stop, where that is neither an end nor a limit.
    pub(crate) fn odd_stop(&self) -> Option<String> {
        locked(&self.state).odd_stop.clone()
    }

    /// Notes why a call failed, with the provider's words.
    pub(crate) fn failed(&self, class: FailureClass, words: String) {
        locked(&self.state).last_failure = Some((class, words));
    }

    /// The cause of the last failed call and the provider's words, unless an answer has come to its end since.
    pub(crate) fn last_failure(&self) -> Option<(FailureClass, String)> {
        locked(&self.state).last_failure.clone()
    }

    /// A request came in; returns its number.
    pub(super) fn request_began(&self) -> u64 {
        let mut state = locked(&self.state);
        let number = state.next_request;
        state.next_request += 1;
        state.in_flight.insert(number, now());
        number
    }

    /// A request made progress.
    pub(super) fn request_progressed(&self, number: u64) {
        locked(&self.state).in_flight.insert(number, now());
    }

    /// A request is over.
    pub(super) fn request_ended(&self, number: u64) {
        locked(&self.state).in_flight.remove(&number);
    }

    /// Notes that a request waits until then for a model that may be asked.
    pub(super) fn wait_until(&self, until: Instant) -> Waiting<'_> {
        locked(&self.state).waits_until = Some(until);
        Waiting(self)
    }

    /// The time until a model is asked for a request that waits.
    pub(crate) fn waits_for(&self) -> Option<Duration> {
        let until = locked(&self.state).waits_until?;
        Some(until.saturating_duration_since(now()))
    }

    /// The time since the last progress of a request in flight.
    pub(crate) fn idle_for(&self) -> Option<Duration> {
        let state = locked(&self.state);
        let last = state.in_flight.values().max()?;
        Some(now().saturating_duration_since(*last))
    }
}

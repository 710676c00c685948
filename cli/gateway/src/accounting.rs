//! Usage accounting: what each model did for each session, what that cost, and how much of the budget is left.

mod reservation;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use conclave_engine::ports::{CallOutcome, ModelCall, RunTrace, SessionId};
use conclave_resilience::budget::{Budget, BudgetLevel, Used};
use conclave_shared::{
    model::ModelId,
    pricing::{ModelFacts, TokenUsage},
    telemetry::TokensByModel,
};
use tokio::sync::watch;

pub(crate) use self::reservation::Reservation;
use self::reservation::Reserved;
use crate::{
    clock::now,
    errors::Rejection,
    event::{Events, GatewayEvent},
    lock::locked,
    wire::Counted,
};

/// Bytes that make a token, where a provider does not say how many there were. Words and code have between three and five of them;
/// a budget has to hold with every script.
const BYTES_OF_A_TOKEN: u64 = 2;

/// Looks up what is known about a model.
pub type Prices = Arc<dyn Fn(&ModelId) -> Option<ModelFacts> + Send + Sync>;

/// The usage of all sessions.
pub(crate) struct UsageAccounting {
    state: Mutex<State>,
    /// Changes whenever a reservation ends, or the budget is another one.
    released: watch::Sender<()>,
    prices: Prices,
    trace: Option<Arc<dyn RunTrace>>,
    events: Arc<Events>,
}

#[derive(Default)]
struct State {
    accounts: HashMap<SessionId, BTreeMap<ModelId, Account>>,
    budget: Budget,
    reserved: Reserved,
    tight_was_reported: bool,
    spent_was_reported: bool,
}

/// The account of one model for one session.
#[derive(Debug, Clone, Copy, Default)]
struct Account {
    /// Requests that were sent.
    calls: u64,
    /// Tokens as the provider counted them.
    tokens: TokenUsage,
    /// The cost, each call by its own price; nothing for a model without a known price.
    cost_usd: f64,
    /// No price of the model is known.
    unpriced: bool,
    /// Tokens of the last prompt that its provider's cache holds.
    cached: u64,
    /// Calls whose end is still to come: what they use is not known as long.
    open: u64,
    /// Answers of which the provider has not said what they use.
    uncounted: u64,
    /// Tokens of those, and their price, by the length of request and answer. They count for the budget alone.
    estimated: u64,
    estimated_usd: f64,
    /// Events of an unknown kind.
    unknown_events: u64,
}

impl State {
    fn all(&self) -> impl Iterator<Item = (&ModelId, &Account)> {
        self.accounts.values().flatten()
    }

    fn cost_usd(&self) -> f64 {
        // Not `sum`, which is -0.0 for nothing.
        self.all().fold(0.0, |sum, (_, account)| sum + account.cost_usd)
    }

    /// The cost with what is not known of it, by estimate.
    fn cost_at_most(&self) -> f64 {
        self.all()
            .fold(self.cost_usd(), |sum, (_, account)| sum + account.estimated_usd)
    }

    /// The usage of the run so far, with this on top of it.
    fn used(&self, more: Used) -> Used {
        let mut used = Used {
            usd: self.cost_at_most() + more.usd,
            ..more
        };
        for (_, account) in self.all() {
            used.calls += account.calls;
            let tokens = account.tokens.total().saturating_add(account.estimated);
            used.tokens = used.tokens.saturating_add(tokens);
        }
        used
    }

    /// The level of the run within its budget, and the event to report for it.
    fn level(&mut self) -> (BudgetLevel, Option<GatewayEvent>) {
        let level = self.budget.level(&self.used(Used::default()));
        let (reported, line, spent) = match level {
            BudgetLevel::Free => return (level, None),
            BudgetLevel::Tight(line) => (&mut self.tight_was_reported, line, false),
            BudgetLevel::Spent(line) => (&mut self.spent_was_reported, line, true),
        };
        let is_new = !std::mem::replace(reported, true);
        (level, is_new.then_some(GatewayEvent::BudgetUsed { line, spent }))
    }
}

impl UsageAccounting {
    pub(crate) fn new(budget: Budget, prices: Prices, trace: Option<Arc<dyn RunTrace>>, events: Arc<Events>) -> Self {
        let state = State {
            budget,
            ..State::default()
        };
        Self {
            state: Mutex::new(state),
            released: watch::Sender::new(()),
            prices,
            trace,
            events,
        }
    }

    /// Takes another budget. What was reported of the one before may have to be reported again.
    pub(crate) fn set_budget(&self, budget: Budget) {
        let mut state = locked(&self.state);
        state.budget = budget;
        (state.tight_was_reported, state.spent_was_reported) = (false, false);
        drop(state);
        // A call that waits for room may have it now.
        self.released.send_replace(());
    }

    /// The facts about a model.
    pub(crate) fn facts(&self, model: &ModelId) -> Option<ModelFacts> {
        (self.prices)(model)
    }

    /// The usage of one session.
    pub(crate) fn usage(&self, session: &SessionId) -> Vec<TokensByModel> {
        let state = locked(&self.state);
        let accounts = state.accounts.get(session).into_iter().flatten();
        accounts
            .map(|(model, account)| TokensByModel {
                model: model.clone(),
                tokens: account.tokens,
                // What was booked and taken back again may leave a rest of rounding.
                cost_usd: account.cost_usd.max(0.0),
                calls: account.calls,
                unpriced: account.unpriced,
                uncounted: account.uncounted + account.open,
                estimated_usd: account.estimated_usd,
            })
            .collect()
    }

    /// The cost of all calls so far, by the providers' own counts.
    pub(crate) fn cost_usd(&self) -> f64 {
        locked(&self.state).cost_usd()
    }

    /// The level of the run within its budget.
    pub(crate) fn level(&self) -> BudgetLevel {
        let (level, event) = locked(&self.state).level();
        if let Some(event) = event {
            self.events.record(event);
        }
        level
    }

    /// Counts a call and opens its entry, if there is budget for one. One caller at a time: seven sessions that find room
    /// for one call must not make seven.
    pub(crate) fn begin(
        self: &Arc<Self>,
        session: &SessionId,
        reviewer: String,
        asked: &ModelId,
        model: &ModelId,
    ) -> Result<UsageEntry, Rejection> {
        let facts = self.facts(model);
        let mut state = locked(&self.state);
        let (level, event) = state.level();
        let is_spent = matches!(level, BudgetLevel::Spent(_));
        if !is_spent {
            let accounts = state.accounts.entry(session.clone()).or_default();
            let account = accounts.entry(model.clone()).or_default();
            account.calls += 1;
            account.open += 1;
            account.unpriced = facts.is_none();
        }
        drop(state);
        if let Some(event) = event {
            self.events.record(event);
        }
        if is_spent {
            return Err(Rejection::BudgetSpent);
        }
        Ok(UsageEntry {
            accounting: Arc::clone(self),
            call: ModelCall {
                session: session.clone(),
                reviewer,
                asked: asked.clone(),
                model: model.clone(),
                tokens: TokenUsage::default(),
                cost_usd: 0.0,
                duration: Duration::ZERO,
                outcome: CallOutcome::default(),
            },
            facts,
            started: now(),
            unknown_events: 0,
            answer_began: false,
            counted: Counted::default(),
            request_bytes: 0,
            answer_bytes: 0,
            settled: false,
            reservation: None,
        })
    }

    fn change(&self, call: &ModelCall, change: impl FnOnce(&mut Account)) {
        let mut state = locked(&self.state);
        let account = state
            .accounts
            .get_mut(&call.session)
            .and_then(|accounts| accounts.get_mut(&call.model));
        if let Some(account) = account {
            change(account);
        }
    }

    /// Events for what the accounts show and no event has reported.
    pub(crate) fn findings(&self) -> Vec<GatewayEvent> {
        let mut by_model: BTreeMap<ModelId, [u64; 3]> = BTreeMap::new();
        for (model, account) in locked(&self.state).all() {
            let sums = by_model.entry(model.clone()).or_default();
            let counts = [account.calls, account.uncounted, account.unknown_events];
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        let mut events = Vec::new();
        for (model, [calls, answers, unknown]) in by_model {
            if calls > 0 && self.facts(&model).is_none() {
                let model = model.clone();
                events.push(GatewayEvent::Unpriced { model, calls });
            }
            if answers > 0 {
                let model = model.clone();
                events.push(GatewayEvent::Uncounted { model, answers });
            }
            if unknown > 0 {
                events.push(GatewayEvent::UnknownEvents { model, events: unknown });
            }
        }
        events
    }
}

/// The usage of one call. What is known of its tokens is added at once, so that a call that is cut or cancelled counts with
/// what was reported until then. When it is dropped, the call is over, and goes to the trace.
pub(crate) struct UsageEntry {
    accounting: Arc<UsageAccounting>,
    call: ModelCall,
    facts: Option<ModelFacts>,
    started: Instant,
    unknown_events: u64,
    answer_began: bool,
    /// The parts of its usage that the provider has reported.
    counted: Counted,
    request_bytes: usize,
    answer_bytes: u64,
    /// Its account has ended.
    settled: bool,
    /// Its part of the budget, until what it has really used is known.
    reservation: Option<Reservation>,
}

impl UsageEntry {
    /// Notes how the call ended. Nothing more is reported of it: the next call must find the budget as it is.
    pub(crate) fn ended(&mut self, outcome: CallOutcome) {
        self.call.outcome = outcome;
        self.settle();
    }

    /// Keeps this part of the budget until the call has ended.
    pub(crate) fn keep(&mut self, reservation: Reservation) {
        self.reservation = Some(reservation);
    }

    /// Notes the length of the request.
    pub(crate) fn asks(&mut self, bytes: usize) {
        self.request_bytes = bytes;
    }

    /// Ends the account of the call.
    fn settle(&mut self) {
        if !std::mem::replace(&mut self.settled, true) {
            self.estimate();
            self.accounting.change(&self.call, |account| account.open -= 1);
            self.reservation = None;
        }
    }

    /// Estimates what the provider has not reported of an answer that began, or of a request that was given up before: it may
    /// be paid for. One that failed before is free.
    fn estimate(&self) {
        let was_given_up = self.call.outcome == CallOutcome::Cancelled && self.request_bytes > 0;
        if !self.answer_began && !was_given_up {
            return;
        }
        let known = self.call.tokens;
        // A request has tokens, and so have words.
        let prompt = self.counted.prompt && known.prompt() > 0;
        let wrote = known.output.saturating_add(known.reasoning);
        let answer = self.answer_bytes == 0 || (self.counted.answer && wrote > 0);
        if prompt && answer {
            return;
        }
        let mut likely = known;
        if !prompt {
            let bytes = u64::try_from(self.request_bytes).unwrap_or(u64::MAX);
            let estimate = bytes.div_ceil(BYTES_OF_A_TOKEN);
            likely.input = likely
                .input
                .max(estimate.saturating_sub(known.cache_read + known.cache_write));
        }
        if !answer {
            let estimate = self.answer_bytes.div_ceil(BYTES_OF_A_TOKEN);
            likely.output = likely.output.max(estimate.saturating_sub(known.reasoning));
        }
        let likely = likely.believed();
        let tokens = likely.total().saturating_sub(known.total());
        let usd = self.facts.map_or(0.0, |facts| facts.cost_usd(&likely)) - self.call.cost_usd;
        self.accounting.change(&self.call, |account| {
            account.uncounted += 1;
            account.estimated = account.estimated.saturating_add(tokens);
            account.estimated_usd += usd.max(0.0);
        });
    }

    /// The model that was called.
    pub(crate) fn model(&self) -> &ModelId {
        &self.call.model
    }

    /// The model that was asked for.
    pub(crate) fn asked(&self) -> &ModelId {
        &self.call.asked
    }

    /// Sets what the call has used in all so far, if that was reported.
    pub(crate) fn set(&mut self, usage: Option<TokenUsage>, counted: Counted, answer_bytes: u64, unknown_events: u64) {
        self.answer_began = true;
        (self.counted, self.answer_bytes) = (counted, answer_bytes);
        let old = self.call.tokens;
        let usage = usage.map_or(old, TokenUsage::believed);
        if (usage, unknown_events) == (old, self.unknown_events) {
            return;
        }
        // By the call, not by the sum: a long prompt may have a price of its own.
        let cost_usd = self.facts.map_or(0.0, |facts| facts.cost_usd(&usage));
        self.accounting.change(&self.call, |account| {
            account.unknown_events += unknown_events.saturating_sub(self.unknown_events);
            account.cost_usd += cost_usd - self.call.cost_usd;
            let is_cached = usage.cache_read > 0 || usage.cache_write > 0;
            account.cached = if is_cached { usage.prompt() } else { 0 };
            let tokens = &mut account.tokens;
            let swap = |total: &mut u64, old: u64, new: u64| *total = total.saturating_sub(old).saturating_add(new);
            swap(&mut tokens.input, old.input, usage.input);
            swap(&mut tokens.output, old.output, usage.output);
            swap(&mut tokens.reasoning, old.reasoning, usage.reasoning);
            swap(&mut tokens.cache_read, old.cache_read, usage.cache_read);
            swap(&mut tokens.cache_write, old.cache_write, usage.cache_write);
        });
        self.unknown_events = unknown_events;
        (self.call.tokens, self.call.cost_usd) = (usage, cost_usd);
    }
}

impl Drop for UsageEntry {
    fn drop(&mut self) {
        self.settle();
        if let Some(trace) = &self.accounting.trace {
            self.call.duration = now().saturating_duration_since(self.started);
            trace.call_ended(&self.call);
        }
    }
}

#[cfg(test)]
#[path = "accounting_tests.rs"]
mod tests;

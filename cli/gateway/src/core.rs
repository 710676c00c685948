//! What all calls share.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use conclave_resilience::budget::{Budget, Standing, Used};
use conclave_shared::{model::ModelId, redact::Redactor};
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use crate::{
    call_report::CallListener,
    circuits::Circuits,
    config::{ConfigError, GatewayConfig, Limits, Prices, TapeSettings},
    event::{Events, GatewayEvent},
    record::{Cleaner, RecordedProvider, Recorder},
    rejection::Rejection,
    replay::Recording,
    sessions::{Booking, Session, Sessions},
    switches::Switches,
    upstream::{self, Provider},
    warming::Warming,
};

/// Whether calls are recorded, or answered from a recording.
#[derive(Debug)]
pub(crate) enum Tape {
    Off,
    Record(Arc<Recorder>),
    Replay(Arc<Recording>, Cleaner),
}

/// What all calls share. No `Debug`: the redactor knows every secret, and shows them.
pub(crate) struct Core {
    pub(crate) providers: HashMap<String, Provider>,
    pub(crate) client: reqwest::Client,
    pub(crate) run_key: SecretString,
    pub(crate) prices: Prices,
    budget: Mutex<BudgetState>,
    pub(crate) circuits: Circuits,
    pub(crate) switches: Switches,
    limits: RwLock<Limits>,
    /// The models that the runtime was told of at its start; nothing if it knows all that it is asked to use.
    runtime_models: Option<BTreeSet<ModelId>>,
    pub(crate) calls: CallListener,
    pub(crate) sessions: Sessions,
    pub(crate) events: Arc<Events>,
    pub(crate) redactor: Redactor,
    pub(crate) warming: Arc<Warming>,
    pub(crate) tape: Tape,
    /// No new calls.
    pub(crate) closing: CancellationToken,
    /// The end of the calls under way.
    pub(crate) killed: CancellationToken,
}

/// The budget, and what was said about it.
struct BudgetState {
    budget: Budget,
    tight_was_told: bool,
    spent_was_told: bool,
}

impl Core {
    pub(crate) fn new(config: GatewayConfig) -> Result<Self, ConfigError> {
        let events = Arc::new(Events::new(config.observer.clone()));
        let redactor = Redactor::new(upstream::secrets(&config));
        let cleaner = || Cleaner {
            places: config.places.clone(),
            redactors: [redactor.clone(), config.redactor.clone()],
        };
        let tape = match &config.tape {
            TapeSettings::Off => Tape::Off,
            TapeSettings::Record(settings) => {
                let providers = config.providers.iter().map(|upstream| RecordedProvider {
                    name: upstream.name.clone(),
                    wire: upstream.wire,
                });
                Tape::Record(Arc::new(Recorder::create(settings, providers.collect(), cleaner())?))
            }
            TapeSettings::Replay(recording) => Tape::Replay(Arc::clone(recording), cleaner()),
        };
        Ok(Self {
            providers: upstream::providers(&config.providers)?,
            client: upstream::client(&config.http, &config.limits)?,
            redactor,
            warming: Arc::default(),
            tape,
            run_key: config.run_key,
            prices: config.prices,
            budget: Mutex::new(BudgetState {
                budget: config.budget,
                tight_was_told: false,
                spent_was_told: false,
            }),
            circuits: Circuits::new(config.limits.breaker, Arc::clone(&events)),
            switches: Switches::new(config.switches),
            limits: RwLock::new(config.limits),
            runtime_models: config.runtime_models,
            calls: config.calls,
            sessions: Sessions::default(),
            events,
            closing: CancellationToken::new(),
            killed: CancellationToken::new(),
        })
    }

    /// The limits in force.
    pub(crate) fn limits(&self) -> Limits {
        *self.limits.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes other limits. Calls under way keep those that they began with.
    pub(crate) fn set_limits(&self, limits: Limits) {
        self.circuits.set(limits.breaker);
        *self.limits.write().unwrap_or_else(PoisonError::into_inner) = limits;
    }

    /// Takes another budget. What was said about the one before may have to be said again.
    pub(crate) fn set_budget(&self, budget: Budget) {
        let mut state = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        *state = BudgetState {
            budget,
            tight_was_told: false,
            spent_was_told: false,
        };
    }

    /// Whether the runtime can ask for this model under its own name.
    pub(crate) fn runtime_knows(&self, model: &ModelId) -> bool {
        self.runtime_models.as_ref().is_none_or(|known| known.contains(model))
    }

    /// What all calls have cost so far, by the providers' own counts.
    pub(crate) fn cost_usd(&self) -> f64 {
        self.sessions
            .all()
            .iter()
            .flat_map(|session| session.accounts())
            // Not `sum`, which is -0.0 for nothing.
            .fold(0.0, |sum, (_, account)| sum + account.cost_usd)
    }

    /// What happened, and what the books tell besides.
    pub(crate) fn events(&self) -> Vec<GatewayEvent> {
        let mut events = self.events.snapshot();
        let mut by_model: BTreeMap<ModelId, [u64; 3]> = BTreeMap::new();
        for (model, account) in self.sessions.all().iter().flat_map(|session| session.accounts()) {
            let sums = by_model.entry(model).or_default();
            let counts = [account.calls, account.uncounted, account.unknown_events];
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        for (model, [calls, answers, unknown]) in by_model {
            if calls > 0 && self.prices.facts(&model).is_none() {
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
        if let Tape::Record(recorder) = &self.tape
            && let Some(problem) = recorder.problem()
        {
            events.push(GatewayEvent::RecordingFailed { problem });
        }
        events
    }

    /// How close the run is to the end of its budget.
    pub(crate) fn standing(&self) -> Standing {
        self.standing_of(&mut self.budget.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn standing_of(&self, state: &mut BudgetState) -> Standing {
        let mut used = Used {
            usd: self.cost_usd(),
            ..Used::default()
        };
        for (_, account) in self.sessions.all().iter().flat_map(|session| session.accounts()) {
            used.calls += account.calls;
            used.tokens += account.tokens.total();
        }
        let standing = state.budget.standing(&used);
        let (told, line, spent) = match standing {
            Standing::Free => return standing,
            Standing::Tight(line) => (&mut state.tight_was_told, line, false),
            Standing::Spent(line) => (&mut state.spent_was_told, line, true),
        };
        if !std::mem::replace(told, true) {
            self.events.record(GatewayEvent::BudgetUsed { line, spent });
        }
        standing
    }

    /// Opens the entry of a call in the books, if there is budget for one. One caller at a time: seven sessions that
    /// find room for one call must not make seven.
    pub(crate) fn book(&self, session: &Arc<Session>, asked: &ModelId, model: &ModelId) -> Result<Booking, Rejection> {
        let mut state = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        match self.standing_of(&mut state) {
            Standing::Spent(_) => Err(Rejection::BudgetSpent),
            Standing::Free | Standing::Tight(_) => {
                Ok(
                    Booking::open(Arc::clone(session), model.clone(), self.prices.facts(model))
                        .reported(self.calls.begin(asked, &self.prices)),
                )
            }
        }
    }
}

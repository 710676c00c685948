//! What all calls share.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use conclave_resilience::budget::{Budget, Standing, Used};
use conclave_shared::{model::ModelId, redact::Redactor};
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use crate::{
    circuits::Circuits,
    config::{ConfigError, GatewayConfig, Limits, Prices},
    event::{Events, GatewayEvent},
    rejection::Rejection,
    sessions::{Booking, Session, Sessions},
    switches::Switches,
    upstream::{self, Provider},
};

/// What all calls share. No `Debug`: the redactor knows every secret, and shows them.
pub(crate) struct Core {
    pub(crate) providers: HashMap<String, Provider>,
    pub(crate) client: reqwest::Client,
    pub(crate) run_key: SecretString,
    pub(crate) prices: Prices,
    budget: Mutex<BudgetState>,
    pub(crate) circuits: Circuits,
    pub(crate) switches: Switches,
    pub(crate) limits: Limits,
    pub(crate) sessions: Sessions,
    pub(crate) events: Arc<Events>,
    pub(crate) redactor: Redactor,
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
        Ok(Self {
            providers: upstream::providers(&config.providers)?,
            client: upstream::client(&config.http, &config.limits)?,
            redactor: Redactor::new(upstream::secrets(&config)),
            run_key: config.run_key,
            prices: config.prices,
            budget: Mutex::new(BudgetState {
                budget: config.budget,
                tight_was_told: false,
                spent_was_told: false,
            }),
            circuits: Circuits::new(config.limits.breaker, Arc::clone(&events)),
            switches: Switches::default(),
            limits: config.limits,
            sessions: Sessions::default(),
            events,
            closing: CancellationToken::new(),
            killed: CancellationToken::new(),
        })
    }

    /// What all calls have cost so far, by the providers' own counts.
    pub(crate) fn cost_usd(&self) -> f64 {
        self.sessions
            .all()
            .iter()
            .flat_map(|session| session.accounts())
            .filter_map(|(model, account)| Some(self.prices.facts(&model)?.cost_usd(&account.tokens)))
            .sum()
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
    pub(crate) fn book(&self, session: &Arc<Session>, model: &ModelId) -> Result<Booking, Rejection> {
        let mut state = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        match self.standing_of(&mut state) {
            Standing::Spent(_) => Err(Rejection::BudgetSpent),
            Standing::Free | Standing::Tight(_) => Ok(Booking::open(Arc::clone(session), model.clone())),
        }
    }
}

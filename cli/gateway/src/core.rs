//! What all calls share.

use std::collections::HashMap;

use conclave_shared::redact::Redactor;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use crate::{
    call_report::CallListener,
    config::{ConfigError, GatewayConfig, Limits, Prices},
    event::Events,
    sessions::Sessions,
    upstream::{self, Provider},
};

/// What all calls share. No `Debug`: the redactor knows every secret, and shows them.
pub(crate) struct Core {
    pub(crate) providers: HashMap<String, Provider>,
    pub(crate) client: reqwest::Client,
    pub(crate) run_key: SecretString,
    pub(crate) prices: Prices,
    pub(crate) max_cost_usd: Option<f64>,
    pub(crate) limits: Limits,
    pub(crate) calls: CallListener,
    pub(crate) sessions: Sessions,
    pub(crate) events: Events,
    pub(crate) redactor: Redactor,
    /// No new calls.
    pub(crate) closing: CancellationToken,
    /// The end of the calls under way.
    pub(crate) killed: CancellationToken,
}

impl Core {
    pub(crate) fn new(config: GatewayConfig) -> Result<Self, ConfigError> {
        Ok(Self {
            providers: upstream::providers(&config.providers)?,
            client: upstream::client(&config.http, &config.limits)?,
            redactor: Redactor::new(upstream::secrets(&config)),
            run_key: config.run_key,
            prices: config.prices,
            max_cost_usd: config.max_cost_usd,
            limits: config.limits,
            calls: config.calls,
            sessions: Sessions::default(),
            events: Events::default(),
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

    /// Whether the budget is spent.
    pub(crate) fn is_spent(&self) -> bool {
        self.max_cost_usd.is_some_and(|most| self.cost_usd() >= most)
    }
}

//! State that all calls share.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, PoisonError, RwLock},
};

use conclave_shared::{model::ModelId, redact::Redactor};
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use super::{session::Sessions, switches::Switches};
use crate::{
    accounting::UsageAccounting,
    breaker::Circuits,
    cache::Warming,
    config::{CapabilitySource, GatewayConfig, Limits},
    errors::ConfigError,
    event::{Events, GatewayEvent},
    provider::{self, Provider},
    recording::{CallSource, Cleaner, RecordedProvider},
};

/// State that all calls share. No `Debug`: the redactor knows every secret, and shows them.
pub(crate) struct Core {
    pub(crate) providers: HashMap<String, Provider>,
    pub(crate) client: reqwest::Client,
    pub(crate) run_key: SecretString,
    pub(crate) accounting: Arc<UsageAccounting>,
    pub(crate) capabilities: CapabilitySource,
    pub(crate) circuits: Arc<Circuits>,
    pub(crate) switches: Switches,
    limits: RwLock<Limits>,
    /// The models in the runtime's configuration; nothing if it knows all that it is asked to use.
    runtime_models: Option<BTreeSet<ModelId>>,
    pub(crate) sessions: Sessions,
    pub(crate) events: Arc<Events>,
    pub(crate) redactor: Redactor,
    pub(crate) warming: Arc<Warming>,
    pub(crate) source: CallSource,
    /// No new calls.
    pub(crate) closing: CancellationToken,
    /// The end of the calls under way.
    pub(crate) killed: CancellationToken,
}

impl Core {
    pub(crate) fn new(config: GatewayConfig) -> Result<Self, ConfigError> {
        let events = Arc::new(Events::new(config.observer));
        let redactor = Redactor::new(provider::secrets(&config.providers, &config.run_key));
        let cleaner = Cleaner {
            places: config.places,
            redactors: [redactor.clone(), config.redactor],
        };
        let recorded = config.providers.iter().map(|upstream| RecordedProvider {
            name: upstream.name.clone(),
            wire: upstream.wire,
        });
        let accounting = UsageAccounting::new(config.budget, config.prices, config.trace, Arc::clone(&events));
        Ok(Self {
            source: CallSource::new(config.recording, recorded, cleaner)?,
            providers: provider::providers(&config.providers)?,
            client: provider::client(&config.http, config.limits.connect)?,
            redactor,
            warming: Arc::default(),
            run_key: config.run_key,
            capabilities: config.capabilities,
            accounting: Arc::new(accounting),
            circuits: Arc::new(Circuits::new(config.limits.breaker, Arc::clone(&events))),
            switches: Switches::new(config.switches),
            limits: RwLock::new(config.limits),
            runtime_models: config.runtime_models,
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
        self.circuits.breakers().set(limits.breaker);
        *self.limits.write().unwrap_or_else(PoisonError::into_inner) = limits;
    }

    /// Returns whether the runtime can ask for this model under its own name.
    pub(crate) fn runtime_knows(&self, model: &ModelId) -> bool {
        self.runtime_models.as_ref().is_none_or(|known| known.contains(model))
    }

    /// The events so far, with those that accounts and recording show.
    pub(crate) fn events(&self) -> Vec<GatewayEvent> {
        let mut events = self.events.snapshot();
        events.extend(self.accounting.findings());
        if let CallSource::RecordedProvider(recorder) = &self.source
            && let Some(problem) = recorder.problem()
        {
            events.push(GatewayEvent::RecordingFailed { problem });
        }
        events
    }
}

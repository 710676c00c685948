//! The configuration of a gateway.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use conclave_engine::ports::RunTrace;
use conclave_resilience::{breaker::BreakerSettings, budget::Budget, retry::RetryPolicy};
use conclave_shared::{
    config::{Capabilities, CapabilityList, ProviderSwitch},
    model::ModelId,
    pricing,
    redact::Redactor,
};
use secrecy::SecretString;

use crate::{
    accounting::Prices,
    event::Observer,
    provider::{HttpSettings, Upstream},
    recording::RecordingMode,
};

/// Time limits and counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// To connect to a provider.
    pub connect: Duration,
    /// From the request to the provider's response headers.
    pub first_byte: Duration,
    /// Between two pieces of an answer.
    pub idle: Duration,
    /// All attempts together until the first content. What waits for the gateway has to wait longer than this plus `idle`.
    pub hold: Duration,
    /// Repetitions before another model is asked.
    pub retry: RetryPolicy,
    /// The conditions under which a model's circuit opens, and the time that it stays open.
    pub breaker: BreakerSettings,
    /// Time that a session stays with a fallback model before the assigned one is asked again.
    pub keep_fallback: Duration,
    /// Maximum wait of a call for another one that fills the same prompt cache; zero for none.
    pub hold_back: Duration,
    /// Maximum number of answers of a session in a row that may break off before a final error ends it.
    pub cuts: u32,
    /// Time that a shutdown gives to answers that are under way.
    pub shutdown: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(75),
            idle: Duration::from_secs(75),
            hold: Duration::from_secs(200),
            retry: RetryPolicy::default(),
            breaker: BreakerSettings::default(),
            keep_fallback: Duration::from_mins(2),
            hold_back: Duration::from_secs(2),
            cuts: 2,
            shutdown: Duration::from_secs(2),
        }
    }
}

/// The capabilities of models, asked for each call: they may change while a run goes on.
pub type CapabilitySource = Arc<dyn Fn(&ModelId) -> Capabilities + Send + Sync>;

/// The configuration of a gateway.
#[derive(Clone)]
pub struct GatewayConfig {
    /// The providers.
    pub providers: Vec<Upstream>,
    /// The key that the runtime has to send; see [`crate::random_run_key`].
    pub run_key: SecretString,
    /// Prices of models.
    pub prices: Prices,
    /// Capabilities of models.
    pub capabilities: CapabilitySource,
    /// The limits of what the run may use.
    pub budget: Budget,
    /// Time limits and counts.
    pub limits: Limits,
    /// The way to the providers.
    pub http: HttpSettings,
    /// The trace that gets every request to a provider.
    pub trace: Option<Arc<dyn RunTrace>>,
    /// Called with each event as it happens.
    pub observer: Observer,
    /// Recording and replay.
    pub recording: RecordingMode,
    /// Takes out what a recording must not hold, besides the gateway's own secrets.
    pub redactor: Redactor,
    /// Providers that are switched off from the beginning.
    pub switches: BTreeMap<String, ProviderSwitch>,
    /// Models in the runtime's configuration. It asks for others under a spare name. `None` if it knows them all.
    pub runtime_models: Option<BTreeSet<ModelId>>,
    /// Texts that differ from run to run (the path of the workspace), and the names that they have in recordings.
    pub places: Vec<(String, String)>,
}

impl GatewayConfig {
    /// A configuration with everything else at its default.
    pub fn new(providers: Vec<Upstream>, run_key: SecretString) -> Self {
        Self {
            providers,
            run_key,
            prices: Arc::new(pricing::facts),
            capabilities: Arc::new(|model| CapabilityList::default().of(model)),
            budget: Budget::default(),
            limits: Limits::default(),
            http: HttpSettings::default(),
            trace: None,
            observer: Arc::new(|_| ()),
            recording: RecordingMode::Off,
            redactor: Redactor::default(),
            switches: BTreeMap::new(),
            runtime_models: None,
            places: Vec::new(),
        }
    }
}

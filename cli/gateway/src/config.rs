//! What a gateway is told when it starts.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use conclave_resilience::{breaker::BreakerSettings, budget::Budget, retry::RetryPolicy};
use conclave_shared::{
    config::ProviderSwitch,
    model::ModelId,
    pricing::{self, ModelFacts},
    redact::Redactor,
};
use secrecy::SecretString;
use url::Url;

use crate::{call_report::CallListener, event::Observer, record::RecordSettings, replay::Recording, wire::Wire};

/// A provider that calls are sent to.
#[derive(Debug, Clone)]
pub struct Upstream {
    /// Its name: the first part of the gateway's path and of [`ModelId`]s.
    pub name: String,
    /// The format that it speaks.
    pub wire: Wire,
    /// The address before `/messages`, `/chat/completions` or `/responses`, for example `https://api.anthropic.com/v1`.
    pub base_url: Url,
    /// The key, put on as the format says; `None` where a gateway in between holds it.
    pub credential: Option<SecretString>,
    /// More headers for every call.
    pub extra_headers: Vec<(String, SecretString)>,
}

/// Where the facts about a model come from.
#[derive(Clone)]
pub struct Prices(Arc<LookUp>);

type LookUp = dyn Fn(&ModelId) -> Option<ModelFacts> + Send + Sync;

impl Prices {
    /// Prices from a function.
    pub fn new(facts: impl Fn(&ModelId) -> Option<ModelFacts> + Send + Sync + 'static) -> Self {
        Self(Arc::new(facts))
    }

    /// The facts of one model, if it is known.
    pub fn facts(&self, model: &ModelId) -> Option<ModelFacts> {
        (self.0)(model)
    }
}

impl Default for Prices {
    fn default() -> Self {
        Self::new(pricing::facts)
    }
}

impl fmt::Debug for Prices {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Prices")
    }
}

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
    /// When a model is left alone, and for how long.
    pub breaker: BreakerSettings,
    /// The most tool calls of one session.
    pub tool_calls: usize,
    /// How long a session stays with a model that took over, before the assigned one is asked again.
    pub stand_in: Duration,
    /// How long a call is held back at most for another one that fills the same prompt cache; zero for not at all.
    pub hold_back: Duration,
    /// How many answers of a session in a row may break off before it is told to give up.
    pub cuts: u32,
    /// How long a shutdown waits for answers that are under way.
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
            tool_calls: 200,
            stand_in: Duration::from_mins(2),
            hold_back: Duration::from_secs(2),
            cuts: 2,
            shutdown: Duration::from_secs(2),
        }
    }
}

/// How providers are reached.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// Whether the environment's `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` count.
    pub system_proxy: bool,
    /// Certificates (PEM) to trust besides the system's.
    pub extra_ca_file: Option<PathBuf>,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            system_proxy: true,
            extra_ca_file: None,
        }
    }
}

/// Whether calls are recorded, or answered from a recording.
#[derive(Debug, Clone, Default)]
pub enum TapeSettings {
    /// Neither.
    #[default]
    Off,
    /// Every call and its answer is written down.
    Record(RecordSettings),
    /// Calls are answered from a recording, and no provider is asked.
    Replay(Arc<Recording>),
}

/// What a gateway is told when it starts.
#[derive(Debug, Clone)]
pub struct GatewayConfig {
    /// The providers.
    pub providers: Vec<Upstream>,
    /// The key that the runtime has to send; see [`crate::random_run_key`].
    pub run_key: SecretString,
    /// Prices and limits of models.
    pub prices: Prices,
    /// What the run may use.
    pub budget: Budget,
    /// Time limits and counts.
    pub limits: Limits,
    /// How providers are reached.
    pub http: HttpSettings,
    /// Who is told of every request to a provider.
    pub calls: CallListener,
    /// Who is told what the gateway does on its own.
    pub observer: Observer,
    /// Recording and replay.
    pub tape: TapeSettings,
    /// What a recording must not hold, besides the gateway's own secrets.
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
            prices: Prices::default(),
            budget: Budget::default(),
            limits: Limits::default(),
            http: HttpSettings::default(),
            calls: CallListener::default(),
            observer: Observer::default(),
            tape: TapeSettings::Off,
            redactor: Redactor::default(),
            switches: BTreeMap::new(),
            runtime_models: None,
            places: Vec::new(),
        }
    }
}

/// The configuration cannot be used, or the gateway could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A provider's name is not a single path segment, or is there twice.
    #[error("provider name `{0}` is empty, doubled, or not made of letters, digits, `-`, `_` and `.`")]
    ProviderName(String),
    /// A provider's address is not usable.
    #[error("base URL of provider `{0}` must be http(s), without user, password, query and fragment")]
    BaseUrl(String),
    /// A header name is not one.
    #[error("`{0}` is not a header name")]
    Header(String),
    /// A credential cannot be sent.
    #[error("a credential holds characters that cannot be sent in a header")]
    Credential,
    /// The file of extra certificates cannot be used.
    #[error("extra CA file {path}: {problem}")]
    CaFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The recording cannot be written or read.
    #[error("recording {path}: {problem}")]
    Recording {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The HTTP client cannot be set up.
    #[error("HTTP client: {0}")]
    Client(String),
    /// The system has no randomness.
    #[error("no randomness for the run's key: {0}")]
    Randomness(String),
    /// The port cannot be opened.
    #[error("cannot listen on the loopback address: {0}")]
    Listen(#[from] std::io::Error),
}

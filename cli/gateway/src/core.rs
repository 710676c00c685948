//! What all calls share.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use conclave_shared::{model::ModelId, redact::Redactor};
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use crate::{
    config::{ConfigError, GatewayConfig, Limits, Prices, TapeSettings},
    event::{Events, GatewayEvent},
    record::{Cleaner, RecordedProvider, Recorder},
    replay::Recording,
    sessions::Sessions,
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
    pub(crate) max_cost_usd: Option<f64>,
    pub(crate) limits: Limits,
    pub(crate) sessions: Sessions,
    pub(crate) events: Events,
    pub(crate) redactor: Redactor,
    pub(crate) warming: Arc<Warming>,
    pub(crate) tape: Tape,
    /// No new calls.
    pub(crate) closing: CancellationToken,
    /// The end of the calls under way.
    pub(crate) killed: CancellationToken,
}

impl Core {
    pub(crate) fn new(config: GatewayConfig) -> Result<Self, ConfigError> {
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
            max_cost_usd: config.max_cost_usd,
            limits: config.limits,
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

    /// Whether the budget is spent.
    pub(crate) fn is_spent(&self) -> bool {
        self.max_cost_usd.is_some_and(|most| self.cost_usd() >= most)
    }
}

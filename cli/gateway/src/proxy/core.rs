//! State that all calls share.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

use conclave_resilience::deadline::Deadline;
use conclave_shared::{model::ModelId, redact::Redactor};
use secrecy::SecretString;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{concessions::Concessions, session::Sessions, switches::Switches};
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
    /// Changes of a request that models need.
    pub(crate) concessions: Concessions,
    pub(crate) circuits: Arc<Circuits>,
    pub(crate) switches: Switches,
    limits: watch::Sender<Limits>,
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
        let addresses = config.providers.iter().map(|upstream| &upstream.base_url);
        let accounting = UsageAccounting::new(config.budget, config.prices, config.trace, Arc::clone(&events));
        Ok(Self {
            source: CallSource::new(config.recording, recorded, cleaner)?,
            providers: provider::providers(&config.providers)?,
            client: provider::client(&config.http, config.limits.connect, addresses)?,
            redactor,
            warming: Arc::default(),
            run_key: config.run_key,
            capabilities: config.capabilities,
            concessions: Concessions::default(),
            accounting: Arc::new(accounting),
            circuits: Arc::new(Circuits::new(config.limits.breaker, Arc::clone(&events))),
            switches: Switches::new(config.switches),
            limits: watch::Sender::new(config.limits),
            runtime_models: config.runtime_models,
            sessions: Sessions::default(),
            events,
            closing: CancellationToken::new(),
            killed: CancellationToken::new(),
        })
    }

    /// The limits in force.
    pub(crate) fn limits(&self) -> Limits {
        *self.limits.borrow()
    }

    /// The time until which a call that came in at `began` may look for a model, by the limits in force.
    pub(crate) fn hold(&self, began: Instant) -> Deadline {
        Deadline::after(began, self.limits().hold)
    }

    /// Does work within a limit that may change meanwhile, measured from now; nothing if that is over first.
    pub(crate) async fn within<T>(
        &self,
        limit: impl Fn(&Limits) -> Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let began = tokio::time::Instant::now();
        let mut changes = self.limits.subscribe();
        tokio::pin!(work);
        loop {
            let limit = limit(&changes.borrow_and_update());
            let left = limit.saturating_sub(began.elapsed());
            tokio::select! {
                biased;
                done = &mut work => return Some(done),
                Ok(()) = changes.changed() => {}
                () = tokio::time::sleep(left) => return None,
            }
        }
    }

    /// Takes other limits, by which waits are measured that are under way, too.
    pub(crate) fn set_limits(&self, limits: Limits) {
        self.circuits.breakers().set(limits.breaker);
        self.limits.send_replace(limits);
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

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_wait_is_measured_from_its_beginning_by_the_limit_in_force() {
        let core = Core::new(GatewayConfig::new(Vec::new(), "key".to_owned().into())).expect("a core");
        let of = |seconds| Limits {
            first_byte: Duration::from_secs(seconds),
            ..Limits::default()
        };
        // The limit at first, that from the 20th second on, and the end.
        for (before, after, ends) in [(60, 60, 60), (60, 30, 30), (30, 90, 90), (60, 5, 20)] {
            core.set_limits(of(before));
            let changing = async {
                sleep(Duration::from_secs(20)).await;
                core.set_limits(of(after));
            };
            let began = Instant::now();
            let waiting = async {
                let end = core
                    .within(|limits| limits.first_byte, std::future::pending::<()>())
                    .await;
                (end, began.elapsed().as_secs())
            };
            let (ended, ()) = tokio::join!(waiting, changing);
            assert_eq!(ended, (None, ends), "{before} s, then {after} s");
        }
        let done = core.within(|limits| limits.first_byte, async { 7 }).await;
        assert_eq!(done, Some(7));
    }
}

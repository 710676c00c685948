//! The gateway as a value: start it, ask it, stop it.

use std::{
    fmt,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use conclave_engine::ports::{BudgetState, SPARE_MODEL, SessionId, StrayCall, UsageLedger};
use conclave_resilience::{
    budget::{Budget, BudgetLevel},
    classify::{FailureClass, ProviderFault},
};
use conclave_shared::{
    config::{Capabilities, ConfigDocument},
    effort::Effort,
    model::ModelId,
    telemetry::TokensByModel,
};
use tokio::{net::TcpListener, task::JoinHandle, time::timeout};

use crate::{
    config::{GatewayConfig, Limits},
    errors::{ConfigError, Rejection},
    event::GatewayEvent,
    lock::locked,
    model_answer::ModelAnswer,
    proxy::{Core, call_in_process, router},
    wire::Wire,
};

/// Time for the server to end once everything was stopped.
const LAST_GRACE: Duration = Duration::from_secs(1);

/// A running gateway. It stops at once when it is dropped; [`Gateway::shutdown`] is the polite way.
pub struct Gateway {
    address: SocketAddr,
    core: Arc<Core>,
    server: Mutex<Option<JoinHandle<()>>>,
}

impl Gateway {
    /// Listens on a free port of the loopback address.
    pub async fn start(config: GatewayConfig) -> Result<Self, ConfigError> {
        Self::serve(config, TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?)
    }

    /// Serves at this listener, which is bound to the loopback address: where its port had to be known before.
    pub fn serve(config: GatewayConfig, listener: TcpListener) -> Result<Self, ConfigError> {
        let core = Arc::new(Core::new(config)?);
        let address = listener.local_addr()?;
        let serving = conclave_loopback::serve(listener, router(Arc::clone(&core)), core.closing.clone());
        let server = tokio::spawn(serving);
        Ok(Self {
            address,
            core,
            server: Mutex::new(Some(server)),
        })
    }

    /// Answers calls of this process only ([`Gateway::ask`]), and listens nowhere.
    pub fn in_process(config: GatewayConfig) -> Result<Self, ConfigError> {
        Ok(Self {
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            core: Arc::new(Core::new(config)?),
            server: Mutex::default(),
        })
    }

    /// Asks a model of this provider, as a request over HTTP does, but in process: the same fallback models, budget, accounts,
    /// recording and limits. Dropping the answer cancels the call.
    pub async fn ask(&self, session: &SessionId, provider: &str, body: Bytes) -> Result<ModelAnswer, Rejection> {
        let relay = call_in_process(&self.core, provider, session, body).await?;
        Ok(ModelAnswer::new(relay))
    }

    /// The format that a provider speaks, if there is one of this name.
    pub fn wire(&self, provider: &str) -> Option<Wire> {
        self.core.providers.get(provider).map(|provider| provider.wire)
    }

    /// The capabilities of a model, as they are in force now.
    pub fn capabilities(&self, model: &ModelId) -> Capabilities {
        (self.core.capabilities)(model)
    }

    /// The address that it listens on; port 0 if it listens nowhere.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The `baseURL` of a provider for the runtime's configuration.
    pub fn base_url(&self, provider: &str) -> String {
        format!("http://{}/{provider}/v1", self.address)
    }

    /// The events so far: what the gateway did on its own.
    pub fn events(&self) -> Vec<GatewayEvent> {
        self.core.events()
    }

    /// Takes over the switches of a document. A provider that is off now gets no more calls: new ones are refused at
    /// once, and those that wait for a first byte, a repetition or a probe are given up. Answers that have begun go on
    /// until their reader stops.
    pub fn update(&self, document: &ConfigDocument) {
        for (provider, switch) in self.core.switches.set(&document.providers) {
            self.core.events.record(GatewayEvent::ProviderSwitched {
                provider,
                enabled: switch.enabled,
                reason: switch.reason,
            });
        }
    }

    /// Takes other limits, by which waits are measured that are under way, too; connecting keeps its own.
    pub fn set_limits(&self, limits: Limits) {
        self.core.set_limits(limits);
    }

    /// Takes another budget; what was used so far counts for it.
    pub fn set_budget(&self, budget: Budget) {
        self.core.accounting.set_budget(budget);
    }

    /// Takes no new calls, gives those under way a moment, and ends. A second call does nothing.
    pub async fn shutdown(&self) {
        self.core.closing.cancel();
        let server = locked(&self.server).take();
        let Some(mut server) = server else {
            self.core.killed.cancel();
            return;
        };
        if timeout(self.core.limits().shutdown, &mut server).await.is_err() {
            self.core.killed.cancel();
            if timeout(LAST_GRACE, &mut server).await.is_err() {
                server.abort();
            }
        }
        self.core.killed.cancel();
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Gateway")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.core.closing.cancel();
        self.core.killed.cancel();
        let server = self.server.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = server.take() {
            server.abort();
        }
    }
}

impl UsageLedger for Gateway {
    fn usage(&self, session: &SessionId) -> Vec<TokensByModel> {
        self.core.accounting.usage(session)
    }

    fn idle_for(&self, session: &SessionId) -> Option<Duration> {
        self.core.sessions.get(session)?.idle_for()
    }

    fn waits_for(&self, session: &SessionId) -> Option<Duration> {
        self.core.sessions.get(session)?.waits_for()
    }

    fn stray_calls(&self, session: &SessionId) -> Vec<StrayCall> {
        let session = self.core.sessions.get(session);
        session.map(|session| session.stray_calls()).unwrap_or_default()
    }

    fn broken_answers(&self, session: &SessionId) -> Vec<String> {
        let session = self.core.sessions.get(session);
        session.map(|session| session.broken_answers()).unwrap_or_default()
    }

    fn last_failure(&self, session: &SessionId) -> Option<String> {
        let session = self.core.sessions.get(session)?;
        Some(match session.last_failure()? {
            (FailureClass::ModelUnavailable, _) if session.is_unstreamed() => {
                "the endpoint answered without streaming, and Conclave needs one that streams: see docs/models.md"
                    .to_owned()
            }
            (class, words) => {
                let cause = match class {
                    FailureClass::Retryable(ProviderFault::Garbage) => "garbage: what came is not a model's answer",
                    class => class.as_str(),
                };
                let parts = [cause, &words];
                parts
                    .into_iter()
                    .filter(|part| !part.is_empty())
                    .collect::<Vec<_>>()
                    .join(", ")
            }
        })
    }

    fn odd_stop(&self, session: &SessionId) -> Option<String> {
        self.core.sessions.get(session)?.odd_stop()
    }

    fn cost_usd(&self) -> f64 {
        self.core.accounting.cost_usd()
    }

    fn budget(&self) -> BudgetState {
        match self.core.accounting.level() {
            BudgetLevel::Free => BudgetState::Free,
            BudgetLevel::Tight(line) => BudgetState::Tight(line.to_string()),
            BudgetLevel::Spent(line) => BudgetState::Spent(line.to_string()),
        }
    }

    fn name_in_runtime(&self, session: &SessionId, model: &ModelId) -> ModelId {
        let known = self.core.sessions.get(session);
        match (known, ModelId::from_parts(model.provider(), SPARE_MODEL)) {
            (Some(known), Ok(spare)) if !self.core.runtime_knows(model) => {
                known.use_spare_for(model);
                spare
            }
            _ => model.clone(),
        }
    }

    fn assign(&self, session: &SessionId, reviewer: &str, models: &[ModelId]) {
        self.core.sessions.assign(session, reviewer, models);
    }

    fn set_effort(&self, session: &SessionId, effort: Effort) {
        if let Some(session) = self.core.sessions.get(session) {
            session.set_effort(effort);
        }
    }
}

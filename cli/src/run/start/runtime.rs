//! The run's servers and the agent runtime: started together, stopped together.

use std::sync::Arc;

use conclave_engine::{ports::AgentRuntime, review::Review, session::CoordinatorMailbox};
use conclave_gateway::{Gateway, GatewayConfig};
use conclave_native::{NativeRuntime, NativeSettings};
use conclave_opencode::v1::{McpHandle, OpenCode};
use conclave_sandbox::SandboxStatus;
use secrecy::SecretString;

use super::{
    choice::Starting,
    live::{LiveModels, budget_of, gateway_limits, observer},
    opencode::{COORDINATOR_PROMPT, EVENTS_FILE, REVIEWER_PROMPT, Ready},
    sandbox::account_for,
};
use crate::{
    env::{names, providers::upstream},
    exit::Failure,
    run::{Run, directory::RunDirectory, prepare::Prepared},
};

/// The running servers and the agent runtime.
pub(crate) struct Runtime {
    pub(crate) gateway: Arc<Gateway>,
    agents: Agents,
    sandbox: SandboxStatus,
    /// Warnings for the review.
    notes: Vec<String>,
    mailbox: Arc<CoordinatorMailbox>,
}

enum Agents {
    OpenCode {
        opencode: Arc<OpenCode>,
        /// It serves as long as this is there.
        _tools: McpHandle,
    },
    Native(Arc<NativeRuntime>),
}

impl Runtime {
    /// Starts what does not run yet, in the order in which each needs the other's address.
    pub(crate) async fn start(
        run: &Run<'_>,
        (starting, sandbox): (Starting, SandboxStatus),
        prepared: &Prepared,
        directory: &RunDirectory,
        models: &LiveModels,
        mailbox: &Arc<CoordinatorMailbox>,
    ) -> Result<Self, Failure> {
        let library = &prepared.library;
        let (reviewer, coordinator) = (library.shared()?, library.get("coordinator")?);
        for (name, text) in [(REVIEWER_PROMPT, reviewer), (COORDINATOR_PROMPT, coordinator)] {
            directory.write(name.trim_start_matches("./"), text.as_bytes())?;
        }
        let mut config = gateway_config(run, prepared, models, starting.run_key()?);
        config.recording = run.recording.mode(starting.name());
        let mut notes = Vec::new();
        let (gateway, agents) = match starting {
            Starting::OpenCode { child, .. } => {
                let models = prepared.runtime.models.iter();
                config.runtime_models = Some(models.map(|owned| owned.value.id.clone()).collect());
                let Ready {
                    opencode,
                    gateway,
                    tools,
                    notes: of_child,
                } = child.ready(run, prepared, directory, config, mailbox, &sandbox).await?;
                notes = of_child;
                let agents = Agents::OpenCode {
                    opencode: Arc::new(opencode),
                    _tools: tools,
                };
                (gateway, agents)
            }
            Starting::Native { .. } => {
                let gateway = Arc::new(Gateway::in_process(config)?);
                let native = NativeRuntime::new(&NativeSettings {
                    config: &prepared.runtime,
                    gateway: Arc::clone(&gateway),
                    tools: Arc::clone(mailbox) as _,
                    workspace: &run.workspace(),
                    is_confined: sandbox.walls.is_some(),
                    reviewer_prompt: reviewer,
                    coordinator_prompt: coordinator,
                    journal: &directory.path().join(EVENTS_FILE),
                    redactor: &run.context.redactor,
                })?;
                (gateway, Agents::Native(Arc::new(native)))
            }
        };
        Ok(Self {
            gateway,
            agents,
            sandbox,
            notes,
            mailbox: Arc::clone(mailbox),
        })
    }

    /// The agent runtime.
    pub(crate) fn port(&self) -> Arc<dyn AgentRuntime> {
        match &self.agents {
            Agents::OpenCode { opencode, .. } => Arc::clone(opencode) as _,
            Agents::Native(native) => Arc::clone(native) as _,
        }
    }

    /// Says in the review what the sandbox held back, and what tried to get out of it.
    pub(crate) fn account_for_sandbox(&self, review: &mut Review) {
        let refused = match &self.agents {
            Agents::OpenCode { opencode, .. } => opencode.refused_addresses(),
            // Its tools make no connection.
            Agents::Native(_) => Vec::new(),
        };
        review.warnings.extend(self.notes.iter().cloned());
        account_for(&self.sandbox, &refused, review);
    }

    /// Stops everything. Returns what is missing in the run's record.
    pub(crate) async fn stop(self) -> Option<String> {
        let stopping = async {
            match &self.agents {
                Agents::OpenCode { opencode, .. } => opencode.stop().await,
                Agents::Native(native) => native.stop().await,
            }
        };
        let (missing, ()) = tokio::join!(stopping, self.gateway.shutdown());
        self.mailbox.close();
        missing
    }
}

/// The gateway's configuration, the same for both runtimes but for the recording and the models that a runtime knows.
fn gateway_config(run: &Run<'_>, prepared: &Prepared, models: &LiveModels, run_key: SecretString) -> GatewayConfig {
    let upstreams = prepared.runtime.providers.iter().map(|owned| upstream(&owned.value));
    let mut config = GatewayConfig::new(upstreams.collect(), run_key);
    config.budget = budget_of(&prepared.job, run.arguments)(&prepared.config.limits.budget);
    config.limits = gateway_limits(&prepared.config.limits);
    let (prices, capabilities) = (models.clone(), models.clone());
    config.prices = Arc::new(move |model| prices.facts(model));
    config.capabilities = Arc::new(move |model| capabilities.capabilities(model));
    config.switches = prepared.config.providers.clone();
    config.observer = observer(Arc::clone(&run.progress), run.observers.sink());
    config.redactor = run.context.redactor.clone();
    config.places = vec![(run.workspace().to_string(), "{workspace}".to_owned())];
    config.http.system_proxy = run.context.env.has_system_proxy();
    config.http.extra_ca_file = run.context.env.get(names::CA_FILE).map(Into::into);
    config.trace = run.observers.trace();
    config
}

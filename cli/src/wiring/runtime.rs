//! The run's servers and the agent runtime: started together, stopped together.

use std::sync::Arc;

use camino::Utf8Path;
use conclave_engine::{
    plugin::{ProviderSpec, ProviderWire, RuntimeConfig},
    ports::RunTrace,
    scheduler::Desk,
};
use conclave_gateway::{
    Budget, CallListener, Gateway, GatewayConfig, Limits, Observer, Prices, TapeSettings, Upstream, Wire,
};
use conclave_opencode::{ConfigFile, Endpoints, McpHandle, OpenCode, OpenCodeSettings, render_config};
use conclave_shared::{config::PriceList, redact::Redactor};
use secrecy::ExposeSecret;

use crate::{env_vars, exit::Failure, rundir::RunDirectory, settings::Environment};

/// Where the prompts of the two roles are, relative to the configuration file.
pub(crate) const REVIEWER_PROMPT: &str = "./prompts/REVIEWER_SHARED.md";
/// See [`REVIEWER_PROMPT`].
pub(crate) const COORDINATOR_PROMPT: &str = "./prompts/coordinator.md";

/// What the runtime is made of.
pub(super) struct RuntimeInput<'a> {
    pub(super) binary: &'a Utf8Path,
    /// `PATH` for the child.
    pub(super) path: &'a str,
    pub(super) workspace: &'a Utf8Path,
    pub(super) home: &'a Utf8Path,
    pub(super) directory: &'a RunDirectory,
    pub(super) environment: &'a Environment,
    pub(super) redactor: &'a Redactor,
    pub(super) budget: Budget,
    pub(super) limits: Limits,
    pub(super) prices: PriceList,
    pub(super) observer: Observer,
    pub(super) tape: TapeSettings,
    pub(super) config: &'a RuntimeConfig,
    pub(super) desk: &'a Arc<Desk>,
    pub(super) trace: Option<Arc<dyn RunTrace>>,
}

/// The running servers and OpenCode.
pub(super) struct Runtime {
    pub(super) gateway: Arc<Gateway>,
    pub(super) opencode: Arc<OpenCode>,
    _mcp: McpHandle,
}

impl Runtime {
    /// Starts everything, in the order in which each needs the other's address.
    pub(super) async fn start(input: RuntimeInput<'_>) -> Result<Self, Failure> {
        let run_key = conclave_gateway::random_run_key()?;
        let upstreams = input.config.providers.iter().map(|owned| upstream(&owned.value));
        let mut config = GatewayConfig::new(upstreams.collect(), run_key.clone());
        config.budget = input.budget;
        config.limits = input.limits;
        let prices = input.prices;
        config.prices = Prices::new(move |model| prices.facts(model));
        config.observer = input.observer;
        config.tape = input.tape;
        config.redactor = input.redactor.clone();
        config.places = vec![(input.workspace.to_string(), "{workspace}".to_owned())];
        config.http.extra_ca_file = input.environment.get(env_vars::CA_FILE).map(Into::into);
        if let Some(trace) = input.trace {
            config.calls = CallListener::new(trace);
        }
        let gateway = Arc::new(Gateway::start(config).await?);
        let token = conclave_gateway::random_run_key()?;
        let mcp = OpenCode::serve_tools(Arc::clone(input.desk) as _, token.clone())
            .await
            .map_err(Failure::io("start the tool server"))?;

        let rendered = render_config(&ConfigFile {
            config: input.config,
            endpoints: &Endpoints {
                gateway: format!("http://{}", gateway.address()),
                tools: mcp.address.clone(),
            },
            reviewer_prompt: REVIEWER_PROMPT,
            coordinator_prompt: COORDINATOR_PROMPT,
        });
        let config_file = input
            .directory
            .write("opencode.json", format!("{rendered:#}\n").as_bytes())?;

        let mut environment = vec![
            (
                conclave_opencode::GATEWAY_KEY_VARIABLE.to_owned(),
                run_key.expose_secret().to_owned(),
            ),
            (
                conclave_opencode::MCP_TOKEN_VARIABLE.to_owned(),
                token.expose_secret().to_owned(),
            ),
        ];
        environment.extend(input.config.environment.iter().map(|owned| owned.value.clone()));
        let agents = input.config.agents.iter().map(|owned| owned.value.name.clone());
        let agents: Vec<String> = agents.collect();
        let servers = input.config.mcp_servers.iter().map(|owned| owned.value.name.clone());
        let servers: Vec<String> = servers.collect();
        let opencode = OpenCode::start(OpenCodeSettings {
            binary: input.binary,
            workspace: input.workspace,
            home: input.home,
            config: &config_file,
            journal: &input.directory.path().join("events.jsonl"),
            redactor: input.redactor,
            path: input.path,
            environment: &environment,
            agents: &agents,
            mcp_servers: &servers,
            password: conclave_gateway::random_run_key()?,
        })
        .await?;
        Ok(Self {
            gateway,
            opencode: Arc::new(opencode),
            _mcp: mcp,
        })
    }

    /// Stops everything. Returns what is missing in the run's record.
    pub(super) async fn stop(self) -> Option<String> {
        let (missing, ()) = tokio::join!(self.opencode.stop(), self.gateway.shutdown());
        missing
    }
}

/// A provider as the gateway has to know it.
fn upstream(spec: &ProviderSpec) -> Upstream {
    Upstream {
        name: spec.name.clone(),
        wire: match spec.wire {
            ProviderWire::Anthropic => Wire::Anthropic,
            ProviderWire::OpenAiChat => Wire::OpenAiChat,
            ProviderWire::OpenAiResponses => Wire::OpenAiResponses,
        },
        base_url: spec.base_url.clone(),
        credential: spec.credential.clone(),
        extra_headers: spec.headers.clone(),
    }
}

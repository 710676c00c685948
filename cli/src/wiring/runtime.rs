//! The run's servers and the agent runtime: started together, stopped together.

use std::sync::Arc;

use camino::Utf8Path;
use conclave_engine::{
    pipeline::Plan,
    plugin::{self, ReviewPlugin, StandingPanel},
    scheduler::Desk,
};
use conclave_gateway::{Budget, Gateway, GatewayConfig, Limits, Observer, TapeSettings};
use conclave_opencode::{ConfigFile, McpHandle, OpenCode, OpenCodeSettings, render_config};
use conclave_plugin_agents_md::{AgentsMdPlugin, REVIEWER as AGENTS_MD};
use conclave_shared::{redact::Redactor, reviewer::ReviewerName};
use secrecy::ExposeSecret;

use super::plugins::{CoordinatorToolsPlugin, ModelProviders};
use crate::{env_vars, exit::Failure, providers::Provider, rundir::RunDirectory, settings::Environment};

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
    pub(super) providers: &'a [Provider],
    pub(super) budget: Budget,
    pub(super) limits: Limits,
    pub(super) observer: Observer,
    pub(super) tape: TapeSettings,
    pub(super) plan: &'a Plan,
    pub(super) desk: &'a Arc<Desk>,
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
        let upstreams = input.providers.iter().map(Provider::upstream).collect();
        let mut config = GatewayConfig::new(upstreams, run_key.clone());
        config.budget = input.budget;
        config.limits = input.limits;
        config.observer = input.observer;
        config.tape = input.tape;
        config.redactor = input.redactor.clone();
        config.places = vec![(input.workspace.to_string(), "{workspace}".to_owned())];
        config.http.extra_ca_file = input.environment.get(env_vars::CA_FILE).map(Into::into);
        let gateway = Arc::new(Gateway::start(config).await?);
        let token = conclave_gateway::random_run_key()?;
        let mcp = OpenCode::serve_tools(Arc::clone(input.desk) as _, token.clone())
            .await
            .map_err(Failure::io("start the tool server"))?;

        let reviewers = input.plan.reviewers();
        let (agents_md, standing): (Vec<_>, Vec<_>) =
            reviewers.iter().cloned().partition(|name| name.as_str() == AGENTS_MD);
        let plugins: Vec<Box<dyn ReviewPlugin>> = vec![
            Box::new(StandingPanel::new(standing)),
            Box::new(AgentsMdPlugin::new(!agents_md.is_empty())),
            Box::new(ModelProviders::new(input.providers, input.plan, &gateway)),
            Box::new(CoordinatorToolsPlugin::new(mcp.endpoints.clone())),
        ];
        let assembled = plugin::configure(&plugins)?;
        let rendered = render_config(&ConfigFile {
            config: &assembled,
            reviewer_prompt: "./prompts/REVIEWER_SHARED.md",
            coordinator_prompt: "./prompts/coordinator.md",
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
        environment.extend(assembled.environment.iter().map(|owned| owned.value.clone()));
        let mut agents = vec![ReviewerName::COORDINATOR.to_owned()];
        agents.extend(reviewers.iter().map(ToString::to_string));
        let servers: Vec<String> = assembled
            .mcp_servers
            .iter()
            .map(|owned| owned.value.name.clone())
            .collect();
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

    /// Stops everything.
    pub(super) async fn stop(self) {
        self.opencode.stop().await;
        self.gateway.shutdown().await;
    }
}

//! OpenCode as a run's agent runtime: the child, its tool server, and its configuration.

use std::{
    net::{Ipv4Addr, TcpListener},
    sync::Arc,
    time::Duration,
};

use camino::{Utf8Path, Utf8PathBuf};
use conclave_engine::{ports::CoordinatorTools, session::CoordinatorMailbox};
use conclave_gateway::{Gateway, GatewayConfig};
use conclave_opencode::{
    LaunchSettings, Programs, StartError,
    v1::{
        ConfigFile, Endpoints, GATEWAY_KEY_VARIABLE, Launched, MCP_TOKEN_VARIABLE, McpHandle, OpenCode,
        OpenCodeSettings, render_config, serve_tools,
    },
};
use conclave_sandbox::SandboxStatus;
use conclave_shared::{config::MAX_CALL_SECONDS, redact::Redactor};
use secrecy::{ExposeSecret, SecretString};
use tokio::{sync::watch, time::Instant};

use super::sandbox::{around_child, sort_out_servers};
use crate::{
    env::Environment,
    exit::Failure,
    run::{Run, directory::RunDirectory, prepare::Prepared},
};

/// Where the prompts of the two roles are, relative to the configuration file.
pub(crate) const REVIEWER_PROMPT: &str = "./prompts/REVIEWER_SHARED.md";
/// See [`REVIEWER_PROMPT`].
pub(crate) const COORDINATOR_PROMPT: &str = "./prompts/coordinator.md";
/// The record of what the runtime says.
pub(super) const EVENTS_FILE: &str = "events.jsonl";

/// The need for a child that is starting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The repository's settings are not read yet.
    NotKnown,
    /// It is, and has to answer within this time of its start.
    Within(Duration),
    /// The settings ask for the other runtime.
    Not,
}

/// Time limit of a start as long as its own is not known.
const MAX_START: Duration = Duration::from_secs(MAX_CALL_SECONDS);

/// The child, which starts while the change is still being read: it needs more than a second for that.
pub(crate) struct Child {
    launched: Launched,
    /// Where its configuration has to be when it is asked for more than its health.
    config: Utf8PathBuf,
    run_key: SecretString,
    token: SecretString,
    /// Where the gateway and the tools will be served: the sandbox has to know their ports before.
    listeners: [TcpListener; 2],
}

/// A child that has become a runtime, and its servers, which serve as long as they are there.
pub(super) struct Ready {
    pub(super) opencode: OpenCode,
    pub(super) gateway: Arc<Gateway>,
    pub(super) tools: McpHandle,
    /// Warnings for the review.
    pub(super) notes: Vec<String>,
}

impl Child {
    /// Starts the child; below `scratch` it keeps what is its own.
    pub(super) fn start(
        env: &Environment,
        programs: &Programs,
        scratch: &Utf8Path,
        workspace: &Utf8Path,
        redactor: &Redactor,
    ) -> Result<Self, Failure> {
        let (run_key, token) = (conclave_gateway::random_run_key()?, conclave_gateway::random_run_key()?);
        // What the child writes may hold its environment.
        for own in [&run_key, &token] {
            redactor.hide_value(own.expose_secret());
        }
        let directory = scratch.join("runtime");
        std::fs::create_dir_all(directory.join("prompts")).map_err(Failure::io(format!("make {directory}")))?;
        let config = directory.join("opencode.json");
        let ours = [(GATEWAY_KEY_VARIABLE, &run_key), (MCP_TOKEN_VARIABLE, &token)];
        let environment = ours.map(|(name, value)| (name.to_owned(), value.expose_secret().to_owned()));
        // Rules of the sandbox hold for what is there.
        std::fs::create_dir_all(workspace).map_err(Failure::io(format!("make {workspace}")))?;
        let bind = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(Failure::io("open a port on 127.0.0.1"));
        let listeners = [bind()?, bind()?];
        let sandbox = around_child(env, workspace, &listeners)?;
        let launched = Launched::start(&LaunchSettings {
            binary: &programs.opencode,
            home: &scratch.join("home"),
            config: &config,
            path: &programs.path,
            environment: &environment,
            limit: MAX_START,
            sandbox: &sandbox,
        })?;
        launched.hide_password(redactor);
        Ok(Self {
            launched,
            config,
            run_key,
            token,
            listeners,
        })
    }

    /// Waits until it answers, for as long as the limit says once it is known.
    pub(super) async fn answers(&mut self, mut wanted: watch::Receiver<Wanted>) -> Result<(), StartError> {
        let began = Instant::now();
        let known = async {
            let known = wanted.wait_for(|wanted| *wanted != Wanted::NotKnown).await;
            match known.map(|wanted| *wanted) {
                Ok(Wanted::Within(limit)) => {
                    tokio::time::sleep_until(began + limit).await;
                    Some(limit)
                }
                Ok(Wanted::Not) => None,
                Ok(Wanted::NotKnown) | Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            answered = self.launched.answers() => answered,
            silent_for = known => silent_for.map_or(Ok(()), |limit| Err(self.launched.silent(limit))),
        }
    }

    /// Waits until it is known how much of the sandbox holds, also of these places of the user's.
    pub(super) async fn sandbox(&mut self, places: &[Utf8PathBuf]) -> Result<SandboxStatus, StartError> {
        self.launched.sandbox(places).await
    }

    /// Sets how long its start may take.
    pub(super) const fn limit_start(&mut self, limit: Duration) {
        self.launched.limit_start(limit);
    }

    /// Ends it.
    pub(super) async fn stop(self) {
        self.launched.stop().await;
    }

    /// The key that the gateway asks it for.
    pub(super) fn run_key(&self) -> SecretString {
        self.run_key.clone()
    }

    /// Makes a runtime of it, now that it is known what it has to do.
    pub(super) async fn ready(
        self,
        run: &Run<'_>,
        prepared: &Prepared,
        directory: &RunDirectory,
        gateway: GatewayConfig,
        mailbox: &Arc<CoordinatorMailbox>,
        sandbox: &SandboxStatus,
    ) -> Result<Ready, Failure> {
        let mut runtime = prepared.runtime.clone();
        let notes = sort_out_servers(sandbox, &mut runtime.mcp_servers);
        let [of_gateway, of_tools] = self.listeners.map(|listener| {
            listener.set_nonblocking(true)?;
            tokio::net::TcpListener::from_std(listener)
        });
        let of_gateway = of_gateway.map_err(Failure::io("serve the model gateway"))?;
        let gateway = Arc::new(Gateway::serve(gateway, of_gateway)?);
        let tools: Arc<dyn CoordinatorTools> = Arc::clone(mailbox) as _;
        let tools = of_tools
            .and_then(|listener| serve_tools(listener, &tools, self.token.clone()))
            .map_err(Failure::io("start the tool server"))?;
        let rendered = render_config(&ConfigFile {
            config: &runtime,
            endpoints: &Endpoints {
                gateway: format!("http://{}", gateway.address()),
                tools: tools.address.clone(),
            },
            reviewer_prompt: REVIEWER_PROMPT,
            coordinator_prompt: COORDINATOR_PROMPT,
        });
        let rendered = format!("{rendered:#}\n");
        directory.write("opencode.json", rendered.as_bytes())?;
        let own = self.config.parent().unwrap_or(&self.config).to_owned();
        let texts = [
            (REVIEWER_PROMPT, prepared.library.shared()?),
            (COORDINATOR_PROMPT, prepared.library.get("coordinator")?),
            ("./opencode.json", rendered.as_str()),
        ];
        for (name, text) in texts {
            let copy = own.join(name.trim_start_matches("./"));
            std::fs::write(&copy, text).map_err(Failure::io(format!("write {copy}")))?;
        }
        let agents: Vec<String> = runtime.agents.iter().map(|owned| owned.value.name.clone()).collect();
        let servers = runtime.mcp_servers.iter().map(|owned| owned.value.name.clone());
        let settings = OpenCodeSettings {
            workspace: &run.workspace(),
            journal: &directory.path().join(EVENTS_FILE),
            redactor: &run.context.redactor,
            agents: &agents,
            mcp_servers: &servers.collect::<Vec<String>>(),
        };
        Ok(Ready {
            opencode: OpenCode::start(self.launched, settings).await?,
            gateway,
            tools,
            notes,
        })
    }
}

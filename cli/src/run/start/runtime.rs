//! The run's servers and the agent runtime: started together, stopped together.

use std::{
    net::{Ipv4Addr, TcpListener},
    sync::Arc,
    time::Duration,
};

use camino::{Utf8Path, Utf8PathBuf};
use conclave_engine::{
    ports::CoordinatorTools,
    review::{Review, SandboxReport},
    session::CoordinatorMailbox,
};
use conclave_gateway::{Gateway, GatewayConfig};
use conclave_opencode::{
    ConfigFile, Endpoints, LaunchSettings, Launched, McpHandle, OpenCode, OpenCodeSettings, Sandbox, SandboxSettings,
    SandboxStatus, Search, StartError, probe_sandbox, render_config, serve_tools,
};
use conclave_shared::{config::MAX_CALL_SECONDS, sandbox::SandboxLevel};
use secrecy::{ExposeSecret, SecretString};
use tokio::{sync::watch, time::Instant};

use super::live::{LiveModels, budget_of, gateway_limits, observer};
use crate::{
    context::Context,
    env::{Environment, names, providers::upstream},
    exit::Failure,
    run::{
        Run,
        directory::{RunDirectory, default_root, programs_directory, temporary},
        prepare::Prepared,
    },
};

/// Where the prompts of the two roles are, relative to the configuration file.
pub(crate) const REVIEWER_PROMPT: &str = "./prompts/REVIEWER_SHARED.md";
/// The program that puts the sandbox up: this one, whose `main` looks for that first.
const HELPER: &str = "/proc/self/exe";
/// How long a start may take as long as its limit is not known.
const MAX_START: Duration = Duration::from_secs(MAX_CALL_SECONDS);
/// See [`REVIEWER_PROMPT`].
pub(crate) const COORDINATOR_PROMPT: &str = "./prompts/coordinator.md";

/// The child, which starts while the change is still being read: it needs more than a second for that.
pub(crate) struct Child {
    launched: Launched,
    /// Where its configuration has to be when it is asked for more than its health.
    config: Utf8PathBuf,
    run_key: SecretString,
    token: SecretString,
    /// Where the gateway and the tools will be served: the sandbox has to know their ports before.
    listeners: [TcpListener; 2],
    /// The sandbox around it, once it is known.
    sandbox: Option<SandboxStatus>,
}

impl Child {
    /// Starts the child that the environment names; below `scratch` it keeps what is its own.
    pub(crate) async fn start(env: &Environment, scratch: &Utf8Path, workspace: &Utf8Path) -> Result<Self, Failure> {
        let installed = programs_directory(env);
        let search = Search {
            configured: env.get(names::OPENCODE).map(Utf8Path::new),
            installed: installed.as_deref(),
            path: env.path(),
        };
        let programs = search.programs().await?;
        let (run_key, token) = (conclave_gateway::random_run_key()?, conclave_gateway::random_run_key()?);
        let directory = scratch.join("runtime");
        std::fs::create_dir_all(directory.join("prompts")).map_err(Failure::io(format!("make {directory}")))?;
        let config = directory.join("opencode.json");
        let ours = [
            (conclave_opencode::GATEWAY_KEY_VARIABLE, &run_key),
            (conclave_opencode::MCP_TOKEN_VARIABLE, &token),
        ];
        let environment = ours.map(|(name, value)| (name.to_owned(), value.expose_secret().to_owned()));
        // Rules of the sandbox hold for what is there.
        std::fs::create_dir_all(workspace).map_err(Failure::io(format!("make {workspace}")))?;
        let bind = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(Failure::io("open a port on 127.0.0.1"));
        let listeners = [bind()?, bind()?];
        let sandbox = sandbox(env, workspace, &listeners)?;
        let launched = Launched::start(&LaunchSettings {
            binary: &programs.opencode,
            home: &scratch.join("home"),
            config: &config,
            path: &programs.path,
            environment: &environment,
            limit: MAX_START,
            sandbox: &sandbox,
        })?;
        Ok(Self {
            launched,
            config,
            run_key,
            token,
            listeners,
            sandbox: None,
        })
    }

    /// Waits until it answers, for as long as the limit says once it is known.
    pub(crate) async fn answers(&mut self, mut limit: watch::Receiver<Option<Duration>>) -> Result<(), Failure> {
        let began = Instant::now();
        let overdue = async {
            let known = limit.wait_for(Option::is_some).await.ok().and_then(|limit| *limit);
            let Some(limit) = known else {
                return std::future::pending().await;
            };
            tokio::time::sleep_until(began + limit).await;
            limit
        };
        tokio::select! {
            answered = self.launched.answers() => Ok(answered?),
            limit = overdue => Err(StartError::Silent(limit.as_secs()).into()),
        }
    }

    /// Waits until it is known how much of the sandbox holds, and refuses less than what is required.
    pub(crate) async fn require_sandbox(&mut self, required: Option<SandboxLevel>) -> Result<(), Failure> {
        let found = self.launched.sandbox().await?;
        if found.level == SandboxLevel::None {
            tracing::warn!("OpenCode runs without a sandbox: {}", found.describe());
        } else {
            tracing::info!("OpenCode's sandbox: {}", found.describe());
        }
        if let Some(required) = required
            && found.level < required
        {
            return Err(Failure::Sandbox { required, found });
        }
        self.sandbox = Some(found);
        Ok(())
    }

    /// Sets how long its start may take.
    pub(crate) const fn limit_start(&mut self, limit: Duration) {
        self.launched.limit_start(limit);
    }

    /// Ends it.
    pub(crate) async fn stop(self) {
        self.launched.stop().await;
    }
}

/// Returns the sandbox that a review here would have around OpenCode.
pub(crate) async fn sandbox_here(env: &Environment) -> Result<SandboxStatus, Failure> {
    match switched_off(env)? {
        Some(why) => Ok(SandboxStatus::none(why)),
        None => probe_sandbox(&sandbox_settings(env, Utf8Path::new("."), Vec::new()))
            .await
            .map_err(Failure::io("try the sandbox")),
    }
}

/// Returns the reason for no sandbox, if the environment switches it off.
fn switched_off(env: &Environment) -> Result<Option<String>, Failure> {
    match env.get(names::SANDBOX).unwrap_or("on") {
        "on" => Ok(None),
        "off" => Ok(Some(format!("everything: {} is `off`", names::SANDBOX))),
        other => Err(Failure::Settings(format!(
            "{} is `{other}`. Set it to `on` or `off`",
            names::SANDBOX
        ))),
    }
}

/// The sandbox that the environment asks for.
fn sandbox(env: &Environment, workspace: &Utf8Path, listeners: &[TcpListener]) -> Result<Sandbox, Failure> {
    if let Some(why) = switched_off(env)? {
        return Ok(Sandbox::Off(why));
    }
    let ports = listeners.iter().map(|listener| Ok(listener.local_addr()?.port()));
    let ports = ports.collect::<Result<_, _>>();
    let ports = ports.map_err(Failure::io("open a port on 127.0.0.1"))?;
    Ok(Sandbox::new(sandbox_settings(env, workspace, ports)))
}

fn sandbox_settings(env: &Environment, workspace: &Utf8Path, ports: Vec<u16>) -> SandboxSettings {
    let programs = env.get(names::SANDBOX_PROGRAMS).unwrap_or_default().split(':');
    let here = std::env::current_dir()
        .ok()
        .and_then(|path| Utf8PathBuf::from_path_buf(path).ok());
    let places = [env.get("HOME"), env.job_checkout()]
        .into_iter()
        .flatten()
        .map(Utf8PathBuf::from);
    SandboxSettings {
        helper: HELPER.into(),
        workspace: workspace.to_owned(),
        programs: programs.filter(|path| !path.is_empty()).map(Into::into).collect(),
        private: places.chain(here).chain([temporary(), default_root(env)]).collect(),
        ports,
    }
}

/// The running servers and OpenCode.
pub(crate) struct Runtime {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) opencode: Arc<OpenCode>,
    /// The sandbox around it.
    sandbox: Option<SandboxStatus>,
    mailbox: Arc<CoordinatorMailbox>,
    _mcp: McpHandle,
}

impl Runtime {
    /// Starts what does not run yet, in the order in which each needs the other's address.
    pub(crate) async fn start(
        run: &Run<'_>,
        child: Child,
        prepared: &Prepared,
        directory: &RunDirectory,
        models: &LiveModels,
        mailbox: &Arc<CoordinatorMailbox>,
    ) -> Result<Self, Failure> {
        let (runtime, workspace) = (&prepared.runtime, run.workspace());
        let Context { env, redactor, .. } = run.context;
        let upstreams = runtime.providers.iter().map(|owned| upstream(&owned.value));
        let mut config = GatewayConfig::new(upstreams.collect(), child.run_key.clone());
        config.budget = budget_of(&prepared.job, run.arguments)(&prepared.config.limits.budget);
        config.limits = gateway_limits(&prepared.config.limits);
        let (prices, capabilities) = (models.clone(), models.clone());
        config.prices = Arc::new(move |model| prices.facts(model));
        config.capabilities = Arc::new(move |model| capabilities.capabilities(model));
        config.switches = prepared.config.providers.clone();
        config.runtime_models = Some(runtime.models.iter().map(|owned| owned.value.id.clone()).collect());
        config.observer = observer(Arc::clone(&run.progress), run.observers.sink());
        config.recording = run.recording.mode();
        config.redactor = redactor.clone();
        config.places = vec![(workspace.to_string(), "{workspace}".to_owned())];
        config.http.system_proxy = env.has_system_proxy();
        config.http.extra_ca_file = env.get(names::CA_FILE).map(Into::into);
        config.trace = run.observers.trace();
        let [of_gateway, of_tools] = child.listeners.map(|listener| {
            listener.set_nonblocking(true)?;
            tokio::net::TcpListener::from_std(listener)
        });
        let of_gateway = of_gateway.map_err(Failure::io("serve the model gateway"))?;
        let gateway = Arc::new(Gateway::serve(config, of_gateway)?);
        let tools: Arc<dyn CoordinatorTools> = Arc::clone(mailbox) as _;
        let mcp = of_tools
            .and_then(|listener| serve_tools(listener, &tools, child.token.clone()))
            .map_err(Failure::io("start the tool server"))?;

        let rendered = render_config(&ConfigFile {
            config: runtime,
            endpoints: &Endpoints {
                gateway: format!("http://{}", gateway.address()),
                tools: mcp.address.clone(),
            },
            reviewer_prompt: REVIEWER_PROMPT,
            coordinator_prompt: COORDINATOR_PROMPT,
        });
        let texts = [
            (REVIEWER_PROMPT, prepared.library.shared()?),
            (COORDINATOR_PROMPT, prepared.library.get("coordinator")?),
            ("./opencode.json", &format!("{rendered:#}\n")),
        ];
        let own = child.config.parent().unwrap_or(&child.config).to_owned();
        for (name, text) in texts {
            let name = name.trim_start_matches("./");
            directory.write(name, text.as_bytes())?;
            let copy = own.join(name);
            std::fs::write(&copy, text).map_err(Failure::io(format!("write {copy}")))?;
        }

        let agents: Vec<String> = runtime.agents.iter().map(|owned| owned.value.name.clone()).collect();
        let servers = runtime.mcp_servers.iter().map(|owned| owned.value.name.clone());
        let settings = OpenCodeSettings {
            workspace: &workspace,
            journal: &directory.path().join("events.jsonl"),
            redactor,
            agents: &agents,
            mcp_servers: &servers.collect::<Vec<String>>(),
        };
        let opencode = OpenCode::start(child.launched, settings).await?;
        Ok(Self {
            gateway,
            opencode: Arc::new(opencode),
            sandbox: child.sandbox,
            mailbox: Arc::clone(mailbox),
            _mcp: mcp,
        })
    }

    /// Says in the review what the sandbox held back, and what tried to get out of it.
    pub(crate) fn account_for_sandbox(&self, review: &mut Review) {
        let Some(sandbox) = &self.sandbox else { return };
        review
            .coverage
            .notes
            .push(format!("Sandbox around the agents: {}", sandbox.describe()));
        review.coverage.sandbox = Some(SandboxReport {
            level: sandbox.level,
            open: sandbox.open.clone(),
        });
        let refused = self.opencode.refused_addresses();
        if !refused.is_empty() {
            review.warnings.push(format!(
                "the agents' process tried to reach {}, which the sandbox refused: look for what in the change may have led it there",
                refused.join(", ")
            ));
        }
    }

    /// Stops everything. Returns what is missing in the run's record.
    pub(crate) async fn stop(self) -> Option<String> {
        let (missing, ()) = tokio::join!(self.opencode.stop(), self.gateway.shutdown());
        self.mailbox.close();
        missing
    }
}

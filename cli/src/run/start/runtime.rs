//! The run's servers and the agent runtime: started together, stopped together.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use conclave_engine::{plugin::RuntimeConfig, ports::RunTrace, prompt::PromptLibrary, session::CoordinatorMailbox};
use conclave_gateway::{Budget, Gateway, GatewayConfig, Limits, Observer, RecordingMode};
use conclave_opencode::{
    ConfigFile, Endpoints, LaunchSettings, Launched, McpHandle, OpenCode, OpenCodeSettings, StartError, find_opencode,
    render_config, serve_tools,
};
use conclave_shared::{
    config::{MAX_CALL_SECONDS, ProviderSwitch},
    redact::Redactor,
};
use secrecy::{ExposeSecret, SecretString};
use tokio::{sync::watch, time::Instant};

use crate::{
    env::{Environment, names, providers::upstream},
    exit::Failure,
    run::{directory::RunDirectory, start::live::LivePrices},
};

/// Where the prompts of the two roles are, relative to the configuration file.
pub(crate) const REVIEWER_PROMPT: &str = "./prompts/REVIEWER_SHARED.md";
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
}

impl Child {
    /// Starts the child that the environment names; below `scratch` it keeps what is its own.
    pub(crate) fn start(environment: &Environment, scratch: &Utf8Path) -> Result<Self, Failure> {
        let path = environment
            .get("PATH")
            .unwrap_or("/usr/local/bin:/usr/bin:/bin")
            .to_owned();
        let binary = find_opencode(environment.get(names::OPENCODE).map(Utf8Path::new), &path)?;
        let (run_key, token) = (conclave_gateway::random_run_key()?, conclave_gateway::random_run_key()?);
        let directory = scratch.join("runtime");
        std::fs::create_dir_all(directory.join("prompts")).map_err(Failure::io(format!("make {directory}")))?;
        let (home, config) = (scratch.join("home"), directory.join("opencode.json"));
        Ok(Self {
            launched: launch(&binary, &path, &home, &config, (&run_key, &token), MAX_START)?,
            config,
            run_key,
            token,
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

    /// Sets how long its start may take.
    pub(crate) const fn limit_start(&mut self, limit: Duration) {
        self.launched.limit_start(limit);
    }

    /// Ends it.
    pub(crate) async fn stop(self) {
        self.launched.stop().await;
    }
}

fn launch(
    binary: &Utf8Path,
    path: &str,
    home: &Utf8Path,
    config: &Utf8Path,
    (run_key, token): (&SecretString, &SecretString),
    limit: Duration,
) -> Result<Launched, Failure> {
    let ours = [
        (conclave_opencode::GATEWAY_KEY_VARIABLE, run_key),
        (conclave_opencode::MCP_TOKEN_VARIABLE, token),
    ];
    let environment = ours.map(|(name, value)| (name.to_owned(), value.expose_secret().to_owned()));
    Ok(Launched::start(&LaunchSettings {
        binary,
        home,
        config,
        path,
        environment: &environment,
        limit,
    })?)
}

/// What the runtime is made of.
pub(crate) struct RuntimeInput<'a> {
    pub(crate) child: Child,
    pub(crate) workspace: &'a Utf8Path,
    pub(crate) directory: &'a RunDirectory,
    pub(crate) environment: &'a Environment,
    pub(crate) redactor: &'a Redactor,
    pub(crate) budget: Budget,
    pub(crate) limits: Limits,
    pub(crate) prices: LivePrices,
    /// The providers that are switched off at the start.
    pub(crate) switches: BTreeMap<String, ProviderSwitch>,
    pub(crate) observer: Observer,
    pub(crate) recording: RecordingMode,
    pub(crate) config: &'a RuntimeConfig,
    pub(crate) library: &'a PromptLibrary,
    pub(crate) mailbox: &'a Arc<CoordinatorMailbox>,
    pub(crate) trace: Option<Arc<dyn RunTrace>>,
}

/// The running servers and OpenCode.
pub(crate) struct Runtime {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) opencode: Arc<OpenCode>,
    mailbox: Arc<CoordinatorMailbox>,
    _mcp: McpHandle,
}

impl Runtime {
    /// Starts what does not run yet, in the order in which each needs the other's address.
    pub(crate) async fn start(input: RuntimeInput<'_>) -> Result<Self, Failure> {
        let child = input.child;
        let upstreams = input.config.providers.iter().map(|owned| upstream(&owned.value));
        let mut config = GatewayConfig::new(upstreams.collect(), child.run_key.clone());
        config.budget = input.budget;
        config.limits = input.limits;
        let prices = input.prices;
        config.prices = Arc::new(move |model| prices.facts(model));
        config.switches = input.switches;
        let models = input.config.models.iter().map(|owned| owned.value.id.clone());
        config.runtime_models = Some(models.collect());
        config.observer = input.observer;
        config.recording = input.recording;
        config.redactor = input.redactor.clone();
        config.places = vec![(input.workspace.to_string(), "{workspace}".to_owned())];
        config.http.extra_ca_file = input.environment.get(names::CA_FILE).map(Into::into);
        config.trace = input.trace;
        let gateway = Arc::new(Gateway::start(config).await?);
        let mcp = serve_tools(Arc::clone(input.mailbox) as _, child.token.clone())
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
        let (record, system) = (input.directory, input.library);
        let texts = [
            (REVIEWER_PROMPT, system.shared()?),
            (COORDINATOR_PROMPT, system.get("coordinator")?),
            ("./opencode.json", &format!("{rendered:#}\n")),
        ];
        let own = child.config.parent().unwrap_or(&child.config).to_owned();
        for (name, text) in texts {
            let name = name.trim_start_matches("./");
            record.write(name, text.as_bytes())?;
            let copy = own.join(name);
            std::fs::write(&copy, text).map_err(Failure::io(format!("write {copy}")))?;
        }

        let agents = input.config.agents.iter().map(|owned| owned.value.name.clone());
        let agents: Vec<String> = agents.collect();
        let servers = input.config.mcp_servers.iter().map(|owned| owned.value.name.clone());
        let servers: Vec<String> = servers.collect();
        let settings = OpenCodeSettings {
            workspace: input.workspace,
            journal: &input.directory.path().join("events.jsonl"),
            redactor: input.redactor,
            agents: &agents,
            mcp_servers: &servers,
        };
        let opencode = OpenCode::start(child.launched, settings).await?;
        Ok(Self {
            gateway,
            opencode: Arc::new(opencode),
            mailbox: Arc::clone(input.mailbox),
            _mcp: mcp,
        })
    }

    /// Stops everything. Returns what is missing in the run's record.
    pub(crate) async fn stop(self) -> Option<String> {
        let (missing, ()) = tokio::join!(self.opencode.stop(), self.gateway.shutdown());
        self.mailbox.close();
        missing
    }
}

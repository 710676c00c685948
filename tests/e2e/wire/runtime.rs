//! One OpenCode, and what a session of it does with an answer.

use std::time::Duration;

use camino::Utf8PathBuf;
use conclave_engine::{
    plugin::{AgentRole, AgentSpec, Owned, ProviderModel, ProviderSpec, ProviderWire, RuntimeConfig},
    ports::{AgentRuntime, SessionEvent, SessionFault, SessionId, SessionPrompt},
};
use conclave_opencode::{
    LaunchSettings, Sandbox,
    v1::{ConfigFile, Endpoints, GATEWAY_KEY_VARIABLE, Launched, OpenCode, OpenCodeSettings, render_config},
};
use conclave_shared::{config::CapabilityList, model::ModelId, redact::Redactor};
use futures_util::{StreamExt, stream};
use serde_json::json;
use tempfile::TempDir;
use tokio::time::timeout;

use crate::support::{BRIEF, opencode};

/// The key that OpenCode sends; of this run only.
pub(crate) const KEY: &str = "key-of-this-run-only";
/// Longer than any session of these tests may take.
const LONGEST: Duration = Duration::from_mins(3);
/// So many requests without an event of a retry between them are a loop.
const LOOP: usize = 4;
/// The most sessions at once.
const AT_ONCE: usize = 8;

/// The three formats, as providers of OpenCode.
pub(crate) const FORMATS: [(&str, ProviderWire); 3] = [
    ("anthropic", ProviderWire::Anthropic),
    ("workers", ProviderWire::OpenAiChat),
    ("openai", ProviderWire::OpenAiResponses),
];

/// How a session reacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reaction {
    /// It gave up with this error.
    Final { name: String, message: String },
    /// It waits, to ask again.
    Retries,
    /// It asks again at once, for ever.
    Loops,
    /// It is done; its last answer ended for this reason.
    Done(String),
    /// None of this happened; what it did do.
    Hangs(String),
}

impl Reaction {
    fn of(fault: SessionFault) -> Self {
        Self::Final {
            name: fault.name,
            message: fault.message,
        }
    }
}

/// A provider of the configuration: its name, how it is spoken to, where it is, and its model.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) wire: ProviderWire,
    pub(crate) base_url: String,
    pub(crate) model: &'static str,
    /// The milliseconds that OpenCode waits for headers and pieces, instead of what a review has.
    pub(crate) patience: Option<u64>,
}

/// These providers with a model each, and one reviewer.
fn contributions(places: &[Place]) -> RuntimeConfig {
    const PLUGIN: &str = "wire";
    let providers = places.iter().map(|place| Owned {
        plugin: PLUGIN,
        value: ProviderSpec {
            name: place.name.clone(),
            wire: place.wire,
            base_url: place.base_url.parse().unwrap(),
            credential: None,
            headers: Vec::new(),
        },
    });
    let model_at = |place: &Place| ModelId::from_parts(&place.name, place.model).unwrap();
    let models = places.iter().map(|place| Owned {
        plugin: PLUGIN,
        value: ProviderModel {
            capabilities: CapabilityList::default().of(&model_at(place)),
            id: model_at(place),
            facts: None,
        },
    });
    let reviewer = AgentSpec {
        name: "security".to_owned(),
        description: "a reviewer".to_owned(),
        role: AgentRole::Reviewer,
    };
    RuntimeConfig {
        agents: vec![Owned {
            plugin: PLUGIN,
            value: reviewer,
        }],
        providers: providers.collect(),
        models: models.collect(),
        ..RuntimeConfig::default()
    }
}

/// A running OpenCode with a small workspace.
pub(crate) struct Runtime {
    opencode: OpenCode,
    _directory: TempDir,
}

impl Runtime {
    pub(crate) async fn start(places: &[Place]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = Utf8PathBuf::from_path_buf(directory.path().to_owned()).unwrap();
        let workspace = root.join("workspace");
        std::fs::create_dir(&workspace).unwrap();
        let made = std::process::Command::new("git")
            .args(["init", "--quiet"])
            .current_dir(&workspace)
            .status()
            .unwrap();
        assert!(made.success(), "OpenCode finds the root of the project by it");
        std::fs::write(workspace.join("main.rs"), "fn main() {}\n").unwrap();
        std::fs::write(root.join("prompt.md"), "Review.\n").unwrap();
        let mut config = render_config(&ConfigFile {
            config: &contributions(places),
            endpoints: &Endpoints::placeholders(),
            reviewer_prompt: "./prompt.md",
            coordinator_prompt: "./prompt.md",
        });
        for place in places {
            config["provider"][&place.name]["options"]["baseURL"] = json!(place.base_url);
            if let Some(patience) = place.patience {
                let options = &mut config["provider"][&place.name]["options"];
                options["headerTimeout"] = json!(patience);
                options["chunkTimeout"] = json!(patience);
            }
        }
        std::fs::write(root.join("opencode.json"), config.to_string()).unwrap();
        let binary = Utf8PathBuf::from_path_buf(opencode()).unwrap();
        let environment = [(GATEWAY_KEY_VARIABLE, KEY), BRIEF[0], BRIEF[1]];
        let child = Launched::start(&LaunchSettings {
            binary: &binary,
            home: &root.join("home"),
            config: &root.join("opencode.json"),
            path: &std::env::var("PATH").unwrap(),
            environment: &environment.map(|(name, value)| (name.to_owned(), value.to_owned())),
            limit: Duration::from_mins(1),
            sandbox: &Sandbox::Off("a test of the wire".into()),
        })
        .expect("a child");
        let (journal, redactor) = (root.join("events.jsonl"), Redactor::default());
        let settings = OpenCodeSettings {
            workspace: &workspace,
            journal: &journal,
            redactor: &redactor,
            agents: &["security".to_owned()],
            mcp_servers: &[],
        };
        let opencode = OpenCode::start(child, settings).await.expect("OpenCode starts");
        Self {
            opencode,
            _directory: directory,
        }
    }

    pub(crate) async fn stop(&self) {
        self.opencode.stop().await;
    }

    /// Prompts a new session, and tells how it reacted. `asked` tells how often the provider was asked for it.
    pub(crate) async fn react(&self, model: &ModelId, text: &str, asked: impl Fn() -> usize) -> Reaction {
        let (session, mut events) = self.opencode.create_session("a row").await.expect("a session");
        let prompt = SessionPrompt {
            agent: "security".to_owned(),
            model: model.clone(),
            parts: vec![text.to_owned()],
        };
        self.opencode.prompt(&session, &prompt).await.expect("it is taken");
        let mut seen = Vec::new();
        let watching = async {
            let (mut finish, mut failure) = (String::new(), None);
            let mut look = tokio::time::interval(Duration::from_millis(50));
            loop {
                let event = tokio::select! {
                    event = events.recv() => event.expect("events as long as it runs"),
                    _ = look.tick() => {
                        if asked() >= LOOP {
                            return Reaction::Loops;
                        }
                        continue;
                    }
                };
                seen.push(event.clone());
                match event {
                    SessionEvent::Retrying { .. } => return Reaction::Retries,
                    SessionEvent::StepFinished(reason) => finish = reason,
                    SessionEvent::Error(fault) => failure = Some(Reaction::of(fault)),
                    SessionEvent::Idle => return failure.unwrap_or(Reaction::Done(finish)),
                    SessionEvent::Gone(reason) => panic!("OpenCode is gone: {reason}"),
                    SessionEvent::Alive | SessionEvent::Called { .. } => {}
                }
            }
        };
        let reaction = timeout(LONGEST, watching).await;
        let reaction = reaction.unwrap_or_else(|_| Reaction::Hangs(format!("{seen:?}")));
        // What loops may be too busy to answer; it ends with the test.
        let _ = self.opencode.abort(&session).await;
        reaction
    }

    /// Like [`Runtime::react`], but retries of OpenCode go on until it gives up or is done.
    pub(crate) async fn outcome(&self, model: &ModelId, text: &str, assign: impl FnOnce(&SessionId)) -> Reaction {
        let (session, mut events) = self.opencode.create_session("a row").await.expect("a session");
        assign(&session);
        let prompt = SessionPrompt {
            agent: "security".to_owned(),
            model: model.clone(),
            parts: vec![text.to_owned()],
        };
        self.opencode.prompt(&session, &prompt).await.expect("it is taken");
        let watching = async {
            let (mut finish, mut failure) = (String::new(), None);
            while let Some(event) = events.recv().await {
                match event {
                    SessionEvent::StepFinished(reason) => finish = reason,
                    SessionEvent::Error(fault) => failure = Some(Reaction::of(fault)),
                    SessionEvent::Idle => return failure.unwrap_or(Reaction::Done(finish)),
                    SessionEvent::Gone(reason) => panic!("OpenCode is gone: {reason}"),
                    SessionEvent::Retrying { .. } | SessionEvent::Alive | SessionEvent::Called { .. } => {}
                }
            }
            panic!("no more events");
        };
        timeout(LONGEST, watching).await.expect("it ends")
    }
}

/// Runs all rows, some at once; what went wrong, in words.
pub(crate) async fn all<R, F>(rows: impl IntoIterator<Item = R>, run: impl Fn(R) -> F)
where
    F: Future<Output = Option<String>>,
{
    let wrong: Vec<String> = stream::iter(rows)
        .map(run)
        .buffer_unordered(AT_ONCE)
        .filter_map(|wrong| async move { wrong })
        .collect()
        .await;
    assert!(
        wrong.is_empty(),
        "{} rows are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

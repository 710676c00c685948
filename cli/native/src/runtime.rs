//! The runtime: its sessions, behind the engine's port.

use std::{
    collections::HashMap,
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use camino::Utf8Path;
use conclave_engine::{
    plugin::{AgentRole, McpLocation, RuntimeConfig},
    ports::{AgentRuntime, CoordinatorTools, RuntimeError, SessionAnswer, SessionEvent, SessionId, SessionPrompt},
    session::CoordinatorTool,
};
use conclave_gateway::Gateway;
use conclave_journal::{Journal, JournalHandle};
use conclave_shared::redact::Redactor;
use tokio::sync::mpsc;

use crate::{
    events::Recorder,
    session::Session,
    tools::{Offer, Threads, ThreadsError, Tools, Workspace},
    turn::Turn,
};

/// Everything that the runtime is made of.
pub struct NativeSettings<'a> {
    /// Agents and what they are granted.
    pub config: &'a RuntimeConfig,
    /// The only way to a model.
    pub gateway: Arc<Gateway>,
    /// Answers the coordinator's tools.
    pub tools: Arc<dyn CoordinatorTools>,
    /// The sanitized workspace.
    pub workspace: &'a Utf8Path,
    /// True if the tools run where the operating system lets them open nothing but the workspace.
    pub is_confined: bool,
    /// The system prompt of reviewers.
    pub reviewer_prompt: &'a str,
    /// The system prompt of the coordinator.
    pub coordinator_prompt: &'a str,
    /// The file that records what happens.
    pub journal: &'a Utf8Path,
    /// Takes out what the record must not hold.
    pub redactor: &'a Redactor,
}

/// The cause why the runtime cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The workspace cannot be opened.
    #[error("failed to open the workspace {0}: {1}")]
    Workspace(String, #[source] io::Error),
    /// The threads of the tools cannot be started or confined.
    #[error("failed to confine the tools to the workspace: {0}")]
    Threads(#[from] ThreadsError),
    /// A plugin has brought an MCP server.
    #[error(
        "the native runtime has no MCP client, and a plugin has registered the MCP server `{0}`. Use --runtime opencode, \
         or do without that plugin"
    )]
    McpServer(String),
}

/// An agent of the runtime.
#[derive(Clone)]
struct Agent {
    system: Arc<str>,
    offer: Offer,
}

/// The sessions of a run. They end when this is dropped.
pub struct NativeRuntime {
    gateway: Arc<Gateway>,
    agents: HashMap<String, Agent>,
    sessions: Mutex<HashMap<SessionId, Session>>,
    numbers: AtomicU64,
    journal: Mutex<Option<(Journal, JournalHandle)>>,
}

impl NativeRuntime {
    /// Makes the runtime. Nothing has to be started.
    pub fn new(settings: &NativeSettings<'_>) -> Result<Self, StartError> {
        let config = settings.config;
        let mut servers = config.mcp_servers.iter().map(|owned| &owned.value);
        if let Some(server) = servers.find(|server| matches!(server.location, McpLocation::Url(_))) {
            return Err(StartError::McpServer(server.name.clone()));
        }
        let workspace = Workspace::open(settings.workspace)
            .map_err(|error| StartError::Workspace(settings.workspace.to_string(), error))?;
        let confined_to = settings.is_confined.then(|| workspace.root());
        let tools = Arc::new(Tools {
            threads: Threads::start(confined_to)?,
            workspace: Arc::new(workspace),
            coordinator: Arc::clone(&settings.tools),
        });
        let (reviewer, coordinator): (Arc<str>, Arc<str>) =
            (settings.reviewer_prompt.into(), settings.coordinator_prompt.into());
        let agents = config.agents.iter().map(|owned| {
            let spec = &owned.value;
            let is_granted = |tool: &CoordinatorTool| {
                let mut grants = config.tools.iter().map(|owned| &owned.value);
                grants.any(|grant| grant.agent == spec.name && grant.tool == tool.name())
            };
            let agent = Agent {
                system: match spec.role {
                    AgentRole::Coordinator => Arc::clone(&coordinator),
                    AgentRole::Reviewer => Arc::clone(&reviewer),
                },
                offer: Offer::new(
                    Arc::clone(&tools),
                    CoordinatorTool::ALL.into_iter().filter(is_granted).collect(),
                ),
            };
            (spec.name.clone(), agent)
        });
        Ok(Self {
            gateway: Arc::clone(&settings.gateway),
            agents: agents.collect(),
            sessions: Mutex::default(),
            numbers: AtomicU64::new(1),
            journal: Mutex::new(Some(Journal::create(settings.journal, settings.redactor.clone()))),
        })
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, Session>> {
        // What is behind the lock is never left half-changed.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self, id: &SessionId) -> Result<Session, RuntimeError> {
        let session = self.sessions().get(id).cloned();
        session.ok_or_else(|| RuntimeError(format!("there is no session {id}")))
    }

    /// Ends all sessions and completes the record. Returns what is missing in it.
    pub async fn stop(&self) -> Option<String> {
        let sessions: Vec<Session> = self.sessions().drain().map(|(_, session)| session).collect();
        for session in &sessions {
            session.abort();
        }
        // The record is complete when its last writer is gone.
        drop(sessions);
        let (journal, handle) = self.journal.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        drop(journal);
        handle.finished().await
    }
}

impl Drop for NativeRuntime {
    fn drop(&mut self) {
        for (_, session) in self.sessions().drain() {
            session.abort();
        }
    }
}

#[async_trait]
impl AgentRuntime for NativeRuntime {
    async fn create_session(
        &self,
        title: &str,
    ) -> Result<(SessionId, mpsc::UnboundedReceiver<SessionEvent>), RuntimeError> {
        let number = self.numbers.fetch_add(1, Ordering::SeqCst);
        let id = SessionId(format!("ses_{number:04}"));
        let journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        let (journal, _) = journal
            .as_ref()
            .ok_or_else(|| RuntimeError("the runtime has ended".to_owned()))?;
        let recorder = Recorder::new(journal.clone(), id.clone());
        let (session, events) = Session::new(id.clone(), recorder);
        session.recorder.created(title);
        self.sessions().insert(id.clone(), session);
        Ok((id, events))
    }

    async fn prompt(&self, session: &SessionId, prompt: &SessionPrompt) -> Result<(), RuntimeError> {
        let session = self.session(session)?;
        let agent = self.agents.get(&prompt.agent).cloned();
        let agent = agent.ok_or_else(|| RuntimeError(format!("there is no agent `{}`", prompt.agent)))?;
        let provider = prompt.model.provider();
        let wire = self.gateway.wire(provider);
        let wire = wire.ok_or_else(|| RuntimeError(format!("there is no provider `{provider}`")))?;
        let turn = Turn {
            session: session.clone(),
            gateway: Arc::clone(&self.gateway),
            wire,
            model: prompt.model.clone(),
            system: agent.system,
            offer: agent.offer,
        };
        let message = session.next_message();
        session
            .recorder
            .prompted(&message, &prompt.agent, prompt.model.as_str(), &prompt.parts);
        if session.begin(prompt.parts.clone(), |number| {
            tokio::spawn(turn.run(number)).abort_handle()
        }) {
            Ok(())
        } else {
            Err(RuntimeError(format!("the session {} is at work", session.id)))
        }
    }

    async fn abort(&self, session: &SessionId) -> Result<(), RuntimeError> {
        self.session(session)?.abort();
        Ok(())
    }

    async fn is_busy(&self, session: &SessionId) -> Result<bool, RuntimeError> {
        Ok(self.session(session)?.is_busy())
    }

    async fn last_answer(&self, session: &SessionId) -> Result<SessionAnswer, RuntimeError> {
        Ok(self.session(session)?.last_answer())
    }
}

#[cfg(test)]
#[path = "runtime_tests.rs"]
mod tests;

//! Starting OpenCode, checking it, and the runtime port on top of it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use camino::Utf8Path;
use conclave_engine::ports::{AgentRuntime, RuntimeError, SessionAnswer, SessionEvent, SessionId, SessionPrompt};
use conclave_journal::{Journal, JournalHandle};
use conclave_shared::redact::Redactor;
use eventsource_stream::Eventsource;
use futures_util::StreamExt;
use serde_json::Value;
use tokio::{sync::mpsc, time::timeout};

use super::{
    api::{Client, MAX_EVENT, bounded_events, interpret},
    launch::{Launched, Ready},
};
use crate::{child::Process, errors::StartError};

/// The settings with which a launched child becomes a runtime.
#[derive(Debug)]
pub struct OpenCodeSettings<'a> {
    /// The sanitised workspace.
    pub workspace: &'a Utf8Path,
    /// The file that records its events.
    pub journal: &'a Utf8Path,
    /// Takes out what the record must not hold.
    pub redactor: &'a Redactor,
    /// Agents that must be there.
    pub agents: &'a [String],
    /// MCP servers that must be connected.
    pub mcp_servers: &'a [String],
}

type Watchers = Arc<Mutex<HashMap<String, mpsc::UnboundedSender<SessionEvent>>>>;

/// A running OpenCode.
#[derive(Debug)]
pub struct OpenCode {
    client: Client,
    process: Mutex<Option<Process>>,
    watchers: Watchers,
    listener: tokio::task::JoinHandle<()>,
    journal: Mutex<Option<JournalHandle>>,
}

impl OpenCode {
    /// Waits for a child whose configuration is in its place by now, and checks that it is what was asked for.
    pub async fn start(child: Launched, settings: OpenCodeSettings<'_>) -> Result<Self, StartError> {
        let Ready {
            client,
            process,
            binary,
            limit,
            left,
        } = child.ready(settings.workspace).await?;
        let checked = timeout(left, async {
            let events = async { client.events().await.map_err(StartError::Api) };
            tokio::try_join!(check(&client, &settings), events)
        });
        let stream = match checked
            .await
            .unwrap_or_else(|_| Err(StartError::silent(&binary, limit)))
        {
            Ok(((), stream)) => stream,
            Err(error) => {
                process.stop().await;
                return Err(error);
            }
        };
        let (journal, journal_handle) = Journal::create(settings.journal, settings.redactor.clone());
        let watchers = Watchers::default();
        let listener = tokio::spawn(listen(client.clone(), stream, Arc::clone(&watchers), journal));
        Ok(Self {
            client,
            process: Mutex::new(Some(process)),
            watchers,
            listener,
            journal: Mutex::new(Some(journal_handle)),
        })
    }

    /// Addresses that `OpenCode` tried to reach and that are not the run's own. The sandbox refused them.
    pub fn refused_addresses(&self) -> Vec<String> {
        let process = lock(&self.process);
        process
            .as_ref()
            .map_or_else(Vec::new, |process| process.confinement().refused())
    }

    /// Ends OpenCode and everything that it started, and completes the record. Returns what is missing in it.
    pub async fn stop(&self) -> Option<String> {
        // The end of the stream is no news any more.
        self.listener.abort();
        let process = lock(&self.process).take();
        if let Some(process) = process {
            process.stop().await;
        }
        let journal = lock(&self.journal).take()?;
        journal.finished().await
    }
}

impl Drop for OpenCode {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // What is behind these locks is never left half-changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Checks that the agents and tool servers of a run are there.
async fn check(client: &Client, settings: &OpenCodeSettings<'_>) -> Result<(), StartError> {
    let wrong = |what: String, fix| Err(StartError::Wrong { what, fix });
    let (known, servers, root) = tokio::try_join!(client.agents(), client.mcp(), client.worktree())?;
    // A file is outside of the project only if the project ends somewhere.
    if !is_same_directory(&root, settings.workspace) {
        return wrong(
            format!("it takes `{root}` for the root of the project, not the workspace"),
            "It has to find `git` on PATH: look whether git runs there",
        );
    }
    if let Some(missing) = settings.agents.iter().find(|agent| !known.contains(agent)) {
        return wrong(
            format!("it does not know the agent `{missing}`"),
            "Another configuration is in force: look for a managed one in /etc/opencode, and for a script in place of \
             the binary",
        );
    }
    for wanted in settings.mcp_servers {
        let status = servers.iter().find(|(name, _)| name == wanted);
        let status = status.map_or("not known", |(_, status)| status.as_str());
        if status != "connected" {
            return wrong(
                format!("its MCP server `{wanted}` is {status}, not connected"),
                "It has to reach 127.0.0.1: look for a firewall or proxy on this machine, and for a script in place of \
                 the binary that changes its environment",
            );
        }
    }
    Ok(())
}

fn is_same_directory(one: &str, other: &Utf8Path) -> bool {
    let real = |path: &Utf8Path| path.canonicalize_utf8().unwrap_or_else(|_| path.to_owned());
    real(Utf8Path::new(one)) == real(other)
}

/// Maximum number of event streams, one after the other, while OpenCode is alive. The polls find what is lost meanwhile.
const MAX_STREAMS: u32 = 5;

/// Hands on all events of OpenCode, until it is gone.
async fn listen<B: AsRef<[u8]>>(
    client: Client,
    first: impl futures_util::Stream<Item = reqwest::Result<B>> + Send,
    watchers: Watchers,
    journal: Journal,
) {
    follow(first, &watchers, &journal).await;
    for _ in 1..MAX_STREAMS {
        if client.version().await.is_err() {
            break;
        }
        tracing::warn!("OpenCode's event stream broke; it is opened again");
        match client.events().await {
            Ok(stream) => follow(stream, &watchers, &journal).await,
            Err(_) => break,
        }
    }
    for watcher in lock(&watchers).values() {
        let _ = watcher.send(SessionEvent::Gone("OpenCode ended or its event stream broke".into()));
    }
}

async fn follow<B: AsRef<[u8]>>(
    stream: impl futures_util::Stream<Item = reqwest::Result<B>> + Send,
    watchers: &Watchers,
    journal: &Journal,
) {
    let mut stream = std::pin::pin!(bounded_events(stream, MAX_EVENT).eventsource());
    while let Some(event) = stream.next().await {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                tracing::warn!(%error, "OpenCode's event stream broke");
                return;
            }
        };
        let size = event.data.len();
        let Ok(event) = serde_json::from_str::<Value>(&event.data) else {
            tracing::warn!(size, "OpenCode sent an event that is not JSON");
            continue;
        };
        if let Some((session, events)) = interpret(&event) {
            let watchers = lock(watchers);
            if let Some(watcher) = watchers.get(&session) {
                for event in events {
                    // A watcher that has gone does not care any more.
                    let _ = watcher.send(event);
                }
            }
        }
        journal.append(event, size);
    }
}

#[async_trait]
impl AgentRuntime for OpenCode {
    async fn create_session(
        &self,
        title: &str,
    ) -> Result<(SessionId, mpsc::UnboundedReceiver<SessionEvent>), RuntimeError> {
        let id = self.client.create_session(title).await?;
        let (sender, receiver) = mpsc::unbounded_channel();
        lock(&self.watchers).insert(id.clone(), sender);
        Ok((SessionId(id), receiver))
    }

    async fn prompt(&self, session: &SessionId, prompt: &SessionPrompt) -> Result<(), RuntimeError> {
        self.client.prompt(&session.0, prompt).await
    }

    async fn abort(&self, session: &SessionId) -> Result<(), RuntimeError> {
        self.client.abort(&session.0).await
    }

    async fn is_busy(&self, session: &SessionId) -> Result<bool, RuntimeError> {
        self.client.is_busy(&session.0).await
    }

    async fn last_answer(&self, session: &SessionId) -> Result<SessionAnswer, RuntimeError> {
        self.client.last_answer(&session.0).await
    }
}

#[cfg(test)]
#[path = "runtime_tests.rs"]
mod tests;

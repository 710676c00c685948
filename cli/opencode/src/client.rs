//! OpenCode's HTTP API, as far as a review needs it.

use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use conclave_engine::ports::{EarlierMessage, RuntimeError, SessionAnswer, SessionPrompt};
use conclave_shared::error_chain::with_sources;
use futures_util::Stream;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

use crate::{
    events::{fault, file_read},
    listening::{OnlyTheChild, ProvenPort},
};

/// How long a call may take. All are quick; answers of models come as events.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// How long one look whether the server is up may take. A request that comes while it is still starting may be
/// accepted and never answered, so it has to be asked again.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// A client of one server and one workspace.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
    password: String,
    workspace: Utf8PathBuf,
}

impl Client {
    pub(crate) fn new(port: ProvenPort, password: &str, workspace: &Utf8Path) -> Result<Self, reqwest::Error> {
        let http = reqwest::Client::builder()
            // The server is on this machine: no proxy may come between, and it sends nobody elsewhere.
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connector_layer(OnlyTheChild(port))
            .build()?;
        Ok(Self {
            http,
            base: format!("http://127.0.0.1:{}", port.number()),
            password: password.to_owned(),
            workspace: workspace.to_owned(),
        })
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http
            .request(method, format!("{}{path}", self.base))
            .basic_auth("opencode", Some(&self.password))
            .header("x-opencode-directory", self.workspace.as_str())
    }

    async fn send(&self, what: &str, request: RequestBuilder) -> Result<Response, RuntimeError> {
        self.send_within(what, request, CALL_TIMEOUT).await
    }

    async fn send_within(
        &self,
        what: &str,
        request: RequestBuilder,
        limit: Duration,
    ) -> Result<Response, RuntimeError> {
        let response = request.timeout(limit).send().await.map_err(|error| {
            RuntimeError(format!(
                "OpenCode did not answer when asked to {what}: {}",
                with_sources(&error)
            ))
        })?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = response.text().await.unwrap_or_default();
        let body: String = body.chars().take(300).collect();
        Err(RuntimeError(format!("OpenCode refused to {what}: {status} {body}")))
    }

    async fn json(&self, what: &str, request: RequestBuilder) -> Result<Value, RuntimeError> {
        let response = self.send(what, request).await?;
        response
            .json()
            .await
            .map_err(|error| RuntimeError(format!("OpenCode's answer to {what} is no JSON: {error}")))
    }

    /// The server's version; an error while it is not ready yet.
    pub(crate) async fn version(&self) -> Result<String, RuntimeError> {
        let request = self.request(Method::GET, "/global/health");
        let health = self.send_within("tell its health", request, PROBE_TIMEOUT).await?;
        let health: Value = health.json().await.map_err(|error| RuntimeError(error.to_string()))?;
        Ok(health
            .get("version")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned())
    }

    /// What it takes for the root of the project in the workspace.
    pub(crate) async fn worktree(&self) -> Result<String, RuntimeError> {
        let paths = self.json("tell its paths", self.request(Method::GET, "/path")).await?;
        Ok(paths
            .get("worktree")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned())
    }

    /// The names of the agents that it knows.
    pub(crate) async fn agents(&self) -> Result<Vec<String>, RuntimeError> {
        let agents = self
            .json("list its agents", self.request(Method::GET, "/agent"))
            .await?;
        let names = agents.as_array().into_iter().flatten();
        Ok(names
            .filter_map(|agent| agent.get("name").and_then(Value::as_str))
            .map(str::to_owned)
            .collect())
    }

    /// The MCP servers and their states.
    pub(crate) async fn mcp(&self) -> Result<Vec<(String, String)>, RuntimeError> {
        let servers = self
            .json("list its MCP servers", self.request(Method::GET, "/mcp"))
            .await?;
        let servers = servers.as_object().into_iter().flatten();
        Ok(servers
            .map(|(name, state)| {
                let status = state.get("status").and_then(Value::as_str).unwrap_or("unknown");
                (name.clone(), status.to_owned())
            })
            .collect())
    }

    pub(crate) async fn create_session(&self, title: &str) -> Result<String, RuntimeError> {
        // A title spares the model call that would make one up.
        let request = self.request(Method::POST, "/session").json(&json!({"title": title}));
        let session = self.json("make a session", request).await?;
        match session.get("id").and_then(Value::as_str) {
            Some(id) => Ok(id.to_owned()),
            None => Err(RuntimeError("OpenCode made a session without an id".into())),
        }
    }

    pub(crate) async fn prompt(&self, session: &str, prompt: &SessionPrompt) -> Result<(), RuntimeError> {
        let parts: Vec<Value> = prompt
            .parts
            .iter()
            .map(|text| json!({"type": "text", "text": text}))
            .collect();
        let body = json!({
            "agent": prompt.agent,
            "model": {"providerID": prompt.model.provider(), "modelID": prompt.model.model()},
            "parts": parts,
        });
        let request = self
            .request(Method::POST, &format!("/session/{session}/prompt_async"))
            .json(&body);
        self.send("take a prompt", request).await.map(drop)
    }

    pub(crate) async fn abort(&self, session: &str) -> Result<(), RuntimeError> {
        let request = self.request(Method::POST, &format!("/session/{session}/abort"));
        self.send("abort a session", request).await.map(drop)
    }

    pub(crate) async fn is_busy(&self, session: &str) -> Result<bool, RuntimeError> {
        let status = self
            .json("tell who is busy", self.request(Method::GET, "/session/status"))
            .await?;
        Ok(status.get(session).is_some())
    }

    /// The last message of the session, if it is the assistant's.
    pub(crate) async fn last_answer(&self, session: &str) -> Result<SessionAnswer, RuntimeError> {
        let request = self.request(Method::GET, &format!("/session/{session}/message"));
        let messages = self.json("tell its messages", request).await?;
        let Some((last, before)) = messages.as_array().and_then(|messages| messages.split_last()) else {
            return Ok(SessionAnswer::default());
        };
        let parts = |message: &Value| {
            message
                .get("parts")
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default()
        };
        let reads = messages
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(parts)
            .filter_map(|part| file_read(&part, self.workspace.as_str()))
            .collect();
        let info = last.get("info");
        let field = |name: &str| info.and_then(|info| info.get(name));
        if field("role").and_then(Value::as_str) != Some("assistant") {
            return Ok(SessionAnswer::default());
        }
        Ok(SessionAnswer {
            message: field("id").and_then(Value::as_str).map(str::to_owned),
            text: text_of(last),
            finish: field("finish").and_then(Value::as_str).map(str::to_owned),
            complete: field("time").and_then(|time| time.get("completed")).is_some(),
            fault: field("error").map(fault),
            reads,
            earlier: before.iter().filter_map(earlier_message).collect(),
        })
    }

    /// The stream of the workspace's events.
    pub(crate) async fn events(
        &self,
    ) -> Result<impl Stream<Item = reqwest::Result<impl AsRef<[u8]> + use<>>> + use<>, RuntimeError> {
        let request = self
            .request(Method::GET, "/event")
            .header("accept", "text/event-stream");
        let response = request
            .send()
            .await
            .and_then(Response::error_for_status)
            .map_err(|error| RuntimeError(format!("OpenCode does not stream its events: {}", with_sources(&error))))?;
        Ok(response.bytes_stream())
    }
}

/// The text of a message, without its tool calls and reasoning.
fn text_of(message: &Value) -> String {
    let parts = message.get("parts").and_then(Value::as_array).into_iter().flatten();
    let text: Vec<&str> = parts
        .filter(|part| part.get("type").and_then(Value::as_str) == Some("text"))
        .filter_map(|part| part.get("text").and_then(Value::as_str))
        .collect();
    text.join("\n")
}

/// A message of the model that holds text.
fn earlier_message(message: &Value) -> Option<EarlierMessage> {
    let field = |name: &str| message.get("info")?.get(name)?.as_str();
    let text = text_of(message);
    (field("role") == Some("assistant") && !text.trim().is_empty()).then(|| EarlierMessage {
        id: field("id").unwrap_or_default().to_owned(),
        text,
    })
}

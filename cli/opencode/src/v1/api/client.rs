//! OpenCode's HTTP API, as far as a review needs it.

use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use conclave_engine::ports::{
    EarlierMessage, RuntimeError, SessionAnswer, SessionPrompt, text_of_blocks, text_or_reasoning,
};
use conclave_shared::error_chain::with_sources;
use futures_util::{Stream, StreamExt};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    connector::OnlyTheChild,
    events::{fault, file_reads},
};
use crate::child::ProvenPort;

/// Time limit of a call. All are quick; answers of models come as events.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum length of all messages of a session, with what its tools have shown, in bytes.
const MAX_MESSAGES: usize = 128 << 20;
/// Maximum length of any other answer. The longest holds the agents, with their prompts.
const MAX_ANSWER: usize = 16 << 20;
/// Maximum length of what is said of its health, and of a refusal.
const MAX_WORDS: usize = 64 << 10;

/// Time limit of a look whether the server is up. A request that comes while it is still starting may be accepted and
/// never answered, so it has to be asked again.
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
            // Nor does it speak TLS: the system's certificates, which need not be there, are not read.
            .tls_certs_only([])
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
            .header("x-opencode-directory", header_value(&self.workspace))
    }

    async fn send(&self, what: &str, request: RequestBuilder, limit: Duration) -> Result<Response, RuntimeError> {
        let response = request.timeout(limit).send().await.map_err(|error| {
            let error = with_sources(&error);
            RuntimeError(format!("OpenCode did not answer when asked to {what}: {error}"))
        })?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = whole(response, MAX_WORDS).await.unwrap_or_default();
        let body: String = String::from_utf8_lossy(&body).chars().take(300).collect();
        Err(RuntimeError(format!("OpenCode refused to {what}: {status} {body}")))
    }

    async fn json(&self, what: &str, request: RequestBuilder) -> Result<Value, RuntimeError> {
        self.long_json(what, request, MAX_ANSWER).await
    }

    async fn long_json(&self, what: &str, request: RequestBuilder, max: usize) -> Result<Value, RuntimeError> {
        let response = self.send(what, request, CALL_TIMEOUT).await?;
        let answer = whole(response, max)
            .await
            .map_err(|error| RuntimeError(format!("OpenCode's answer to {what} cannot be read: {error}")))?;
        let json = serde_json::from_slice(&answer);
        json.map_err(|error| RuntimeError(format!("OpenCode's answer to {what} is not JSON: {error}")))
    }

    /// The server's version; an error while it is not ready yet.
    pub(crate) async fn version(&self) -> Result<String, RuntimeError> {
        let request = self.request(Method::GET, "/global/health");
        let health = self.send("report its health", request, PROBE_TIMEOUT).await?;
        let wrong = |why: String| RuntimeError(format!("what OpenCode says of its health cannot be read: {why}"));
        let health = whole(health, MAX_WORDS).await.map_err(wrong)?;
        let health: Value = serde_json::from_slice(&health).map_err(|error| wrong(error.to_string()))?;
        Ok(health["version"].as_str().unwrap_or_default().to_owned())
    }

    /// The directory that it takes for the root of the project in the workspace.
    pub(crate) async fn worktree(&self) -> Result<String, RuntimeError> {
        let paths = self
            .json("report its paths", self.request(Method::GET, "/path"))
            .await?;
        Ok(paths["worktree"].as_str().unwrap_or_default().to_owned())
    }

    /// The names of the agents that it knows.
    pub(crate) async fn agents(&self) -> Result<Vec<String>, RuntimeError> {
        let request = self.request(Method::GET, "/agent");
        let agents = self.json("list its agents", request).await?;
        let agents = agents.as_array().into_iter().flatten();
        Ok(agents
            .filter_map(|agent| Some(agent["name"].as_str()?.to_owned()))
            .collect())
    }

    /// The MCP servers and their states.
    pub(crate) async fn mcp(&self) -> Result<Vec<(String, String)>, RuntimeError> {
        let request = self.request(Method::GET, "/mcp");
        let servers = self.json("list its MCP servers", request).await?;
        let status = |state: &Value| state["status"].as_str().unwrap_or("unknown").to_owned();
        let servers = servers.as_object().into_iter().flatten();
        Ok(servers.map(|(name, state)| (name.clone(), status(state))).collect())
    }

    pub(crate) async fn create_session(&self, title: &str) -> Result<String, RuntimeError> {
        // A title spares the model call that would make one up.
        let request = self.request(Method::POST, "/session").json(&json!({"title": title}));
        let session = self.json("make a session", request).await?;
        let id = session["id"].as_str().map(str::to_owned);
        id.ok_or_else(|| RuntimeError("OpenCode made a session without an id".into()))
    }

    pub(crate) async fn prompt(&self, session: &str, prompt: &SessionPrompt) -> Result<(), RuntimeError> {
        let parts = prompt.parts.iter().map(|text| json!({"type": "text", "text": text}));
        let body = json!({
            "agent": prompt.agent,
            "model": {"providerID": prompt.model.provider(), "modelID": prompt.model.model()},
            "parts": parts.collect::<Vec<_>>(),
        });
        let request = self.request(Method::POST, &format!("/session/{session}/prompt_async"));
        self.send("take a prompt", request.json(&body), CALL_TIMEOUT)
            .await
            .map(drop)
    }

    pub(crate) async fn abort(&self, session: &str) -> Result<(), RuntimeError> {
        let request = self.request(Method::POST, &format!("/session/{session}/abort"));
        self.send("abort a session", request, CALL_TIMEOUT).await.map(drop)
    }

    pub(crate) async fn is_busy(&self, session: &str) -> Result<bool, RuntimeError> {
        let request = self.request(Method::GET, "/session/status");
        let status = self.json("report which sessions are busy", request).await?;
        Ok(status.get(session).is_some())
    }

    /// The last message of the session, if it is the assistant's.
    pub(crate) async fn last_answer(&self, session: &str) -> Result<SessionAnswer, RuntimeError> {
        let request = self.request(Method::GET, &format!("/session/{session}/message"));
        let messages = self.long_json("report its messages", request, MAX_MESSAGES).await?;
        let Some((last, before)) = messages.as_array().and_then(|messages| messages.split_last()) else {
            return Ok(SessionAnswer::default());
        };
        let info = &last["info"];
        if info["role"] != "assistant" {
            return Ok(SessionAnswer::default());
        }
        let reads = before.iter().chain([last]).flat_map(parts);
        Ok(SessionAnswer {
            message: info["id"].as_str().map(str::to_owned),
            text: text_of(last),
            reasoning: text_of_blocks(texts(last, "reasoning")),
            finish: info["finish"].as_str().map(str::to_owned),
            complete: info["time"].get("completed").is_some(),
            fault: info.get("error").map(fault),
            reads: reads
                .flat_map(|part| file_reads(part, self.workspace.as_str()))
                .collect(),
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
        // The stream has no end, but its beginning has to come.
        let no_stream = |why: String| RuntimeError(format!("OpenCode does not stream its events: {why}"));
        let late = |_| no_stream(format!("it did not begin within {} s", CALL_TIMEOUT.as_secs()));
        let response = timeout(CALL_TIMEOUT, request.send()).await.map_err(late)?;
        let response = response
            .and_then(Response::error_for_status)
            .map_err(|error| no_stream(with_sources(&error)))?;
        Ok(response.bytes_stream())
    }
}

/// A directory in a header. `OpenCode` decodes it, and takes each byte of a header for a character of its own.
fn header_value(directory: &Utf8Path) -> String {
    utf8_percent_encode(directory.as_str(), NON_ALPHANUMERIC).to_string()
}

/// A whole answer, which may be the work of another program in OpenCode's place: it is read up to a limit.
async fn whole(response: Response, max: usize) -> Result<Vec<u8>, String> {
    let mut answer = Vec::new();
    let mut body = response.bytes_stream();
    while let Some(piece) = body.next().await {
        let piece = piece.map_err(|error| with_sources(&error))?;
        if answer.len() + piece.len() > max {
            return Err(match max >> 20 {
                0 => format!("it is longer than {} KB", max >> 10),
                megabytes => format!("it is longer than {megabytes} MB"),
            });
        }
        answer.extend_from_slice(&piece);
    }
    Ok(answer)
}

fn parts(message: &Value) -> impl Iterator<Item = &Value> {
    message["parts"].as_array().into_iter().flatten()
}

/// The text of a message, without its tool calls and reasoning; of an answer that is reasoning alone, that.
fn text_of(message: &Value) -> String {
    let text = text_of_blocks(texts(message, "text"));
    if message["info"]["finish"] == "stop" {
        text_or_reasoning(text, texts(message, "reasoning"))
    } else {
        text
    }
}

/// The texts of a message's parts of a kind.
fn texts<'a>(message: &'a Value, kind: &'static str) -> impl Iterator<Item = &'a str> {
    let parts = parts(message).filter(move |part| part["type"] == kind);
    parts.filter_map(|part| part["text"].as_str())
}

/// A message of the model that holds text.
fn earlier_message(message: &Value) -> Option<EarlierMessage> {
    let (info, text) = (&message["info"], text_of(message));
    (info["role"] == "assistant" && !text.trim().is_empty()).then(|| EarlierMessage {
        id: info["id"].as_str().unwrap_or_default().to_owned(),
        text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_encoded_for_its_header_whatever_is_in_it() {
        for (directory, value) in [
            ("/tmp/plain", "%2Ftmp%2Fplain"),
            ("/tmp/ümlaut", "%2Ftmp%2F%C3%BCmlaut"),
            ("/tmp/漢%20字", "%2Ftmp%2F%E6%BC%A2%2520%E5%AD%97"),
        ] {
            assert_eq!(header_value(Utf8Path::new(directory)), value);
        }
    }
}

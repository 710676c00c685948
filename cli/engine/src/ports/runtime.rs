//! The agent runtime: sessions that read the source and talk to models.

use async_trait::async_trait;
use conclave_shared::model::ModelId;
use tokio::sync::mpsc;

/// A session's name in the runtime.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub String);

impl std::fmt::Display for SessionId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(&self.0)
    }
}

/// What a session is asked.
#[derive(Debug, Clone)]
pub struct SessionPrompt {
    /// The agent that answers, as the configuration names it.
    pub agent: String,
    /// The model.
    pub model: ModelId,
    /// The message, in parts.
    pub parts: Vec<String>,
}

/// What might help after a failed turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// Nothing: every model would fail the same way.
    None,
    /// The next model.
    OtherModel,
    /// The next model of another provider: the gateway has tried all of this one.
    OtherProvider,
    /// Less to read: it does not fit into the model's context.
    LessToRead,
}

/// What is seen of a session while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionEvent {
    /// It is alive: text, reasoning or a tool made progress.
    Alive,
    /// A call of a tool ended.
    Called {
        /// The message of the model that made it, as [`SessionAnswer::message`] names it.
        message: String,
        /// The call's id within that message, as some providers number the calls of each anew. The same call may be reported more
        /// than once.
        id: String,
        /// The tool and its arguments, as a number: alike for calls that are alike.
        call: u64,
    },
    /// One answer of the model ended, for this reason (`stop`, `tool-calls`, `length`, `unknown`, …).
    StepFinished(String),
    /// The runtime waits before it asks the provider again.
    Retrying {
        /// Number of times that it has failed.
        attempt: u64,
    },
    /// A turn failed. The event does not say which one, and it may be told late: after the next prompt.
    Error(SessionFault),
    /// The turn is over.
    Idle,
    /// The runtime is gone; nothing follows.
    Gone(String),
}

/// Why a turn failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFault {
    /// The error's name, such as `APIError`.
    pub name: String,
    /// The text.
    pub message: String,
    /// What might help.
    pub remedy: Remedy,
}

/// The last answer of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionAnswer {
    /// The message's id, if the last message is an answer at all.
    pub message: Option<String>,
    /// Text of the last message.
    pub text: String,
    /// Its reasoning, where the provider shows it.
    pub reasoning: String,
    /// Why the model stopped, if it did.
    pub finish: Option<String>,
    /// True if the message is complete.
    pub complete: bool,
    /// Why it failed, if it did.
    pub fault: Option<SessionFault>,
    /// What the session has read of the workspace so far.
    pub reads: Vec<FileRead>,
    /// The session's messages before the last one, in order: text beside tool calls, answers that were cut off.
    pub earlier: Vec<EarlierMessage>,
}

/// The tools of every session: they look at the workspace.
pub const WORKSPACE_TOOLS: [&str; 3] = ["glob", "grep", "read"];

/// A call that may tell what no tool takes. Some models give their findings to a tool that they make up, or to one that they have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrayCall {
    /// The tool's name, as the model wrote it.
    pub tool: String,
    /// The arguments, as the model wrote them.
    pub arguments: String,
}

impl StrayCall {
    /// Returns whether it may tell anything for the review: each call of a tool that no reviewer has, and of the others those that
    /// name how bad something is.
    pub fn may_tell(&self) -> bool {
        let is_known = WORKSPACE_TOOLS.contains(&self.tool.as_str());
        let arguments = self.arguments.to_ascii_lowercase();
        !is_known || ["severity", "critical"].iter().any(|word| arguments.contains(word))
    }
}

/// Puts the text blocks of one answer together. Providers end a block anywhere, also within a line of code, so that nothing
/// goes between two of them; but a list of findings begins on a line of its own.
pub fn text_of_blocks<'a>(blocks: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for block in blocks {
        let begins_list = block.trim_start().starts_with("<findings");
        if begins_list && !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(block);
    }
    text
}

/// The text of an answer that has ended; of one without any, its reasoning between tags. Some servers take a whole answer for
/// reasoning.
pub fn text_or_reasoning<'a>(text: String, reasoning: impl IntoIterator<Item = &'a str>) -> String {
    let reasoning = text_of_blocks(reasoning);
    if !text.trim().is_empty() || reasoning.trim().is_empty() {
        return text;
    }
    format!("<think>{reasoning}</think>")
}

/// A message of the model that is not its last one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierMessage {
    /// The message's id.
    pub id: String,
    /// Its text.
    pub text: String,
}

/// One successful read of a file of the workspace. Runtimes show a large file in pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRead {
    /// The file, relative to the workspace.
    pub path: String,
    /// The first line that was shown, from 1.
    pub first: u64,
    /// The last line that was shown; `None` if nothing comes after it in the file.
    pub last: Option<u64>,
    /// True if lines among them were too long and were cut.
    pub cut_lines: bool,
}

/// The runtime failed. The text says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RuntimeError(pub String);

/// A running agent runtime. Its events and API stay behind this trait: its next major version will change both.
#[async_trait]
pub trait AgentRuntime: Send + Sync {
    /// Makes a session and subscribes to it, before anything can happen in it.
    async fn create_session(
        &self,
        title: &str,
    ) -> Result<(SessionId, mpsc::UnboundedReceiver<SessionEvent>), RuntimeError>;
    /// Asks; the answer comes as events.
    async fn prompt(&self, session: &SessionId, prompt: &SessionPrompt) -> Result<(), RuntimeError>;
    /// Ends what the session is doing.
    async fn abort(&self, session: &SessionId) -> Result<(), RuntimeError>;
    /// Returns whether the session is at work.
    async fn is_busy(&self, session: &SessionId) -> Result<bool, RuntimeError>;
    /// The last answer.
    async fn last_answer(&self, session: &SessionId) -> Result<SessionAnswer, RuntimeError>;
}

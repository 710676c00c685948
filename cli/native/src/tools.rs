//! The tools of a session: read, search and list the workspace, and the coordinator's two. Nothing else exists.
//!
//! Names, arguments and outputs are those that the prompts describe and that `OpenCode` has, so that a model meets the same
//! on both runtimes. Paths in outputs are relative to the workspace.

mod confined;
mod glob;
mod grep;
mod read;
mod walk;
mod workspace;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use conclave_engine::{
    ports::{CoordinatorTools, FileRead},
    session::CoordinatorTool,
};
use futures_util::{StreamExt, stream};
use serde_json::{Map, Value, json};

use crate::{
    history::{ToolCall, ToolResult},
    wire::ToolSpec,
};

pub(crate) use confined::Threads;
pub use confined::{ThreadsError, sandbox_here};
pub(crate) use workspace::Workspace;

/// Number of calls of one answer that run at the same time.
const AT_ONCE: usize = 8;
/// Maximum length of one result, in bytes.
const MAX_RESULT: usize = 1_000_000;
/// Maximum length of the text of an error, in characters.
const MAX_ERROR: usize = 20_000;

/// The output of a tool, or the text of its error.
type Outcome = Result<Output, String>;

/// The output of a tool.
#[derive(Debug, PartialEq, Eq)]
struct Output {
    text: String,
    reads: Vec<FileRead>,
}

impl From<String> for Output {
    fn from(text: String) -> Self {
        Self {
            text,
            reads: Vec::new(),
        }
    }
}

/// A tool that looks at the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Glob,
    Grep,
    Read,
}

impl Look {
    /// All of them, in the order in which models are offered them.
    const ALL: [Self; 3] = [Self::Glob, Self::Grep, Self::Read];

    const fn name(self) -> &'static str {
        match self {
            Self::Glob => "glob",
            Self::Grep => "grep",
            Self::Read => "read",
        }
    }

    fn spec(self) -> ToolSpec {
        let text = |description: &str| json!({"type": "string", "description": description});
        let number = |description: &str| json!({"type": "integer", "minimum": 1, "description": description});
        let (description, required, properties) = match self {
            Self::Glob => (
                "Lists files whose path matches a glob pattern, such as `**/*.ts` or `src/**`. At most 100.",
                "pattern",
                json!({"pattern": text("Glob pattern"), "path": text("Directory to look in; by default the workspace")}),
            ),
            Self::Grep => (
                "Searches file contents with a regular expression. Returns paths, line numbers and matching lines, at most \
                 100.",
                "pattern",
                json!({"pattern": text("Regular expression"),
                    "path": text("Directory or file to search in; by default the workspace"),
                    "include": text("Glob pattern of the files to search, such as `*.{ts,tsx}`")}),
            ),
            Self::Read => (
                "Reads a file, each line with its number in front, or lists a directory. Shows 2000 lines or 50 KB at once: \
                 go on with `offset`. Read several files in one turn.",
                "filePath",
                json!({"filePath": text("Path of the file or directory"),
                    "offset": number("First line to show, from 1"), "limit": number("Most lines to show")}),
            ),
        };
        ToolSpec {
            name: self.name(),
            description,
            schema: json!({"type": "object", "required": [required], "properties": properties}),
        }
    }

    fn run(self, workspace: &Workspace, arguments: &Map<String, Value>, stop: &AtomicBool) -> Outcome {
        match self {
            Self::Glob => glob::run(workspace, arguments, stop).map(Output::from),
            Self::Grep => grep::run(workspace, arguments, stop),
            Self::Read => read::run(workspace, arguments, stop),
        }
    }
}

/// The tools of all sessions.
pub(crate) struct Tools {
    pub(crate) workspace: Arc<Workspace>,
    /// Where looks run.
    pub(crate) threads: Threads,
    pub(crate) coordinator: Arc<dyn CoordinatorTools>,
}

/// The tools that one agent may call.
#[derive(Clone)]
pub(crate) struct Offer {
    tools: Arc<Tools>,
    granted: Vec<CoordinatorTool>,
}

impl Offer {
    /// The tools of every agent, and those that this one is granted beside them.
    pub(crate) const fn new(tools: Arc<Tools>, granted: Vec<CoordinatorTool>) -> Self {
        Self { tools, granted }
    }

    /// The tools as a model is offered them.
    pub(crate) fn specs(&self) -> Vec<ToolSpec> {
        let granted = self.granted.iter().map(|tool| ToolSpec {
            name: tool.name(),
            description: tool.description(),
            schema: tool.schema(),
        });
        Look::ALL.into_iter().map(Look::spec).chain(granted).collect()
    }

    /// Answers the calls of one answer, side by side, the results in their order and together at most this long.
    pub(crate) async fn run(&self, calls: Vec<ToolCall>, max_bytes: usize) -> Vec<ToolResult> {
        let results: Vec<ToolResult> = stream::iter(calls)
            .map(|call| self.answer(call))
            .buffered(AT_ONCE)
            .collect()
            .await;
        bounded(results, max_bytes)
    }

    /// The granted tool of this name.
    fn granted(&self, name: &str) -> Option<CoordinatorTool> {
        self.granted.iter().copied().find(|tool| is_name(name, tool.name()))
    }

    async fn answer(&self, call: ToolCall) -> ToolResult {
        let outcome = match &call.arguments {
            Ok(arguments) => self.call(&call.name, arguments).await,
            Err(error) => {
                let text = format!(
                    "The arguments of {} are not a JSON object: {error}. Call it again with valid ones.",
                    call.name
                );
                if self.granted(&call.name) == Some(CoordinatorTool::SubmitReview) {
                    // Counted there: a judge that goes on like this is not waited for.
                    let _ = self.tools.coordinator.submit_review(Value::Null).await;
                }
                Err(text)
            }
        };
        let (text, failed, reads) = match outcome {
            Ok(output) => (output.text, false, output.reads),
            // It may repeat what the model wrote.
            Err(error) => (error.chars().take(MAX_ERROR).collect(), true, Vec::new()),
        };
        ToolResult {
            id: call.id,
            text,
            failed,
            reads,
        }
    }

    async fn call(&self, name: &str, arguments: &Map<String, Value>) -> Outcome {
        if let Some(look) = Look::ALL.into_iter().find(|look| is_name(name, look.name())) {
            return self.tools.look_at(look, arguments.clone()).await;
        }
        let Some(tool) = self.granted(name) else {
            let names: Vec<&str> = self.specs().iter().map(|spec| spec.name).collect();
            let name: String = name.chars().take(100).collect();
            return Err(format!(
                "There is no tool `{name}`. The tools are: {}.",
                names.join(", ")
            ));
        };
        let arguments = Value::Object(arguments.clone());
        match tool.call(self.tools.coordinator.as_ref(), arguments).await {
            Ok(value) => Ok(value.to_string().into()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Returns whether a model means this tool: it may write the name in other letters, with the place where it believes the tool to be in
/// front (`functions.read`, `mcp__conclave__submit_review`), or with the number of the call behind it (`functions.read:0`).
fn is_name(said: &str, name: &str) -> bool {
    let said = said.trim().to_ascii_lowercase().replace('-', "_");
    let said = said.split_once(':').map_or(said.as_str(), |(said, _)| said);
    match said.strip_suffix(name) {
        None => false,
        Some("") => true,
        // `thread_read` is a tool of its own. Names of two words are ours alone.
        Some(place) => {
            place.ends_with(['.', '/']) || place.ends_with("__") || (name.contains('_') && place.ends_with('_'))
        }
    }
}

impl Tools {
    /// Runs a look where it may block and can open nothing else, and ends it when its caller is gone.
    async fn look_at(&self, look: Look, arguments: Map<String, Value>) -> Outcome {
        let stop = StopOnDrop(Arc::default());
        let (workspace, flag) = (Arc::clone(&self.workspace), Arc::clone(&stop.0));
        let running = self.threads.run(move || look.run(&workspace, &arguments, &flag));
        let failed = || Err(format!("{} failed. Try other arguments.", look.name()));
        running.await.unwrap_or_else(failed)
    }
}

struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The results within a bound: what would be too much for the model's context is an error that says so.
fn bounded(mut results: Vec<ToolResult>, max_bytes: usize) -> Vec<ToolResult> {
    let mut used = 0;
    for result in &mut results {
        let length = result.text.len();
        if length > MAX_RESULT || used + length > max_bytes {
            "The results of this turn are more than you can take in. Call fewer tools at once, or narrow \
                           this call down (offset and limit, path, include)."
                .clone_into(&mut result.text);
            result.failed = true;
            result.reads.clear();
        } else {
            used += length;
        }
    }
    results
}

/// A text argument; an error if it is missing or no text.
fn text<'a>(arguments: &'a Map<String, Value>, name: &str) -> Result<&'a str, String> {
    match optional_text(arguments, name)? {
        Some(text) => Ok(text),
        None => Err(format!("`{name}` is required.")),
    }
}

fn optional_text<'a>(arguments: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, String> {
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
        Some(_) => Err(format!("`{name}` has to be a string.")),
    }
}

/// A number from 1; models send some as text or with a fraction of zero.
fn optional_number(arguments: &Map<String, Value>, name: &str) -> Result<Option<u64>, String> {
    let wrong = || format!("`{name}` has to be a whole number from 1.");
    let number = match arguments.get(name) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text.trim().parse().map_err(|_| wrong())?,
        Some(value) => match (value.as_u64(), value.as_f64()) {
            (Some(number), _) => number,
            // The text of a whole number in floating point ends in `.0`.
            (None, Some(_)) => {
                let text = value.to_string();
                text.strip_suffix(".0")
                    .and_then(|text| text.parse().ok())
                    .ok_or_else(wrong)?
            }
            _ => return Err(wrong()),
        },
    };
    // 0 is what some models mean by the first line.
    Ok(Some(number.max(1)))
}

#[cfg(test)]
#[path = "tools/tools_tests.rs"]
mod tests;

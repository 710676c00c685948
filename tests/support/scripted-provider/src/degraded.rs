//! A model that misbehaves once, in one of the ways that real models do.

use crate::agent::COORDINATOR;
use crate::locked;
use crate::model::{Answer, Model, ModelRequest, Part, Role, Stop};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

/// A way to misbehave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Misbehavior {
    /// The block of findings is not closed.
    MalformedBlock,
    /// Words without any block.
    ProseOnly,
    /// The findings name lines far from their quotes.
    WrongLine,
    /// The quotes are retold, not copied.
    ParaphrasedQuote,
    /// One of the patches is not opened.
    ForgottenFile,
    /// A second, empty block follows the first one.
    SecondBlock,
    /// The findings are JSON.
    Json,
    /// The texts stand in CDATA sections.
    Cdata,
    /// The answer breaks off at the output limit.
    Truncated,
    /// The same call of a tool, again and again, until a message says that it is enough.
    ToolLoop,
    /// A refusal.
    Refusal,
    /// Nothing at all.
    Empty,
}

impl Misbehavior {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::MalformedBlock,
        Self::ProseOnly,
        Self::WrongLine,
        Self::ParaphrasedQuote,
        Self::ForgottenFile,
        Self::SecondBlock,
        Self::Json,
        Self::Cdata,
        Self::Truncated,
        Self::ToolLoop,
        Self::Refusal,
        Self::Empty,
    ];

    /// Returns the answer as this way leaves it.
    fn spoil(self, text: &str) -> Answer {
        match self {
            Self::MalformedBlock => Answer::text(text.replace("</finding>", "").replace("</findings>", "")),
            Self::ProseOnly => {
                Answer::text("I have looked at all of it. The code is easy to follow and does what it says.")
            }
            Self::WrongLine => Answer::text(text.replace("<line>", "<line>9")),
            Self::ParaphrasedQuote => Answer::text(text.replace("<evidence>\n", "<evidence>\nin short: ")),
            Self::SecondBlock => Answer::text(format!("{text}\n<findings></findings>")),
            Self::Json => Answer::text(as_json(text).to_string()),
            Self::Cdata => Answer::text(in_cdata(text)),
            Self::Truncated => {
                let half: String = text.chars().take(text.chars().count() / 2).collect();
                Answer::text(half).with_stop(Stop::MaxTokens)
            }
            Self::Refusal => Answer::text("I'm sorry, but I can't help with that."),
            Self::Empty => Answer::text(""),
            Self::ForgottenFile | Self::ToolLoop => Answer::text(text),
        }
    }
}

/// Another model, whose reviewers misbehave once each: who does, and how, is settled beforehand.
pub struct Degraded<M> {
    inner: M,
    ways: HashMap<String, Misbehavior>,
    /// Agents that have done so.
    done: Mutex<HashSet<String>>,
}

impl<M: Model> Degraded<M> {
    /// The model, with how each of these reviewers misbehaves.
    pub fn new(inner: M, ways: impl IntoIterator<Item = (String, Misbehavior)>) -> Self {
        Self {
            inner,
            ways: ways.into_iter().collect(),
            done: Mutex::default(),
        }
    }
}

impl<M: Model> Model for Degraded<M> {
    fn answer(&self, request: &ModelRequest) -> Answer {
        let answer = self.inner.answer(request);
        let way = self.ways.get(&request.agent).filter(|_| request.agent != COORDINATOR);
        let Some(way) = way else { return answer };
        match way {
            Misbehavior::ToolLoop if !was_told(request, "call no tool any more") => {
                Answer::call("read", json!({"filePath": "README.md"}))
            }
            Misbehavior::ForgottenFile if !was_told(request, "still to read") => forgetful(request, answer),
            _ if !answer.tool_calls.is_empty() => answer,
            way if locked(&self.done).insert(request.agent.clone()) => way.spoil(&answer.text),
            _ => answer,
        }
    }
}

/// Returns whether a message after the first one says this.
fn was_told(request: &ModelRequest, words: &str) -> bool {
    let later = request
        .messages
        .iter()
        .filter(|message| message.role == Role::User)
        .skip(1);
    later
        .flat_map(|message| &message.parts)
        .any(|part| matches!(part, Part::Text(text) if text.contains(words)))
}

/// Reads all files but the last one, and is done.
fn forgetful(request: &ModelRequest, mut answer: Answer) -> Answer {
    let has_read = !request.exchanges().is_empty();
    if answer.tool_calls.is_empty() {
        answer
    } else if has_read || answer.tool_calls.len() < 2 {
        Answer::text("<findings></findings>")
    } else {
        answer.tool_calls.pop();
        answer
    }
}

/// The findings of a block as JSON.
fn as_json(text: &str) -> Value {
    let findings = text.split("<finding>").skip(1).map(|finding| {
        let field = |name: &str| {
            let (_, rest) = finding.split_once(&format!("<{name}>"))?;
            let (value, _) = rest.split_once(&format!("</{name}>"))?;
            Some((name.to_owned(), json!(value.trim_matches('\n'))))
        };
        let names = [
            "severity",
            "category",
            "rule",
            "file",
            "line",
            "end_line",
            "claim",
            "evidence",
            "scenario",
            "checked",
            "needs_context",
            "confidence",
            "fix",
        ];
        Value::Object(names.into_iter().filter_map(field).collect())
    });
    json!({"findings": findings.collect::<Vec<_>>()})
}

/// The block with its texts in CDATA sections.
fn in_cdata(text: &str) -> String {
    let mut text = text.to_owned();
    for name in ["claim", "evidence", "scenario", "checked", "fix"] {
        text = text.replace(&format!("<{name}>"), &format!("<{name}><![CDATA["));
        text = text.replace(&format!("</{name}>"), &format!("]]></{name}>"));
    }
    text
}

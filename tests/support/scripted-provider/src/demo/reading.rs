//! What a reviewer reads before it judges: the context, then the patches.

use super::patch::{PatchFile, parse};
use super::rule::Change;
use crate::model::{Answer, ModelRequest, Part, Role};
use regex::Regex;
use serde_json::json;
use std::sync::LazyLock;

/// The file with the merge request's context and the index of its patches.
pub(super) const CONTEXT: &str = ".conclave-review/shared-mr-context.txt";

const MAX_PATCHES: usize = 25;

/// How far the reading is.
pub(super) enum Reading {
    /// These files are still to be read.
    Missing(Vec<String>),
    /// The context cannot be read.
    Failed(String),
    /// Everything is there.
    Complete(Change),
}

impl Reading {
    /// The state of the reading in this conversation.
    pub(super) fn of(request: &ModelRequest, wants_agents_md: bool) -> Self {
        let context = match given(request) {
            Some(text) => text,
            None => match read(request, CONTEXT) {
                Outcome::NotAsked => return Self::Missing(vec![CONTEXT.to_owned()]),
                Outcome::Failed(why) => return Self::Failed(why),
                Outcome::Text(text) => text,
            },
        };
        let index = patch_index(&context);
        let mut files: Vec<PatchFile> = Vec::new();
        let mut missing = Vec::new();
        for (patch, path) in &index {
            let outcome = match in_prompt(&context, patch) {
                Some(text) => Outcome::Text(text),
                None => read(request, patch),
            };
            match outcome {
                Outcome::NotAsked => missing.push(patch.clone()),
                Outcome::Failed(_) => {}
                Outcome::Text(text) => files.extend(parse(&text, path.as_deref())),
            }
        }
        let mut agents_md = None;
        if wants_agents_md {
            agents_md = section(request, "agents_md_files").filter(|text| text.contains("\n=== "));
        }
        if missing.is_empty() {
            Self::Complete(Change {
                files,
                context,
                agents_md,
                codex_rules: section(request, "codex_rules").unwrap_or_default(),
            })
        } else {
            Self::Missing(missing)
        }
    }
}

/// A section of the user's message; its tag carries a suffix.
fn section(request: &ModelRequest, name: &str) -> Option<String> {
    let texts = request.messages.iter().filter(|message| message.role == Role::User);
    let texts = texts.flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::Text(text) => Some(text),
        _ => None,
    });
    let (open, close) = (format!("<{name}_"), format!("</{name}_"));
    texts.into_iter().find_map(|text| {
        let (before, _) = text.rsplit_once(&close)?;
        let (_, inside) = before.rsplit_once(&open)?.1.split_once('>')?;
        Some(inside.to_owned())
    })
}

/// One `read` call for each file, all in one turn.
pub(super) fn ask(files: &[String]) -> Answer {
    let start = Answer::text("");
    files
        .iter()
        .fold(start, |answer, file| answer.and_call("read", json!({"filePath": file})))
}

/// The context, where the message before the role brings it along.
fn given(request: &ModelRequest) -> Option<String> {
    let first = request.messages.iter().find(|message| message.role == Role::User)?;
    first.parts.iter().rev().skip(1).find_map(|part| match part {
        Part::Text(text) => {
            let (introduction, context) = text.split_once("\n\n")?;
            introduction.contains(CONTEXT).then(|| context.to_owned())
        }
        _ => None,
    })
}

/// The text of a patch that stands in the message, behind a line with its number.
fn in_prompt(context: &str, patch: &str) -> Option<String> {
    let (number, _) = patch.rsplit('/').next()?.split_once('-')?;
    let mark = format!("\n=== {number}\n");
    let (_, text) = context.split_once(&mark)?;
    let is_of_patch = |line: &&str| !line.starts_with("=== ") && !line.starts_with("</patch_texts_");
    Some(text.split_inclusive('\n').take_while(is_of_patch).collect())
}

enum Outcome {
    NotAsked,
    Failed(String),
    Text(String),
}

fn read(request: &ModelRequest, file: &str) -> Outcome {
    let exchanges = request.exchanges();
    let result = exchanges
        .iter()
        .filter(|(call, _)| call.name == "read" && call.input["filePath"] == file)
        .find_map(|(_, result)| *result);
    match result {
        None => Outcome::NotAsked,
        Some((text, is_error)) if is_error || !text.contains("<content>") => {
            Outcome::Failed(text.lines().next().unwrap_or("no text").to_owned())
        }
        Some((text, _)) => Outcome::Text(file_text(text)),
    }
}

/// The file's own text in the output of the runtime's `read` tool.
///
/// Only numbered lines between `<content>` and `</content>` are of the file; headers, footers and appended reminders are
/// not.
pub(super) fn file_text(output: &str) -> String {
    let lines = output
        .lines()
        .skip_while(|line| !line.trim_start().starts_with("<content>"))
        .take_while(|line| line.trim() != "</content>");
    let mut text = String::new();
    for line in lines {
        let line = line.trim_start().strip_prefix("<content>").unwrap_or(line);
        let Some((number, rest)) = line.split_once(':') else {
            continue;
        };
        let number = number.trim_start();
        if !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()) {
            text.push_str(rest.strip_prefix(' ').unwrap_or(rest));
            text.push('\n');
        }
    }
    text
}

/// The patches named in the context, each with the path of its file if the line tells it.
fn patch_index(context: &str) -> Vec<(String, Option<String>)> {
    static PATCH: LazyLock<Regex> =
        LazyLock::new(|| super::pattern::compile(r"\.conclave-review/patches/[^\s`'\x22<>()\[\]]+\.patch"));
    let mut index: Vec<(String, Option<String>)> = Vec::new();
    for line in context.lines() {
        for patch in PATCH.find_iter(line) {
            let known = index.iter().any(|(other, _)| other == patch.as_str());
            if !known && index.len() < MAX_PATCHES {
                let path = line
                    .trim_start()
                    .strip_prefix("- ")
                    .and_then(|rest| rest.split_once(" | "))
                    .map(|(path, _)| path.trim().trim_matches('`').to_owned());
                index.push((patch.as_str().to_owned(), path));
            }
        }
    }
    index
}

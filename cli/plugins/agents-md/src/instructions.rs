//! Files of instructions for agents, and the marks of those that help none.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use conclave_engine::untrusted::Untrusted;

use crate::{Hint, Kind, Materiality, pattern::pattern};

/// A file of instructions for agents, as it is at head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instructions {
    /// Its path.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// A place of such a file of which no text can be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// Its path.
    pub path: String,
    /// The reason, in words that follow the path.
    pub reason: String,
}

/// The names of such files.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// The longest text of all such files that the reviewer is given, in bytes: what a small context window bears beside the rest.
const MAX_SHOWN: usize = 32 << 10;
/// Maximum number of files that are named where they are not shown whole.
const MAX_NAMED: usize = 5;

/// The longest file that agents read with profit.
const MAX_LINES: usize = 200;

/// Returns whether a file holds instructions for agents.
pub(crate) fn is_instructions(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| NAMES.contains(&name))
}

/// The paths where files for agents may be that a change of these paths concerns: in each of their directories, and above. Those
/// of the root come first.
pub fn places<'a>(changed: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut directories = BTreeSet::from([""]);
    for path in changed {
        let mut end = path.rfind('/');
        // Above a directory that is known, all are.
        while let Some(directory) = end.map(|end| &path[..=end])
            && directories.insert(directory)
        {
            end = directory[..directory.len() - 1].rfind('/');
        }
    }
    directories
        .iter()
        .flat_map(|directory| NAMES.map(|name| format!("{directory}{name}")))
        .collect()
}

/// The files as the reviewer reads them: they are not in the workspace, where an agent would obey them. With them, what of
/// them is not shown, for people.
///
/// Each file has the same share of the room; what a short one leaves is for the longer ones.
pub(crate) fn rendered(files: &[Instructions], unread: &[Unread]) -> (Untrusted, Option<String>) {
    let mut text = String::from(
        "The files for agents that the changed files are under, as they are at head, with line numbers. `read` does not find them.\n",
    );
    if files.is_empty() && unread.is_empty() {
        text.push_str("There is none.\n");
    }
    let mut missing = Vec::new();
    for (file, share) in files.iter().zip(shares(files)) {
        let path = Untrusted::from(file.path.as_str()).sanitized_line();
        let _ = writeln!(text, "=== {path}");
        let mut left = share;
        for (number, line) in (1..).zip(file.text.lines()) {
            if line.len() >= left {
                let _ = writeln!(text, "(not shown from line {number} on)");
                missing.push(format!("{path} from line {number} on"));
                break;
            }
            left -= line.len() + 1;
            let _ = writeln!(text, "{number}: {line}");
        }
    }
    for Unread { path, reason } in unread {
        let path = Untrusted::from(path.as_str()).sanitized_line();
        if missing.len() < MAX_NAMED {
            let _ = writeln!(text, "=== {path}\n(not shown: {reason})");
        }
        missing.push(format!("{path}: {reason}"));
    }
    (text.into(), warning(&missing))
}

/// The part of these files that the reviewer is not shown, for people.
pub fn not_shown(files: &[Instructions], unread: &[Unread]) -> Option<String> {
    rendered(files, unread).1
}

/// The room of each file, in bytes.
fn shares(files: &[Instructions]) -> Vec<usize> {
    let needed = |file: &Instructions| file.text.len() + 1;
    let mut by_length: Vec<usize> = (0..files.len()).collect();
    by_length.sort_by_key(|&at| needed(&files[at]));
    let mut shares = BTreeMap::new();
    let mut left = MAX_SHOWN;
    for (position, at) in by_length.into_iter().enumerate() {
        let share = needed(&files[at]).min(left / (files.len() - position));
        shares.insert(at, share);
        left -= share;
    }
    shares.into_values().collect()
}

/// The line of the account on what is not shown.
fn warning(missing: &[String]) -> Option<String> {
    let named = missing.get(..MAX_NAMED).unwrap_or(missing).join("; ");
    let more = missing.len().saturating_sub(MAX_NAMED);
    let more = if more == 0 {
        String::new()
    } else {
        format!("; and {more} more")
    };
    (!missing.is_empty()).then(|| format!("files for agents that the agents_md reviewer was not shown: {named}{more}"))
}

/// Tools that are worth nothing without the command that runs them, as they are written in prose.
const TOOLS: &str = "eslint prettier biome jest vitest mocha cypress playwright pytest ruff mypy black tox nox clippy rustfmt \
    golangci-lint rubocop rspec gradle maven terraform";

/// The faults of a file. A file that is long or vague is worth a suggestion also where it was so before; a tool without a command only
/// where the merge request changes the file.
pub(crate) fn faults(file: &Instructions, changed: bool) -> Vec<Hint> {
    let hint = |kind, line, text| {
        let is_worth_it = changed || kind != Kind::NoCommand;
        let materiality = if is_worth_it {
            Materiality::Medium
        } else {
            Materiality::Low
        };
        Hint::new(materiality, kind, &file.path, line, text)
    };
    let mut hints = Vec::new();
    let count = file.text.lines().count();
    if count > MAX_LINES {
        let text = format!("it has {count} lines; agents overlook what matters beyond {MAX_LINES}");
        hints.push(hint(Kind::Length, None, text));
    }
    let filler = pattern!(
        r"(?i)\b(?:write|produce|create) (?:clean|good|high[- ]quality|readable|elegant|maintainable)(?:,? (?:and )?\w+)* code\b|\bfollow(?:ing)? (?:\w+ )?best practices\b|\buse (?:meaningful|descriptive|good) (?:variable )?names\b|\bkeep (?:it|the code|things) (?:simple|clean)\b|\byou are an? (?:expert|senior|world[- ]class)\b|\buse common sense\b|\bthink (?:carefully|step by step)\b|\bensure (?:high )?code quality\b|\bwrite (?:good|comprehensive|meaningful) tests\b"
    );
    let mut in_fence = false;
    let mut code = String::new();
    let mut prose: Vec<(u32, &str)> = Vec::new();
    for (number, line) in (1..).zip(file.text.lines()) {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        } else if in_fence {
            code.push_str(line);
            code.push('\n');
        } else {
            for span in pattern!(r"`([^`]+)`")
                .captures_iter(line)
                .filter_map(|groups| groups.get(1))
            {
                code.push_str(span.as_str());
                code.push('\n');
            }
            prose.push((number, line));
            if let Some(found) = filler.find(line) {
                let text = format!(
                    "\"{}\" gives an agent no information about this repository",
                    found.as_str()
                );
                hints.push(hint(Kind::Filler, Some(number), text));
            }
        }
    }
    let code = code.to_ascii_lowercase();
    for tool in TOOLS.split_ascii_whitespace() {
        let has_command = code
            .lines()
            .any(|line| line.split_whitespace().count() > 1 && has_word(line, tool))
            || code.lines().any(|line| line.trim() == tool);
        let named = prose.iter().find(|(_, line)| {
            has_word(&line.to_ascii_lowercase(), tool)
                // A command in the same line is how this tool is run here, through whatever script.
                && !pattern!(r"`[^`\s]+ [^`]+`").is_match(line)
        });
        if let (false, Some((number, _))) = (has_command, named) {
            let text = format!("{tool} is named without the command to run it");
            hints.push(hint(Kind::NoCommand, Some(*number), text));
        }
    }
    hints
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(start, found)| {
        let is_edge = |character: Option<char>| {
            character.is_none_or(|character| !character.is_alphanumeric() && character != '-' && character != '_')
        };
        is_edge(line[..start].chars().next_back()) && is_edge(line[start + found.len()..].chars().next())
    })
}

#[cfg(test)]
#[path = "instructions_tests.rs"]
mod tests;

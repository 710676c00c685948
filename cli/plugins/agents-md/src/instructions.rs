//! Marks of instructions that help no agent.

use crate::{Hint, Kind, Materiality, pattern::pattern};

/// A file of instructions for agents, as it is at head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instructions {
    /// Its path.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// The longest file that agents read with profit.
const MAX_LINES: usize = 200;

/// Returns whether a file holds instructions for agents.
pub fn is_instructions(path: &str) -> bool {
    matches!(path.rsplit('/').next(), Some("AGENTS.md" | "CLAUDE.md"))
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

//! Fenced `suggestion` blocks of notes on the diff.

use regex::Regex;
use std::sync::LazyLock;

use crate::git::Repository;
use crate::state::position::Position;

static FENCE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(`{3,})suggestion(?::-(\d+)\+(\d+))?\s*$").expect("the pattern is a regular expression")
});

/// A block with the lines it replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) from_line: u64,
    pub(crate) to_line: u64,
    pub(crate) from_content: String,
    pub(crate) to_content: String,
}

/// The blocks of a note that stands on a line of the new side.
pub(crate) fn find(repository: &Repository, position: &Position, body: &str) -> Vec<Block> {
    let (Some(line), Some(path)) = (position.new_line, position.new_path.as_deref()) else {
        return Vec::new();
    };
    let file = repository.file(&position.head_sha, path).unwrap_or_default();
    let file = String::from_utf8_lossy(&file);
    let file: Vec<&str> = file.split_inclusive('\n').collect();
    let mut blocks = Vec::new();
    let mut lines = body.lines();
    while let Some(text) = lines.next() {
        let Some(captures) = FENCE.captures(text) else { continue };
        let number = |index: usize| {
            captures
                .get(index)
                .and_then(|group| group.as_str().parse().ok())
                .unwrap_or(0_u64)
        };
        let content: Vec<&str> = lines
            .by_ref()
            .take_while(|line| line.trim_end() != &captures[1])
            .collect();
        let from_line = line.saturating_sub(number(2)).max(1);
        let to_line = (line + number(3)).min(file.len() as u64);
        let replaced = file
            .iter()
            .zip(1_u64..)
            .filter(|(_, number)| (from_line..=to_line).contains(number));
        blocks.push(Block {
            from_line,
            to_line,
            from_content: replaced.map(|(text, _)| *text).collect(),
            to_content: content.iter().flat_map(|line| [*line, "\n"]).collect(),
        });
    }
    blocks
}

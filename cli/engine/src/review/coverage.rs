//! What a review looked at, and what it did not.

use conclave_shared::sandbox::SandboxLevel;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::UnprovenFinding;
use crate::{diff::FilteredFile, rules::CheckedRule};

/// What was looked at, and what was not.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    /// Files that were given to the panel.
    pub reviewed: Vec<String>,
    /// Added and removed lines in those files.
    pub changed_lines: u64,
    /// Files that were not, with the reason.
    pub filtered: Vec<FilteredFile>,
    /// Files that are unchanged since an earlier review looked at them, and that were not given to the panel again.
    #[serde(default)]
    pub earlier: Vec<EarlierFiles>,
    /// Files that were given to the panel and that no reviewer opened, and those of which no reviewer was given a line.
    pub not_read: Vec<String>,
    /// Files of which reviewers got a part or no line, because the whole diff is larger than they can read.
    #[serde(default)]
    pub cut: Vec<CutFile>,
    /// Findings that were dropped because their evidence does not exist.
    pub hallucinated: usize,
    /// Critical findings among those: they are not shown as findings, and the bot does not approve.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unproven: Vec<UnprovenFinding>,
    /// What had to be reviewed and was not, in words.
    pub gaps: Vec<String>,
    /// The rules of the organization that are for the changed files, and the files that each was checked on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<CheckedRule>,
    /// What else there is to say about it, in words.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The operating system's sandbox around the agents, where a program of others ran them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxReport>,
}

/// The operating system's sandbox that a review ran in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SandboxReport {
    /// Grade of the sandbox.
    pub level: SandboxLevel,
    /// Openings, each in words.
    pub open: Vec<String>,
}

/// A file whose patch was cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CutFile {
    /// The file.
    pub path: String,
    /// Lines of its patch that nobody was given.
    pub lines_left_out: u64,
}

/// Files that an earlier review looked at, and that are unchanged since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EarlierFiles {
    /// The commit that was reviewed.
    pub head_sha: String,
    /// The files.
    pub files: Vec<String>,
}

impl EarlierFiles {
    /// So many files are named in a text.
    const NAMED: usize = 10;

    /// The beginning of the commit's name, as code, which no forge makes a reference of.
    pub fn short(&self) -> String {
        format!("`{}`", self.head_sha.get(..8).unwrap_or(&self.head_sha))
    }

    /// What the review says of them.
    pub fn describe(&self) -> String {
        let mut names: Vec<&str> = self.files.iter().take(Self::NAMED).map(String::as_str).collect();
        let more = format!("{} more", self.files.len().saturating_sub(Self::NAMED));
        if self.files.len() > Self::NAMED {
            names.push(&more);
        }
        format!(
            "unchanged since the review of {}, and not reviewed again: {}",
            self.short(),
            names.join(", ")
        )
    }
}

//! The tier of a merge request.

use serde::{Deserialize, Serialize};

use crate::named_enum;

use super::{RiskRules, SecurityPaths};

named_enum! {
    /// How much of a panel a merge request gets.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[derive(schemars::JsonSchema)]
    pub enum RiskTier {
        /// One generalist.
        Trivial = "trivial",
        /// A small panel.
        Lite = "lite",
        /// Everybody.
        Full = "full",
    }
}

/// What the tier depends on, of one file that is left after filtering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileChange<'a> {
    /// The path at head.
    pub path: &'a str,
    /// The path at base; the same as `path` unless the file was renamed.
    pub old_path: &'a str,
    /// Added plus removed lines.
    pub changed_lines: u64,
}

/// The tier and how it came about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RiskAssessment {
    /// The tier.
    pub tier: RiskTier,
    /// Why, in words that a person reads in the plan and in the review.
    pub reasons: Vec<String>,
}

/// The most security-sensitive files that are named; the others are counted.
const NAMED_FILES: usize = 10;

/// Decides the tier, in the order of the rules: many files or a security-sensitive one, then few lines, then some.
pub fn classify(files: &[FileChange<'_>], rules: RiskRules, security: &SecurityPaths) -> RiskAssessment {
    let lines: u64 = files.iter().map(|file| file.changed_lines).sum();
    let mut reasons = Vec::new();
    if files.len() > rules.full_files {
        reasons.push(format!("{} files are more than {}", files.len(), rules.full_files));
    }
    reasons.extend(sensitive_files(files, security));
    if !reasons.is_empty() {
        return RiskAssessment {
            tier: RiskTier::Full,
            reasons,
        };
    }
    let few = files.len() <= rules.few_files;
    let few_files = files_in_words(rules.few_files);
    let up_to = |lines: u64| format!("up to {} in up to {few_files}", count(lines, "line"));
    let (tier, border) = if few && lines <= rules.trivial_lines {
        (RiskTier::Trivial, up_to(rules.trivial_lines))
    } else if few && lines <= rules.lite_lines {
        (RiskTier::Lite, up_to(rules.lite_lines))
    } else if few {
        (RiskTier::Full, format!("more than {}", count(rules.lite_lines, "line")))
    } else {
        (RiskTier::Full, format!("more than {few_files}"))
    };
    let size = format!("{} in {}", count(lines, "changed line"), files_in_words(files.len()));
    RiskAssessment {
        tier,
        reasons: vec![format!("{size}: {border}")],
    }
}

/// A reason for each security-sensitive file, as long as a person would read them.
fn sensitive_files(files: &[FileChange<'_>], security: &SecurityPaths) -> Vec<String> {
    // A file that leaves a sensitive place is as sensitive as one that enters it.
    let mut sensitive = files.iter().filter_map(|file| {
        [file.path, file.old_path]
            .into_iter()
            .find_map(|path| Some((path, security.reason(path)?)))
    });
    let mut reasons: Vec<String> = sensitive
        .by_ref()
        .take(NAMED_FILES)
        .map(|(path, reason)| format!("security-sensitive: {path} ({reason})"))
        .collect();
    let more = sensitive.count();
    if more > 0 {
        reasons.push(format!("security-sensitive: {more} more"));
    }
    reasons
}

fn files_in_words(files: usize) -> String {
    count(u64::try_from(files).unwrap_or(u64::MAX), "file")
}

fn count(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
#[path = "classify_tests.rs"]
mod tests;

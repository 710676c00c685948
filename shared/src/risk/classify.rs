//! The tier of a merge request.

use serde::{Deserialize, Serialize};

use super::{RiskRules, SecurityPaths};

/// How much of a panel a merge request gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RiskTier {
    /// One generalist.
    Trivial,
    /// A small panel.
    Lite,
    /// Everybody.
    Full,
}

impl RiskTier {
    /// The name on the wire and in the review.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trivial => "trivial",
            Self::Lite => "lite",
            Self::Full => "full",
        }
    }
}

impl std::fmt::Display for RiskTier {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(self.as_str())
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

/// Decides the tier, in the order of the rules: many files or a security-sensitive one, then few lines, then some.
pub fn classify(files: &[FileChange<'_>], rules: RiskRules, security: &SecurityPaths) -> RiskAssessment {
    let lines: u64 = files.iter().map(|file| file.changed_lines).sum();
    let plural = |count: u64| if count == 1 { "" } else { "s" };
    let count = u64::try_from(files.len()).unwrap_or(u64::MAX);
    let size = format!("{lines} changed line{} in {count} file{}", plural(lines), plural(count));
    let mut reasons = Vec::new();
    if files.len() > rules.full_files {
        reasons.push(format!("{} files are more than {}", files.len(), rules.full_files));
    }
    // A file that leaves a sensitive place is as sensitive as one that enters it.
    let sensitive = files.iter().filter_map(|file| {
        security
            .reason(file.path)
            .map(|reason| (file.path, reason))
            .or_else(|| security.reason(file.old_path).map(|reason| (file.old_path, reason)))
    });
    reasons.extend(sensitive.map(|(path, reason)| format!("security-sensitive: {path} ({reason})")));
    if !reasons.is_empty() {
        return RiskAssessment {
            tier: RiskTier::Full,
            reasons,
        };
    }
    let few = files.len() <= rules.few_files;
    let tier = if few && lines <= rules.trivial_lines {
        RiskTier::Trivial
    } else if few && lines <= rules.lite_lines {
        RiskTier::Lite
    } else {
        RiskTier::Full
    };
    RiskAssessment {
        tier,
        reasons: vec![size],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tier(files: usize, lines: u64) -> RiskTier {
        let names: Vec<String> = (0..files).map(|index| format!("src/file{index}.rs")).collect();
        let mut changes: Vec<FileChange<'_>> = names
            .iter()
            .map(|path| FileChange {
                path,
                old_path: path,
                changed_lines: 0,
            })
            .collect();
        if let Some(first) = changes.first_mut() {
            first.changed_lines = lines;
        }
        classify(&changes, RiskRules::default(), &SecurityPaths::default()).tier
    }

    #[test]
    fn every_border() {
        use RiskTier::{Full, Lite, Trivial};
        for (files, lines, expected) in [
            (1, 0, Trivial),
            (1, 10, Trivial),
            (1, 11, Lite),
            (20, 10, Trivial),
            (21, 10, Full),
            (20, 11, Lite),
            (21, 11, Full),
            (1, 100, Lite),
            (1, 101, Full),
            (20, 100, Lite),
            (21, 100, Full),
            (50, 10, Full),
            (51, 1, Full),
            (0, 0, Trivial),
        ] {
            assert_eq!(tier(files, lines), expected, "{files} files, {lines} lines");
        }
    }

    #[test]
    fn a_sensitive_file_is_full_also_when_it_is_moved_away() {
        let moved = FileChange {
            path: "lib/util.rs",
            old_path: "auth/util.rs",
            changed_lines: 0,
        };
        let assessment = classify(&[moved], RiskRules::default(), &SecurityPaths::default());
        assert_eq!(assessment.tier, RiskTier::Full);
        assert_eq!(assessment.reasons, ["security-sensitive: auth/util.rs (under `auth/`)"]);
    }
}

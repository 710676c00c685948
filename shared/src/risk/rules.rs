//! The borders of the tiers, and how an operator moves them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Borders of the tiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RiskRules {
    /// More files than this are `full`.
    pub full_files: usize,
    /// Up to this many changed lines are `trivial`, if the files are few.
    pub trivial_lines: u64,
    /// Up to this many changed lines are `lite`, if the files are few.
    pub lite_lines: u64,
    /// Up to this many files are few.
    pub few_files: usize,
}

impl Default for RiskRules {
    fn default() -> Self {
        Self {
            full_files: 50,
            trivial_lines: 10,
            lite_lines: 100,
            few_files: 20,
        }
    }
}

impl RiskRules {
    /// The built-in borders with these settings over them.
    pub fn with(settings: &RiskSettings) -> Self {
        let built_in = Self::default();
        let files = |set: Option<u64>, default: usize| {
            set.map_or(default, |files| usize::try_from(files).unwrap_or(usize::MAX))
        };
        Self {
            full_files: files(settings.full_files, built_in.full_files),
            trivial_lines: settings.trivial_lines.unwrap_or(built_in.trivial_lines),
            lite_lines: settings.lite_lines.unwrap_or(built_in.lite_lines),
            few_files: files(settings.few_files, built_in.few_files),
        }
    }
}

/// An operator's own risk rules. What is left out keeps the built-in rule.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RiskSettings {
    /// More files than this are `full`; 50.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_files: Option<u64>,
    /// Up to this many files can be `trivial` or `lite`; 20.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub few_files: Option<u64>,
    /// Up to this many changed lines are `trivial`; 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trivial_lines: Option<u64>,
    /// Up to this many changed lines are `lite`; 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lite_lines: Option<u64>,
    /// Patterns of security-sensitive paths besides the built-in ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub security_paths: Vec<String>,
    /// Built-in patterns of security-sensitive paths that do not count.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub security_paths_removed: Vec<String>,
    /// Globs of paths that are not security-sensitive, whatever they are called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_security_paths: Vec<String>,
}

impl RiskSettings {
    /// Lays other settings over these: what they say wins, what they leave out stays.
    pub fn amend(&mut self, over: Self) {
        let Self {
            full_files,
            few_files,
            trivial_lines,
            lite_lines,
            security_paths,
            security_paths_removed,
            not_security_paths,
        } = over;
        self.full_files = full_files.or(self.full_files);
        self.few_files = few_files.or(self.few_files);
        self.trivial_lines = trivial_lines.or(self.trivial_lines);
        self.lite_lines = lite_lines.or(self.lite_lines);
        self.security_paths.extend(security_paths);
        self.security_paths_removed.extend(security_paths_removed);
        self.not_security_paths.extend(not_security_paths);
    }

    /// Returns whether nothing is overridden.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

//! Serious findings that people have accepted.

use conclave_shared::severity::Severity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A serious finding of an earlier review whose code is as it was, and that does not stand because a person who may decide that
/// has accepted it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AcceptedFinding {
    /// Its severity.
    pub severity: Severity,
    /// Its place, as `path:line`.
    pub place: String,
    /// The claim.
    pub claim: String,
    /// The account's name; none where the forge does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl AcceptedFinding {
    /// All of them with who accepted them, in a few words; nothing for none.
    pub fn describe_all(all: &[Self]) -> Option<String> {
        let is_critical = all.iter().all(|entry| entry.severity == Severity::Critical);
        let kind = if is_critical { "critical" } else { "serious" };
        let findings = match all.len() {
            0 => return None,
            1 => format!("1 {kind} finding"),
            count => format!("{count} {kind} findings"),
        };
        let mut names: Vec<&str> = all.iter().map(Self::name).collect();
        names.sort_unstable();
        names.dedup();
        Some(format!("{findings} accepted by {}", names.join(", ")))
    }

    /// The finding with who accepted it; `show` makes a text of people or models harmless.
    pub fn describe(&self, show: impl Fn(&str) -> String) -> String {
        format!(
            "{} has accepted this {} finding, so it does not block: {} ({})",
            show(self.name()),
            self.severity,
            show(&self.claim),
            show(&self.place)
        )
    }

    fn name(&self) -> &str {
        self.by.as_deref().unwrap_or("a person")
    }
}

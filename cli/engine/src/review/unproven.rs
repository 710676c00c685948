//! Serious findings without proof.

use conclave_shared::{reviewer::ReviewerName, severity::Severity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A serious finding without code that shows it. It is neither posted nor dropped in silence: a person has to decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnprovenFinding {
    /// Who reported it.
    pub reviewer: ReviewerName,
    /// The severity that the reviewer gave it, as written.
    pub severity: String,
    /// Its category.
    pub category: String,
    /// The file that it names.
    pub file: String,
    /// The line that it names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What it says.
    pub claim: String,
    /// What is wrong with its evidence.
    pub reason: String,
}

impl UnprovenFinding {
    /// Its severity; `None` if that could not be read, in which case it may be critical.
    pub fn known_severity(&self) -> Option<Severity> {
        Severity::parse_lenient(&self.severity)
    }

    /// Its severity in words: what cannot be read is treated as critical, and said to be so.
    pub fn severity_in_words(&self) -> String {
        let known = self.known_severity().map(|severity| severity.to_string());
        known.unwrap_or_else(|| "severity unknown, treated as critical".to_owned())
    }

    /// A few words for all of these findings; nothing without any.
    pub fn describe_all(findings: &[Self]) -> Option<String> {
        let is_critical = |finding: &Self| finding.known_severity() == Some(Severity::Critical);
        match findings {
            [] => None,
            [one] => Some(match one.known_severity() {
                Some(Severity::Critical) => "a critical finding without proof".to_owned(),
                // Words that steer, or the breach of a rule.
                Some(_) => "a serious finding without proof".to_owned(),
                None => "a finding of unknown severity, treated as critical".to_owned(),
            }),
            all if all.iter().all(is_critical) => Some(format!("{} critical findings without proof", all.len())),
            all => Some(format!(
                "{} serious findings without proof, or of unknown severity",
                all.len()
            )),
        }
    }

    /// Its place, as `path:line`.
    pub fn place(&self) -> String {
        match self.line {
            Some(line) => format!("{}:{line}", self.file),
            None => self.file.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_called_critical_is_told_as_critical() {
        let finding = |severity: &&str| UnprovenFinding {
            reviewer: ReviewerName::coordinator(),
            severity: (*severity).into(),
            category: "boundary".into(),
            file: "a.py".into(),
            line: Some(3),
            claim: "It divides by zero.".into(),
            reason: "it has no evidence".into(),
        };
        assert_eq!(UnprovenFinding::describe_all(&[]), None);
        for (severities, told) in [
            (&["high"][..], Some("a critical finding without proof")),
            (&["warning"][..], Some("a serious finding without proof")),
            (
                &["horrible"][..],
                Some("a finding of unknown severity, treated as critical"),
            ),
            (&["critical", "high"][..], Some("2 critical findings without proof")),
            (
                &["critical", ""][..],
                Some("2 serious findings without proof, or of unknown severity"),
            ),
        ] {
            let findings: Vec<UnprovenFinding> = severities.iter().map(finding).collect();
            assert_eq!(
                UnprovenFinding::describe_all(&findings).as_deref(),
                told,
                "{severities:?}"
            );
        }
        assert_eq!(finding(&"blocker").severity_in_words(), "critical");
        assert_eq!(
            finding(&"").severity_in_words(),
            "severity unknown, treated as critical"
        );
    }
}

//! What makes a document unusable, all of it at once.

use serde::Serialize;

use super::{ConfigDocument, SCHEMA_VERSION};
use crate::{model::ModelId, reviewer::ReviewerName};

/// The longest failback chain, in models.
pub const MAX_CHAIN: usize = 5;

/// One fault of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConfigFault {
    /// A JSON pointer to the faulty value.
    pub pointer: String,
    /// What is wrong, and what would be right.
    pub detail: String,
}

/// Every fault of a document; none means that it can be used.
pub fn validate(document: &ConfigDocument) -> Vec<ConfigFault> {
    let mut faults = Vec::new();
    let mut fault = |pointer: String, detail: String| faults.push(ConfigFault { pointer, detail });
    if document.schema_version == 0 || document.schema_version > SCHEMA_VERSION {
        fault(
            "/schema_version".into(),
            format!(
                "is {}; this version understands 1 to {SCHEMA_VERSION}",
                document.schema_version
            ),
        );
    }
    for (name, settings) in &document.reviewers {
        let pointer = format!("/reviewers/{}", escape(name));
        if name != ReviewerName::COORDINATOR && ReviewerName::new(name.as_str()).is_err() {
            fault(pointer.clone(), format!("`{name}` is not a reviewer's name"));
        }
        if settings.timeout_seconds == Some(0) {
            fault(format!("{pointer}/timeout_seconds"), "must be at least 1".into());
        }
    }
    for name in document.providers.keys() {
        if name.is_empty() || name.contains('/') {
            fault(
                format!("/providers/{}", escape(name)),
                format!("`{name}` is not a provider's name"),
            );
        }
    }
    for name in document.failback.keys() {
        match name.parse::<ModelId>() {
            Err(error) => fault(format!("/failback/{}", escape(name)), error.to_string()),
            Ok(model) => {
                if let Some(detail) = chain_fault(document, &model) {
                    fault(format!("/failback/{}", escape(name)), detail);
                }
            }
        }
    }
    if document.limits.sessions == 0 {
        fault("/limits/sessions".into(), "must be at least 1".into());
    }
    if document.limits.tool_calls == 0 {
        fault("/limits/tool_calls".into(), "must be at least 1".into());
    }
    for (name, value) in [
        ("reviewer_seconds", document.limits.reviewer_seconds),
        ("panel_seconds", document.limits.panel_seconds),
        ("coordinator_seconds", document.limits.coordinator_seconds),
        ("first_sign_seconds", document.limits.first_sign_seconds),
        ("stall_seconds", document.limits.stall_seconds),
    ] {
        if value == 0 || value > 86_400 {
            fault(format!("/limits/{name}"), "must be between 1 second and one day".into());
        }
    }
    faults.extend(document.limits.breaker.faults());
    faults.extend(document.limits.budget.faults());
    faults
}

fn chain_fault(document: &ConfigDocument, start: &ModelId) -> Option<String> {
    let mut chain = vec![start.clone()];
    let mut current = start.clone();
    while let Some(Some(next)) = document.failback.get(current.as_str()) {
        if chain.contains(next) {
            return Some(format!("the chain comes back to {next}"));
        }
        chain.push(next.clone());
        current = next.clone();
        if chain.len() > MAX_CHAIN {
            return Some(format!("the chain is longer than {MAX_CHAIN} models"));
        }
    }
    None
}

/// A key as a JSON pointer's token (RFC 6901).
fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ReviewerSettings;

    #[test]
    fn the_default_document_has_no_fault() {
        assert_eq!(validate(&ConfigDocument::default()), []);
    }

    #[test]
    fn all_faults_are_named_at_once() {
        let mut document = ConfigDocument {
            schema_version: 9,
            ..ConfigDocument::default()
        };
        document.reviewers.insert(
            "../x".into(),
            ReviewerSettings {
                timeout_seconds: Some(0),
                ..ReviewerSettings::default()
            },
        );
        document.providers.insert(
            "a/b".into(),
            crate::config::ProviderSwitch {
                enabled: true,
                reason: None,
            },
        );
        document.limits.sessions = 0;
        document.limits.panel_seconds = 0;
        let pointers: Vec<String> = validate(&document).into_iter().map(|fault| fault.pointer).collect();
        assert_eq!(
            pointers,
            [
                "/schema_version",
                "/reviewers/..~1x",
                "/reviewers/..~1x/timeout_seconds",
                "/providers/a~1b",
                "/limits/sessions",
                "/limits/panel_seconds"
            ]
        );
    }

    #[test]
    fn cycles_and_long_chains_are_refused() {
        let model = |index: usize| -> ModelId { format!("p/m{index}").parse().expect("valid") };
        let mut cycle = ConfigDocument::default();
        cycle.failback.insert("p/m0".into(), Some(model(1)));
        cycle.failback.insert("p/m1".into(), Some(model(0)));
        assert_eq!(validate(&cycle).len(), 2);
        let mut long = ConfigDocument::default();
        for index in 0..5 {
            long.failback.insert(format!("p/m{index}"), Some(model(index + 1)));
        }
        assert_eq!(validate(&long)[0].detail, "the chain is longer than 5 models");
        long.failback.insert("p/m4".into(), None);
        assert_eq!(validate(&long), []);
    }
}

//! The preset `local`: limits for a slow model server of one's own.

use super::{CapabilityOverrides, ConfigDocument, Limits, Preset, TimeLimit, TimeLimitOverrides};

/// Limits that leave a slow model time for its first word and between words, by name.
const LIMITS: [(&str, u64); 11] = [
    ("connect_seconds", 30),
    ("headers_seconds", 900),
    ("idle_seconds", 900),
    ("hold_seconds", 1800),
    ("first_sign_seconds", 1800),
    ("stall_seconds", 1800),
    ("reviewer_seconds", 3600),
    ("coordinator_seconds", 3600),
    ("panel_seconds", 21_600),
    ("run_seconds", 28_800),
    ("start_seconds", 180),
];
/// Reviewers at once: a local server answers one after the other, and each holds a context in its memory.
const SESSIONS: u32 = 2;
/// Context and answers of the server's models: small enough for what such servers are started with.
const CONTEXT: u64 = 32_768;
const MAX_OUTPUT: u64 = 8_192;
/// The models of the endpoint of one's own.
const MODELS: &str = "compatible/*";

impl Preset {
    /// Lays the preset's limits over those that a document leaves at their default.
    pub fn lay_over(self, document: &mut ConfigDocument) {
        if self != Self::Local {
            return;
        }
        let default = Limits::default();
        let mut limits = TimeLimitOverrides::default();
        for (name, seconds) in LIMITS {
            if TimeLimit::named(name).is_some_and(|limit| limit.of(&document.limits) == limit.default()) {
                limits.set(name, seconds);
            }
        }
        limits.lay_over(&mut document.limits);
        if document.limits.sessions == default.sessions {
            document.limits.sessions = SESSIONS;
        }
        let own = document.capabilities.remove(MODELS).unwrap_or_default();
        let mut small = CapabilityOverrides {
            context: Some(CONTEXT),
            max_output: Some(MAX_OUTPUT),
            ..CapabilityOverrides::default()
        };
        small.amend(own);
        document.capabilities.insert(MODELS.to_owned(), small);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::{CapabilityList, ineffective, validate};

    #[test]
    fn every_limit_of_it_is_valid_longer_and_can_take_effect() {
        let mut document = ConfigDocument::default();
        Preset::Local.lay_over(&mut document);
        assert_eq!(validate(&document), []);
        assert_eq!(ineffective(&document.limits, &BTreeMap::new(), &[]), [""; 0]);
        for (name, seconds) in LIMITS {
            let limit = TimeLimit::named(name).expect("a limit");
            assert_eq!(limit.of(&document.limits), seconds, "{name}");
            assert!(seconds > limit.default(), "{name}");
        }
        assert_eq!(document.limits.sessions, 2);
        let model = "compatible/qwen3-coder:30b".parse().expect("a model");
        assert_eq!(CapabilityList::new(&document.capabilities).of(&model).context, 32_768);
    }

    #[test]
    fn what_the_document_says_stays_and_other_presets_change_nothing() {
        let document: ConfigDocument = serde_json::from_str(
            r#"{"schema_version":1,"limits":{"idle_seconds":100,"sessions":3},"capabilities":{"compatible/*":{"context":65536}}}"#,
        )
        .expect("valid");
        let mut local = document.clone();
        Preset::Local.lay_over(&mut local);
        assert_eq!((local.limits.idle_seconds, local.limits.headers_seconds), (100, 900));
        assert_eq!(local.limits.sessions, 3);
        assert_eq!(local.capabilities["compatible/*"].context, Some(65_536));
        assert_eq!(local.capabilities["compatible/*"].max_output, Some(8_192));
        for preset in [Preset::Current, Preset::Yardstick] {
            let mut same = document.clone();
            preset.lay_over(&mut same);
            assert_eq!(same, document);
        }
    }
}

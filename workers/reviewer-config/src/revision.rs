//! Revisions: what a write makes of the current state. Pure; the Durable Object runs it, nothing else decides.

use std::collections::BTreeMap;

use conclave_shared::{
    config::{
        ConfigFault, ProviderSwitch, SCHEMA_VERSION, check, mixed_cycles, provider_spelling, read, used_providers,
    },
    model::ModelId,
    nearest::Spelling,
    problem::{Problem, ProblemItem},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{keys, texts};

/// The state that a revision leaves behind.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct State {
    /// The document as it was written, fields of later versions included; `None` before the first write.
    pub(crate) document: Option<Value>,
    /// The switches that were written through the API.
    pub(crate) switches: BTreeMap<String, ProviderSwitch>,
}

/// A write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub(crate) enum Command {
    /// A new document.
    Replace { document: Value },
    /// One provider's switch.
    Switch { provider: String, switch: ProviderSwitch },
    /// Fallback models, in the document that is in force.
    Failback {
        failback: BTreeMap<String, Option<ModelId>>,
        /// The document in force: one that was written to KV by hand, or deleted there, is not that of the newest revision.
        base: Option<Value>,
    },
    /// An earlier state again.
    Rollback {
        to: u64,
        /// The keys that were written to KV, or deleted there, by hand: they are of no revision, and have to follow as well.
        #[serde(default)]
        by_hand: Vec<String>,
    },
}

impl Command {
    /// Returns its line in the log of changes.
    pub(crate) fn action(&self) -> String {
        match self {
            Self::Replace { .. } => texts::action_replace(),
            Self::Switch { provider, switch } => texts::action_switch(provider, switch.enabled),
            Self::Failback { .. } => texts::action_failback(),
            Self::Rollback { to, .. } => texts::action_rollback(*to),
        }
    }
}

/// The changes of a write: the state, and the KV keys that have to follow.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Change {
    /// The new state.
    pub(crate) state: State,
    /// The keys whose values are other ones now.
    pub(crate) keys: Vec<String>,
}

/// Applies a write to the current state. `earlier` answers the state of a past revision.
pub(crate) fn apply(
    current: &State,
    revision: u64,
    command: Command,
    earlier: impl FnOnce(u64) -> Option<State>,
) -> Result<Change, Problem> {
    let mut state = current.clone();
    let keys = match command {
        Command::Replace { document } => {
            check_document(&document)?;
            state.document = Some(stamped(document, revision));
            vec![keys::DOCUMENT.to_owned()]
        }
        Command::Switch { provider, switch } => {
            check_provider(&provider)?;
            check_spelling(&provider, &switch, &state)?;
            if state.switches.len() >= keys::MAX_SWITCHES && !state.switches.contains_key(&provider) {
                return Err(texts::too_many_switches());
            }
            state.switches.insert(provider.clone(), switch);
            vec![keys::switch(&provider)]
        }
        Command::Failback { failback, base } => {
            let unknown = unknown_models(&failback);
            if !unknown.is_empty() {
                return Err(invalid(&unknown));
            }
            let mut document = base
                .or(state.document)
                .unwrap_or_else(|| serde_json::json!({ "schema_version": SCHEMA_VERSION }));
            let Some(fields) = document.as_object_mut() else {
                return Err(texts::unusable_document());
            };
            let failback = serde_json::to_value(failback).unwrap_or_default();
            fields.insert("failback".to_owned(), failback);
            // Not more strictly: a name that is misspelled elsewhere must not stand in the way.
            let read = read(&document).map_err(|faults| invalid(&faults))?;
            let cycles = mixed_cycles(&read);
            if !cycles.is_empty() {
                return Err(invalid(&cycles));
            }
            state.document = Some(stamped(document, revision));
            vec![keys::DOCUMENT.to_owned()]
        }
        Command::Rollback { to, by_hand } => {
            let Some(target) = earlier(to) else {
                return Err(texts::no_such_revision(to));
            };
            let mut changed: Vec<String> = changed_switches(current, &target);
            if current.document != target.document {
                changed.push(keys::DOCUMENT.to_owned());
            }
            let more: Vec<String> = by_hand.into_iter().filter(|key| !changed.contains(key)).collect();
            changed.extend(more);
            state = target;
            state.document = state.document.map(|document| stamped(document, revision));
            changed
        }
    };
    Ok(Change { state, keys })
}

/// Every fault of a document, as a problem; the same check as for a write.
pub(crate) fn check_document(document: &Value) -> Result<(), Problem> {
    check(document).map(drop).map_err(|faults| invalid(&faults))
}

/// Refuses to switch a misspelled provider off: reviews would not go round anything. A switch of that name can still be put on.
fn check_spelling(provider: &str, switch: &ProviderSwitch, state: &State) -> Result<(), Problem> {
    let document = state.document.as_ref().and_then(|document| read(document).ok());
    let used = used_providers(&document.unwrap_or_default());
    match provider_spelling(provider, &used) {
        Spelling::Known(near) | Spelling::Mistake(near) if near != provider && !switch.enabled => {
            Err(texts::misspelled_provider(provider, near))
        }
        _ => Ok(()),
    }
}

fn check_provider(provider: &str) -> Result<(), Problem> {
    let plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
    if provider.is_empty() || provider.len() > 64 || !provider.chars().all(plain) {
        return Err(texts::bad_provider());
    }
    Ok(())
}

/// Models that no price list knows: most likely misspelt, and a chain to nowhere is found out in an emergency only.
fn unknown_models(failback: &BTreeMap<String, Option<ModelId>>) -> Vec<ConfigFault> {
    let mut faults = Vec::new();
    for (name, next) in failback {
        let models = name.parse::<ModelId>().ok().into_iter().chain(next.clone());
        for model in models.filter(|model| conclave_shared::pricing::facts(model).is_none()) {
            faults.push(ConfigFault {
                pointer: format!("/failback/{}", name.replace('~', "~0").replace('/', "~1")),
                detail: texts::unknown_model(&model),
            });
        }
    }
    faults
}

fn invalid(faults: &[ConfigFault]) -> Problem {
    let mut problem = texts::invalid();
    problem.errors = faults
        .iter()
        .map(|fault| ProblemItem {
            pointer: fault.pointer.clone(),
            detail: fault.detail.clone(),
        })
        .collect();
    problem
}

fn stamped(mut document: Value, revision: u64) -> Value {
    document["revision"] = revision.into();
    document
}

fn changed_switches(before: &State, after: &State) -> Vec<String> {
    let names = before.switches.keys().chain(after.switches.keys());
    let mut changed: Vec<String> = names
        .filter(|name| before.switches.get(*name) != after.switches.get(*name))
        .map(|name| keys::switch(name))
        .collect();
    changed.sort();
    changed.dedup();
    changed
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn none(_: u64) -> Option<State> {
        None
    }

    fn off() -> ProviderSwitch {
        ProviderSwitch {
            enabled: false,
            reason: Some("incident 7".into()),
        }
    }

    #[test]
    fn a_document_is_kept_as_it_was_written_and_gets_its_revision() {
        let document = json!({"schema_version": 1, "a_later_field": {"x": 1}});
        let change = apply(&State::default(), 4, Command::Replace { document }, none).expect("valid");
        assert_eq!(
            change.state.document,
            Some(json!({"schema_version": 1, "a_later_field": {"x": 1}, "revision": 4}))
        );
        assert_eq!(change.keys, [keys::DOCUMENT]);
    }

    #[test]
    fn all_faults_are_named_and_nothing_is_written() {
        let document = json!({"schema_version": 1, "limits": {"sessions": 0}, "providers": {"a/b": {"enabled": true}}});
        let problem = apply(&State::default(), 1, Command::Replace { document }, none).expect_err("two faults");
        let pointers: Vec<&str> = problem.errors.iter().map(|item| item.pointer.as_str()).collect();
        assert_eq!(
            (problem.status, pointers),
            (422, vec!["/providers/a~1b", "/limits/sessions"])
        );
        let problem =
            apply(&State::default(), 1, Command::Replace { document: json!([]) }, none).expect_err("no object");
        assert_eq!(problem.status, 422);
    }

    #[test]
    fn chains_may_neither_turn_nor_lead_to_the_unknown() {
        let write = |failback: Value| {
            let failback = serde_json::from_value(failback).expect("models");
            apply(&State::default(), 1, Command::Failback { failback, base: None }, none)
        };
        let cycle = json!({"anthropic/claude-opus-4-7": "anthropic/claude-opus-4-6",
            "anthropic/claude-opus-4-6": "anthropic/claude-opus-4-7"});
        assert_eq!(write(cycle).expect_err("a cycle").errors.len(), 2);
        // 4-7 falls back to 4-6 by default.
        let mixed = write(json!({"anthropic/claude-opus-4-6": "anthropic/claude-opus-4-7"}));
        assert_eq!(mixed.expect_err("a cycle").errors.len(), 1);
        let unknown = write(json!({"anthropic/claude-opus-4-7": "anthropic/claude-opos-4-6"})).expect_err("misspelt");
        assert!(unknown.errors[0].detail.contains("claude-opos-4-6"), "{unknown:?}");
        let good = write(json!({"anthropic/claude-opus-4-7": null})).expect("an end");
        assert_eq!(
            good.state.document,
            Some(json!({"schema_version": 1, "failback": {"anthropic/claude-opus-4-7": null}, "revision": 1}))
        );
    }

    #[test]
    fn a_rollback_is_a_new_revision_and_knows_which_keys_follow() {
        let old = State {
            document: Some(json!({"schema_version": 1, "revision": 1})),
            switches: BTreeMap::from([("openai".to_owned(), off())]),
        };
        let now = State {
            document: Some(json!({"schema_version": 1, "revision": 3, "limits": {"sessions": 2}})),
            switches: BTreeMap::from([("anthropic".to_owned(), off()), ("openai".to_owned(), off())]),
        };
        let rollback = |to| Command::Rollback {
            to,
            by_hand: Vec::new(),
        };
        let change = apply(&now, 5, rollback(1), |_| Some(old.clone())).expect("it exists");
        assert_eq!(change.state.document, Some(json!({"schema_version": 1, "revision": 5})));
        assert_eq!(change.state.switches, old.switches);
        assert_eq!(change.keys, ["provider/anthropic", keys::DOCUMENT]);
        assert_eq!(apply(&now, 5, rollback(9), none).expect_err("unknown").status, 404);
    }

    #[test]
    fn a_rollback_takes_what_was_written_by_hand_along() {
        let state = State {
            document: Some(json!({"schema_version": 1, "revision": 1})),
            switches: BTreeMap::new(),
        };
        let broken = vec![keys::DOCUMENT.to_owned(), "provider/openai".to_owned()];
        let command = Command::Rollback {
            to: 1,
            by_hand: broken.clone(),
        };
        let change = apply(&state, 2, command, |_| Some(state.clone())).expect("it exists");
        assert_eq!(change.keys, broken, "also where the state itself is the same");
        let command = Command::Rollback { to: 1, by_hand: broken };
        let change = apply(&State::default(), 2, command, |_| Some(state.clone())).expect("it exists");
        assert_eq!(change.keys, [keys::DOCUMENT, "provider/openai"], "each once");
    }

    #[test]
    fn there_are_as_many_switches_as_are_read_and_those_that_are_there_can_be_flipped() {
        let state = State {
            switches: (0..keys::MAX_SWITCHES).map(|n| (format!("p{n}"), off())).collect(),
            ..State::default()
        };
        let flip = |provider: &str| {
            let command = Command::Switch {
                provider: provider.to_owned(),
                switch: off(),
            };
            apply(&state, 1, command, none).map(|change| change.state.switches.len())
        };
        assert_eq!(flip("p7"), Ok(keys::MAX_SWITCHES));
        assert_eq!(flip("another").expect_err("one too many").status, 422);
    }

    #[test]
    fn a_misspelled_provider_is_not_switched_off() {
        for (provider, enabled, refused) in [
            ("Anthropic", false, true),
            ("antropic", false, true),
            ("antropic", true, false),
            ("anthropic", false, false),
            ("vllm", false, false),
        ] {
            let command = Command::Switch {
                provider: provider.to_owned(),
                switch: ProviderSwitch { enabled, ..off() },
            };
            let result = apply(&State::default(), 1, command, none);
            assert_eq!(result.is_err(), refused, "{provider}");
            if let Err(problem) = result {
                assert!(problem.detail.contains("did you mean `anthropic`?"), "{problem:?}");
            }
        }
    }

    #[test]
    fn a_providers_name_is_plain() {
        for provider in ["", "a/b", "a b", "ä", &"x".repeat(65)] {
            let command = Command::Switch {
                provider: provider.to_owned(),
                switch: off(),
            };
            assert_eq!(
                apply(&State::default(), 1, command, none).expect_err(provider).status,
                422
            );
        }
    }
}

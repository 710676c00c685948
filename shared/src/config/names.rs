//! Names of providers and reviewers in a document, held against those that there are.
//!
//! A misspelled name has no effect, and its author believes that it has. A new document is refused for one; a stored one, which an
//! older version or a person by hand has written, is corrected as far as the meaning is certain, and every review says so.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    CapabilityOverrides, ConfigDocument, ConfigFault, Limits, ModelPreferences, ModelPrice, ModelTier, ProviderSwitch,
    ReviewerSettings, fault::escape, known_providers,
};
use crate::{
    model::ModelId,
    nearest::{Spelling, nearest, spelling},
    reviewer::ReviewerName,
};

/// The provider that the settings of an endpoint without a name make.
const COMPATIBLE: &str = "compatible";

/// Returns the providers that need no document.
fn built_in_providers() -> BTreeSet<String> {
    let mut built_in = known_providers(&ConfigDocument::default());
    built_in.insert(COMPATIBLE.to_owned());
    built_in
}

/// Returns the providers of models: the built-in ones, and those that a document names, for all projects or for some. The misspelled
/// name of a built-in one is none of them, even if models have it.
pub fn used_providers(document: &ConfigDocument) -> BTreeSet<String> {
    let built_in = built_in_providers();
    let mut used = built_in.clone();
    for part in parts(document) {
        let named = part.models.into_iter().filter_map(|(_, model)| provider_of(model));
        used.extend(
            named
                .filter(|name| misspelled(name, &built_in).is_none())
                .map(str::to_owned),
        );
    }
    used
}

fn provider_of(model: &str) -> Option<&str> {
    model.split_once('/').map(|(provider, _)| provider)
}

/// Returns the built-in provider that a misspelled name means.
fn misspelled<'a>(name: &str, built_in: &'a BTreeSet<String>) -> Option<&'a str> {
    match provider_spelling(name, built_in) {
        Spelling::Known(near) | Spelling::Mistake(near) if near != name => Some(near),
        _ => None,
    }
}

/// The spelling of a provider's name.
pub fn provider_spelling<'a>(name: &str, used: &'a BTreeSet<String>) -> Spelling<'a> {
    spelling(name, used.iter().map(String::as_str))
}

fn reviewer_spelling(name: &str) -> Spelling<'static> {
    spelling(
        name,
        ReviewerName::STANDING.into_iter().chain([ReviewerName::COORDINATOR]),
    )
}

/// A part of a document with names: the whole, or an entry for projects.
struct Part<'d> {
    pointer: String,
    providers: Vec<&'d str>,
    reviewers: Vec<(&'d str, Option<bool>)>,
    /// Models, with the places of their names in the part.
    models: Vec<(String, &'d str)>,
}

fn parts(document: &ConfigDocument) -> Vec<Part<'_>> {
    let whole = Part {
        pointer: String::new(),
        providers: document.providers.keys().map(String::as_str).collect(),
        reviewers: reviewer_switches(&document.reviewers),
        models: models(
            &document.models,
            &document.reviewers,
            &document.failback,
            &document.capabilities,
            &document.prices,
        ),
    };
    let entries = document.projects.iter().enumerate();
    let entries = entries.map(|(index, entry)| Part {
        pointer: format!("/projects/{index}"),
        providers: entry.providers.keys().map(String::as_str).collect(),
        reviewers: reviewer_switches(&entry.reviewers),
        models: models(
            &entry.models,
            &entry.reviewers,
            &entry.failback,
            &entry.capabilities,
            &entry.prices,
        ),
    });
    [whole].into_iter().chain(entries).collect()
}

fn reviewer_switches(reviewers: &BTreeMap<String, ReviewerSettings>) -> Vec<(&str, Option<bool>)> {
    let switches = reviewers.iter();
    switches
        .map(|(name, settings)| (name.as_str(), settings.enabled))
        .collect()
}

/// Every model that a part names, with the place of its name.
fn models<'d>(
    classes: &'d ModelPreferences,
    reviewers: &'d BTreeMap<String, ReviewerSettings>,
    failback: &'d BTreeMap<String, Option<ModelId>>,
    capabilities: &'d BTreeMap<String, CapabilityOverrides>,
    prices: &'d BTreeMap<String, ModelPrice>,
) -> Vec<(String, &'d str)> {
    let mut named = Vec::new();
    let mut list = |pointer: String, models: &'d [ModelId]| {
        let numbered = models.iter().enumerate();
        named.extend(numbered.map(|(index, model)| (format!("{pointer}/{index}"), model.as_str())));
    };
    for tier in ModelTier::ALL {
        list(format!("/models/{}", tier.as_str()), classes.of(tier));
    }
    for (name, settings) in reviewers {
        list(format!("/reviewers/{}/models", escape(name)), &settings.models);
    }
    for (name, next) in failback {
        let pointer = format!("/failback/{}", escape(name));
        let models = [Some(name.as_str()), next.as_ref().map(ModelId::as_str)];
        named.extend(models.into_iter().flatten().map(|model| (pointer.clone(), model)));
    }
    let keys = |field: &str, name: &'d String| (format!("/{field}/{}", escape(name)), name.as_str());
    named.extend(capabilities.keys().map(|name| keys("capabilities", name)));
    named.extend(prices.keys().map(|name| keys("prices", name)));
    named
}

/// Returns the faults of the providers of a part's models.
fn model_faults(part: &Part<'_>) -> Vec<ConfigFault> {
    let built_in = built_in_providers();
    let models = part.models.iter();
    let faults = models.filter_map(|(pointer, model)| {
        let provider = provider_of(model)?;
        let near = misspelled(provider, &built_in)?;
        Some(ConfigFault {
            pointer: format!("{}{pointer}", part.pointer),
            detail: format!("`{model}`: `{provider}` is not a provider; did you mean `{near}`?"),
        })
    });
    faults.collect()
}

/// Faults of names that a new document must not have.
pub(super) fn faults(document: &ConfigDocument) -> Vec<ConfigFault> {
    let used = used_providers(document);
    let mut faults = Vec::new();
    for part in parts(document) {
        let fault = |list: &str, name: &str, near: &str, what: &str| ConfigFault {
            pointer: format!("{}/{list}/{}", part.pointer, escape(name)),
            detail: format!("`{name}` is not a {what}; did you mean `{near}`?"),
        };
        for name in part.providers {
            match provider_spelling(name, &used) {
                Spelling::Known(known) if known == name => {}
                Spelling::Known(near) | Spelling::Mistake(near) => {
                    faults.push(fault("providers", name, near, "provider"));
                }
                Spelling::Unknown => {}
            }
        }
        for (name, enabled) in part.reviewers {
            if name == ReviewerName::COORDINATOR && enabled == Some(false) {
                let detail = "cannot be switched off: without the coordinator nothing is judged".to_owned();
                faults.push(ConfigFault {
                    pointer: format!("{}/reviewers/{name}/enabled", part.pointer),
                    detail,
                });
            }
            if let Spelling::Mistake(near) = reviewer_spelling(name) {
                faults.push(fault("reviewers", name, near, "reviewer"));
            }
        }
    }
    faults.extend(parts(document).iter().flat_map(model_faults));
    faults
}

/// Remarks about what is valid and may still not do what its author wants: names that only a job or a project can know, and a limit
/// that counts elsewhere only.
pub fn remarks(document: &ConfigDocument) -> Vec<String> {
    let used = used_providers(document);
    let hint = |near: Option<&str>| near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    let mut remarks = Vec::new();
    for part in parts(document) {
        for name in part.providers {
            if provider_spelling(name, &used) == Spelling::Unknown {
                let near = hint(nearest(name, used.iter().map(String::as_str)));
                remarks.push(format!(
                    "{}/providers/{}: no model here is of `{name}`, so it counts only for jobs with an endpoint of this name{near}",
                    part.pointer,
                    escape(name),
                ));
            }
        }
        for (name, _) in part.reviewers {
            if reviewer_spelling(name) == Spelling::Unknown {
                let near = hint(nearest(name, ReviewerName::STANDING));
                remarks.push(format!(
                    "{}/reviewers/{}: no built-in reviewer is called so, so it counts only where `.conclave.toml` adds one{near}",
                    part.pointer,
                    escape(name),
                ));
            }
        }
    }
    let fetches = document
        .projects
        .iter()
        .map(|entry| entry.limits.fetch_seconds.is_some());
    if fetches.chain([has_fetch_limit(document)]).any(|is_set| is_set) {
        remarks.push(FETCH_LIMIT.to_owned());
    }
    remarks
}

const FETCH_LIMIT: &str =
    "limits.fetch_seconds has no effect in the document: commits are fetched before it is read; set it with --limits";

fn has_fetch_limit(document: &ConfigDocument) -> bool {
    document.limits.fetch_seconds != Limits::default().fetch_seconds
}

impl ConfigDocument {
    /// Corrects the names of a stored document, without the entries for projects, and says what it made of them. A switch counts
    /// for the provider that differs from its name in case only; of a name that is misspelled otherwise it is left out.
    pub fn correct_names(&mut self) -> Vec<String> {
        let used = used_providers(self);
        let mut said = Vec::new();
        for (name, switch) in std::mem::take(&mut self.providers) {
            match provider_spelling(&name, &used) {
                Spelling::Known(known) if known != name => {
                    said.push(format!(
                        "/providers/{}: counts for `{known}`, which is how it is spelled",
                        escape(&name)
                    ));
                    self.take_switch(known.to_owned(), switch);
                }
                Spelling::Mistake(near) => said.push(format!(
                    "/providers/{}: the switch is ignored: `{name}` is not a provider; did you mean `{near}`?",
                    escape(&name)
                )),
                Spelling::Known(_) | Spelling::Unknown => self.take_switch(name, switch),
            }
        }
        for name in self.reviewers.keys() {
            if let Spelling::Mistake(near) = reviewer_spelling(name) {
                said.push(format!(
                    "/reviewers/{}: `{name}` is not a built-in reviewer; did you mean `{near}`?",
                    escape(name)
                ));
            }
        }
        let misspelled = parts(self).into_iter().flat_map(|part| model_faults(&part));
        said.extend(misspelled.map(|fault| format!("{}: {}", fault.pointer, fault.detail)));
        if has_fetch_limit(self) {
            said.push(FETCH_LIMIT.to_owned());
        }
        said
    }

    /// Takes a switch; of two for one provider the one that switches it off counts.
    fn take_switch(&mut self, name: String, switch: ProviderSwitch) {
        let known = self.providers.entry(name).or_insert_with(|| switch.clone());
        if known.enabled {
            *known = switch;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{check, read};

    const MISSPELLED: &str = r#"{"schema_version":1,
        "providers":{"Anthropic":{"enabled":false},"openai":{"enabled":true},"antropic":{"enabled":false},"vllm":{"enabled":false},
            "qwen":{"enabled":false}},
        "models":{"light":["vllm/qwen"]},
        "reviewers":{"secruity":{"enabled":false},"accessibility":{"timeout_seconds":9},"coordinator":{"enabled":false}},
        "projects":[{"paths":["a/**"],"providers":{"OpenAI":{"enabled":false}},"reviewers":{"test":{"enabled":false}}}]}"#;

    fn value() -> serde_json::Value {
        serde_json::from_str(MISSPELLED).expect("JSON")
    }

    #[test]
    fn a_new_document_is_refused_for_misspelled_names_and_others_are_remarks() {
        let faults = check(&value()).expect_err("misspelled");
        let pointers: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
        assert_eq!(
            pointers,
            [
                "/providers/Anthropic",
                "/providers/antropic",
                "/reviewers/coordinator/enabled",
                "/reviewers/secruity",
                "/projects/0/providers/OpenAI",
                "/projects/0/reviewers/test",
            ]
        );
        assert!(faults[1].detail.ends_with("did you mean `anthropic`?"), "{faults:?}");
        let remarks = remarks(&read(&value()).expect("it can be used"));
        assert_eq!(remarks.len(), 2, "{remarks:?}");
        assert!(
            remarks[0].starts_with("/providers/qwen: no model here is of `qwen`"),
            "{remarks:?}"
        );
        assert!(remarks[1].starts_with("/reviewers/accessibility: "), "{remarks:?}");
    }

    #[test]
    fn a_stored_document_is_corrected_where_the_meaning_is_certain() {
        let mut document = read(&value()).expect("it can be used");
        let said = document.correct_names();
        assert_eq!(said.len(), 3, "{said:?}");
        let names: Vec<&str> = document.providers.keys().map(String::as_str).collect();
        assert_eq!(names, ["anthropic", "openai", "qwen", "vllm"]);
        assert!(!document.providers["anthropic"].enabled && document.providers["openai"].enabled);
        assert_eq!(document.correct_names().len(), 1, "only the reviewer is left to say");
    }

    #[test]
    fn models_of_a_misspelled_provider_are_refused_and_lend_its_name_no_weight() {
        let value = serde_json::json!({"schema_version": 1,
            "models": {"top": ["antropic/claude-opus-4-7"], "light": ["vllm/qwen"]},
            "reviewers": {"security": {"models": ["OpenAI/gpt-5"]}},
            "failback": {"opnai/gpt-5": "antropic/claude-opus-4-7"},
            "prices": {"anthropc/x": {"as_of": "2026-11-01", "input": 1.0, "output": 1.0}},
            "projects": [{"paths": ["a/**"], "models": {"standard": ["anthropci/y", "vllm/z"]}}]});
        let pointers: Vec<String> = check(&value)
            .expect_err("misspelled")
            .into_iter()
            .map(|fault| fault.pointer)
            .collect();
        assert_eq!(
            pointers,
            [
                "/models/top/0",
                "/reviewers/security/models/0",
                "/failback/opnai~1gpt-5",
                "/failback/opnai~1gpt-5",
                "/prices/anthropc~1x",
                "/projects/0/models/standard/0",
            ]
        );
        let mut stored = read(&value).expect("a stored one is used");
        let used = used_providers(&stored);
        assert_eq!(provider_spelling("antropic", &used), Spelling::Mistake("anthropic"));
        assert_eq!(provider_spelling("vllm", &used), Spelling::Known("vllm"));
        let said = stored.correct_names();
        assert!(
            said.iter()
                .any(|line| line.starts_with("/models/top/0: ") && line.ends_with("did you mean `anthropic`?")),
            "{said:?}"
        );
    }

    #[test]
    fn of_two_switches_for_one_provider_the_one_that_is_off_counts() {
        for (one, other) in [(true, false), (false, true)] {
            let mut document: ConfigDocument = serde_json::from_value(serde_json::json!({"schema_version": 1,
                "providers": {"OpenAI": {"enabled": one}, "openai": {"enabled": other}}}))
            .expect("valid");
            document.correct_names();
            assert!(!document.providers["openai"].enabled && document.providers.len() == 1);
        }
    }

    #[test]
    fn a_limit_that_counts_for_the_command_line_only_is_a_remark() {
        for text in [
            r#"{"schema_version":1,"limits":{"fetch_seconds":9}}"#,
            r#"{"schema_version":1,"projects":[{"paths":["a"],"limits":{"fetch_seconds":9}}]}"#,
        ] {
            let document: ConfigDocument = serde_json::from_str(text).expect("valid");
            assert_eq!(remarks(&document), [FETCH_LIMIT], "{text}");
        }
    }
}

//! What makes a document unusable, all of it at once.

use super::{
    ConfigDocument, ConfigFault, ProjectOverride, SCHEMA_VERSION, capabilities, fallback, fault::escape, limits, prices,
};
use crate::{
    model::ModelId,
    nearest::nearest,
    project::ProjectPatterns,
    reviewer::ReviewerName,
    risk::{RiskRules, RiskTier, SecurityPaths},
};

/// Maximum bytes of a document that the Worker is sent. That of a big installation has some ten kilobytes.
pub const MAX_DOCUMENT_BYTES: usize = 256 * 1024;
/// Maximum length of a failback chain, in models.
pub const MAX_CHAIN: usize = 5;
/// Maximum number of a document's entries for projects. Every read looks at all of them.
pub const MAX_PROJECTS: usize = 100;

/// Every fault of a document; none means that it can be used.
pub fn validate(document: &ConfigDocument) -> Vec<ConfigFault> {
    let mut faults = faults_of(document);
    faults.extend(project_faults(document));
    faults
}

/// The faults of everything but the entries for projects.
pub(super) fn faults_of(document: &ConfigDocument) -> Vec<ConfigFault> {
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
    faults.extend(limits::faults(&document.limits));
    faults.extend(document.limits.breaker.faults());
    faults.extend(document.limits.budget.faults());
    faults.extend(risk_faults(document));
    faults.extend(panel_faults(document));
    faults.extend(prices::faults(&document.prices));
    faults.extend(capabilities::faults(&document.capabilities));
    faults
}

/// What is wrong with the projects of a document.
fn project_faults(document: &ConfigDocument) -> Vec<ConfigFault> {
    let mut faults = Vec::new();
    let mut fault = |pointer: String, detail: String| faults.push(ConfigFault { pointer, detail });
    if document.projects.len() > MAX_PROJECTS {
        fault(
            "/projects".to_owned(),
            format!(
                "has {} entries; at most {MAX_PROJECTS} are looked at",
                document.projects.len()
            ),
        );
        return faults;
    }
    let base = ConfigDocument {
        projects: Vec::new(),
        ..document.clone()
    };
    let known = faults_of(&base);
    for (index, entry) in document.projects.iter().enumerate() {
        let pointer = format!("/projects/{index}");
        if entry.paths.is_empty() {
            fault(
                format!("{pointer}/paths"),
                "needs at least one pattern, as in `platform/**`".to_owned(),
            );
        }
        for bad in ProjectPatterns::new(&entry.paths).err().into_iter().flatten() {
            fault(format!("{pointer}/paths/{}", bad.index), bad.to_string());
        }
        for (name, _) in entry.providers.iter().filter(|(_, switch)| switch.enabled) {
            fault(
                format!("{pointer}/providers/{}/enabled", escape(name)),
                "must be false: a project can only switch a provider off; leave it out to follow the switch".to_owned(),
            );
        }
        let mut alone = base.clone();
        entry.lay_over(&mut alone);
        let new = faults_of(&alone).into_iter().filter(|fault| !known.contains(fault));
        for found in new {
            fault(format!("{pointer}{}", place(entry, &found.pointer)), found.detail);
        }
    }
    faults
}

/// Where in an entry a fault is that shows in the whole: what the entry does not have itself is a fault of the part that
/// it does have.
fn place(entry: &ProjectOverride, pointer: &str) -> String {
    let entry = serde_json::to_value(entry).unwrap_or_default();
    let mut pointer = pointer;
    while entry.pointer(pointer).is_none() {
        pointer = pointer.rsplit_once('/').map_or("", |(before, _)| before);
    }
    pointer.to_owned()
}

fn risk_faults(document: &ConfigDocument) -> Vec<ConfigFault> {
    let mut faults = Vec::new();
    if document.risk.is_default() {
        // Building the patterns costs a thousand times what the rest of the check does.
        return faults;
    }
    let mut fault = |field: &str, detail: &str| {
        faults.push(ConfigFault {
            pointer: format!("/risk/{field}"),
            detail: detail.to_owned(),
        });
    };
    let rules = RiskRules::with(&document.risk);
    if rules.trivial_lines > rules.lite_lines {
        let detail = format!("must not be more than lite_lines, which is {}", rules.lite_lines);
        fault("trivial_lines", &detail);
    }
    if rules.few_files > rules.full_files {
        let detail = format!("must not be more than full_files, which is {}", rules.full_files);
        fault("few_files", &detail);
    }
    if let Err(patterns) = SecurityPaths::new(&document.risk) {
        for pattern in patterns {
            fault(&format!("{}/{}", pattern.list, pattern.index), &pattern.detail);
        }
    }
    faults
}

fn panel_faults(document: &ConfigDocument) -> Vec<ConfigFault> {
    let mut faults = Vec::new();
    let mut fault = |pointer: String, detail: String| faults.push(ConfigFault { pointer, detail });
    for (tier, panel) in &document.panels {
        let pointer = format!("/panels/{}", escape(tier));
        if !RiskTier::ALL.iter().any(|known| known.as_str() == tier) {
            fault(
                pointer.clone(),
                format!("`{tier}` is not a tier: those are trivial, lite and full"),
            );
        }
        if panel.is_empty() {
            fault(pointer.clone(), "needs at least one reviewer".into());
        }
        for (index, name) in panel.iter().enumerate() {
            if !ReviewerName::STANDING.contains(&name.as_str()) {
                let hint = nearest(name, ReviewerName::STANDING)
                    .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                fault(
                    format!("{pointer}/{index}"),
                    format!("`{name}` is not a reviewer{hint}"),
                );
            } else if panel[..index].contains(name) {
                fault(format!("{pointer}/{index}"), format!("`{name}` is there twice"));
            }
        }
    }
    faults
}

/// The fault of the chain that begins at a model, as far as the document's own links make it: a version that brings other built-in links
/// must take no stored document out of force.
fn chain_fault(document: &ConfigDocument, start: &ModelId) -> Option<String> {
    let mut chain = vec![start.clone()];
    let mut links = 1;
    let mut current = start.clone();
    while let Some(next) = fallback(document, &current) {
        let is_built_in = |model: &ModelId| !document.failback.contains_key(model.as_str());
        if let Some(begin) = chain.iter().position(|model| *model == next) {
            let own = !chain[begin..].iter().any(is_built_in);
            return own.then(|| cycle(document, &chain[begin..]));
        }
        if !is_built_in(&current) {
            links += 1;
        }
        if links > MAX_CHAIN {
            return Some(format!("the chain is longer than {MAX_CHAIN} models"));
        }
        chain.push(next.clone());
        current = next;
    }
    None
}

/// The cycles that a document's links make together with built-in ones, each with the model at which its chain begins: a document with
/// one is not taken anew.
pub fn mixed_cycles(document: &ConfigDocument) -> Vec<ConfigFault> {
    let own = mixed_cycles_of(document);
    let of_projects = document
        .projects
        .iter()
        .take(MAX_PROJECTS)
        .enumerate()
        .flat_map(|(index, entry)| {
            let mut alone = document.clone();
            entry.lay_over(&mut alone);
            let new = mixed_cycles_of(&alone).into_iter().filter(|fault| !own.contains(fault));
            let placed = new.map(|fault| ConfigFault {
                pointer: format!("/projects/{index}{}", place(entry, &fault.pointer)),
                ..fault
            });
            placed.collect::<Vec<_>>()
        });
    let of_projects: Vec<ConfigFault> = of_projects.collect();
    own.into_iter().chain(of_projects).collect()
}

fn mixed_cycles_of(document: &ConfigDocument) -> Vec<ConfigFault> {
    let starts = document.failback.keys().filter_map(|name| name.parse::<ModelId>().ok());
    let faults = starts.filter_map(|start| {
        let mut chain = vec![start.clone()];
        while let Some(next) = fallback(document, chain.last()?) {
            if let Some(begin) = chain.iter().position(|model| *model == next) {
                let models = &chain[begin..];
                let is_built_in = |model: &ModelId| !document.failback.contains_key(model.as_str());
                return models.iter().any(is_built_in).then(|| ConfigFault {
                    pointer: format!("/failback/{}", escape(start.as_str())),
                    detail: cycle(document, models),
                });
            }
            chain.push(next);
        }
        None
    });
    faults.collect()
}

/// Names a cycle, and the built-in link in it, if there is one: its author may not know of that.
fn cycle(document: &ConfigDocument, models: &[ModelId]) -> String {
    let names: Vec<&str> = models.iter().chain(models.first()).map(ModelId::as_str).collect();
    let by_default = names.windows(2).filter_map(|pair| match pair {
        [from, to] if !document.failback.contains_key(*from) => Some(format!(
            "; {from} falls back to {to} by default: name another model for it, or null, too"
        )),
        _ => None,
    });
    format!(
        "the fallback chain is circular: {}{}",
        names.join(" → "),
        by_default.collect::<String>()
    )
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
    fn faults_of_risk_rules_and_panels_have_their_paths() {
        let document: ConfigDocument = serde_json::from_str(
            r#"{"schema_version":1,
                "risk":{"trivial_lines":200,"few_files":60,"security_paths":["ok","a[b/"],"security_paths_removed":["sesion"]},
                "panels":{"lite":["security","secrity","security"],"huge":["tests"],"full":[]}}"#,
        )
        .expect("valid JSON");
        let faults = validate(&document);
        let pointers: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
        assert_eq!(
            pointers,
            [
                "/risk/trivial_lines",
                "/risk/few_files",
                "/risk/security_paths_removed/0",
                "/risk/security_paths/1",
                "/panels/full",
                "/panels/huge",
                "/panels/lite/1",
                "/panels/lite/2",
            ]
        );
        assert!(faults[2].detail.contains("did you mean `session`?"), "{faults:?}");
        assert!(faults[6].detail.contains("did you mean `security`?"), "{faults:?}");
    }

    #[test]
    fn cycles_and_long_chains_are_refused() {
        let model = |index: usize| -> ModelId { format!("p/m{index}").parse().expect("valid") };
        let mut cycle = ConfigDocument::default();
        cycle.failback.insert("p/m0".into(), Some(model(1)));
        cycle.failback.insert("p/m1".into(), Some(model(0)));
        let faults = validate(&cycle);
        assert_eq!(faults.len(), 2);
        assert_eq!(faults[0].detail, "the fallback chain is circular: p/m0 → p/m1 → p/m0");
        let mut long = ConfigDocument::default();
        for index in 0..5 {
            long.failback.insert(format!("p/m{index}"), Some(model(index + 1)));
        }
        assert_eq!(validate(&long)[0].detail, "the chain is longer than 5 models");
        long.failback.insert("p/m4".into(), None);
        assert_eq!(validate(&long), []);
    }

    #[test]
    fn a_chain_that_goes_round_through_built_in_links_is_refused_with_its_cycle() {
        let document = |failback: serde_json::Value| -> ConfigDocument {
            serde_json::from_value(serde_json::json!({"schema_version": 1, "failback": failback})).expect("it reads")
        };
        // Built in is 4-8 to 4-7 to 4-6.
        let round = document(serde_json::json!({"anthropic/claude-opus-4-6": "anthropic/claude-opus-4-8"}));
        assert_eq!(validate(&round), [], "a stored one stays in force");
        let faults = mixed_cycles(&round);
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert_eq!(faults[0].pointer, "/failback/anthropic~1claude-opus-4-6");
        let begin = "the fallback chain is circular: anthropic/claude-opus-4-6 → anthropic/claude-opus-4-8 → anthropic/claude-opus-4-7 → \
                     anthropic/claude-opus-4-6; anthropic/claude-opus-4-8 falls back to anthropic/claude-opus-4-7 by default";
        assert!(faults[0].detail.starts_with(begin), "{faults:?}");
        // Turned round on purpose, with the built-in link taken away.
        let turned = serde_json::json!({"anthropic/claude-opus-4-6": "anthropic/claude-opus-4-8", "anthropic/claude-opus-4-7": null});
        assert_eq!(mixed_cycles(&document(turned)), []);
        // A chain that leads into a cycle is none, either; and a long one of its own goes on into the built-in one.
        let into = serde_json::json!({"openai/gpt-5.4": "anthropic/claude-opus-4-6", "anthropic/claude-opus-4-6": "anthropic/claude-opus-4-8"});
        assert_eq!(mixed_cycles(&document(into)).len(), 2);
        let long = serde_json::json!({"p/a": "p/b", "p/b": "p/c", "p/c": "anthropic/claude-opus-5-5"});
        assert_eq!(mixed_cycles(&document(long)), []);
        // One that an entry for projects makes.
        let project: ConfigDocument =
            serde_json::from_value(serde_json::json!({"schema_version": 1, "projects": [{"paths": ["a/**"],
            "failback": {"anthropic/claude-opus-4-6": "anthropic/claude-opus-4-8"}}]}))
            .expect("it reads");
        let faults = mixed_cycles(&project);
        assert_eq!(faults[0].pointer, "/projects/0/failback/anthropic~1claude-opus-4-6");
    }
}

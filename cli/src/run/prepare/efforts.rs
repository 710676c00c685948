//! Efforts of a plan's seats: their names checked, and a word where a model does not take what was set.

use conclave_engine::{
    plugin::{Owned, ProviderSpec, ProviderWire},
    repo_config::RepoConfig,
    review::Plan,
};
use conclave_shared::{
    config::{CapabilityList, ClassEfforts, ConfigDocument, EffortOverrides, ModelRoute, model_tier},
    effort::Thinking,
    model::ModelId,
    nearest::nearest,
    reviewer::ReviewerName,
};

use crate::exit::Failure;

/// Checks that each name of `--effort` is a class or a reviewer; a typing error is one before anything is paid for.
pub(crate) fn check_names(efforts: &EffortOverrides, settings: &RepoConfig) -> Result<(), Failure> {
    let own = settings.reviewers.iter().map(|own| own.name.as_str());
    let reviewers = ReviewerName::STANDING.into_iter().chain([ReviewerName::COORDINATOR]);
    let known: Vec<&str> = reviewers.chain(own).collect();
    let Some(name) = efforts.reviewers.keys().find(|name| !known.contains(&name.as_str())) else {
        return Ok(());
    };
    let names = known.iter().copied().chain(ClassEfforts::NAMES);
    let hint = match nearest(name, names.clone()) {
        Some(near) => format!("Did you mean `{near}`?"),
        None => format!("Those are {}", names.collect::<Vec<_>>().join(", ")),
    };
    Err(Failure::Settings(format!(
        "--effort {name}=…: `{name}` is neither a reviewer nor a class of models. {hint}"
    )))
}

/// The efforts that a model takes from a provider of this run.
pub(crate) fn thinking(model: &ModelId, thinking: Thinking, providers: &[Owned<ProviderSpec>]) -> Thinking {
    let provider = providers.iter().find(|owned| owned.value.name == model.provider());
    match provider.map(|owned| owned.value.wire) {
        Some(ProviderWire::OpenAiChat) => thinking.in_chat(model),
        Some(ProviderWire::Anthropic | ProviderWire::OpenAiResponses) | None => thinking,
    }
}

/// Efforts that were set, and that the first model of a seat does not take. A default that it does not take says nothing.
pub(crate) fn without_effect(plan: &Plan, config: &ConfigDocument, providers: &[Owned<ProviderSpec>]) -> Vec<String> {
    let capabilities = CapabilityList::new(&config.capabilities);
    let trivial = plan.is_trivial();
    let default = |name: &str| {
        let class = plan.classes.get(name).copied();
        ClassEfforts::default().of(class.unwrap_or_else(|| model_tier(name, trivial)), trivial)
    };
    let members = plan.members.iter();
    let seats = members
        .map(|member| (member.name.clone(), &member.route))
        .chain([(ReviewerName::coordinator(), &plan.coordinator)]);
    let mut lines: Vec<(String, String, Vec<String>)> = Vec::new();
    for (name, route) in seats {
        let Ok(route) = route else { continue };
        if route.effort == default(name.as_str()) {
            continue;
        }
        let Some(said) = shortfall(route, &capabilities, providers) else {
            continue;
        };
        let what = format!("the effort {}", route.effort);
        match lines.iter_mut().find(|(one, other, _)| *one == what && *other == said) {
            Some((_, _, names)) => names.push(name.display_name()),
            None => lines.push((what, said, vec![name.display_name()])),
        }
    }
    let lines = lines.into_iter();
    lines
        .map(|(what, said, names)| format!("{what} of {} cannot be used as it is: {said}", names.join(", ")))
        .collect()
}

fn shortfall(route: &ModelRoute, capabilities: &CapabilityList, providers: &[Owned<ProviderSpec>]) -> Option<String> {
    let model = route.first();
    let declared = capabilities.of(model).thinking;
    let said = thinking(model, declared, providers).shortfall(route.effort)?;
    Some(if declared.is_told() {
        format!("{model} has {said}")
    } else {
        format!("{model} {said}, as far as is known; `capabilities` of the configuration can say which ones it takes")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_nobody_has_is_an_error_with_the_nearest_one() {
        let check = |text: &str| check_names(&text.parse().unwrap(), &RepoConfig::default());
        for good in [
            "high",
            "top=low,trivial=none",
            "security=max,coordinator=low,codex=none",
        ] {
            assert!(check(good).is_ok(), "{good}");
        }
        for (bad, said) in [
            ("secuirty=low", "Did you mean `security`?"),
            ("standart=low", "Did you mean `standard`?"),
            ("zzz=low", "Those are security, correctness"),
        ] {
            let failure = check(bad).unwrap_err().to_string();
            assert!(failure.contains(said), "{failure}");
        }
    }
}

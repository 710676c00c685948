//! Efforts of a plan's seats: their names checked, and a word where a model does not take what was set.

use conclave_engine::{
    plugin::{Owned, ProviderSpec, ProviderWire},
    repo_config::RepoConfig,
    review::Plan,
};
use conclave_shared::{
    config::{Capabilities, CapabilityList, ClassEfforts, ConfigDocument, EffortOverrides, ModelRoute, model_tier},
    effort::{ThinkingBy, ThinkingRequest},
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

/// The capabilities of a model as far as the format of its provider has a name for them.
pub(crate) fn in_format(
    model: &ModelId,
    capabilities: Capabilities,
    providers: &[Owned<ProviderSpec>],
) -> Capabilities {
    let thinking = match wire_of(model.provider(), providers) {
        Some(ProviderWire::OpenAiChat) => capabilities.thinking.in_chat(model),
        Some(ProviderWire::OpenAiResponses) => capabilities.thinking.by_level(),
        Some(ProviderWire::Anthropic) | None => capabilities.thinking,
    };
    Capabilities {
        thinking,
        ..capabilities
    }
}

fn wire_of(provider: &str, providers: &[Owned<ProviderSpec>]) -> Option<ProviderWire> {
    let mut known = providers.iter().map(|owned| &owned.value);
    known.find(|spec| spec.name == provider).map(|spec| spec.wire)
}

/// Warnings about efforts that were set, or declared, and have no effect.
pub(crate) fn warnings(plan: &Plan, config: &ConfigDocument, providers: &[Owned<ProviderSpec>]) -> Vec<String> {
    let mut warnings = without_effect(plan, config, providers);
    warnings.extend(nameless_budgets(config, providers));
    warnings
}

/// Budgets of thinking that were declared for models whose providers are asked in a format that has none.
fn nameless_budgets(config: &ConfigDocument, providers: &[Owned<ProviderSpec>]) -> Vec<String> {
    let declared = config.capabilities.iter().filter(|(_, declared)| {
        declared
            .thinking
            .is_some_and(|thinking| thinking.by == ThinkingBy::Budget)
    });
    let lines = declared.filter_map(|(name, _)| {
        let (provider, _) = name.split_once('/')?;
        let format = match wire_of(provider, providers)? {
            ProviderWire::Anthropic => return None,
            ProviderWire::OpenAiChat => "Chat Completions",
            ProviderWire::OpenAiResponses => "Responses",
        };
        Some(format!(
            "the capabilities of {name} have no effort: `by = \"budget\"` is a setting of Anthropic's format, and {provider} is asked in \
             {format}. Write `by = \"effort\"` with the levels that the model takes, as in `levels = [\"low\", \"high\"]`"
        ))
    });
    lines.collect()
}

/// Efforts that were set, and that the first model of a seat does not take. A default that it does not take says nothing.
fn without_effect(plan: &Plan, config: &ConfigDocument, providers: &[Owned<ProviderSpec>]) -> Vec<String> {
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
    let declared = capabilities.of(model);
    let request = in_format(model, declared, providers).request(route.effort);
    let said = request.shortfall(route.effort)?;
    Some(match (request, declared.thinking.is_told()) {
        (ThinkingRequest::Untold, true) => format!("{model} {said} in the format of its provider"),
        (ThinkingRequest::Untold, false) => {
            format!(
                "{model} {said}, as far as is known; `capabilities` of the configuration can say which ones it takes"
            )
        }
        _ => format!("{model} has {said}"),
    })
}

#[cfg(test)]
mod tests {
    use conclave_shared::effort::Effort;

    use super::*;

    /// A provider that is asked in this format.
    fn provider(wire: ProviderWire) -> [Owned<ProviderSpec>; 1] {
        let value = ProviderSpec {
            name: "compatible".to_owned(),
            wire,
            base_url: "http://127.0.0.1:1/v1".parse().unwrap(),
            credential: None,
            headers: Vec::new(),
        };
        [Owned { plugin: "test", value }]
    }

    #[test]
    fn a_budget_is_for_a_provider_that_has_a_name_for_it_and_fits_below_the_longest_answer() {
        let document: ConfigDocument = serde_json::from_str(
            r#"{"schema_version":1,"capabilities":{"compatible/*":{"max_output":8000,"thinking":{"by":"budget"}}}}"#,
        )
        .unwrap();
        let model: ModelId = "compatible/claude".parse().unwrap();
        let declared = CapabilityList::new(&document.capabilities).of(&model);
        let route = ModelRoute {
            models: vec![model.clone()],
            skipped: Vec::new(),
            effort: Effort::High,
        };
        for (wire, comes_to, short, warned) in [
            (
                ProviderWire::Anthropic,
                "effort high: 4000 tokens, because its answers have room for no more",
                "compatible/claude has effort high: 4000 tokens, because its answers have room for no more",
                None,
            ),
            (
                ProviderWire::OpenAiChat,
                "takes no effort",
                "compatible/claude takes no effort in the format of its provider",
                Some("Chat Completions. Write `by = \"effort\"`"),
            ),
            (
                ProviderWire::OpenAiResponses,
                "takes no effort",
                "compatible/claude takes no effort in the format of its provider",
                Some("Responses. Write `by = \"effort\"`"),
            ),
        ] {
            let providers = provider(wire);
            let request = in_format(&model, declared, &providers).request(Effort::High);
            assert_eq!(request.describe(Effort::High), comes_to);
            let list = CapabilityList::new(&document.capabilities);
            assert_eq!(shortfall(&route, &list, &providers).as_deref(), Some(short));
            let warnings = nameless_budgets(&document, &providers);
            assert_eq!(warnings.len(), usize::from(warned.is_some()), "{warnings:?}");
            for (warning, warned) in warnings.iter().zip(warned) {
                assert!(
                    warning.starts_with("the capabilities of compatible/* have no effort"),
                    "{warning}"
                );
                assert!(warning.contains(warned), "{warning}");
            }
        }
        assert_eq!(nameless_budgets(&document, &[]), [""; 0], "nobody asks such a model");
    }

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

//! The model providers: is there one, and does it take its key? Nothing is asked that costs.

use std::{collections::BTreeSet, time::Duration};

use conclave_engine::plugin::ProviderSpec;
use conclave_gateway::{HttpSettings, KeyAnswer, examine as ask};
use conclave_shared::{
    config::{ConfigDocument, ModelTier, NO_CLASSES, Preset, RouteInput, route},
    model::ModelId,
};
use secrecy::SecretString;

use super::{Check, Found, Request, network::unreachable_step};
use crate::{
    env::{
        Environment, names,
        providers::{NO_CREDENTIALS, WORKERS_AI, upstream},
    },
    run::prepare::overrides::{HOW_TO_NAME_MODELS, Overrides, check_models},
};

pub(super) async fn examine(request: &Request<'_>) -> Found {
    let env = request.env;
    // The project and the secret only make an anonymous id, which no check sends.
    let nobody = SecretString::from("doctor");
    match env.ai_gateway("doctor", Some(&nobody)) {
        Err(failure) => return Found::one(Check::of_error("ai-gateway", &failure)),
        Ok(Some(gateway)) => {
            let host = gateway.url.host_str().unwrap_or_default();
            let detail = format!(
                "Anthropic, OpenAI and Workers AI are asked through {host}; whether it takes its token only a paid call shows"
            );
            let mut found = Found::one(Check::ok("ai-gateway", detail));
            match env.compatible_provider() {
                Err(failure) => found.checks.push(Check::of_error("providers", &failure)),
                Ok(beside) => {
                    let direct = beside.filter(|spec| !gateway.holds(&spec.base_url));
                    found
                        .checks
                        .extend(ask_all(request, direct.into_iter().collect()).await);
                }
            }
            return found;
        }
        Ok(None) => {}
    }
    match env.providers() {
        Err(failure) => Found::one(Check::of_error("providers", &failure)),
        Ok(providers) if providers.is_empty() => Found::one(Check::of_error("providers", &NO_CREDENTIALS)),
        Ok(providers) => {
            let credentials = providers.iter().map(|spec| spec.name.clone()).collect();
            let mut found = Found::default();
            found.checks.extend(models(env, &credentials));
            found.checks.extend(ask_all(request, providers).await);
            found
        }
    }
}

/// Returns whether reviewers have a model with these providers, by the walk that a review makes; no check where they have. A document
/// of all reviews may name others, so nothing is said beside one.
fn models(env: &Environment, credentials: &BTreeSet<String>) -> Option<Check> {
    const NAME: &str = "models";
    if env.get(names::CONFIG_URL).is_some() {
        return None;
    }
    let named = env.get("CONCLAVE_MODELS").unwrap_or_default().split(',');
    let named: Result<Vec<ModelId>, _> = named
        .filter(|name| !name.is_empty())
        .map(str::parse::<ModelId>)
        .collect();
    let models = match named {
        Ok(models) => models,
        Err(error) => return Some(Check::of_error(NAME, &format!("CONCLAVE_MODELS: {error}"))),
    };
    if let Err(failure) = check_models(&models, &ConfigDocument::default(), credentials) {
        return Some(Check::of_error(NAME, &failure));
    }
    let overrides = Overrides {
        models,
        ..Overrides::default()
    };
    let input = RouteInput {
        document: &overrides.effective(&ConfigDocument::default()),
        preset: Preset::default(),
        credentials,
        trivial: false,
        classes: &NO_CLASSES,
    };
    // All who have to review have models of one class.
    let none = route("generalist", input).err()?;
    Some(Check::failure(NAME, none.to_string()).next(HOW_TO_NAME_MODELS))
}

/// Asks all of them at once.
async fn ask_all(request: &Request<'_>, providers: Vec<ProviderSpec>) -> Vec<Check> {
    let env = request.env;
    let http = HttpSettings {
        extra_ca_file: env.get(names::CA_FILE).map(Into::into),
        ..HttpSettings::default()
    };
    let mut running = tokio::task::JoinSet::new();
    for (place, provider) in providers.into_iter().enumerate() {
        let (http, limit) = (http.clone(), request.limit);
        running.spawn(async move { (place, provider_check(&provider, &http, limit).await) });
    }
    let mut checks = Vec::new();
    while let Some(ended) = running.join_next().await {
        checks.extend(ended.ok());
    }
    checks.sort_by_key(|(place, _)| *place);
    checks.into_iter().map(|(_, check)| check).collect()
}

async fn provider_check(provider: &ProviderSpec, http: &HttpSettings, limit: Duration) -> Check {
    let name = format!("provider {}", provider.name);
    let host = provider.base_url.host_str().unwrap_or_default();
    // Workers AI has its list beside the part that is like OpenAI's.
    let below = if provider.name == WORKERS_AI {
        "../models/search?per_page=100"
    } else {
        "models"
    };
    match ask(&upstream(provider), below, http, limit).await {
        Err(error) => Check::of_error(&name, &error),
        Ok(KeyAnswer::Taken(models)) => taken(&name, provider, &models),
        Ok(KeyAnswer::Refused(status, words)) if provider.credential.is_none() => {
            Check::failure(&name, format!("{host} wants a key ({status}: {words})"))
                .next(format!("set {}", names::COMPATIBLE_API_KEY))
        }
        Ok(KeyAnswer::Refused(status, words)) => {
            Check::failure(&name, format!("{host} refuses the key ({status}: {words})"))
                .next("correct the key, or make a new one at the provider")
        }
        Ok(KeyAnswer::Unknown(status @ 300..=399)) => Check::warning(
            &name,
            format!("{host} answers with a redirect ({status}) when asked for its models, and a review follows none"),
        )
        .next("see that the provider's address is that of the API"),
        Ok(KeyAnswer::Unknown(status)) => Check::warning(
            &name,
            format!(
                "{host} answers {status} when asked for its models: only a paid call shows whether it takes the key"
            ),
        )
        .next("see the provider's address, unless it is known to have no list of models"),
        Ok(KeyAnswer::NoProvider(status)) => {
            let detail =
                format!("{host} answers {status}, and sends something else than a list of models, such as a page");
            Check::failure(&name, detail)
                .next("correct the provider's address, or see what answers in its place (a proxy, a login)")
        }
        Ok(KeyAnswer::Silent(problem)) => {
            Check::failure(&name, format!("{host} cannot be reached: {problem}")).next(unreachable_step(&problem))
        }
    }
}

/// A key may be good and the models not for it.
fn taken(name: &str, provider: &ProviderSpec, models: &[String]) -> Check {
    let host = provider.base_url.host_str().unwrap_or_default();
    let wanted: BTreeSet<String> = ModelTier::ALL
        .into_iter()
        .flat_map(|tier| Preset::default().models(tier))
        .filter(|model| model.provider() == provider.name)
        .map(|model| model.model().to_owned())
        .collect();
    let missing: Vec<&str> = wanted
        .iter()
        .filter(|model| !models.contains(model))
        .map(String::as_str)
        .collect();
    if models.is_empty() || missing.is_empty() {
        return Check::ok(name, format!("{host} takes the key"));
    }
    let detail = format!("{host} takes the key, but does not list {}", missing.join(", "));
    if missing.len() < wanted.len() {
        Check::warning(name, detail).next("nothing, if others may stand in; else ask the provider for access")
    } else {
        Check::warning(name, detail).next("name models that it has with --models, or in the configuration")
    }
}

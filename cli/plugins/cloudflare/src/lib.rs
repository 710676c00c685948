//! The `cloudflare` plugin: AI Gateway as the address of every provider, the classes of models, and who stands in for whom.
//!
//! AI Gateway holds the providers' keys (stored keys or unified billing), so none is needed here: every provider that it
//! fronts can be used. What a call carries is the gateway's own token and an anonymous id of the installation; what a
//! provider would want for itself (`authorization`, `x-api-key`) or what Cloudflare Access uses is never sent.

mod user;

pub use user::anonymous_user;

use std::collections::BTreeSet;

use conclave_engine::plugin::{ConfigureContext, PluginError, ProviderSpec, ProviderWire, ReviewPlugin};
use conclave_shared::{
    config::{ModelTier, Preset, default_failback},
    model::ModelId,
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use url::Url;
use uuid::Uuid;

/// Where Cloudflare's own AI Gateway is.
const ADDRESS: &str = "https://gateway.ai.cloudflare.com/v1";

/// The providers behind the gateway: our name, how it is spoken to, and the gateway's path up to the endpoint. For
/// `openai` the gateway has no `/v1` of its own.
const PROVIDERS: [(&str, ProviderWire, &str); 3] = [
    ("anthropic", ProviderWire::Anthropic, "anthropic/v1"),
    ("openai", ProviderWire::OpenAiResponses, "openai"),
    ("cloudflare-workers-ai", ProviderWire::OpenAiChat, "workers-ai/v1"),
];

/// An AI Gateway, and as whom it is used.
#[derive(Debug, Clone)]
pub struct AiGateway {
    /// The address up to the gateway's name; see [`gateway_url`].
    pub url: Url,
    /// A token with the permission to run the gateway.
    pub token: SecretString,
    /// Who asks; see [`anonymous_user`].
    pub user: Uuid,
}

/// Not an account or not a gateway's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` cannot be part of the address of an AI Gateway: only letters, digits, `-` and `_` can")]
pub struct InvalidName(String);

/// The address of an account's gateway at Cloudflare.
pub fn gateway_url(account: &str, gateway: &str) -> Result<Url, InvalidName> {
    for name in [account, gateway] {
        let valid = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
        if name.is_empty() || !name.chars().all(valid) {
            return Err(InvalidName(name.to_owned()));
        }
    }
    format!("{ADDRESS}/{account}/{gateway}")
        .parse()
        .map_err(|_| InvalidName(gateway.to_owned()))
}

impl AiGateway {
    fn provider(&self, name: &str, wire: ProviderWire, path: &str) -> Result<ProviderSpec, PluginError> {
        let address = format!("{}/{path}", self.url.as_str().trim_end_matches('/'));
        let base_url = address
            .parse()
            .map_err(|error| PluginError(format!("the AI Gateway's address {address} cannot be used: {error}")))?;
        let metadata = json!({"userId": self.user});
        Ok(ProviderSpec {
            name: name.to_owned(),
            wire,
            base_url,
            credential: None,
            headers: vec![
                (
                    "cf-aig-authorization".to_owned(),
                    format!("Bearer {}", self.token.expose_secret()).into(),
                ),
                ("cf-aig-metadata".to_owned(), metadata.to_string().into()),
            ],
        })
    }
}

/// The plugin; without a gateway it contributes nothing.
#[derive(Debug)]
pub struct CloudflarePlugin {
    gateway: Option<AiGateway>,
}

impl CloudflarePlugin {
    /// A plugin for this gateway, or for none.
    pub fn new(gateway: Option<AiGateway>) -> Self {
        Self { gateway }
    }
}

impl ReviewPlugin for CloudflarePlugin {
    fn name(&self) -> &'static str {
        "cloudflare"
    }

    fn configure(&self, context: &mut ConfigureContext<'_>) -> Result<(), PluginError> {
        let Some(gateway) = &self.gateway else { return Ok(()) };
        for (name, wire, path) in PROVIDERS {
            context.add_provider(gateway.provider(name, wire, path)?);
        }
        // Said in full, though they are the built-in ones: behind the gateway every provider of a list can be reached, and
        // whoever amends them later sees what there is to amend.
        let mut chained = BTreeSet::new();
        for tier in ModelTier::ALL {
            let models = Preset::default().models(tier);
            for model in &models {
                chain(context, model.clone(), &mut chained);
            }
            context.prefer_models(tier, models);
        }
        Ok(())
    }
}

/// Says who stands in for a model, down to the end of its family.
fn chain(context: &mut ConfigureContext<'_>, start: ModelId, said: &mut BTreeSet<ModelId>) {
    let mut model = Some(start);
    while let Some(current) = model {
        if !said.insert(current.clone()) {
            return;
        }
        let next = default_failback(&current);
        context.stand_in(current, next.clone());
        model = next;
    }
}

#[cfg(test)]
mod tests;

//! The `cloudflare` plugin: AI Gateway as the address of every provider that it fronts.
//!
//! It contributes no models: preset, flags, and configuration decide which are used and in which order, with the gateway as
//! without it.
//!
//! AI Gateway holds the providers' keys (stored keys or unified billing), so none is needed here: every provider that it
//! fronts can be used. What a call carries is the gateway's own token and an anonymous id of the installation; what a
//! provider would want for itself (`authorization`, `x-api-key`) or what Cloudflare Access uses is never sent.

mod user;

pub use user::anonymous_user;

use conclave_engine::plugin::{ConfigureContext, PluginError, ProviderSpec, ProviderWire, ReviewPlugin};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use url::Url;
use uuid::Uuid;

/// Where Cloudflare's own AI Gateway is.
const ADDRESS: &str = "https://gateway.ai.cloudflare.com/v1";

/// The provider that can be asked in two formats.
const OPENAI: &str = "openai";

/// The providers behind the gateway: our name, how it is spoken to, and the gateway's path up to the endpoint. For
/// `openai` the gateway has no `/v1` of its own.
const PROVIDERS: [(&str, ProviderWire, &str); 3] = [
    ("anthropic", ProviderWire::Anthropic, "anthropic/v1"),
    (OPENAI, ProviderWire::OpenAiResponses, "openai"),
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
    /// The format in which `openai` is asked; the gateway has both of OpenAI's.
    pub openai: ProviderWire,
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
        Ok(ProviderSpec {
            name: name.to_owned(),
            wire,
            base_url,
            credential: None,
            headers: self.headers(),
        })
    }

    /// The headers of a call through the gateway.
    fn headers(&self) -> Vec<(String, SecretString)> {
        let metadata = json!({"userId": self.user});
        vec![
            (
                "cf-aig-authorization".to_owned(),
                format!("Bearer {}", self.token.expose_secret()).into(),
            ),
            ("cf-aig-metadata".to_owned(), metadata.to_string().into()),
        ]
    }

    /// Returns whether an address is one of this gateway's.
    pub fn holds(&self, address: &Url) -> bool {
        let below = |path: &str| path.trim_end_matches('/').to_owned() + "/";
        address.origin() == self.url.origin() && below(address.path()).starts_with(&below(self.url.path()))
    }

    /// Asks a provider as the gateway wants it, if its address is one of the gateway's: with the gateway's own token, and
    /// without the provider's key, which the gateway has.
    #[must_use]
    pub fn front(&self, spec: ProviderSpec) -> ProviderSpec {
        if !self.holds(&spec.base_url) {
            return spec;
        }
        ProviderSpec {
            credential: None,
            headers: self.headers(),
            ..spec
        }
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
            let wire = if name == OPENAI { gateway.openai } else { wire };
            context.add_provider(gateway.provider(name, wire, path)?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

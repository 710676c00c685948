//! Cloudflare's AI Gateway in front of the provider: its addresses, its headers, and the keys that it holds.
//!
//! As strict as the contract with it: what a client must not send is refused, not ignored.

use crate::model::Format;
use crate::wire::{Refusal, header};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};

/// An AI Gateway that the provider sits behind.
#[derive(Debug, Clone)]
pub struct AiGateway {
    account: String,
    gateway: String,
    token: String,
}

/// The paths behind a gateway's name.
const ENDPOINTS: [(&str, Format); 5] = [
    ("anthropic/v1/messages", Format::Messages),
    ("openai/chat/completions", Format::ChatCompletions),
    ("openai/responses", Format::Responses),
    ("compat/chat/completions", Format::ChatCompletions),
    ("workers-ai/v1/chat/completions", Format::ChatCompletions),
];

/// What belongs to somebody else: to the provider, to Cloudflare Access, to the agent runtime.
const FORBIDDEN: [&str; 9] = [
    "authorization",
    "x-api-key",
    "x-goog-api-key",
    "cf-access-token",
    "cf-access-client-id",
    "cf-access-client-secret",
    "cookie",
    "x-session-id",
    "x-session-affinity",
];

impl AiGateway {
    /// A gateway of this account and name that asks for this token.
    pub fn new(account: &str, gateway: &str, token: &str) -> Self {
        Self {
            account: account.to_owned(),
            gateway: gateway.to_owned(),
            token: token.to_owned(),
        }
    }

    /// The format of a request that may pass.
    pub(crate) fn admit(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
        host: &str,
    ) -> Result<Format, Refusal> {
        let refuse = |status: u16, message: String| Err(Refusal { status, message });
        let prefix = format!("/v1/{}/{}/", self.account, self.gateway);
        let endpoint = path.strip_prefix(&prefix).filter(|_| method == Method::POST);
        let format = ENDPOINTS.iter().find(|(known, _)| endpoint == Some(known));
        let Some((_, format)) = format else {
            return refuse(404, format!("AI Gateway has no {method} {path}"));
        };
        if header(headers, "cf-aig-authorization") != Some(&format!("Bearer {}", self.token)) {
            return refuse(401, "cf-aig-authorization is missing or wrong".to_owned());
        }
        if let Some(name) = FORBIDDEN.iter().find(|name| headers.contains_key(**name)) {
            return refuse(400, format!("{name} must not be sent to AI Gateway"));
        }
        if header(headers, "host") != Some(host) {
            return refuse(400, format!("the host is {:?}, not {host}", headers.get("host")));
        }
        if header(headers, "cf-aig-metadata").and_then(user_of).is_none() {
            let found = headers.get("cf-aig-metadata");
            return refuse(
                400,
                format!("cf-aig-metadata is {found:?}, not a userId that is a UUID"),
            );
        }
        Ok(*format)
    }
}

/// Puts the provider's own key on, as a gateway with stored keys does.
pub(crate) fn with_stored_key(headers: &HeaderMap, format: Format, key: Option<&str>) -> HeaderMap {
    let mut headers = headers.clone();
    let key = key.unwrap_or("stored");
    let (name, value) = match format {
        Format::Messages => ("x-api-key", key.to_owned()),
        Format::ChatCompletions | Format::Responses => ("authorization", format!("Bearer {key}")),
    };
    if let Ok(value) = HeaderValue::from_str(&value) {
        headers.insert(HeaderName::from_static(name), value);
    }
    headers
}

/// The only entry that the metadata may have.
fn user_of(metadata: &str) -> Option<String> {
    let metadata: serde_json::Map<String, serde_json::Value> = serde_json::from_str(metadata).ok()?;
    let user = metadata.get("userId")?.as_str()?;
    let groups: Vec<usize> = user.split('-').map(str::len).collect();
    let digits = user
        .chars()
        .all(|character| character == '-' || character.is_ascii_hexdigit());
    (metadata.len() == 1 && digits && groups == [8, 4, 4, 4, 12]).then(|| user.to_owned())
}

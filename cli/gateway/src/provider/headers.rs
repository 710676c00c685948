//! The headers that a provider gets.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use secrecy::ExposeSecret;

use super::Upstream;
use crate::{errors::ConfigError, wire::Wire};

/// The only headers of a request that a provider gets to see. An allow-list, so that no header that a future runtime
/// adds (session ids, keys, cookies) leaves the machine by default.
const FORWARDED: [HeaderName; 4] = [
    header::ACCEPT,
    header::CONTENT_TYPE,
    HeaderName::from_static("anthropic-version"),
    HeaderName::from_static("anthropic-beta"),
];

/// The headers that a call to this provider always carries.
pub(crate) fn provider_headers(provider: &Upstream) -> Result<HeaderMap, ConfigError> {
    let mut headers = HeaderMap::new();
    if let Some(credential) = &provider.credential {
        let (name, value) = match provider.wire {
            Wire::Anthropic => (
                HeaderName::from_static("x-api-key"),
                credential.expose_secret().to_owned(),
            ),
            Wire::OpenAiChat | Wire::OpenAiResponses => {
                (header::AUTHORIZATION, format!("Bearer {}", credential.expose_secret()))
            }
        };
        headers.insert(name, secret_value(&provider.name, &value)?);
    }
    for (name, value) in &provider.extra_headers {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| ConfigError::Header(name.clone()))?;
        headers.insert(name, secret_value(&provider.name, value.expose_secret())?);
    }
    // The stream has to be read on its way through.
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    Ok(headers)
}

fn secret_value(provider: &str, text: &str) -> Result<HeaderValue, ConfigError> {
    let mut value = HeaderValue::from_str(text.trim()).map_err(|_| ConfigError::Credential(provider.to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

/// The headers of a request that are forwarded.
pub(crate) fn forwarded(headers: &HeaderMap) -> HeaderMap {
    FORWARDED
        .iter()
        .filter_map(|name| Some((name.clone(), headers.get(name)?.clone())))
        .collect()
}

/// The headers of a call that comes from this process.
pub(crate) fn client_headers(wire: Wire) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if wire == Wire::Anthropic {
        let version = HeaderValue::from_static("2023-06-01");
        headers.insert(HeaderName::from_static("anthropic-version"), version);
    }
    headers
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::*;

    fn upstream(name: &str, wire: Wire, key: &str) -> Upstream {
        Upstream {
            name: name.to_owned(),
            wire,
            base_url: "https://models.example/v1".parse().expect("an address"),
            credential: Some(SecretString::from(key)),
            extra_headers: Vec::new(),
        }
    }

    #[test]
    fn only_listed_headers_go_on() {
        let all = [
            "x-session-id",
            "x-session-affinity",
            "x-parent-session-id",
            "x-api-key",
            "authorization",
            "host",
            "accept-encoding",
            "connection",
            "cookie",
            "user-agent",
            "content-length",
            "anthropic-beta",
            "anthropic-version",
            "content-type",
        ];
        let headers = all
            .iter()
            .map(|name| (HeaderName::from_static(name), HeaderValue::from_static("x")))
            .collect();
        let mut names: Vec<String> = forwarded(&headers).keys().map(ToString::to_string).collect();
        names.sort();
        assert_eq!(names, ["anthropic-beta", "anthropic-version", "content-type"]);
    }

    #[test]
    fn a_key_of_two_lines_is_called_by_its_provider_and_not_shown() {
        let provider = upstream("anthropic", Wire::Anthropic, "first\nsecond");
        let error = provider_headers(&provider).expect_err("two lines");
        let error = error.to_string();
        assert!(error.contains("`anthropic`") && !error.contains("second"), "{error}");
    }

    #[test]
    fn secrets_are_marked() {
        let extra = ("cf-aig-authorization".to_owned(), SecretString::from("Bearer hidden"));
        let provider = Upstream {
            extra_headers: vec![extra],
            ..upstream("openai", Wire::OpenAiChat, "hidden-credential")
        };
        let headers = provider_headers(&provider).expect("valid");
        assert!(!format!("{headers:?}").contains("hidden"), "{headers:?}");
    }
}

//! Keys: the run's own at the door, the provider's on the way out.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;

use crate::{config::ConfigError, wire::Wire};

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// The only headers of a request that a provider gets to see. An allow-list, so that no header that a future runtime
/// adds (session ids, keys, cookies) leaves the machine by default.
const FORWARDED: [HeaderName; 4] = [
    header::ACCEPT,
    header::CONTENT_TYPE,
    HeaderName::from_static("anthropic-version"),
    HeaderName::from_static("anthropic-beta"),
];

/// Makes a random key for one run.
pub fn random_run_key() -> Result<SecretString, ConfigError> {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| ConfigError::Randomness(error.to_string()))?;
    Ok(SecretString::from(hex::encode(bytes)))
}

/// Whether the caller has the run's key, in either place where `OpenCode` puts it. Takes equally long however much of
/// it is right.
pub(crate) fn has_run_key(headers: &HeaderMap, run_key: &SecretString) -> bool {
    let bearer = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
    let given = headers.get(API_KEY).map(HeaderValue::as_bytes).or(bearer);
    given.is_some_and(|given| bool::from(given.ct_eq(run_key.expose_secret().as_bytes())))
}

/// The headers that a call to this provider always carries.
pub(crate) fn provider_headers(
    wire: Wire,
    credential: Option<&SecretString>,
    extra: &[(String, SecretString)],
) -> Result<HeaderMap, ConfigError> {
    let mut headers = HeaderMap::new();
    if let Some(credential) = credential {
        let (name, value) = match wire {
            Wire::Anthropic => (API_KEY, credential.expose_secret().to_owned()),
            Wire::OpenAiChat | Wire::OpenAiResponses => {
                (header::AUTHORIZATION, format!("Bearer {}", credential.expose_secret()))
            }
        };
        headers.insert(name, secret_value(&value)?);
    }
    for (name, value) in extra {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| ConfigError::Header(name.clone()))?;
        headers.insert(name, secret_value(value.expose_secret())?);
    }
    // The stream has to be read on its way through.
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    Ok(headers)
}

fn secret_value(text: &str) -> Result<HeaderValue, ConfigError> {
    let mut value = HeaderValue::from_str(text.trim()).map_err(|_| ConfigError::Credential)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_key_is_found_in_both_places() {
        let key = SecretString::from("the-key");
        let with = |name: &'static str, value: &'static str| {
            HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_static(value))])
        };
        assert!(has_run_key(&with("x-api-key", "the-key"), &key));
        assert!(has_run_key(&with("authorization", "Bearer the-key"), &key));
        for (name, value) in [
            ("x-api-key", "the-kez"),
            ("x-api-key", ""),
            ("authorization", "the-key"),
            ("authorization", "Bearer the-key-and-more"),
            ("cookie", "the-key"),
        ] {
            assert!(!has_run_key(&with(name, value), &key), "{name}: {value}");
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
    fn secrets_are_marked_and_random_keys_differ() {
        let headers = provider_headers(
            Wire::OpenAiChat,
            Some(&SecretString::from("hidden-credential")),
            &[("cf-aig-authorization".to_owned(), SecretString::from("Bearer hidden"))],
        )
        .expect("valid");
        assert!(!format!("{headers:?}").contains("hidden"), "{headers:?}");
        let keys = [
            random_run_key().expect("randomness"),
            random_run_key().expect("randomness"),
        ];
        assert_ne!(keys[0].expose_secret(), keys[1].expose_secret());
        assert_eq!(keys[0].expose_secret().len(), 64);
    }
}

//! The key of a run: made at its start, asked for at the gateway's door.

use axum::http::{HeaderMap, HeaderValue, header};
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;

use crate::errors::ConfigError;

/// Makes a random key for one run.
pub fn random_run_key() -> Result<SecretString, ConfigError> {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| ConfigError::Randomness(error.to_string()))?;
    Ok(SecretString::from(hex::encode(bytes)))
}

/// Returns whether the caller has the run's key, in either of the headers where `OpenCode` puts it. Takes equally long
/// however much of it is right.
pub(crate) fn has_run_key(headers: &HeaderMap, run_key: &SecretString) -> bool {
    let bearer = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
    let given = headers.get("x-api-key").map(HeaderValue::as_bytes).or(bearer);
    given.is_some_and(|given| bool::from(given.ct_eq(run_key.expose_secret().as_bytes())))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

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
    fn random_keys_differ() {
        let keys = [
            random_run_key().expect("randomness"),
            random_run_key().expect("randomness"),
        ];
        assert_ne!(keys[0].expose_secret(), keys[1].expose_secret());
        assert_eq!(keys[0].expose_secret().len(), 64);
    }
}

//! JSON Web Tokens of services that publish their keys: who has signed one. What has to be true of it besides is decided
//! in `shared`.

mod keys;
mod signature;

use conclave_shared::oidc::{OidcError, UnverifiedToken};
use worker::Url;

use crate::Outcome;

/// The token, once its signature fits a key that is published at `keys`. Nothing else of it is believed yet.
pub async fn signed(unverified: UnverifiedToken, keys: &Url) -> Outcome<Result<UnverifiedToken, OidcError>> {
    let Some(key) = keys::find(keys, unverified.key_id.as_deref()).await? else {
        return Ok(Err(OidcError::UnknownKey));
    };
    // Before anything of the token is believed, its project's name in an answer included.
    if !signature::fits(&key, unverified.signed.as_bytes(), &unverified.signature).await? {
        return Ok(Err(OidcError::Signature));
    }
    Ok(Ok(unverified))
}

/// Returns whether keys may be read there: those that come over plain HTTP could be anybody's. A server on this machine is for
/// tests.
pub fn is_safe(url: &Url) -> bool {
    url.scheme() == "https"
        || (url.scheme() == "http" && matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_over_https_only() {
        for (url, safe) in [
            ("https://gitlab.example.com/oauth/discovery/keys", true),
            ("http://gitlab.example.com/oauth/discovery/keys", false),
            ("http://127.0.0.1:8080/keys", true),
            ("http://localhost.example.com/keys", false),
            ("ftp://127.0.0.1/keys", false),
        ] {
            assert_eq!(is_safe(&Url::parse(url).expect("a URL")), safe, "{url}");
        }
    }
}

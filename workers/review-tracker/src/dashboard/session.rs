//! Log-in sessions: a signed expiry in a cookie, and nothing stored.
//!
//! The signature's key is the token that was used to log in, so taking a token off the list ends the sessions that it
//! opened, and adding one ends none.

use conclave_shared::token;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The cookie's name.
pub(crate) const COOKIE: &str = "conclave_session";

/// How long a log-in lasts, in seconds.
pub(crate) const LIFETIME_SECONDS: i64 = 7 * 86_400;

/// The value of a new session's cookie. `token` is the one that was accepted.
pub(crate) fn open(token: &str, now_ms: i64) -> Option<String> {
    let expiry = now_ms / 1000 + LIFETIME_SECONDS;
    let signature = signer(token.trim(), expiry)?.finalize().into_bytes();
    Some(format!("{expiry}.{}", hex::encode(signature)))
}

/// Whether a `Cookie` header holds a session that one of the comma-separated tokens opened and that has not expired.
pub(crate) fn is_open(cookies: &str, tokens: &str, now_ms: i64) -> bool {
    cookies
        .split(';')
        .filter_map(|pair| pair.trim().split_once('='))
        .any(|(name, value)| name == COOKIE && is_valid(value, tokens, now_ms))
}

fn is_valid(value: &str, tokens: &str, now_ms: i64) -> bool {
    let Some((expiry, signature)) = value.split_once('.') else {
        return false;
    };
    let (Ok(expiry), Ok(signature)) = (expiry.parse::<i64>(), hex::decode(signature)) else {
        return false;
    };
    let unexpired = expiry > now_ms / 1000 && expiry <= now_ms / 1000 + LIFETIME_SECONDS;
    unexpired
        && token::entries(tokens)
            .filter_map(|(_, token)| signer(token, expiry))
            .any(|signer| signer.verify_slice(&signature).is_ok())
}

fn signer(token: &str, expiry: i64) -> Option<Hmac<Sha256>> {
    // Keys of any length are fine for HMAC, so this is never `None`.
    let mut signer = Hmac::<Sha256>::new_from_slice(token.as_bytes()).ok()?;
    signer.update(b"conclave dashboard session 1\n");
    signer.update(expiry.to_string().as_bytes());
    Some(signer)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000_000;

    fn cookie(value: &str) -> String {
        format!("theme=dark; {COOKIE}={value}")
    }

    #[test]
    fn a_session_lasts_as_long_as_its_token_and_its_time() {
        let value = open("old", NOW).expect("a cookie");
        let header = cookie(&value);
        assert!(is_open(&header, "old", NOW));
        assert!(is_open(&header, "new, ada:old", NOW + (LIFETIME_SECONDS - 1) * 1000));
        assert!(!is_open(&header, "new", NOW), "the token was taken off the list");
        assert!(!is_open(&header, "", NOW));
        assert!(!is_open(&header, "old", NOW + LIFETIME_SECONDS * 1000), "expired");
    }

    #[test]
    fn forged_cookies_open_nothing() {
        let value = open("token", NOW).expect("a cookie");
        let (expiry, signature) = value.split_once('.').expect("two parts");
        let later = expiry.parse::<i64>().expect("a number") + 1;
        for forged in [
            String::new(),
            format!("{later}.{signature}"),
            format!("{expiry}."),
            format!("{expiry}.{}", "0".repeat(64)),
            format!("{expiry}.{}", &signature[..62]),
            format!("{}.{signature}", i64::MAX),
            format!("-{expiry}.{signature}"),
            signature.to_owned(),
        ] {
            assert!(!is_open(&cookie(&forged), "token", NOW), "{forged}");
        }
        assert!(!is_open(&format!("other={value}"), "token", NOW));
        assert!(!is_open("", "token", NOW));
    }
}

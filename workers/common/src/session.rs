//! Log-in sessions: a signed expiry in a cookie, and nothing stored.
//!
//! The signature's key is the token that was used to log in, so taking a token off the list ends the sessions that it
//! opened, and adding one ends none.

use conclave_shared::token;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use url::{Host, Url};

/// The log-in sessions of one Worker.
#[derive(Debug, Clone, Copy)]
pub struct Sessions {
    /// The cookie's name.
    pub cookie: &'static str,
    /// Signed besides the expiry, so that a cookie of one Worker opens no other.
    pub purpose: &'static str,
    /// The duration of a log-in, in seconds.
    pub lifetime_seconds: i64,
}

impl Sessions {
    /// The value of a new session's cookie. `token` is the one that was accepted.
    pub fn open(&self, token: &str, now_ms: i64) -> Option<String> {
        let expiry = now_ms / 1000 + self.lifetime_seconds;
        let signature = self.signer(token.trim(), expiry)?.finalize().into_bytes();
        Some(format!("{expiry}.{}", hex::encode(signature)))
    }

    /// Returns whether a `Cookie` header holds a session that one of the comma-separated tokens opened and that has not expired.
    pub fn is_open(&self, cookies: &str, tokens: &str, now_ms: i64) -> bool {
        self.holder(cookies, tokens, now_ms).is_some()
    }

    /// Returns the name of the token that opened the session of a `Cookie` header; empty for a token without a name.
    pub fn holder<'a>(&self, cookies: &str, tokens: &'a str, now_ms: i64) -> Option<&'a str> {
        cookies
            .split(';')
            .filter_map(|pair| pair.trim().split_once('='))
            .filter(|(name, _)| *name == self.cookie)
            .find_map(|(_, value)| self.opened_by(value, tokens, now_ms))
    }

    fn opened_by<'a>(&self, value: &str, tokens: &'a str, now_ms: i64) -> Option<&'a str> {
        let (expiry, signature) = value.split_once('.')?;
        let (expiry, signature) = (expiry.parse::<i64>().ok()?, hex::decode(signature).ok()?);
        let unexpired = expiry > now_ms / 1000 && expiry <= now_ms / 1000 + self.lifetime_seconds;
        let fits = |token: &str| {
            self.signer(token, expiry)
                .is_some_and(|signer| signer.verify_slice(&signature).is_ok())
        };
        let mut entries = token::entries(tokens);
        unexpired
            .then(|| entries.find(|(_, token)| fits(token)))?
            .map(|(name, _)| name)
    }

    /// The `Set-Cookie` header of a session. Scripts never see it and other sites never send it.
    pub fn set_cookie(&self, value: &str, max_age: i64, url: &Url) -> String {
        let secure = if is_plain_loopback(url) { "" } else { "; Secure" };
        format!(
            "{}={value}; Max-Age={max_age}; Path=/; HttpOnly; SameSite=Strict{secure}",
            self.cookie
        )
    }

    fn signer(&self, token: &str, expiry: i64) -> Option<Hmac<Sha256>> {
        // Keys of any length are fine for HMAC, so this is never `None`.
        let mut signer = Hmac::<Sha256>::new_from_slice(token.as_bytes()).ok()?;
        signer.update(self.purpose.as_bytes());
        signer.update(b"\n");
        signer.update(expiry.to_string().as_bytes());
        Some(signer)
    }
}

/// Browsers refuse `Secure` cookies over plain HTTP, and a local `wrangler dev` has nothing else.
fn is_plain_loopback(url: &Url) -> bool {
    url.scheme() == "http"
        && match url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000_000;
    const LIFETIME_SECONDS: i64 = 7 * 86_400;
    const COOKIE: &str = "conclave_session";
    const SESSIONS: Sessions = Sessions {
        cookie: COOKIE,
        purpose: "conclave dashboard session 1",
        lifetime_seconds: LIFETIME_SECONDS,
    };

    fn open(token: &str, now_ms: i64) -> Option<String> {
        SESSIONS.open(token, now_ms)
    }

    fn is_open(cookies: &str, tokens: &str, now_ms: i64) -> bool {
        SESSIONS.is_open(cookies, tokens, now_ms)
    }

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

    #[test]
    fn a_session_knows_whose_token_opened_it() {
        let value = open("two", NOW).expect("a cookie");
        let header = cookie(&value);
        assert_eq!(SESSIONS.holder(&header, "ada:one, grace:two", NOW), Some("grace"));
        assert_eq!(SESSIONS.holder(&header, "two", NOW), Some(""));
        assert_eq!(SESSIONS.holder(&header, "ada:one", NOW), None);
        let other = Sessions {
            purpose: "something else",
            ..SESSIONS
        };
        assert_eq!(
            other.holder(&header, "two", NOW),
            None,
            "a cookie of one Worker opens no other"
        );
    }

    #[test]
    fn the_cookie_is_secure_everywhere_but_on_a_plain_loopback() {
        for (url, secure) in [
            ("https://tracker.example.com/login", true),
            ("https://localhost/login", true),
            ("http://tracker.example.com/login", true),
            ("http://localhost:8787/login", false),
            ("http://127.0.0.1:8787/login", false),
            ("http://[::1]:8787/login", false),
        ] {
            let cookie = SESSIONS.set_cookie("v", 60, &Url::parse(url).expect("a URL"));
            assert!(
                cookie.starts_with("conclave_session=v; Max-Age=60; Path=/; HttpOnly; SameSite=Strict"),
                "{cookie}"
            );
            assert_eq!(cookie.ends_with("; Secure"), secure, "{url}");
        }
    }
}

//! Addresses that texts may come from.

use std::fmt;

use url::{Host, Url};

/// An https address. Plain http is for this machine only, where tests and local servers are.
///
/// It prints without name, password, query and fragment, which may hold a token.
#[derive(Clone, PartialEq, Eq)]
pub struct TextUrl(Url);

/// An address that texts may not come from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an https:// address (http:// is for this machine only)")]
pub struct AddressError(String);

impl AddressError {
    /// The address, as far as it can be printed.
    pub fn place(&self) -> &str {
        &self.0
    }
}

impl TextUrl {
    /// Returns whether a text looks like an address rather than a path.
    pub fn looks_like_one(text: &str) -> bool {
        text.contains("://")
    }

    /// Reads an address.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        match text.trim().parse::<Url>() {
            Ok(url) if is_allowed(&url) => Ok(Self(url)),
            Ok(url) => Err(AddressError(shown(&url))),
            // It does not parse, so nobody can tell which part of it is secret.
            Err(_) => Err(AddressError(
                text.split_once("://")
                    .map_or_else(|| "…".to_owned(), |(scheme, _)| format!("{scheme}://…")),
            )),
        }
    }

    pub(crate) fn url(&self) -> &Url {
        &self.0
    }
}

/// Returns whether a text may come from there; asked again for every redirect.
pub(crate) fn is_allowed(url: &Url) -> bool {
    match url.scheme() {
        "https" => true,
        "http" => match url.host() {
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            Some(Host::Domain(name)) => name == "localhost",
            None => false,
        },
        _ => false,
    }
}

pub(crate) fn shown(url: &Url) -> String {
    match url.host_str() {
        Some(host) => {
            let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
            format!("{}://{host}{port}{}", url.scheme(), url.path())
        }
        None => format!("{}:…", url.scheme()),
    }
}

impl fmt::Display for TextUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&shown(&self.0))
    }
}

impl fmt::Debug for TextUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "TextUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_and_this_machine() {
        for good in [
            "https://rules.example.com/codex.toml",
            "http://127.0.0.1:8080/x",
            "http://localhost/x",
            "http://[::1]/x",
        ] {
            assert!(TextUrl::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "http://rules.example.com/x",
            "http://127.0.0.1.example.com/x",
            "file:///etc/passwd",
            "ftp://example.com/x",
            "data:text/plain,x",
            "rules.toml",
            "",
        ] {
            assert!(TextUrl::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_may_be_a_secret_is_not_printed() {
        let url =
            TextUrl::parse("https://oauth2:glpat-abc@git.example.com/a/raw/rules.toml?private_token=x#y").unwrap();
        for text in [url.to_string(), format!("{url:?}")] {
            assert!(text.contains("https://git.example.com/a/raw/rules.toml"), "{text}");
            assert!(!text.contains("glpat") && !text.contains("private_token"), "{text}");
        }
        let error = TextUrl::parse("http://user:glpat-abc@git.example.com/x?t=glpat-abc").unwrap_err();
        assert!(!error.to_string().contains("glpat"), "{error}");
        let error = TextUrl::parse("https://user:glpat-abc@:/").unwrap_err();
        assert!(!error.to_string().contains("glpat"), "{error}");
    }
}

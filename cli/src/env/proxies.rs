//! The proxies that the environment names.

use url::Url;

use super::{Environment, names};
use crate::exit::{Failure, capitalized};

/// A proxy that a variable names.
pub(crate) struct NamedProxy<'a> {
    /// The variable, in the spelling that is set.
    pub(crate) variable: String,
    /// The address as it stands, which may hold a password.
    address: &'a str,
}

impl NamedProxy<'_> {
    /// Host and port, if a client can use the address. One that cannot be used is left out by every client, without a word.
    pub(crate) fn place(&self) -> Option<(String, u16)> {
        let address = self.address;
        let url = if address.contains("://") {
            Url::parse(address)
        } else {
            Url::parse(&format!("http://{address}"))
        };
        let url = url.ok()?;
        let port = match url.scheme() {
            "http" | "https" => url.port_or_known_default()?,
            "socks4" | "socks4a" | "socks5" | "socks5h" => url.port().unwrap_or(1080),
            _ => return None,
        };
        let host = url.host_str().filter(|host| !host.is_empty())?;
        Some((host.to_owned(), port))
    }

    /// The problem of an address that no client can use.
    pub(crate) fn problem(&self) -> String {
        format!("{} is not the address of a proxy", self.variable)
    }

    /// The remedy for it.
    pub(crate) fn remedy(&self) -> String {
        format!("write it as http://HOST:PORT, or leave {} empty", self.variable)
    }
}

impl Environment {
    /// All proxies that are named, in both spellings of the variables.
    pub(crate) fn named_proxies(&self) -> Vec<NamedProxy<'_>> {
        let all = [names::HTTPS_PROXY, names::HTTP_PROXY, names::ALL_PROXY];
        let spellings = all.into_iter().flat_map(|name| [name.to_owned(), name.to_lowercase()]);
        spellings
            .filter_map(|variable| {
                let address = self.get(&variable)?;
                Some(NamedProxy { variable, address })
            })
            .collect()
    }

    /// Refuses a proxy that cannot be used: requests would go past it.
    pub(crate) fn check_proxies(&self) -> Result<(), Failure> {
        match self.named_proxies().iter().find(|proxy| proxy.place().is_none()) {
            None => Ok(()),
            Some(proxy) => Err(Failure::Settings(format!(
                "{}, and requests would go without one. {}",
                proxy.problem(),
                capitalized(&proxy.remedy())
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_that_no_client_can_use_is_refused_without_its_password() {
        for (address, place) in [
            ("http://127.0.0.1:3128", Some(("127.0.0.1", 3128))),
            ("https://me:secret@proxy.example.com", Some(("proxy.example.com", 443))),
            ("proxy.example.com:8080", Some(("proxy.example.com", 8080))),
            ("me:secret@proxy", Some(("proxy", 80))),
            ("socks5h://proxy", Some(("proxy", 1080))),
            ("nonsense://", None),
            ("nonsense://me:secret@proxy:1", None),
            ("http://", None),
            ("http://me:secret@proxy:port", None),
        ] {
            for variable in ["HTTPS_PROXY", "http_proxy", "ALL_PROXY"] {
                let env = Environment::new([(variable.into(), address.into())]);
                let found = env.named_proxies();
                assert_eq!(found.len(), 1, "{address}");
                let expected = place.map(|(host, port): (&str, u16)| (host.to_owned(), port));
                assert_eq!(found[0].place(), expected, "{address}");
                let refused = env.check_proxies().map_err(|failure| failure.to_string());
                match (place, refused) {
                    (Some(_), refused) => assert_eq!(refused, Ok(()), "{address}"),
                    (None, Ok(())) => panic!("{address} is taken"),
                    (None, Err(text)) => assert!(
                        text.starts_with(&format!("{variable} is not the address of a proxy"))
                            && text.contains("http://HOST:PORT")
                            && !text.contains("secret"),
                        "{text}"
                    ),
                }
            }
        }
        let empty = Environment::new([("HTTPS_PROXY".into(), " ".into())]);
        assert!(empty.named_proxies().is_empty());
    }
}

//! The proxies that the environment names.

use conclave_certificates::Proxy;
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
            _ => return None,
        };
        let host = url.host_str().filter(|host| !host.is_empty())?;
        Some((host.to_owned(), port))
    }

    /// The problem of an address that no client can use.
    pub(crate) fn problem(&self) -> String {
        let scheme = self.address.split_once("://").map_or("", |(scheme, _)| scheme);
        if scheme.to_ascii_lowercase().starts_with("socks") {
            format!("{} names a SOCKS proxy, which Conclave cannot use", self.variable)
        } else {
            format!("{} is not the address of a proxy", self.variable)
        }
    }

    /// The remedy for it.
    pub(crate) fn remedy(&self) -> String {
        format!(
            "write it as http://HOST:PORT, the address of an HTTP proxy, or leave {} empty",
            self.variable
        )
    }
}

impl Environment {
    /// Returns whether `NO_PROXY` names all hosts.
    pub(crate) fn goes_past_proxies(&self) -> bool {
        let named = self
            .get(names::NO_PROXY)
            .or_else(|| self.get(&names::NO_PROXY.to_lowercase()));
        named.is_some_and(|hosts| hosts.split(',').any(|host| host.trim() == "*"))
    }

    /// The proxies that may be asked, in both spellings of the variables.
    pub(crate) fn named_proxies(&self) -> Vec<NamedProxy<'_>> {
        if self.goes_past_proxies() {
            return Vec::new();
        }
        let named = |name: &str| {
            let spellings = [name.to_owned(), name.to_lowercase()].into_iter();
            let named = spellings.filter_map(|variable| {
                let address = self.get(&variable)?;
                Some(NamedProxy { variable, address })
            });
            named.collect::<Vec<_>>()
        };
        let (secure, plain) = (named(names::HTTPS_PROXY), named(names::HTTP_PROXY));
        // No address is left for this one where both others are there.
        let rest = if secure.is_empty() || plain.is_empty() {
            named(names::ALL_PROXY)
        } else {
            Vec::new()
        };
        secure.into_iter().chain(plain).chain(rest).collect()
    }

    /// The proxy that is named for this address, for a message about it.
    pub(crate) fn proxy_for(&self, address: &str) -> Option<Proxy> {
        let is_secure = Url::parse(address).is_ok_and(|url| url.scheme() == "https");
        let own = if is_secure {
            names::HTTPS_PROXY
        } else {
            names::HTTP_PROXY
        };
        let named = self.named_proxies();
        let found = [own, names::ALL_PROXY]
            .into_iter()
            .find_map(|name| named.iter().find(|proxy| proxy.variable.eq_ignore_ascii_case(name)))?;
        let (host, port) = found.place()?;
        Some(Proxy {
            variable: found.variable.clone(),
            place: format!("{host}:{port}"),
        })
    }

    /// Refuses a proxy that cannot be used: requests would go past it, or nowhere.
    pub(crate) fn check_proxies(&self) -> Result<(), Failure> {
        match self.named_proxies().iter().find(|proxy| proxy.place().is_none()) {
            None => Ok(()),
            Some(proxy) => Err(Failure::Settings(format!(
                "{}. {}",
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
        let wrong = |address: &str| {
            if address.to_lowercase().starts_with("socks") {
                "names a SOCKS proxy, which Conclave cannot use"
            } else {
                "is not the address of a proxy"
            }
        };
        for (address, place) in [
            ("http://127.0.0.1:3128", Some(("127.0.0.1", 3128))),
            ("https://me:secret@proxy.example.com", Some(("proxy.example.com", 443))),
            ("proxy.example.com:8080", Some(("proxy.example.com", 8080))),
            ("me:secret@proxy", Some(("proxy", 80))),
            ("socks5h://me:secret@proxy:1080", None),
            ("SOCKS4://proxy", None),
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
                        text.starts_with(&format!("{variable} {}", wrong(address)))
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

    #[test]
    fn the_proxy_of_an_address_goes_by_how_that_begins_and_is_named_without_its_password() {
        let env = Environment::new([
            ("https_proxy".into(), "http://me:secret@secure:1".into()),
            ("ALL_PROXY".into(), "rest:2".into()),
        ]);
        let named = |address: &str| env.proxy_for(address).map(|proxy| (proxy.variable, proxy.place));
        let is = |variable: &str, place: &str| Some((variable.to_owned(), place.to_owned()));
        assert_eq!(named("https://a.example/npm"), is("https_proxy", "secure:1"));
        assert_eq!(named("http://a.example"), is("ALL_PROXY", "rest:2"));
        assert_eq!(Environment::default().proxy_for("https://a.example"), None);
    }

    #[test]
    fn a_proxy_that_nothing_is_left_for_is_not_looked_at() {
        let named = |variables: &[(&str, &str)]| {
            let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            let env = Environment::new(variables);
            let named = env.named_proxies().into_iter().map(|proxy| proxy.variable);
            named.collect::<Vec<_>>()
        };
        let (https, http) = (("https_proxy", "http://p:1"), ("HTTP_PROXY", "http://p:1"));
        let all = ("all_proxy", "socks5://p:1");
        assert_eq!(named(&[https, http, all]), ["https_proxy", "HTTP_PROXY"]);
        assert_eq!(named(&[http, all]), ["HTTP_PROXY", "all_proxy"]);
        for (variable, hosts) in [("NO_PROXY", "*"), ("no_proxy", "localhost, *")] {
            assert_eq!(
                named(&[https, http, all, (variable, hosts)]),
                [] as [&str; 0],
                "{hosts}"
            );
        }
        assert_eq!(named(&[http, ("NO_PROXY", "*.example.com")]), ["HTTP_PROXY"]);
    }
}

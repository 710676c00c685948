//! Connections that failed: what is said of them, and the next step.

use std::error::Error;

use reqwest::{Response, Url, header::LOCATION};

/// Maximum characters of an address that is shown.
const MAX_SHOWN: usize = 200;

/// A request that got no whole answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}: {next_step}")]
pub struct FailedConnection {
    /// The event with its cause, as the end of a sentence about the server.
    pub problem: String,
    /// The next step.
    pub next_step: String,
}

/// A proxy that the environment names for an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    /// The variable that names it.
    pub variable: String,
    /// `HOST:PORT`, without a user and a password.
    pub place: String,
}

impl FailedConnection {
    /// Describes why a server whose address is in this setting gave no whole answer.
    pub fn new(error: reqwest::Error, setting: &str) -> Self {
        Self::by_way_of(error, setting, None)
    }

    /// Describes the same where it is known which proxy the environment names for the server's address.
    pub fn by_way_of(error: reqwest::Error, setting: &str, proxy: Option<&Proxy>) -> Self {
        let is_plain = error.url().is_some_and(|url| url.scheme() == "http");
        let error = error.without_url();
        let cause = innermost(&error);
        let is_tunnel = is_of_tunnel(&error);
        let leads_astray = error.is_redirect() || error.is_builder();
        let problem = if error.is_timeout() {
            "did not answer in time".to_owned()
        } else if leads_astray {
            format!("leads to where it cannot be followed ({cause})")
        } else if !error.is_connect() {
            format!("broke the connection off ({cause})")
        } else if is_tunnel {
            let named = proxy.map(|proxy| format!(" {}, which {} names", proxy.place, proxy.variable));
            format!(
                "cannot be reached through the proxy{} ({cause})",
                named.unwrap_or_default()
            )
        } else {
            format!("cannot be reached ({cause})")
        };
        let next_step = match remedy(&cause) {
            None if is_tunnel => {
                let variable = proxy.map_or("HTTPS_PROXY", |proxy| proxy.variable.as_str());
                format!("correct the proxy's address in {variable}, or name the host in NO_PROXY")
            }
            None if leads_astray => format!("correct {setting}"),
            _ => step_after(&cause, setting, &way_by_proxy(proxy, is_plain)),
        };
        Self { problem, next_step }
    }
}

/// Returns a clause about the proxy that is asked, or about the variable for one.
fn way_by_proxy(proxy: Option<&Proxy>, is_plain: bool) -> String {
    match proxy {
        // Whether this host is asked directly depends on patterns in NO_PROXY.
        Some(Proxy { variable, place }) => {
            format!("the proxy {place}, which {variable} names, is asked for all hosts that NO_PROXY does not name")
        }
        None if is_plain => "a proxy goes into HTTP_PROXY".to_owned(),
        None => "a proxy goes into HTTPS_PROXY".to_owned(),
    }
}

/// Returns the next step after a connection that failed for this reason; `setting` is what has the server's address.
pub fn next_step(error: &str, setting: &str) -> String {
    step_after(error, setting, &way_by_proxy(None, false))
}

fn step_after(error: &str, setting: &str, way: &str) -> String {
    const NO_SUCH_NAME: [&str; 3] = ["dns", "resolve", "lookup"];
    const REFUSED: [&str; 1] = ["connection refused"];
    const BROKEN_OFF: [&str; 4] = ["connection closed", "connection reset", "end of file", "broken pipe"];
    let says = |words: &[&str]| has_words(error, words);
    if let Some(remedy) = remedy(error) {
        remedy
    } else if says(&NO_SUCH_NAME) {
        format!("correct {setting}, or the name service of this machine; {way}")
    } else if says(&REFUSED) {
        format!("see that {setting} has the right host and port, and that this machine may connect there; {way}")
    } else if says(&BROKEN_OFF) {
        "try again; if it stays so, see the log of the server and of what stands before it".to_owned()
    } else {
        format!("see that this machine may connect there; {way}")
    }
}

/// Returns whether an error has one of these words, which are in lower case.
fn has_words(error: &str, words: &[&str]) -> bool {
    let lower = error.to_lowercase();
    words.iter().any(|words| lower.contains(words))
}

/// Returns the next step after a connection that was not made, if its error is one of TLS, or of a proxy that does not know its client.
pub fn remedy(error: &str) -> Option<String> {
    const OF_AUTHORITY: [&str; 1] = ["causedasendentity"];
    const OF_ANOTHER_NAME: [&str; 2] = ["not valid for name", "notvalidforname"];
    const EXPIRED: [&str; 2] = ["certificate expired", "certificate: expired"];
    const NOT_YET_VALID: [&str; 2] = ["certificate not valid yet", "notvalidyet"];
    const UNTRUSTED: [&str; 3] = ["peer certificate", "unknownissuer", "certificate verification failed"];
    const WITHOUT_TLS: [&str; 1] = ["invalidcontenttype"];
    const UNKNOWN_TO_PROXY: [&str; 2] = ["proxy authorization required", "407 proxy"];
    let says = |words: &[&str]| has_words(error, words);
    let step = if says(&OF_AUTHORITY) {
        "the certificate that the server shows is an authority's (CA:TRUE): name this very certificate (PEM) in CONCLAVE_CA_FILE, or with \
         --ca-file where the command has it, or give the server one that is not (`openssl req -x509 -addext \
         basicConstraints=critical,CA:FALSE …`)"
    } else if says(&OF_ANOTHER_NAME) {
        return Some(format!(
            "the certificate that the server shows is for other names than {}: correct the address, or give the server a certificate \
             that has this name as a subjectAltName",
            name_asked_for(error).unwrap_or("that of the address")
        ));
    } else if says(&EXPIRED) {
        "the certificate that the server shows has expired: have it renewed there, or correct this machine's clock"
    } else if says(&NOT_YET_VALID) {
        "the certificate that the server shows is not valid yet: correct this machine's clock, or the server's certificate"
    } else if says(&UNTRUSTED) {
        "name the certificates of your authority (PEM) in CONCLAVE_CA_FILE, or with --ca-file where the command has it"
    } else if says(&WITHOUT_TLS) {
        "what answers at the address speaks no TLS, which https:// needs: correct its host and port"
    } else if says(&UNKNOWN_TO_PROXY) {
        "put user and password into the proxy's address, as in HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT"
    } else {
        return None;
    };
    Some(step.to_owned())
}

/// The name that a certificate was not valid for, as rustls says it.
fn name_asked_for(error: &str) -> Option<&str> {
    let (_, behind) = error.split_once("not valid for name \"")?;
    behind.split_once('"').map(|(name, _)| name)
}

/// Returns whether an error is of the way through a proxy.
fn is_of_tunnel(error: &dyn Error) -> bool {
    let mut source = error.source();
    while let Some(cause) = source {
        if cause.to_string().starts_with("tunnel error") {
            return true;
        }
        source = cause.source();
    }
    false
}

/// The innermost cause of an error, which is the one that says it; no address, which may have a password in it.
pub fn innermost(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

/// The address to which a server sends its client, as it may be shown.
pub fn redirect_target(response: &Response) -> String {
    let target = response.headers().get(LOCATION).and_then(|target| target.to_str().ok());
    let target = target.and_then(|target| response.url().join(target).ok());
    target.as_ref().map_or_else(|| "nowhere".to_owned(), shown)
}

/// An address without what surrounds its path: that may be long, and may be secret.
pub fn shown(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    let whole = format!("{}://{host}{port}{}", url.scheme(), url.path());
    let shown = whole.chars().filter(|character| !character.is_control());
    shown.take(MAX_SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_lacks_trust_says_what_to_set() {
        for (error, says) in [
            (
                "client error (Connect): invalid peer certificate: UnknownIssuer",
                Some("CONCLAVE_CA_FILE"),
            ),
            (
                "client error (Connect): tunnel error: proxy authorization required",
                Some("HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT"),
            ),
            (
                "invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))",
                Some("name this very certificate (PEM) in CONCLAVE_CA_FILE"),
            ),
            (
                "invalid peer certificate: certificate not valid for name \"a.example\"; certificate is only valid for DnsName(\"b\")",
                Some("is for other names than a.example: correct the address"),
            ),
            (
                "invalid peer certificate: NotValidForName",
                Some("is for other names than that of the address"),
            ),
            (
                "invalid peer certificate: certificate expired: verification time 2 (UNIX), but certificate is not valid after 1",
                Some("has expired: have it renewed"),
            ),
            (
                "invalid peer certificate: certificate not valid yet: verification time 1 (UNIX)",
                Some("correct this machine's clock"),
            ),
            (
                "received corrupt message of type InvalidContentType",
                Some("speaks no TLS, which https:// needs"),
            ),
            ("tcp connect error: Connection refused (os error 111)", None),
            ("the certificates in ca.pem cannot be used: it is empty", None),
        ] {
            let remedy = remedy(error);
            assert_eq!(remedy.is_some(), says.is_some(), "{error}");
            let remedy = remedy.unwrap_or_default();
            assert!(remedy.contains(says.unwrap_or_default()), "{remedy}");
        }
    }

    #[test]
    fn each_failure_has_a_next_step_that_names_what_has_the_address() {
        for (error, says) in [
            (
                "failed to lookup address information: Name or service not known",
                "correct THE_URL, or the name service",
            ),
            ("dns error: no record found", "correct THE_URL, or the name service"),
            (
                "Connection refused (os error 111)",
                "see that THE_URL has the right host and port",
            ),
            ("Connection reset by peer (os error 104)", "try again"),
            ("connection closed before message completed", "try again"),
            ("end of file before message length reached", "try again"),
            (
                "Network is unreachable (os error 101)",
                "this machine may connect there",
            ),
            ("invalid peer certificate: UnknownIssuer", "CONCLAVE_CA_FILE"),
        ] {
            let step = next_step(error, "THE_URL");
            assert!(step.contains(says), "{error}: {step}");
        }
    }

    #[test]
    fn a_proxy_that_is_set_is_named_and_no_other_variable() {
        let proxy = Proxy {
            variable: "all_proxy".to_owned(),
            place: "proxy.example:3128".to_owned(),
        };
        for (error, proxy, is_plain, ends) in [
            ("Connection refused", None, false, "a proxy goes into HTTPS_PROXY"),
            ("Connection refused", None, true, "a proxy goes into HTTP_PROXY"),
            (
                "deadline has elapsed",
                Some(&proxy),
                false,
                "the proxy proxy.example:3128, which all_proxy names, is asked for all hosts that NO_PROXY does not name",
            ),
        ] {
            let step = step_after(error, "THE_URL", &way_by_proxy(proxy, is_plain));
            assert!(step.ends_with(ends), "{step}");
        }
    }

    #[test]
    fn an_address_is_shown_without_what_may_be_secret() {
        for (address, says) in [
            (
                "https://user:secret@a.example:8443/v1/config?project=p#x",
                "https://a.example:8443/v1/config",
            ),
            ("http://a.example:80", "http://a.example/"),
        ] {
            assert_eq!(shown(&address.parse().expect("an address")), says);
        }
    }
}

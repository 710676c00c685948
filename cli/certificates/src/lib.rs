//! Certificates to trust: the system's, and those of a company's own authority, which a user names in a file.
//!
//! Every HTTPS client of the program gets them from here, so that a file that works for one of them works for all, and one that does not
//! is refused by all in the same words; and so does a system that has none. What is said of a connection that failed is here, too: it is
//! most often a certificate that is not trusted.

mod connection;
mod verifier;

pub use connection::{FailedConnection, Proxy, innermost, next_step, redirect_target, remedy, shown};

use std::{
    path::{Path, PathBuf},
    sync::{
        LazyLock,
        atomic::{AtomicBool, Ordering},
    },
};

use base64::{Engine, prelude::BASE64_STANDARD};
use reqwest::{Client, ClientBuilder, Url};
use rustls::pki_types::{CertificateDer, pem::PemObject};

/// A reason why a file of certificates cannot be used. Completes "the certificates in FILE cannot be used: …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// It cannot be read: it is missing, a directory, or not readable by this user.
    #[error("it cannot be read ({0})")]
    Unreadable(String),
    /// It has no bytes.
    #[error("it is empty")]
    Empty,
    /// It has bytes, and no certificate in the text form.
    #[error(
        "it holds no certificate in PEM, which begins with `-----BEGIN CERTIFICATE-----`; `openssl x509 -inform der -in FILE` converts DER"
    )]
    NotPem,
    /// The text between the lines of PEM is not a certificate.
    #[error("a certificate in it is damaged ({0})")]
    Damaged(String),
}

/// A file of certificates that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the certificates in {} cannot be used: {problem}", .file.display())]
pub struct CertificatesError {
    /// The file.
    pub file: PathBuf,
    /// The reason.
    pub problem: Unusable,
}

/// Why no client could be built.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The client would trust no server.
    #[error(
        "this system has no certificates of authorities, or SSL_CERT_FILE names a file without any, so that no https:// address can be \
         trusted. Install its package `ca-certificates`, or name a file of them (PEM) in SSL_CERT_FILE or CONCLAVE_CA_FILE"
    )]
    NoAuthorities,
    /// Its settings cannot be used.
    #[error("the HTTP client cannot be made: {}", innermost(.0))]
    Settings(#[from] reqwest::Error),
    /// Its settings of TLS cannot be used.
    #[error("the HTTP client cannot be made: {0}")]
    Tls(#[from] rustls::Error),
}

/// True if the system has certificates of authorities. Without any, a client that is to go by them cannot be made, whatever it asks.
static HAS_AUTHORITIES: LazyLock<bool> = LazyLock::new(|| Client::builder().no_proxy().build().is_ok());

/// True if no client asks a proxy.
static PAST_PROXIES: AtomicBool = AtomicBool::new(false);

/// Has all clients that are made from now on go past the proxies of the environment, as a `*` in `NO_PROXY` means. The HTTP library
/// reads that variable itself, and takes the `*` for hosts with a name alone, not for IP addresses.
pub fn go_past_proxies() {
    PAST_PROXIES.store(true, Ordering::Relaxed);
}

/// Certificates that are trusted besides the system's.
#[derive(Debug, Clone, Default)]
pub struct ExtraCertificates(Vec<CertificateDer<'static>>);

impl ExtraCertificates {
    /// Reads files; without any, only the system's certificates are trusted.
    pub fn read<F: AsRef<Path>>(files: impl IntoIterator<Item = F>) -> Result<Self, CertificatesError> {
        let mut all = Vec::new();
        for file in files {
            let file = file.as_ref();
            let certificates = read(file).map_err(|problem| CertificatesError {
                file: file.to_owned(),
                problem,
            })?;
            all.extend(certificates);
        }
        Ok(Self(all))
    }

    /// Makes a client that trusts them, too, and asks these addresses.
    pub fn client<'a>(
        &self,
        settings: ClientBuilder,
        asked: impl IntoIterator<Item = &'a Url>,
    ) -> Result<Client, ClientError> {
        Ok(self.trusted_by(settings, asked)?.build()?)
    }

    /// The settings of such a client, for one that is made in another way.
    pub fn trusted_by<'a>(
        &self,
        settings: ClientBuilder,
        asked: impl IntoIterator<Item = &'a Url>,
    ) -> Result<ClientBuilder, ClientError> {
        let settings = if PAST_PROXIES.load(Ordering::Relaxed) {
            settings.no_proxy()
        } else {
            settings
        };
        if self.0.is_empty() {
            return trusting_system(settings, asked, *HAS_AUTHORITIES);
        }
        Ok(settings.tls_backend_preconfigured(verifier::trusting(&self.0)?))
    }
}

/// The settings of a client that trusts what the system trusts. Where that is nothing, it needs no certificates for addresses without
/// TLS; what leads to TLS all the same, such as a redirect, is refused then.
fn trusting_system<'a>(
    settings: ClientBuilder,
    asked: impl IntoIterator<Item = &'a Url>,
    has_authorities: bool,
) -> Result<ClientBuilder, ClientError> {
    if has_authorities {
        return Ok(settings);
    }
    if asked.into_iter().any(|url| url.scheme() == "https") {
        return Err(ClientError::NoAuthorities);
    }
    Ok(settings.tls_certs_only([]))
}

/// The system's certificates and those of these files as one text in PEM, for a program that trusts one file alone, as git does.
pub fn bundle<F: AsRef<Path>>(files: impl IntoIterator<Item = F>) -> Result<String, CertificatesError> {
    // A store that is damaged in parts is still a store.
    let system = rustls_native_certs::load_native_certs().certs;
    let mut text: String = system.iter().map(|certificate| pem(certificate)).collect();
    for file in files {
        let file = file.as_ref();
        let unreadable = |error: std::io::Error| CertificatesError {
            file: file.to_owned(),
            problem: Unusable::Unreadable(error.to_string()),
        };
        // Comments may be in any encoding; certificates are ASCII.
        let bytes = std::fs::read(file).map_err(unreadable)?;
        text.push_str(&String::from_utf8_lossy(&bytes));
        text.push('\n');
    }
    Ok(text)
}

/// A certificate in PEM, whose lines have 64 characters (RFC 7468).
fn pem(certificate: &[u8]) -> String {
    let encoded = BASE64_STANDARD.encode(certificate);
    let mut text = "-----BEGIN CERTIFICATE-----\n".to_owned();
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, behind) = rest.split_at(rest.len().min(64));
        text.push_str(line);
        text.push('\n');
        rest = behind;
    }
    text + "-----END CERTIFICATE-----\n"
}

fn read(file: &Path) -> Result<Vec<CertificateDer<'static>>, Unusable> {
    let text = std::fs::read(file).map_err(|error| Unusable::Unreadable(error.to_string()))?;
    if text.trim_ascii().is_empty() {
        return Err(Unusable::Empty);
    }
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let certificates = certificates.map_err(|error| Unusable::Damaged(error.to_string()))?;
    if certificates.is_empty() {
        return Err(Unusable::NotPem);
    }
    // What is inside is looked at when a client is made of it, which could no longer name the file.
    verifier::roots(&certificates).map_err(|error| Unusable::Damaged(problem(error)))?;
    Ok(certificates)
}

/// The problem of a certificate in a file, in words that do not call it a server's.
fn problem(error: rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(problem) => problem.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use reqwest::Certificate;

    use super::*;

    fn certificate() -> String {
        rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])
            .expect("a certificate")
            .cert
            .pem()
    }

    #[test]
    fn a_bundle_holds_the_systems_certificates_and_the_named_ones() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("ca.pem");
        let own = certificate();
        std::fs::write(&file, own.trim_end()).expect("written");
        let bundle = bundle([&file]).expect("a bundle");
        assert!(bundle.ends_with(&format!("{}\n", own.trim_end())));
        let all = Certificate::from_pem_bundle(bundle.as_bytes()).expect("PEM");
        let system = rustls_native_certs::load_native_certs().certs.len();
        assert_eq!(all.len(), system + 1);
        super::bundle([directory.path().join("none.pem")]).expect_err("no such file");
    }

    #[test]
    fn without_any_certificates_only_addresses_without_tls_are_asked() {
        let url = |text: &str| text.parse::<Url>().expect("an address");
        let (plain, secure) = (url("http://127.0.0.1:9"), url("https://localhost:9"));
        let client = |asked: &[&Url], has_authorities| {
            let settings = trusting_system(Client::builder(), asked.iter().copied(), has_authorities)?;
            Ok::<Client, ClientError>(settings.build()?)
        };
        client(&[&plain], false).expect("it needs none");
        client(&[], false).expect("it needs none");
        let error = client(&[&plain, &secure], false).expect_err("nothing can be trusted");
        assert!(matches!(error, ClientError::NoAuthorities), "{error}");
        for said in ["`ca-certificates`", "SSL_CERT_FILE", "CONCLAVE_CA_FILE"] {
            assert!(error.to_string().contains(said), "{error}");
        }
        // A file of one's own is enough.
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("ca.pem");
        std::fs::write(&file, certificate()).expect("written");
        let own = ExtraCertificates::read([&file]).expect("read");
        own.client(Client::builder(), [&secure]).expect("a client");
    }

    #[test]
    fn a_comment_in_another_encoding_is_in_no_ones_way() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("ca.pem");
        let latin = [b"# Zertifikate f\xfcr uns\n".as_slice(), certificate().as_bytes()].concat();
        std::fs::write(&file, latin).expect("written");
        assert_eq!(ExtraCertificates::read([&file]).expect("read").0.len(), 1);
        let bundle = bundle([&file]).expect("a bundle");
        let system = rustls_native_certs::load_native_certs().certs.len();
        let all = Certificate::from_pem_bundle(bundle.as_bytes()).expect("PEM");
        assert_eq!(all.len(), system + 1);
    }

    #[test]
    fn every_file_that_cannot_be_used_is_named_with_what_is_wrong() {
        let directory = tempfile::tempdir().expect("a directory");
        let (good, file) = (directory.path().join("good.pem"), directory.path().join("ca.pem"));
        std::fs::write(&good, certificate() + &certificate()).expect("written");
        assert_eq!(ExtraCertificates::read([&good]).expect("read").0.len(), 2);
        let garbage = "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n";
        let torn = "-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n";
        for (text, says) in [
            (None, "it cannot be read"),
            (Some(String::new()), "it is empty"),
            (Some(" \n".to_owned()), "it is empty"),
            (Some("no certificate".to_owned()), "holds no certificate in PEM"),
            (Some("\u{0}\u{1}\u{2}".to_owned()), "holds no certificate in PEM"),
            (Some(garbage.to_owned()), "is damaged"),
            (Some(torn.to_owned()), "is damaged"),
            (Some(certificate() + garbage), "is damaged"),
        ] {
            let _ = std::fs::remove_file(&file);
            if let Some(text) = &text {
                std::fs::write(&file, text).expect("written");
            }
            // A good one beside it does not hide it.
            let error = ExtraCertificates::read([&good, &file]).expect_err(says).to_string();
            assert!(error.contains("ca.pem") && error.contains(says), "{text:?}: {error}");
        }
        let error = ExtraCertificates::read([directory.path()])
            .expect_err("a directory")
            .to_string();
        assert!(error.contains("it cannot be read"), "{error}");
        assert!(ExtraCertificates::read([] as [&Path; 0]).expect("none").0.is_empty());
    }
}

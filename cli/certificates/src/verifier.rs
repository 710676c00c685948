//! The verifier of servers' certificates for a client that trusts certificates besides the system's.
//!
//! `openssl req -x509` makes a certificate that is its own authority (`CA:TRUE`) unless an option says otherwise, and webpki accepts no
//! authority as a server. The very certificate that a user has named is accepted all the same: the holder of its key could sign another
//! one for this server, which would be trusted.

use std::sync::Arc;

use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::{CertificateDer, ServerName, UnixTime},
    server::ParsedCertificate,
};
use rustls_platform_verifier::Verifier;

/// The settings of TLS for a client that trusts these certificates, at least one, besides the system's.
pub(crate) fn trusting(named: &[CertificateDer<'static>]) -> Result<ClientConfig, Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = NamedOrSystem::new(named, &provider)?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    // What the HTTP client offers where it makes these settings itself.
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Certificates of roots; those that cannot be one are an error.
pub(crate) fn roots(certificates: &[CertificateDer<'static>]) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        roots.add(certificate.clone())?;
    }
    Ok(roots)
}

/// Accepts what the system's verifier does with the named certificates among its roots, and a named certificate as a server's own.
#[derive(Debug)]
struct NamedOrSystem {
    system: Verifier,
    /// Knows no other authority than the named certificates.
    alone: Arc<WebPkiServerVerifier>,
    named: Vec<CertificateDer<'static>>,
}

impl NamedOrSystem {
    fn new(named: &[CertificateDer<'static>], provider: &Arc<CryptoProvider>) -> Result<Self, Error> {
        let alone = WebPkiServerVerifier::builder_with_provider(Arc::new(roots(named)?), Arc::clone(provider)).build();
        Ok(Self {
            system: Verifier::new_with_extra_roots(named.iter().cloned(), Arc::clone(provider))?,
            alone: alone.map_err(|error| Error::General(error.to_string()))?,
            named: named.to_vec(),
        })
    }

    /// Returns whether this is a named certificate that is refused for nothing but that it is an authority's. webpki looks at the
    /// validity before that, and would look at the name after it.
    fn is_named_authority(
        &self,
        end_entity: &CertificateDer<'_>,
        server_name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<bool, Error> {
        if !self.named.iter().any(|named| **named == **end_entity) {
            return Ok(false);
        }
        match self.alone.verify_server_cert(end_entity, &[], server_name, &[], now) {
            Err(error) if is_of_authority(&error) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

/// Returns whether a certificate was refused because it is an authority's.
fn is_of_authority(error: &Error) -> bool {
    let Error::InvalidCertificate(CertificateError::Other(OtherError(cause))) = error else {
        return false;
    };
    matches!(
        cause.downcast_ref::<webpki::Error>(),
        Some(webpki::Error::CaUsedAsEndEntity)
    )
}

impl ServerCertVerifier for NamedOrSystem {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.is_named_authority(end_entity, server_name, now)? {
            return Ok(ServerCertVerified::assertion());
        }
        self.system
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.system.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.system.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.system.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::{slice::from_ref, time::Duration};

    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};

    use super::*;

    /// A certificate that signed itself, valid in the year 2020.
    fn certificate(is_ca: IsCa) -> CertificateDer<'static> {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        params.is_ca = is_ca;
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2021, 1, 1);
        let key = KeyPair::generate().expect("a key");
        params.self_signed(&key).expect("a certificate").der().clone()
    }

    /// The verdict on a server with this certificate in a year, if these are named.
    fn verified(
        named: &[CertificateDer<'static>],
        shown: &CertificateDer<'static>,
        name: &'static str,
        year: u64,
    ) -> Result<(), String> {
        let verifier = NamedOrSystem::new(named, &Arc::new(aws_lc_rs::default_provider())).expect("a verifier");
        let now = UnixTime::since_unix_epoch(Duration::from_hours((year - 1970) * 8766 + 24));
        let name = ServerName::try_from(name).expect("a name");
        let outcome = verifier.verify_server_cert(shown, &[], &name, &[], now);
        outcome.map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn the_very_certificate_that_is_named_may_be_an_authoritys() {
        let authority = || certificate(IsCa::Ca(BasicConstraints::Unconstrained));
        let (own, other, plain) = (authority(), authority(), certificate(IsCa::NoCa));
        assert_eq!(verified(from_ref(&own), &own, "localhost", 2020), Ok(()));
        assert_eq!(verified(&[other.clone(), own.clone()], &own, "localhost", 2020), Ok(()));
        assert_eq!(verified(from_ref(&plain), &plain, "localhost", 2020), Ok(()));
        for (named, shown, name, year, says) in [
            (&other, &own, "localhost", 2020, "CaUsedAsEndEntity"),
            (&other, &plain, "localhost", 2020, "invalid peer certificate"),
            (&own, &own, "elsewhere", 2020, "not valid for name"),
            (&own, &own, "localhost", 2022, "expired"),
            (&own, &own, "localhost", 2019, "not valid yet"),
        ] {
            let error = verified(from_ref(named), shown, name, year).expect_err(says);
            assert!(error.contains(says), "{error}");
        }
    }
}

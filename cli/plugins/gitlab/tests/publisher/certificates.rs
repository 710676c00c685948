//! A GitLab with a certificate that only its company knows.

use std::{path::PathBuf, sync::Arc};

use conclave_forge::ApiErrorKind;
use conclave_plugin_gitlab::{GitLab, GitLabSettings, MergeRequestAddress};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::aws_lc_rs,
        pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
    },
};

use crate::stage::Stage;

/// The stage's GitLab behind TLS: its address, and the certificate, which signed itself.
async fn behind_tls(stage: &Stage, is_ca: IsCa) -> (String, String) {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.is_ca = is_ca;
    let signing_key = KeyPair::generate().unwrap();
    let cert = params.self_signed(&signing_key).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    let inside = stage.gitlab.url().trim_start_matches("http://").to_owned();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (acceptor, inside) = (acceptor.clone(), inside.clone());
            tokio::spawn(async move {
                // A client that does not trust us hangs up here.
                let Ok(mut outer) = acceptor.accept(stream).await else {
                    return;
                };
                let mut inner = TcpStream::connect(inside).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut outer, &mut inner).await;
            });
        }
    });
    (address, cert.pem())
}

fn settings(stage: &Stage, address: &str, ca_files: Vec<PathBuf>) -> GitLabSettings {
    GitLabSettings {
        api_url: format!("{address}/api/v4").parse().unwrap(),
        ca_files,
        ..stage.settings()
    }
}

#[tokio::test]
async fn a_certificate_that_somebody_names_is_trusted_and_no_other() {
    is_trusted_once_it_is_named(IsCa::NoCa).await;
}

/// As `openssl req -x509` makes it.
#[tokio::test]
async fn a_server_whose_certificate_is_its_own_authority_is_trusted_once_it_is_named() {
    is_trusted_once_it_is_named(IsCa::Ca(BasicConstraints::Unconstrained)).await;
}

async fn is_trusted_once_it_is_named(is_ca: IsCa) {
    let stage = Stage::new().await;
    let (address, pem) = behind_tls(&stage, is_ca).await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ca.pem");
    std::fs::write(&file, pem).unwrap();

    let trusting = GitLab::publisher(&settings(&stage, &address, vec![file.clone()]), None).unwrap();
    assert_eq!(trusting.load().await.unwrap().subject.project, "group/project");
    let wary = stage.plugin_with(&settings(&stage, &address, Vec::new()));
    let error = wary.load().await.unwrap_err().to_string();
    assert!(error.contains("certificate"), "{error}");

    let web = format!("{address}/group/project/-/merge_requests/1");
    let web = MergeRequestAddress::parse(&web).unwrap();
    let located = web.locate(None, std::slice::from_ref(&file)).await.unwrap();
    assert_eq!(located.project, "group/project");
    assert!(web.locate(None, &[]).await.is_err());
}

#[tokio::test]
async fn a_file_without_certificates_is_named() {
    let stage = Stage::new().await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ca.pem");
    std::fs::write(&file, "no certificate").unwrap();
    for file in [file, directory.path().join("missing.pem")] {
        let error = GitLab::publisher(&settings(&stage, "https://localhost", vec![file.clone()]), None).unwrap_err();
        assert_eq!(error.kind, ApiErrorKind::Settings, "{error}");
        assert!(error.to_string().contains(&file.display().to_string()), "{error}");
    }
}

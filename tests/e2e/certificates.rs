//! A company with a certificate authority of its own: everything that the program asks stands behind it, and one file lets it all in.

use std::sync::Arc;

use conclave_fake_github::FakeGithub;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::json;
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::aws_lc_rs,
        pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
    },
};

use crate::support::{Conclave, Repository, Workers, Workflow, provider};

on_both_runtimes! {
    one_file_of_certificates_lets_every_client_of_the_program_in
}

/// The model that the organization configures, other than the defaults.
const MODEL: &str = "claude-haiku-4-5";

/// An authority that no system knows, and servers with its certificates.
pub(crate) struct Authority {
    acceptor: TlsAcceptor,
    directory: TempDir,
    pub(crate) file: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let root = params.self_signed(&key).unwrap();
        let issuer = Issuer::new(params, key);
        let own = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec!["localhost".to_owned()])
            .unwrap()
            .signed_by(&own, &issuer)
            .unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("ca.pem");
        std::fs::write(&file, root.pem()).unwrap();
        Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            file: file.to_str().unwrap().to_owned(),
            directory,
        }
    }

    /// The address of a server behind TLS, in front of one without; what comes behind the host stays.
    pub(crate) async fn in_front_of(&self, address: &str) -> String {
        let inside = address.strip_prefix("http://").unwrap();
        let (inside, path) = inside.split_once('/').unwrap_or((inside, ""));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (acceptor, inside) = (self.acceptor.clone(), inside.to_owned());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
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
        format!("https://localhost:{port}/{path}")
            .trim_end_matches('/')
            .to_owned()
    }
}

async fn one_file_of_certificates_lets_every_client_of_the_program_in() {
    let (provider, repository, mut workers) = (provider().await, Repository::flawed(), Workers::start().await);
    let authority = Authority::new();
    let document = json!({"schema_version": 1, "models": {"top": [format!("anthropic/{MODEL}")], "standard": [format!("anthropic/{MODEL}")]}});
    workers.command(&format!("kv put config/document {document}")).await;
    workers
        .until_config(|answer| answer["config"]["models"]["top"].is_array())
        .await;
    let config_url = authority.in_front_of(&workers.config_url).await;
    let tracker_url = authority.in_front_of(&workers.tracker_url).await;
    let provider_url = authority.in_front_of(&provider.url()).await;
    let review = |arguments: &[&str]| {
        Conclave::new(repository.path(), arguments)
            .anthropic(&provider)
            .env("ANTHROPIC_BASE_URL", &provider_url)
            .env("CONCLAVE_CONFIG_URL", &config_url)
            .env("CONCLAVE_CONFIG_TOKEN", Workers::READER_TOKEN)
            .env("CONCLAVE_CONFIG_ADMIN_TOKEN", Workers::ADMIN_TOKEN)
            .env("CONCLAVE_TRACKER_URL", &tracker_url)
            .env("CONCLAVE_TRACKER_TOKEN", Workers::INGEST_TOKEN)
    };
    let trusting = |arguments: &[&str]| review(arguments).env("CONCLAVE_CA_FILE", &authority.file);

    // Both Workers and the provider, in a whole review.
    let outcome = trusting(&["local", "main..feature"]).run().await.expect_code(0);
    assert_eq!(
        outcome.models(),
        [format!("anthropic/{MODEL}")],
        "the configuration was read"
    );
    assert!(outcome.review().get("configuration").is_none());
    assert!(
        !outcome.stderr.contains("did not reach the tracker"),
        "{}",
        outcome.stderr
    );
    let rows = workers
        .rows("SELECT verdict FROM runs WHERE verdict IS NOT NULL", |rows| {
            !rows.is_empty()
        })
        .await;
    assert_eq!(rows.len(), 1);

    // The clients of people: configuration, memory, and what `doctor` asks.
    let shown = trusting(&["config", "show"]).run().await.expect_code(0);
    assert!(shown.stdout.contains(MODEL), "{}", shown.stdout);
    trusting(&["config", "get"]).run().await.expect_code(0);
    trusting(&["memory", "show", "--project", "group/project"])
        .run()
        .await
        .expect_code(0);
    let doctor = trusting(&["doctor"]).run().await;
    for line in ["localhost answers with revision", "localhost takes events"] {
        assert!(doctor.stdout.contains(line), "{line}: {}", doctor.stdout);
    }

    // Without the file the program trusts none of them, and says which.
    let untrusted = "localhost cannot be reached (invalid peer certificate";
    for command in [
        &["config", "get"][..],
        &["config", "show"],
        &["memory", "show", "--project", "p"],
    ] {
        let wary = review(command).run().await.expect_code(3);
        let text = wary.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [untrusted, "in CONCLAVE_CA_FILE"] {
            assert_eq!(text.matches(part).count(), 1, "{command:?}: {text}");
        }
    }
    let doctor = review(&["doctor"]).run().await;
    let text = doctor.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(text.matches(untrusted).count(), 2, "{text}");
    let plan = review(&["plan", "main..feature"]).run().await.expect_code(0);
    let text = plan.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("localhost cannot be reached"), "{text}");

    // A job's own token, asked for behind the same authority.
    let job = workers
        .actions_job(
            "acme/service",
            None,
            trusting(&["config", "show", "--project", "127.0.0.1:acme/service"]),
        )
        .await;
    let endpoint = workers.command("actions-job acme/service").await;
    let tokens = authority.in_front_of(endpoint["url"].as_str().unwrap()).await;
    let job = job
        .env("GITHUB_ACTIONS", "true")
        .env("ACTIONS_ID_TOKEN_REQUEST_URL", tokens)
        .env("ACTIONS_ID_TOKEN_REQUEST_TOKEN", endpoint["token"].as_str().unwrap())
        .env("CONCLAVE_CONFIG_URL", &config_url)
        .without("CONCLAVE_CONFIG_ADMIN_TOKEN")
        .without("CONCLAVE_CONFIG_TOKEN");
    job.run().await.expect_code(0);
    assert_eq!(workers.actions_given().await, 1);
}

/// Git takes a file of certificates in place of the system's, so what it fetches with is both.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_file_lets_git_fetch_from_a_forge_behind_it() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let workflow = Workflow::on(FakeGithub::builder().enterprise("3.19.0").start().await, &repository);
    let authority = Authority::new();
    let address = authority.in_front_of(workflow.github.url()).await + "/acme/service/pull/1";
    let elsewhere = tempfile::tempdir().unwrap();
    let outcome = Conclave::new(elsewhere.path(), &["review", "--dry-run", "--pr", &address])
        .env("CONCLAVE_RUNTIME", "native")
        .env("CONCLAVE_CA_FILE", &authority.file)
        .env("GITHUB_TOKEN", &workflow.token)
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    assert_eq!(outcome.review()["coverage"]["reviewed"], json!(["src/users.py"]));
}

/// A file that cannot be used ends every command that would need it, before anything is asked, with the file and what is wrong.
#[tokio::test]
async fn a_file_that_cannot_be_used_is_named_by_every_command() {
    let repository = Repository::flawed();
    let authority = Authority::new();
    let file = |name: &str, text: &str| {
        let path = authority.directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let files = [
        (file("empty.pem", ""), "it is empty"),
        (file("text.pem", "hello"), "no certificate in PEM"),
        ("/nowhere.pem".to_owned(), "it cannot be read (No such file"),
    ];
    let commands: [&[&str]; 5] = [
        &["local", "main..feature"],
        &["plan", "main..feature"],
        &["config", "get"],
        &["config", "show"],
        &["memory", "show", "--project", "p"],
    ];
    for (file, problem) in &files {
        for command in commands {
            let outcome = Conclave::new(repository.path(), command)
                .env("ANTHROPIC_API_KEY", "k")
                .env("ANTHROPIC_BASE_URL", "https://localhost:9")
                .env("CONCLAVE_CONFIG_URL", "https://localhost:9")
                .env("CONCLAVE_CONFIG_TOKEN", "t")
                .env("CONCLAVE_CONFIG_ADMIN_TOKEN", "t")
                .env("CONCLAVE_TRACKER_URL", "https://localhost:9")
                .env("CONCLAVE_TRACKER_TOKEN", "t")
                .env("CONCLAVE_CA_FILE", file)
                .run()
                .await
                .expect_code(2);
            let said = format!("the certificates in {file} cannot be used: ");
            let said_with_capital = said.replacen("the", "The", 1);
            assert!(
                outcome.stderr.contains(&said) || outcome.stderr.contains(&said_with_capital),
                "{command:?}: {}",
                outcome.stderr
            );
            assert!(outcome.stderr.contains(problem), "{command:?}: {}", outcome.stderr);
            assert!(
                outcome.stderr.contains("CONCLAVE_CA_FILE"),
                "{command:?}: {}",
                outcome.stderr
            );
        }
    }
}

/// An image without the package `ca-certificates`: what needs certificates says so, and a file of one's own is enough.
#[tokio::test]
async fn without_certificates_of_the_system_what_needs_them_says_what_to_do() {
    let repository = Repository::flawed();
    let authority = Authority::new();
    let bare = |arguments: &[&str]| {
        Conclave::new(repository.path(), arguments)
            .env("CONCLAVE_RUNTIME", "native")
            .env("SSL_CERT_FILE", "/dev/null")
            .env("ANTHROPIC_API_KEY", "k")
            .env("ANTHROPIC_BASE_URL", "https://localhost:9")
    };
    let commands: [&[&str]; 2] = [
        &["local", "main..feature"],
        &["runtime", "install", "--registry", "https://localhost:9"],
    ];
    for command in commands {
        let outcome = bare(command).run().await.expect_code(2);
        for said in [
            "no certificates of authorities",
            "`ca-certificates`",
            "SSL_CERT_FILE",
            "CONCLAVE_CA_FILE",
        ] {
            assert!(outcome.stderr.contains(said), "{command:?}: {}", outcome.stderr);
        }
    }
    let outcome = bare(commands[1])
        .env("CONCLAVE_CA_FILE", &authority.file)
        .run()
        .await
        .expect_code(2);
    assert!(
        outcome.stderr.contains("localhost:9 cannot be reached"),
        "{}",
        outcome.stderr
    );
}

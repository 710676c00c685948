//! Every mix of credentials, at Workers that know one of them, both or none.

use axum::{
    Router,
    http::{HeaderMap, StatusCode, header::AUTHORIZATION},
    response::IntoResponse,
    routing::get,
};

use super::*;
use conclave_shared::routes;

const DOCUMENT: &str = r#"{"config":{"schema_version":1,"revision":7}}"#;
const JOB: &str = "ey.x.y";
const TOKEN: &str = "t";

/// What a Worker answers to a credential that it does not take.
#[derive(Clone, Copy)]
enum Refusing {
    With(u16),
    Never,
}

/// A Worker that takes these bearer tokens, and the tokens that it was shown.
async fn worker(accepted: &'static [&'static str], refusing: Refusing) -> (Url, Arc<std::sync::Mutex<Vec<String>>>) {
    let shown: Arc<std::sync::Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&shown);
    let answer = move |headers: HeaderMap| {
        let seen = Arc::clone(&seen);
        async move {
            let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
            let bearer = bearer.unwrap_or_default().trim_start_matches("Bearer ").to_owned();
            seen.lock().expect("free").push(bearer.clone());
            match refusing {
                _ if accepted.contains(&bearer.as_str()) => DOCUMENT.into_response(),
                Refusing::With(status) => StatusCode::from_u16(status).expect("a status").into_response(),
                Refusing::Never => std::future::pending().await,
            }
        }
    };
    let router = Router::new().route(routes::CONFIG, get(answer));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    (format!("http://{address}/").parse().expect("a URL"), shown)
}

fn plugin(url: &Url, job: Option<&str>, token: Option<&str>) -> ReviewerConfigPlugin {
    let job = job.map(|job| ConfigAccess::Job(SecretString::from(job).into()));
    let token = token.map(|token| ConfigAccess::Token(token.into()));
    let source = ConfigSource {
        url: url.clone(),
        access: job.into_iter().chain(token).collect(),
        project: "group/project".into(),
        certificates: ExtraCertificates::default(),
    };
    ReviewerConfigPlugin::new(Some(source), None, None)
}

#[tokio::test]
async fn the_next_credential_is_tried_when_one_is_refused() {
    for status in [401, 403, 429, 503] {
        for (accepted, job, token, used) in [
            (&[TOKEN][..], Some(JOB), Some(TOKEN), true),
            (&[JOB], Some(JOB), Some(TOKEN), true),
            (&[JOB], Some(JOB), Some("wrong"), true),
            (&[TOKEN], None, Some(TOKEN), true),
            (&[JOB], Some(JOB), None, true),
            // No header can hold it, and the other one is good.
            (&[TOKEN], Some("two\nlines"), Some(TOKEN), true),
            (&[TOKEN], Some(JOB), None, false),
            (&[TOKEN, JOB], Some("ey.old.one"), Some("wrong"), false),
            (&[], Some(JOB), Some(TOKEN), false),
            (&[TOKEN], None, None, false),
        ] {
            let (url, _) = worker(accepted, Refusing::With(status)).await;
            let mut plugin = plugin(&url, job, token);
            let follower = plugin.follower();
            let warning = plugin.bootstrap().await.err();
            let case = format!("{status}: of {accepted:?}, with {job:?} and {token:?}: {warning:?}");
            assert_eq!(warning.is_none(), used, "{case}");
            assert_eq!(plugin.fetched.is_some(), used, "{case}");
            let instead = follower.unanswered().map(|unanswered| unanswered.instead);
            assert_eq!(instead, (!used).then_some(ConfigurationInstead::Defaults), "{case}");
        }
    }
}

#[tokio::test]
async fn a_credential_that_was_let_in_is_shown_first_from_then_on() {
    let (url, shown) = worker(&[TOKEN], Refusing::With(401)).await;
    let source = ConfigSource {
        url,
        access: vec![
            ConfigAccess::Job(SecretString::from(JOB).into()),
            ConfigAccess::Token(TOKEN.into()),
        ],
        project: "group/project".into(),
        certificates: ExtraCertificates::default(),
    };
    let mut fetcher = Fetcher::new(source).expect("a client");
    for _ in 0..3 {
        fetcher.fetch(TOTAL).await.expect("it is let in");
    }
    assert_eq!(*shown.lock().expect("free"), [JOB, TOKEN, TOKEN, TOKEN]);
}

#[tokio::test]
async fn all_reasons_are_named_when_all_are_refused() {
    let (url, _) = worker(&[], Refusing::With(401)).await;
    let warning = plugin(&url, Some(JOB), Some(TOKEN)).bootstrap().await;
    let warning = warning.expect_err("both are refused").to_string();
    for part in [
        "the job's token (status 401)",
        "OIDC_AUDIENCE",
        "READER_TOKENS",
        "the built-in defaults are used",
    ] {
        assert!(warning.contains(part), "{part}: {warning}");
    }
    let without = plugin(&url, None, None).bootstrap().await;
    let without = without.expect_err("nothing to show").to_string();
    for part in ["without a token", "CONCLAVE_CONFIG_TOKEN", "CONCLAVE_CONFIG_OIDC_TOKEN"] {
        assert!(without.contains(part), "{part}: {without}");
    }
}

#[tokio::test]
async fn a_worker_that_cannot_check_the_jobs_token_costs_its_share_of_the_time_only() {
    let (url, _) = worker(&[TOKEN], Refusing::Never).await;
    let mut plugin = plugin(&url, Some(JOB), Some(TOKEN));
    plugin.limit = Duration::from_secs(1);
    plugin.bootstrap().await.expect("the other one is let in");
}

#[tokio::test]
async fn a_kept_answer_counts_with_its_mark_whichever_credential_brought_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let secret = SecretString::from("the installation's secret");
    for (job, token) in [(Some(JOB), None), (None, Some(TOKEN)), (Some(JOB), Some(TOKEN))] {
        let cache = directory.path().join(format!("{job:?}{token:?}"));
        let (url, _) = worker(&[JOB, TOKEN], Refusing::With(401)).await;
        let with = |job: Option<&str>, token: Option<&str>, secret: Option<&SecretString>| {
            let source = plugin(&url, job, token).source;
            ReviewerConfigPlugin::new(source, Some(&cache), secret)
        };
        with(job, token, Some(&secret)).bootstrap().await.expect("it answers");
        // Every credential refused, or none there at all.
        for (job, token) in [
            (Some("ey.a.b"), Some("wrong")),
            (Some("ey.a.b"), None),
            (None, Some("wrong")),
            (None, None),
        ] {
            for (secret, used) in [(Some(&secret), true), (Some(&"another".into()), false), (None, false)] {
                let mut later = with(job, token, secret);
                later.bootstrap().await.expect_err("it is refused");
                assert_eq!(later.fetched.is_some(), used, "{job:?} {token:?}");
                let unanswered = later.follower().unanswered().expect("it says so");
                let expected = if used {
                    ConfigurationInstead::EarlierAnswer
                } else {
                    ConfigurationInstead::Defaults
                };
                assert_eq!(unanswered.instead, expected, "{}", unanswered.reason);
            }
        }
    }
}

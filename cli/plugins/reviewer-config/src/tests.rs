//! The service in every state, over real HTTP.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Router,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Redirect},
    routing::{get, post, put},
};

use super::{fetch::MAX_BYTES, *};
use conclave_shared::{config::ProviderSwitch, problem::Problem, routes};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

async fn serve<R: IntoResponse + Clone + Send + Sync + 'static>(answer: R) -> Url {
    serve_at(routes::CONFIG, answer).await
}

async fn serve_at<R: IntoResponse + Clone + Send + Sync + 'static>(route: &str, answer: R) -> Url {
    let router = Router::new().route(route, get(move || async move { answer.clone() }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}/").parse().expect("a URL")
}

/// An answer that announces more than it has.
const HALF: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\netag: \"7\"\r\ncontent-length: 500\r\n\r\n{";

/// A service that reads a request, answers these bytes, and hangs up.
async fn breaks_off_after(answer: &'static str) -> Url {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    format!("http://{address}/").parse().expect("a URL")
}

fn plugin(url: Url) -> ReviewerConfigPlugin {
    let source = ConfigSource {
        url,
        access: vec![ConfigAccess::Token(SecretString::from("t"))],
        project: "group/project".into(),
        certificates: ExtraCertificates::default(),
    };
    ReviewerConfigPlugin::new(Some(source), None, None)
}

/// Runs the phases; returns the document in force and the warning.
async fn run(mut plugin: ReviewerConfigPlugin) -> (ConfigDocument, Option<String>) {
    let warning = plugin.bootstrap().await.err().map(|error| error.to_string());
    let mut document = ConfigDocument::default();
    plugin.post_configure(&mut document).await.expect("never fails");
    (document, warning)
}

#[tokio::test]
async fn a_good_document_is_in_force() {
    let url = serve(r#"{"config":{"schema_version":1,"revision":7,"providers":{"openai":{"enabled":false}}}}"#).await;
    let (document, warning) = run(plugin(url)).await;
    assert_eq!((document.revision, warning), (7, None));
    assert!(!document.providers["openai"].enabled);
}

#[tokio::test]
async fn what_the_document_leaves_out_stays_as_the_plugins_said_it() {
    let url = serve(r#"{"config":{"schema_version":1,"models":{"top":["b/new"]}}}"#).await;
    let mut plugin = plugin(url);
    plugin.bootstrap().await.expect("it answers");
    let mut document = ConfigDocument::default();
    let model = |name: &str| vec![name.parse().expect("a model")];
    (document.models.top, document.models.light) = (model("a/old"), model("a/light"));
    plugin.post_configure(&mut document).await.expect("never fails");
    assert_eq!(
        (document.models.top, document.models.light),
        (model("b/new"), model("a/light"))
    );
}

#[tokio::test]
async fn whatever_is_wrong_leaves_the_defaults_and_says_so() {
    let newer = r#"{"config":{"schema_version":99}}"#;
    let invalid = r#"{"config":{"schema_version":1,"limits":{"sessions":0}}}"#;
    for (url, expected) in [
        (serve("<html>hello</html>").await, "not a configuration"),
        (
            serve(r#"{"config":{"schema_version":"one"}}"#).await,
            "not a configuration",
        ),
        (serve(newer).await, "schema version 99"),
        (serve(invalid).await, "/limits/sessions must be at least 1"),
        (serve(StatusCode::UNAUTHORIZED).await, "CONCLAVE_CONFIG_TOKEN"),
        (serve(StatusCode::BAD_GATEWAY).await, "answered 502"),
        (
            serve(Redirect::temporary("https://login.example.com/in?state=s")).await,
            "redirects to https://login.example.com/in: set CONCLAVE_CONFIG_URL",
        ),
        (serve("x".repeat(MAX_BYTES + 1)).await, "more than"),
        (
            serve_at("/elsewhere", "hello").await,
            "/v1/config: set CONCLAVE_CONFIG_URL to the reviewer-config Worker's own address",
        ),
        (
            "http://127.0.0.1:9/".parse().expect("a URL"),
            "): see that CONCLAVE_CONFIG_URL has the right host and port",
        ),
        (breaks_off_after("").await, "broke the connection off ("),
        (breaks_off_after(HALF).await, "broke the connection off ("),
    ] {
        let (document, warning) = run(plugin(url)).await;
        assert_eq!(document, ConfigDocument::default());
        let warning = warning.expect("a warning");
        assert!(
            warning.contains(expected) && warning.ends_with("the built-in defaults are used"),
            "{warning}"
        );
    }
}

#[tokio::test]
async fn a_document_that_the_service_leaves_out_is_said_once_and_its_switches_count() {
    let fault = "config/document: cannot be read: expected value; the built-in defaults are used instead";
    let answer = serde_json::json!({
        "config": {"schema_version": 1, "providers": {"anthropic": {"enabled": false, "reason": "incident"}}},
        "warnings": [fault, "provider/x: cannot be read"],
        "document_fault": fault,
    });
    let directory = tempfile::tempdir().expect("a directory");
    let source = ConfigSource {
        url: serve(answer.to_string()).await,
        access: vec![ConfigAccess::Token(SecretString::from("t"))],
        project: "group/project".into(),
        certificates: ExtraCertificates::default(),
    };
    let secret = "s".to_owned().into();
    let mut plugin = ReviewerConfigPlugin::new(Some(source), Some(directory.path()), Some(&secret));
    let said = plugin.bootstrap().await.expect_err("a document is missing").to_string();
    assert!(
        said.contains("has left its document out (config/document: cannot be read"),
        "{said}"
    );
    assert_eq!(plugin.warnings(), ["provider/x: cannot be read"]);
    let unanswered = plugin.follower().unanswered().expect("a notice");
    assert!(unanswered.is_broken, "the bot does not approve");
    let mut document = ConfigDocument::default();
    plugin.post_configure(&mut document).await.expect("never fails");
    assert!(
        !document.providers["anthropic"].enabled,
        "an incident's switch counts all the same"
    );
    assert_eq!(
        std::fs::read_dir(directory.path()).expect("a directory").count(),
        0,
        "no good answer is replaced"
    );
}

#[tokio::test]
async fn a_service_that_accepts_and_never_answers_costs_five_seconds_and_no_more() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url: Url = format!("http://{}/", listener.local_addr().expect("an address"))
        .parse()
        .expect("a URL");
    let mut plugin = plugin(url);
    assert_eq!(plugin.limit, Duration::from_secs(5));
    plugin.limit = Duration::from_millis(50);
    let (document, warning) = run(plugin).await;
    assert_eq!(document, ConfigDocument::default());
    assert!(warning.expect("a warning").contains("did not answer within"));
    assert_eq!(
        FetchError::Late(TOTAL).to_string(),
        "did not answer within 5 s",
        "what a person reads"
    );
}

#[tokio::test]
async fn without_a_source_nothing_is_asked() {
    assert_eq!(
        run(ReviewerConfigPlugin::new(None, None, None)).await,
        (ConfigDocument::default(), None)
    );
}

/// A service whose answer can be changed, that knows its own tag, and counts.
#[derive(Clone, Default)]
struct Service(Arc<std::sync::Mutex<State>>);

#[derive(Default)]
struct State {
    revision: u64,
    down: bool,
    /// True if the stored document cannot be read, and only a switch is left.
    broken: bool,
    whole: usize,
    unchanged: usize,
}

impl Service {
    async fn start(&self) -> Url {
        let service = self.clone();
        let answer = move |headers: HeaderMap| {
            let service = service.clone();
            async move {
                let mut state = service.0.lock().expect("free");
                if state.down {
                    return StatusCode::BAD_GATEWAY.into_response();
                }
                let tag = format!("\"{}-{}\"", state.revision, state.broken);
                if headers.get("if-none-match").is_some_and(|known| known == tag.as_str()) {
                    state.unchanged += 1;
                    return StatusCode::NOT_MODIFIED.into_response();
                }
                state.whole += 1;
                let revision = state.revision;
                let body = if state.broken {
                    format!(
                        r#"{{"config":{{"schema_version":1,"revision":{revision},"providers":{{"anthropic":{{"enabled":false}}}}}},"document_fault":"cannot be read"}}"#
                    )
                } else {
                    format!(
                        r#"{{"config":{{"schema_version":1,"revision":{revision},"limits":{{"sessions":2}},"providers":{{"openai":{{"enabled":false}}}}}}}}"#
                    )
                };
                ([("etag", tag)], body).into_response()
            }
        };
        let router = Router::new().route(routes::CONFIG, get(answer));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move { axum::serve(listener, router).await });
        format!("http://{address}/").parse().expect("a URL")
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.lock().expect("free"));
    }

    async fn until(&self, what: &str, happened: impl Fn(&State) -> bool) {
        let waiting = async {
            while !happened(&self.0.lock().expect("free")) {
                tokio::task::yield_now().await;
            }
        };
        let limit = Duration::from_secs(20);
        assert!(
            tokio::time::timeout(limit, waiting).await.is_ok(),
            "{what} never happened"
        );
    }
}

fn quick(mut plugin: ReviewerConfigPlugin) -> ReviewerConfigPlugin {
    plugin.pace = Pace {
        shortest: Duration::from_millis(5),
        longest: Duration::from_millis(10),
        ..Pace::default()
    };
    plugin
}

#[tokio::test]
async fn a_change_is_seen_while_the_review_runs_and_what_stays_is_not_sent_again() {
    let service = Service::default();
    let mut plugin = quick(plugin(service.start().await));
    plugin.bootstrap().await.expect("the service is well");
    let following = plugin.follower().follow().expect("a source");
    let mut document = following.document();
    service.until("three questions", |state| state.unchanged >= 3).await;
    assert_eq!(service.0.lock().expect("free").whole, 1, "told once");
    assert!(document.borrow().is_none(), "nothing has changed");

    service.change(|state| state.revision = 8);
    document.changed().await.expect("it goes on");
    assert_eq!(document.borrow_and_update().as_ref().expect("one").revision, 8);

    // The service breaks: the last document stays in force, and somebody hears of it.
    service.change(|state| state.down = true);
    let limit = Duration::from_secs(20);
    let troubled = async {
        while following.trouble().is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(limit, troubled).await.expect("it is noticed");
    assert_eq!(
        following.trouble(),
        Some(Trouble::Unanswered("answered 502".to_owned()))
    );
    assert!(!document.has_changed().expect("it goes on"));
    service.change(|state| {
        state.down = false;
        state.revision = 9;
    });
    document.changed().await.expect("it goes on");
    assert_eq!(document.borrow().as_ref().expect("one").revision, 9);
    assert_eq!(following.trouble(), None);
}

#[tokio::test]
async fn a_document_that_breaks_while_the_review_runs_stays_in_force() {
    let service = Service::default();
    let mut plugin = quick(plugin(service.start().await));
    plugin.bootstrap().await.expect("the service is well");
    let following = plugin.follower().follow().expect("a source");
    let mut document = following.document();
    let without = Some(Trouble::WithoutDocument("cannot be read".to_owned()));

    service.change(|state| state.broken = true);
    document.changed().await.expect("it goes on");
    let kept = document.borrow_and_update().clone().expect("one");
    assert_eq!(kept.limits.sessions, 2, "no limit is lifted");
    assert!(!kept.providers["openai"].enabled, "no block either");
    assert!(!kept.providers["anthropic"].enabled, "and the switch counts");
    assert_eq!(following.trouble(), without);
    let unchanged = service.0.lock().expect("free").unchanged;
    service
        .until("a question", |state| state.unchanged >= unchanged + 2)
        .await;
    assert_eq!(following.trouble(), without, "also when it is not sent again");

    service.change(|state| state.broken = false);
    document.changed().await.expect("it goes on");
    let mended = document.borrow().clone().expect("one");
    assert!(!mended.providers.contains_key("anthropic"));
    assert_eq!(following.trouble(), None);
}

#[tokio::test]
async fn a_service_that_was_down_at_the_start_is_followed_too() {
    let service = Service::default();
    service.change(|state| {
        state.down = true;
        state.revision = 3;
    });
    let mut plugin = quick(plugin(service.start().await));
    plugin.bootstrap().await.expect_err("it is down");
    let following = plugin.follower().follow().expect("a source");
    service.change(|state| state.down = false);
    let mut document = following.document();
    document.changed().await.expect("it goes on");
    assert_eq!(document.borrow().as_ref().expect("one").revision, 3);
    assert!(
        ReviewerConfigPlugin::new(None, None, None)
            .follower()
            .follow()
            .is_none()
    );
}

#[tokio::test]
async fn the_last_good_answer_stands_in_for_a_service_that_is_down() {
    let directory = tempfile::tempdir().expect("a directory");
    let service = Service::default();
    service.change(|state| state.revision = 5);
    let url = service.start().await;
    let kept = |project: &str| {
        let source = ConfigSource {
            url: url.clone(),
            access: vec![ConfigAccess::Token(SecretString::from("t"))],
            project: project.into(),
            certificates: ExtraCertificates::default(),
        };
        ReviewerConfigPlugin::new(Some(source), Some(directory.path()), Some(&"s".to_owned().into()))
    };
    assert_eq!(run(kept("group/project")).await.1, None);
    service.change(|state| state.down = true);
    let (document, warning) = run(kept("group/project")).await;
    assert_eq!(document.revision, 5);
    let warning = warning.expect("a warning");
    assert!(
        warning.ends_with("answered 502; its last answer, less than a minute old, is used"),
        "{warning}"
    );
    let (document, warning) = run(kept("group/other")).await;
    assert_eq!(document, ConfigDocument::default());
    assert!(warning.expect("a warning").ends_with("the built-in defaults are used"));
    // Fresh comes first, always.
    service.change(|state| {
        state.down = false;
        state.revision = 6;
    });
    assert_eq!(run(kept("group/project")).await.0.revision, 6);
}

#[tokio::test]
async fn what_is_otherwise_in_the_project_counts_whoever_works_it_out() {
    let url = serve(
        r#"{"config":{"schema_version":1,"limits":{"sessions":5},"projects":[
            {"paths":["group/**"],"limits":{"sessions":2}},{"paths":["other"],"limits":{"sessions":1}}]}}"#,
    )
    .await;
    let (document, warning) = run(plugin(url)).await;
    assert_eq!((document.limits.sessions, warning), (2, None));
    assert!(document.projects.is_empty());
}

#[tokio::test]
async fn a_refused_job_is_told_why() {
    let problem = r#"{"type":"/problems/unauthorized","title":"Unauthorized","status":401,"detail":"The job's token expired 90 s ago."}"#;
    let url = serve((StatusCode::UNAUTHORIZED, problem)).await;
    let source = ConfigSource {
        url,
        access: vec![ConfigAccess::Job(SecretString::from("ey.x.y").into())],
        project: "group/project".into(),
        certificates: ExtraCertificates::default(),
    };
    let (document, warning) = run(ReviewerConfigPlugin::new(Some(source), None, None)).await;
    assert_eq!(document, ConfigDocument::default());
    let warning = warning.expect("a warning");
    assert!(
        warning.contains("(The job's token expired 90 s ago)") && warning.contains("OIDC_AUDIENCE"),
        "{warning}"
    );
    assert!(!warning.contains("CONCLAVE_CONFIG_TOKEN"), "{warning}");
}

#[tokio::test]
async fn every_write_is_refused_if_another_change_came_after_what_was_compared() {
    let current = ["\"7\"", "\"7-of-a-document-by-hand\""];
    let answer = move |headers: HeaderMap| async move {
        let seen = headers.get("if-match").and_then(|seen| seen.to_str().ok());
        let is_seen = seen.is_some_and(|seen| current.contains(&seen));
        let status = if is_seen {
            StatusCode::OK
        } else {
            StatusCode::PRECONDITION_FAILED
        };
        (status, r#"{"revision":8}"#)
    };
    let router = Router::new()
        .route(&format!("{}/2", routes::ROLLBACK), post(answer))
        .route(&format!("{}/openai", routes::PROVIDERS), put(answer))
        .route(routes::FAILBACK, put(answer))
        .route(routes::CONFIG_DOCUMENT, put(answer));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let url = url.parse().expect("a URL");
    let admin = AdminClient::new(url, SecretString::from("t"), &ExtraCertificates::default()).expect("a client");
    assert_eq!(admin.roll_back(2, 7, "incident").await.ok(), Some(8));
    let switch = ProviderSwitch {
        enabled: true,
        reason: None,
    };
    assert_eq!(admin.switch("openai", &switch, 7).await.ok(), Some(8));
    let (chains, document) = (BTreeMap::new(), empty_document());
    for tag in current {
        assert_eq!(admin.failback(&chains, tag, "incident").await.ok(), Some(8), "{tag}");
        assert_eq!(admin.replace(&document, tag, "incident").await.ok(), Some(8), "{tag}");
    }
    for stale in [
        admin.roll_back(2, 6, "incident").await,
        admin.switch("openai", &switch, 6).await,
        admin.failback(&chains, "\"6\"", "incident").await,
        admin.failback(&chains, "\"7-of-another-one\"", "incident").await,
        admin.replace(&document, "\"6\"", "incident").await,
    ] {
        assert!(matches!(stale, Err(AdminError::Stale)), "{stale:?}");
    }
}

#[tokio::test]
async fn a_page_is_not_taken_for_a_stored_document() {
    let admin = |url| AdminClient::new(url, SecretString::from("t"), &ExtraCertificates::default()).expect("a client");
    let strange = |error: AdminError| {
        assert!(error.is_service(), "{error:?}");
        let said = error.to_string();
        let advice = "see that CONCLAVE_CONFIG_URL is the Worker's own address";
        assert!(said.contains(advice) && !said.contains("Log in"), "{said}");
    };
    for (kind, tag, body, is_document) in [
        ("text/html; charset=utf-8", "\"7\"", "<p>Log in</p>", false),
        ("text/plain", "", "Log in", false),
        ("application/json", "", "{}", false),
        ("application/json", "\"7\"", "{\"schema_version\":1}", true),
        ("text/plain; charset=utf-8", "\"7-by-hand\"", "reviewers: []", true),
    ] {
        let headers = [("content-type", kind), ("etag", tag)];
        let url = serve_at(routes::CONFIG_DOCUMENT, (headers, body)).await;
        match admin(url).document().await {
            Ok(stored) => assert!(is_document && stored.text == body && stored.tag == tag, "{stored:?}"),
            Err(error) if is_document => panic!("{kind}: {error}"),
            Err(error) => strange(error),
        }
    }
    let url = serve_at(routes::HISTORY, "<p>Log in</p>").await;
    strange(admin(url).newest().await.expect_err("a page"));
}

#[tokio::test]
async fn every_command_names_a_failure_alike() {
    let admin = |url| AdminClient::new(url, SecretString::from("t"), &ExtraCertificates::default()).expect("a client");
    let forbidden = serve_at(routes::CONFIG_DOCUMENT, StatusCode::FORBIDDEN).await;
    let error = admin(forbidden).document().await.expect_err("it is refused");
    assert!(matches!(error, AdminError::Refused(_)), "{error:?}");

    let (elsewhere, half) = (serve_at("/elsewhere", "hello").await, breaks_off_after(HALF).await);
    for (url, says) in [
        (elsewhere, "/v1/config/document: set CONCLAVE_CONFIG_URL to the"),
        (half, "broke the connection off ("),
    ] {
        let error = admin(url).document().await.expect_err(says);
        assert!(error.is_service() && error.to_string().contains(says), "{error}");
    }

    let missing = serde_json::to_string(&Problem::new(404, "no-such-revision", "t", "There is no revision 9."));
    let missing = (StatusCode::NOT_FOUND, missing.expect("JSON"));
    let url = serve_at(&format!("{}/9", routes::HISTORY), missing).await;
    let error = admin(url).revision(9).await.expect_err("there is none");
    assert!(!error.is_service(), "{error}");
    assert_eq!(error.to_string(), "There is no revision 9.");
}

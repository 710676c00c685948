//! The service in every state, over real HTTP.

use axum::{Router, http::StatusCode, response::IntoResponse, routing::get};

use super::*;

async fn serve<R: IntoResponse + Clone + Send + Sync + 'static>(answer: R) -> Url {
    let router = Router::new().route(routes::CONFIG, get(move || async move { answer.clone() }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}/").parse().expect("a URL")
}

fn plugin(url: Url) -> ReviewerConfigPlugin {
    let source = ConfigSource {
        url,
        token: SecretString::from("t"),
        project: "group/project".into(),
    };
    ReviewerConfigPlugin::new(Some(source))
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
        (serve("<html>hello</html>").await, "no configuration"),
        (
            serve(r#"{"config":{"schema_version":"one"}}"#).await,
            "no configuration",
        ),
        (serve(newer).await, "schema version 99"),
        (serve(invalid).await, "/limits/sessions must be at least 1"),
        (serve(StatusCode::UNAUTHORIZED).await, "CONCLAVE_CONFIG_TOKEN"),
        (serve(StatusCode::BAD_GATEWAY).await, "answered 502"),
        (serve("x".repeat(MOST_BYTES + 1)).await, "more than"),
        ("http://127.0.0.1:9/".parse().expect("a URL"), "cannot be reached"),
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
    assert!(warning.expect("a warning").contains("did not answer within 5 s"));
}

#[tokio::test]
async fn without_a_source_nothing_is_asked() {
    assert_eq!(
        run(ReviewerConfigPlugin::new(None)).await,
        (ConfigDocument::default(), None)
    );
}

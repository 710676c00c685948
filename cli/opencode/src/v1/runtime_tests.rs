//! The checks after the start, against a server that answers what no real OpenCode would.

use axum::{Json, Router, routing::get};
use serde_json::json;

use super::*;
use crate::{OPENCODE_VERSION, child::ProvenPort, test_support::launched};

/// A server in OpenCode's place that says this of itself.
async fn server(agents: Value, servers: Value, root: &str) -> ProvenPort {
    let paths = json!({"worktree": root});
    let router = Router::new()
        .route("/agent", get(|| async { Json(agents) }))
        .route("/mcp", get(|| async { Json(servers) }))
        .route("/path", get(|| async { Json(paths) }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("bound").port();
    tokio::spawn(async move { axum::serve(listener, router).await });
    ProvenPort::prove(port, nix::unistd::Pid::this()).expect("this process listens there")
}

async fn checked(agents: Value, servers: Value) -> Result<(), StartError> {
    checked_at("/nowhere", agents, servers).await
}

async fn checked_at(root: &str, agents: Value, servers: Value) -> Result<(), StartError> {
    let path = Utf8Path::new("/nowhere");
    let (agents_wanted, servers_wanted) = (["security".to_owned()], ["spawn".to_owned()]);
    let redactor = Redactor::default();
    let settings = OpenCodeSettings {
        workspace: path,
        journal: path,
        redactor: &redactor,
        agents: &agents_wanted,
        mcp_servers: &servers_wanted,
    };
    let client = Client::new(server(agents, servers, root).await, "p", path).expect("a client");
    check(&client, &settings).await
}

#[tokio::test]
async fn a_child_that_ends_at_once_is_named_with_its_words_or_its_version() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = Utf8Path::from_path(directory.path()).expect("UTF-8");
    let said = async |script: &str| {
        let error = launched(path, script).ready(path).await.expect_err("it ended");
        error.to_string()
    };
    let pinned = format!("[ $1 = --version ] && echo {OPENCODE_VERSION} && exit; echo no luck >&2; exit 3");
    let text = said(&pinned).await;
    assert!(
        text.contains("OpenCode ended at its start (exit status: 3): no luck"),
        "{text}"
    );
    let text = said("[ $1 = --version ] && echo 2.0.0 && exit; exit 3").await;
    assert!(text.contains("is OpenCode 2.0.0, but Conclave needs exactly"), "{text}");
}

#[tokio::test]
async fn each_check_says_what_is_wrong_and_what_to_do() {
    let agents = || json!([{"name": "build"}, {"name": "security"}]);
    let connected = || json!({"spawn": {"status": "connected"}});
    checked(agents(), connected()).await.expect("all is well");

    let said = |result: Result<(), StartError>| result.expect_err("wrong").to_string();
    let text = said(checked(json!([{"name": "build"}]), connected()).await);
    assert!(text.contains("it does not know the agent `security`"), "{text}");
    assert!(text.contains("/etc/opencode"), "{text}");

    let text = said(checked_at("/", agents(), connected()).await);
    assert!(text.contains("it takes `/` for the root of the project"), "{text}");

    let failed = json!({"spawn": {"status": "failed", "error": "x"}});
    let text = said(checked(agents(), failed).await);
    assert!(
        text.contains("its MCP server `spawn` is failed, not connected"),
        "{text}"
    );
    assert!(text.contains("127.0.0.1"), "{text}");
    let text = said(checked(agents(), json!({})).await);
    assert!(
        text.contains("its MCP server `spawn` is not known, not connected"),
        "{text}"
    );
}

#[tokio::test]
async fn an_answer_without_end_is_given_up() {
    let endless = || futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b' '; 1 << 20]));
    let router = Router::new().route("/agent", get(async move || axum::body::Body::from_stream(endless())));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("bound").port();
    tokio::spawn(async move { axum::serve(listener, router).await });
    let port = ProvenPort::prove(port, nix::unistd::Pid::this()).expect("this process listens there");
    let client = Client::new(port, "p", Utf8Path::new("/nowhere")).expect("a client");
    let error = client.agents().await.expect_err("it never ends").0;
    assert!(
        error.contains("list its agents cannot be read: it is longer than 16 MB"),
        "{error}"
    );
}

//! The checks after the start, against a server that answers what no real OpenCode would.

use std::os::unix::fs::PermissionsExt;

use axum::{Json, Router, routing::get};
use camino::Utf8PathBuf;
use serde_json::json;

use super::*;

/// A server in OpenCode's place that says this of itself.
async fn server(version: &str, agents: Value, servers: Value) -> u16 {
    let health = json!({"healthy": true, "version": version});
    let router = Router::new()
        .route("/global/health", get(|| async { Json(health) }))
        .route("/agent", get(|| async { Json(agents) }))
        .route("/mcp", get(|| async { Json(servers) }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("bound").port();
    tokio::spawn(async move { axum::serve(listener, router).await });
    port
}

async fn checked(version: &str, agents: Value, servers: Value) -> Result<(), StartError> {
    let directory = tempfile::tempdir().expect("a directory");
    let path = Utf8PathBuf::from_path_buf(directory.path().to_owned()).expect("UTF-8");
    let binary = path.join("opencode");
    std::fs::write(&binary, "#!/bin/sh\nexec sleep 600\n").expect("a file");
    std::fs::set_permissions(&binary, std::fs::Permissions::from_mode(0o755)).expect("executable");
    let home = Home::create(&path.join("home")).expect("a home");
    let (agents_wanted, servers_wanted) = (["security".to_owned()], ["spawn".to_owned()]);
    let redactor = Redactor::default();
    let settings = OpenCodeSettings {
        binary: &binary,
        workspace: &path,
        home: &path.join("home"),
        config: &path.join("opencode.json"),
        journal: &path.join("events.jsonl"),
        redactor: &redactor,
        path: "/usr/bin:/bin",
        environment: &[],
        agents: &agents_wanted,
        mcp_servers: &servers_wanted,
        password: "p".to_owned().into(),
    };
    let mut process = Process::start(&ProcessSettings {
        binary: &binary,
        home: &home,
        config: settings.config,
        path: settings.path,
        port: 1,
        password: "p",
        environment: &[],
    })
    .expect("it starts");
    let client = Client::new(server(version, agents, servers).await, "p", &path).expect("a client");
    let result = ready(&client, &mut process, &settings).await;
    process.stop().await;
    result
}

#[tokio::test]
async fn each_check_says_what_is_wrong_and_what_to_do() {
    let agents = || json!([{"name": "build"}, {"name": "security"}]);
    let connected = || json!({"spawn": {"status": "connected"}});
    checked(OPENCODE_VERSION, agents(), connected())
        .await
        .expect("all is well");

    let said = |result: Result<(), StartError>| result.expect_err("wrong").to_string();
    let text = said(checked("9.9.9", agents(), connected()).await);
    assert!(text.contains("it says that it is version 9.9.9, not 1.18.33"), "{text}");
    assert!(text.contains("set CONCLAVE_OPENCODE"), "{text}");

    let text = said(checked(OPENCODE_VERSION, json!([{"name": "build"}]), connected()).await);
    assert!(text.contains("it does not know the agent `security`"), "{text}");
    assert!(text.contains("/etc/opencode"), "{text}");

    let failed = json!({"spawn": {"status": "failed", "error": "x"}});
    let text = said(checked(OPENCODE_VERSION, agents(), failed).await);
    assert!(
        text.contains("its MCP server `spawn` is failed, not connected"),
        "{text}"
    );
    assert!(text.contains("127.0.0.1"), "{text}");
    let text = said(checked(OPENCODE_VERSION, agents(), json!({})).await);
    assert!(
        text.contains("its MCP server `spawn` is not known, not connected"),
        "{text}"
    );
}

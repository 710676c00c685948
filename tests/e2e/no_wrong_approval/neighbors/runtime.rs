//! Between conclave and OpenCode: a neighbor that wants the password, and an agent that wants `.git`.

use conclave_scripted_provider::Answer;
use serde_json::json;

use super::Neighbor;
use crate::support::{BRIEF, Conclave, Repository, executable, opencode, provider, serving};

on_both_runtimes! {
    no_tool_of_an_agent_reaches_into_git
}

#[tokio::test]
async fn a_neighbor_that_listens_first_never_hears_the_password() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let directory = tempfile::tempdir().unwrap();
    let go = directory.path().join("go");
    let neighbor = Neighbor::default();
    let port = neighbor.listen(0).await.expect("a port");
    // Where OpenCode listens by itself, unless another test's does by now.
    neighbor.listen(4096).await;
    // It waits before it listens, so that the neighbor is first; and a line about the neighbor's port comes before its own.
    let settings = BRIEF.map(|(name, value)| format!("{name}={value}")).join(" ");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = serve ] || exec '{opencode}' \"$@\"\necho 'opencode server listening on http://127.0.0.1:{port}'\nuntil [ -e '{go}' ]; do sleep 0.01; \
         done\n{settings} exec '{opencode}' \"$@\"\n",
        opencode = opencode().display(),
        go = go.display(),
    );
    let child = executable(&directory.path().join("opencode"), &script);
    let outcome = Conclave::new(repository.path(), &["local", "main..feature"])
        .anthropic(&provider)
        .env("CONCLAVE_OPENCODE", &child)
        .run_while(async |_| {
            let arguments = serving(&child).await;
            let asked = arguments.split_whitespace().last().and_then(|port| port.parse().ok());
            if let Some(port @ 1..) = asked {
                neighbor.listen(port).await;
            }
            std::fs::write(&go, "").unwrap();
        })
        .await
        .expect_code(0);
    assert_eq!(outcome.review()["verdict"], "significant_concerns");
    assert_eq!(neighbor.heard(), "");
}

async fn no_tool_of_an_agent_reaches_into_git() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let mut answer = Answer::text("");
    for path in [
        ".git",
        "./.git/",
        "src/../.git",
        ".git/config",
        ".git/objects/info/alternates",
        ".GIT",
    ] {
        answer = answer
            .and_call("grep", json!({"pattern": ".", "path": path}))
            .and_call("glob", json!({"pattern": "**/*", "path": path}))
            .and_call("read", json!({"filePath": path}));
    }
    answer = answer
        .and_call(
            "grep",
            json!({"pattern": "repositoryformatversion|sparse|objects", "include": "**/.git/**"}),
        )
        .and_call("glob", json!({"pattern": ".git/**"}))
        .and_call("grep", json!({"pattern": "def find", "path": "src"}));
    provider.set("generalist", 1, answer);
    Conclave::new(repository.path(), &["local", "main..feature"])
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    let asked: Vec<_> = provider
        .requests()
        .into_iter()
        .filter(|request| request.agent == "generalist")
        .collect();
    let last = asked.last().expect("a reviewer was asked").text();
    assert!(last.contains("tool_result") && last.contains("users.py"), "{last}");
    let objects = repository.path().join(".git/objects");
    for secret in [
        "repositoryformatversion = ",
        "/* *!",
        "sparse-checkout",
        "alternates:",
        objects.to_str().unwrap(),
    ] {
        assert!(!last.contains(secret), "{secret} in {last}");
    }
}

//! `conclave runtime install` on its way to a registry. What it installs is tested where the packages are, in
//! `tests/docs/first-review.test.mjs`.

use std::{
    process::Output,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, copy_bidirectional},
    net::{TcpListener, TcpStream},
};

use crate::{certificates::Authority, support::Conclave};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_mins(1);

/// An answer with a file that is not the package.
const ANOTHER_FILE: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nother";
const REFUSED: &str = "is not opencode-linux-x64";

/// The first lines of a request, up to the empty one.
async fn head_of(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("a request"));
    }
    String::from_utf8(head).expect("text")
}

/// A registry that has another file under every name.
async fn registry() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            head_of(&mut stream).await;
            let _ = stream.write_all(ANOTHER_FILE).await;
        }
    });
    format!("http://{address}")
}

/// A proxy, and the lines with which it was asked for connections. It makes them all to this port, whatever is asked for.
async fn proxy(port: u16) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let lines = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((mut outer, _)) = listener.accept().await {
            let head = head_of(&mut outer).await;
            let line = head.lines().next().unwrap_or_default().to_owned();
            lines.lock().unwrap().push(line);
            outer.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").await.unwrap();
            let mut inner = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            tokio::spawn(async move { copy_bidirectional(&mut outer, &mut inner).await });
        }
    });
    (format!("http://{address}"), asked)
}

#[tokio::test]
async fn a_registry_behind_a_proxy_and_an_authority_of_ones_own_is_asked() {
    let (authority, here) = (Authority::new(), tempfile::tempdir().unwrap());
    let front = authority.in_front_of(&registry().await).await;
    let port = front.rsplit(':').next().unwrap().parse().unwrap();
    let (proxy, asked) = proxy(port).await;
    // Nothing listens there: only the proxy knows the way.
    let install = ["runtime", "install", "--registry", "https://localhost:9/npm/"];
    let call = |more: &[&str]| {
        let arguments = [&install[..], more].concat();
        Conclave::new(here.path(), &arguments).env("HTTPS_PROXY", &proxy)
    };
    let outcome = call(&["--ca-file", &authority.file]).run().await.expect_code(2);
    assert!(
        outcome.stderr.contains("what came from localhost:9") && outcome.stderr.contains(REFUSED),
        "{}",
        outcome.stderr
    );
    let lines = std::mem::take(&mut *asked.lock().unwrap());
    assert_eq!(lines, ["CONNECT localhost:9 HTTP/1.1"]);
    let wary = call(&[]).run().await.expect_code(2);
    assert!(
        wary.stderr.contains("CONCLAVE_CA_FILE") && !wary.stderr.contains("HTTPS_PROXY"),
        "{}",
        wary.stderr
    );
    let closed = Conclave::new(here.path(), &install).env("HTTPS_PROXY", "http://me:hush-hush@127.0.0.1:9");
    let closed = closed.run().await.expect_code(2);
    assert!(
        closed
            .stderr
            .contains("cannot be reached through the proxy 127.0.0.1:9, which HTTPS_PROXY names (Connection refused")
            && !closed.stderr.contains("hush-hush"),
        "{}",
        closed.stderr
    );
}

#[tokio::test]
async fn of_two_processes_the_second_waits_and_asks_when_the_first_has_ended() {
    let (here, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let registry = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", registry.local_addr().unwrap());
    let start = || {
        let install = Conclave::new(here.path(), &["runtime", "install", "--registry", &url]);
        install.env("XDG_DATA_HOME", data.path()).start()
    };
    let asked = async || {
        let (mut stream, _) = tokio::time::timeout(PATIENCE, registry.accept())
            .await
            .unwrap()
            .unwrap();
        head_of(&mut stream).await;
        stream
    };
    let failed = |output: Output| {
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(REFUSED), "{text}");
    };
    let (first, _home) = start();
    let mut held = asked().await;
    let (mut second, _other_home) = start();
    let mut lines = BufReader::new(second.stderr.take().unwrap()).lines();
    let waits = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.contains("Another `conclave runtime` is at work here") {
                return;
            }
        }
        panic!("it did not say why it waits");
    };
    tokio::time::timeout(PATIENCE, waits).await.expect("it waits");
    let early = tokio::time::timeout(Duration::ZERO, registry.accept()).await;
    assert!(early.is_err(), "the second one has asked already");

    held.write_all(ANOTHER_FILE).await.unwrap();
    drop(held);
    failed(first.wait_with_output().await.unwrap());
    asked().await.write_all(ANOTHER_FILE).await.unwrap();
    let mut rest = Vec::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        rest.extend_from_slice(format!("{line}\n").as_bytes());
    }
    failed(Output {
        status: second.wait().await.unwrap(),
        stdout: Vec::new(),
        stderr: rest,
    });
    assert!(!data.path().join("conclave").exists(), "nothing is left");
}

#[tokio::test]
async fn a_registry_of_the_environment_excludes_no_file() {
    let here = tempfile::tempdir().unwrap();
    let outcome = Conclave::new(here.path(), &["runtime", "install", "--tarball", "none.tgz"])
        .env("CONCLAVE_REGISTRY", "https://localhost:9")
        .run()
        .await
        .expect_code(2);
    assert!(outcome.stderr.contains("failed to read none.tgz"), "{}", outcome.stderr);
}

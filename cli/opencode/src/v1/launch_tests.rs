//! Waiting for a child that answers late.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::*;
use crate::{OPENCODE_VERSION, test_support::launched};

/// Reads a request's head.
async fn heard(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("a request"));
    }
    String::from_utf8(head).expect("text")
}

#[tokio::test]
async fn a_request_that_is_taken_and_forgotten_delays_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = Utf8Path::from_path(directory.path()).expect("UTF-8");
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let mut launched = launched(path, "sleep 600");
    let proven = ProvenPort::prove(port, nix::unistd::Pid::this()).expect("this process listens there");
    let server = tokio::spawn(async move {
        let (mut forgotten, _) = listener.accept().await.expect("a connection");
        heard(&mut forgotten).await;
        let (mut answered, _) = listener.accept().await.expect("another one");
        heard(&mut answered).await;
        let still_open = forgotten.try_read(&mut [0]).is_err();
        let body = format!(r#"{{"healthy":true,"version":"{OPENCODE_VERSION}"}}"#);
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
        answered.write_all((head + &body).as_bytes()).await.expect("an answer");
        (still_open, forgotten)
    });
    let until = Instant::now() + Duration::from_mins(1);
    launched.version_at(proven, until).await.expect("it answers");
    let (still_open, _forgotten) = server.await.expect("no panic");
    assert!(
        still_open,
        "it was asked again while the first request was still waiting"
    );
    launched.stop().await;
}

#[tokio::test]
async fn a_line_that_names_the_port_of_another_program_opens_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = Utf8Path::from_path(directory.path()).expect("UTF-8");
    let neighbor = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let port = neighbor.local_addr().expect("an address").port();
    let line = format!("opencode server listening on http://127.0.0.1:{port}");
    let mut launched = launched(path, &format!("echo '{line}'; echo '{line}'; exit 3"));
    let connected = tokio::select! {
        connected = neighbor.accept() => connected.is_ok(),
        answered = launched.answers() => answered.is_ok(),
    };
    assert!(!connected, "nothing was sent to the neighbor");
    launched.stop().await;
}

#[tokio::test]
async fn every_start_has_another_password() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = Utf8Path::from_path(directory.path()).expect("UTF-8");
    let first = launched(path, "sleep 600");
    let second = launched(path, "sleep 600");
    let (one, other) = (first.password.expose_secret(), second.password.expose_secret());
    assert_ne!(one, other);
    assert_eq!((one.len(), other.len()), (64, 64));
    first.stop().await;
    second.stop().await;
}

/// A server that keeps every client waiting with this, again and again, and holds no connection that its client gave up.
async fn endless(piece: &'static str) -> (ProvenPort, std::sync::Arc<std::sync::atomic::AtomicUsize>) {
    use std::sync::{Arc, atomic::AtomicUsize, atomic::Ordering};
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let open = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&open);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let open = Arc::clone(&counted);
            tokio::spawn(async move {
                open.fetch_add(1, Ordering::SeqCst);
                while stream.write_all(piece.as_bytes()).await.is_ok() {}
                open.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
    let proven = ProvenPort::prove(port, nix::unistd::Pid::this()).expect("this process listens there");
    (proven, open)
}

#[tokio::test]
async fn answers_that_go_on_and_on_do_not_stretch_the_start() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = Utf8Path::from_path(directory.path()).expect("UTF-8");
    for piece in [
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 200 OK\r\nx: y\r\n",
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n          ",
    ] {
        let (proven, open) = endless(piece).await;
        let mut launched = launched(path, "sleep 600");
        launched.limit_start(Duration::from_millis(500));
        let began = Instant::now();
        let error = launched.version_at(proven, began + Duration::from_millis(500)).await;
        assert!(
            matches!(&error, Err(StartError::Silent { binary, .. }) if *binary == path.join("opencode")),
            "{error:?}"
        );
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "{piece}: {:?}",
            began.elapsed()
        );
        // The rest of the start has what is left of the limit, whatever each of its questions may take.
        launched.answered = Some(Answered {
            port: proven,
            after: Duration::from_millis(100),
        });
        let redactor = conclave_shared::redact::Redactor::default();
        let settings = crate::v1::OpenCodeSettings {
            workspace: path,
            journal: &path.join("events.jsonl"),
            redactor: &redactor,
            agents: &[],
            mcp_servers: &[],
        };
        let started = crate::v1::OpenCode::start(launched, settings).await;
        assert!(started.is_err(), "it never answers");
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "{piece}: {:?}",
            began.elapsed()
        );
        // A connection ends with the question that it was made for.
        tokio::time::timeout(Duration::from_mins(1), async {
            while open.load(std::sync::atomic::Ordering::SeqCst) > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await
        .expect("all connections end");
    }
}

#[tokio::test]
async fn a_health_without_end_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = Utf8Path::from_path(directory.path()).expect("UTF-8");
    let endless = || futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b' '; 1 << 16]));
    let health = async move || axum::body::Body::from_stream(endless());
    let router = axum::Router::new().route("/global/health", axum::routing::get(health));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move { axum::serve(listener, router).await });
    let proven = ProvenPort::prove(port, nix::unistd::Pid::this()).expect("this process listens there");
    let mut launched = launched(path, "sleep 600");
    let error = launched
        .version_at(proven, Instant::now() + Duration::from_secs(1))
        .await;
    let text = error.expect_err("no version").to_string();
    assert!(
        text.contains("what OpenCode says of its health cannot be read: it is longer than 64 KB"),
        "{text}"
    );
    launched.stop().await;
}

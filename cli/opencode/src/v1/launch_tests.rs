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

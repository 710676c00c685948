//! Waiting for a child that answers late.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::*;
use crate::{OPENCODE_VERSION, test_support::launched};

/// Reads a request's head.
async fn heard(stream: &mut TcpStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("a request"));
    }
}

#[tokio::test]
async fn a_request_that_is_taken_and_forgotten_delays_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = Utf8Path::from_path(directory.path()).expect("UTF-8");
    let mut launched = launched(path, "sleep 600");
    let listener = TcpListener::bind(("127.0.0.1", launched.port))
        .await
        .expect("a free port");
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
    launched.answers().await.expect("it answers");
    let (still_open, _forgotten) = server.await.expect("no panic");
    assert!(
        still_open,
        "it was asked again while the first request was still waiting"
    );
    launched.stop().await;
}

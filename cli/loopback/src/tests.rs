//! Neighbors that connect and say little.

use axum::{extract::Extension, http::HeaderMap, routing::get};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

async fn server() -> std::net::SocketAddr {
    let router = Router::new().route(
        "/",
        get(|Extension(caller): Extension<Caller>, headers: HeaderMap| async move {
            if headers.contains_key("key") {
                caller.has_proved_itself();
            }
            "hello"
        }),
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(serve(listener, router, CancellationToken::new()));
    address
}

async fn ask(stream: &mut TcpStream, header: &str) -> String {
    let request = format!("GET / HTTP/1.1\r\nhost: x\r\n{header}\r\n");
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = Vec::new();
    while !answer.ends_with(b"hello") {
        answer.push(stream.read_u8().await.expect("an answer"));
    }
    String::from_utf8(answer).expect("text")
}

#[tokio::test]
async fn a_crowd_of_silent_connections_keeps_nobody_waiting() {
    let address = server().await;
    let mut known = TcpStream::connect(address).await.expect("connected");
    ask(&mut known, "key: k\r\n").await;
    let mut crowd = Vec::new();
    for _ in 0..3 * strangers::MAX_STRANGERS {
        let mut silent = TcpStream::connect(address).await.expect("connected");
        silent.write_all(b"GET / HTTP/1.1\r\nx: ").await.expect("sent");
        crowd.push(silent);
    }
    let mut another = TcpStream::connect(address).await.expect("connected");
    assert!(ask(&mut another, "key: k\r\n").await.starts_with("HTTP/1.1 200"));
    // What was there before, and known, is still served.
    assert!(ask(&mut known, "").await.starts_with("HTTP/1.1 200"));
    let mut rest = Vec::new();
    // The oldest of the crowd was shut out.
    let _ = crowd[0].read_to_end(&mut rest).await;
    assert_eq!(rest, b"");
}

#[tokio::test]
async fn a_stranger_has_little_time_and_a_known_caller_has_more() {
    let address = server().await;
    let (mut known, mut stranger) = (
        TcpStream::connect(address).await.expect("connected"),
        TcpStream::connect(address).await.expect("connected"),
    );
    ask(&mut known, "key: k\r\n").await;
    ask(&mut stranger, "").await;
    let shut = tokio::time::timeout(2 * MAX_STRANGE, stranger.read_u8()).await;
    assert!(shut.expect("in time").is_err(), "it is shut out");
    assert!(ask(&mut known, "").await.starts_with("HTTP/1.1 200"));
}

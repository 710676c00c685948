//! Trackers in every state, over real HTTP: the review never waits for them, and what they did not take is counted.
//!
//! Time stands still and jumps when nobody has anything to do, so limits are seen exactly and nothing is waited for.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    http::{StatusCode, header::LOCATION},
    response::IntoResponse,
    routing::any,
};
use conclave_engine::ports::TelemetrySink;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
    time::{Instant, sleep},
};

use super::*;
use crate::tests::{dropped, serve, settings, tracker};

/// Longer than any limit of ours.
const FOR_EVER: Duration = Duration::from_hours(1);
/// What a flush may take, and a request.
const LIMIT: Duration = Duration::from_secs(2);

/// A tracker that reads what is asked, answers these bytes, and then neither goes on nor hangs up.
async fn hangs_after(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        loop {
            let Ok((mut stream, _)) = listener.accept().await else {
                return;
            };
            tokio::spawn(async move {
                read_something(&mut stream).await;
                let _ = stream.write_all(answer.as_bytes()).await;
                sleep(FOR_EVER).await;
            });
        }
    });
    format!("http://{address}")
}

async fn read_something(stream: &mut TcpStream) {
    let mut buffer = [0; 1024];
    let _ = stream.read(&mut buffer).await;
}

/// A tracker whose connections nobody accepts any more: its queue of them is full, and connecting takes for ever.
async fn never_accepts() -> (String, (tokio::net::TcpListener, Vec<TcpStream>)) {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
    let listener = socket.listen(1).expect("it listens");
    let address = listener.local_addr().expect("an address");
    let mut waiting = Vec::new();
    for _ in 0..2 {
        waiting.push(TcpStream::connect(address).await.expect("there is room yet"));
    }
    (format!("http://{address}"), (listener, waiting))
}

/// A tracker that hangs up as soon as somebody calls.
async fn hangs_up() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { while listener.accept().await.is_ok() {} });
    format!("http://{address}")
}

/// A tracker that sends a byte of its answer now and then.
async fn trickles() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        loop {
            let Ok((mut stream, _)) = listener.accept().await else {
                return;
            };
            tokio::spawn(async move {
                read_something(&mut stream).await;
                let _ = stream
                    .write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 100000\r\n\r\n")
                    .await;
                while stream.write_all(b" ").await.is_ok() {
                    sleep(Duration::from_millis(300)).await;
                }
            });
        }
    });
    format!("http://{address}")
}

/// A tracker that answers every route like this.
async fn answers(answer: impl IntoResponse + Clone + Send + Sync + 'static) -> String {
    serve(Router::new().fallback(any(move || async move { answer.clone() }))).await
}

/// All of them, with what keeps them alive.
async fn broken() -> (Vec<(&'static str, String)>, impl Sized) {
    let (full, kept) = never_accepts().await;
    let flood = "x".repeat(4 * 1024 * 1024);
    let elsewhere = answers((StatusCode::ACCEPTED, r#"{"accepted":1}"#)).await;
    let redirect = (
        StatusCode::TEMPORARY_REDIRECT,
        [(LOCATION, format!("{elsewhere}/v1/events"))],
    );
    let trackers = vec![
        ("down", "http://127.0.0.1:9".to_owned()),
        ("does not accept", full),
        ("hangs up", hangs_up().await),
        ("hangs before the headers", hangs_after("").await),
        ("hangs in the status line", hangs_after("HTTP/1.1 20").await),
        (
            "hangs in the headers",
            hangs_after("HTTP/1.1 202 Accepted\r\ncontent-le").await,
        ),
        (
            "hangs in the body",
            hangs_after("HTTP/1.1 202 Accepted\r\ncontent-length: 30\r\n\r\n{\"accepted\":").await,
        ),
        ("trickles", trickles().await),
        ("does not speak HTTP", hangs_after("SSH-2.0-OpenSSH_9.6\r\n").await),
        ("answers 500", answers(StatusCode::INTERNAL_SERVER_ERROR).await),
        ("answers 401", answers((StatusCode::UNAUTHORIZED, "no")).await),
        ("answers garbage", answers("thanks").await),
        ("answers JSON of somebody else", answers(r#"{"ok":true}"#).await),
        ("answers without end", answers(flood).await),
        ("redirects", answers(redirect).await),
        (
            "redirects to itself",
            answers((StatusCode::FOUND, [(LOCATION, "/v1/events")])).await,
        ),
    ];
    (trackers, (kept, elsewhere))
}

#[tokio::test(start_paused = true)]
async fn recording_takes_no_time_and_the_end_at_most_two_seconds() {
    let (trackers, _kept) = broken().await;
    for (state, url) in trackers {
        let telemetry = Telemetry::start(settings(&url));
        let mut recorded = 0;
        for _ in 0..20 {
            let before = Instant::now();
            for number in 0..10 {
                telemetry.record(dropped(number));
                recorded += 1;
            }
            assert_eq!(before.elapsed(), Duration::ZERO, "{state}: the run is held up");
            // The run goes on meanwhile.
            sleep(Duration::from_millis(700)).await;
        }
        let end = Instant::now();
        let lost = telemetry.flush().await.unsent;
        assert!(end.elapsed() <= LIMIT, "{state}: {:?}", end.elapsed());
        assert_eq!(lost, recorded, "{state}: every event is counted");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_tracker_loses_nothing_and_costs_nothing_but_its_own_time_at_the_end() {
    let (router, mut arrived) = tracker();
    let slow = router.layer(axum::middleware::from_fn(
        |request, next: axum::middleware::Next| async move {
            sleep(Duration::from_millis(1500)).await;
            next.run(request).await
        },
    ));
    let telemetry = Telemetry::start(settings(&serve(slow).await));
    for number in 0..300 {
        telemetry.record(dropped(number));
    }
    let end = Instant::now();
    assert_eq!(telemetry.flush().await.unsent, 0);
    assert!(end.elapsed() <= LIMIT, "{:?}", end.elapsed());
    let mut events = 0;
    while arrived.try_recv().is_ok() {
        events += 1;
    }
    assert_eq!(events, 300);
}

#[tokio::test(start_paused = true)]
async fn what_a_hanging_tracker_made_us_drop_is_reported_when_it_is_back() {
    let (router, mut arrived) = tracker();
    let asked = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    // The first request is answered with an error, the others are taken.
    let first_fails = axum::middleware::from_fn(move |request, next: axum::middleware::Next| {
        let number = asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        async move {
            if number == 0 {
                StatusCode::BAD_GATEWAY.into_response()
            } else {
                next.run(request).await
            }
        }
    });
    let telemetry = Telemetry::start(settings(&serve(router.layer(first_fails)).await));
    for number in 100..103 {
        telemetry.record(dropped(number));
    }
    sleep(Duration::from_secs(1)).await;
    telemetry.record(dropped(200));
    assert_eq!(telemetry.flush().await.unsent, 3);
    let mut told = Vec::new();
    while let Ok(event) = arrived.try_recv() {
        told.push(event.event);
    }
    assert_eq!(
        told,
        [dropped(200), dropped(3)],
        "the event, and that three were lost before"
    );
}

#[tokio::test(start_paused = true)]
async fn what_the_last_request_lost_is_said_once_more() {
    let (router, mut arrived) = tracker();
    let asked = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let first_fails = axum::middleware::from_fn(move |request, next: axum::middleware::Next| {
        let number = asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        async move {
            if number == 0 {
                StatusCode::BAD_GATEWAY.into_response()
            } else {
                next.run(request).await
            }
        }
    });
    let telemetry = Telemetry::start(settings(&serve(router.layer(first_fails)).await));
    telemetry.record(dropped(100));
    telemetry.record(dropped(101));
    assert_eq!(telemetry.flush().await.unsent, 2);
    assert_eq!(arrived.try_recv().map(|event| event.event).ok(), Some(dropped(2)));
}

#[tokio::test(start_paused = true)]
async fn a_memory_that_cannot_be_read_is_an_error_in_words_within_two_seconds() {
    let (trackers, _kept) = broken().await;
    for (state, url) in trackers {
        let client = TrackerClient::new(
            url.parse().expect("a URL"),
            SecretString::from("t").into(),
            &ExtraCertificates::default(),
        )
        .expect("a client");
        let start = Instant::now();
        let error = client.memory("group/project").await.expect_err(state);
        assert!(start.elapsed() <= LIMIT, "{state}: {:?}", start.elapsed());
        assert!(
            error.to_string().contains("the tracker at 127.0.0.1 "),
            "{state}: {error}"
        );
        assert_eq!(error.is_service(), state != "answers 401", "{state}: {error}");
    }
}

#[tokio::test]
async fn a_tracker_without_a_memory_is_named_as_what_it_is() {
    let url = answers((StatusCode::NOT_FOUND, "{}")).await;
    let client = TrackerClient::new(
        url.parse().expect("a URL"),
        SecretString::from("t").into(),
        &ExtraCertificates::default(),
    )
    .expect("a client");
    let error = client.memory("p").await.expect_err("there is none");
    assert!(error.to_string().contains("older than this `conclave`"), "{error}");
    let detail = r#"{"type":"about:blank","title":"t","status":400,"detail":"`project` is missing."}"#;
    let url = answers((StatusCode::BAD_REQUEST, detail)).await;
    let client = TrackerClient::new(
        url.parse().expect("a URL"),
        SecretString::from("t").into(),
        &ExtraCertificates::default(),
    )
    .expect("a client");
    let error = client.forget("p", None).await.expect_err("it is refused");
    assert_eq!(error, MemoryError::Problem("`project` is missing.".to_owned()));
}

#[tokio::test]
async fn what_is_in_a_trackers_place_is_said_with_the_setting_to_correct() {
    let log_in = (StatusCode::FOUND, [(LOCATION, "https://login.example/in?state=s")]);
    for (url, says) in [
        (
            answers(log_in).await,
            "redirects to https://login.example/in: set CONCLAVE_TRACKER_URL to the Worker's own address",
        ),
        (
            answers(StatusCode::NOT_FOUND).await,
            ": set CONCLAVE_TRACKER_URL to the review-tracker Worker's own address",
        ),
        (
            "http://127.0.0.1:9".to_owned(),
            "): see that CONCLAVE_TRACKER_URL has the right host and port",
        ),
        (hangs_up().await, "broke the connection off ("),
    ] {
        let settings = settings(&url);
        let probed = probe(&settings, LIMIT).await.expect_err(says).to_string();
        let client = TrackerClient::new(settings.url, settings.access, &settings.certificates).expect("a client");
        let remembered = client.memory("p").await.expect_err(says).to_string();
        for said in [probed, remembered] {
            assert!(said.contains(says), "{said}");
        }
    }
    let forbidden = settings(&answers(StatusCode::FORBIDDEN).await);
    let client = TrackerClient::new(forbidden.url, forbidden.access, &forbidden.certificates).expect("a client");
    let error = client.memory("p").await.expect_err("it is refused");
    assert_eq!(error, MemoryError::Refused("127.0.0.1".to_owned()));
}

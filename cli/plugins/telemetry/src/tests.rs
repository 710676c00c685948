//! Trackers in every state: the review never waits for them.

use axum::{Json, Router, http::StatusCode, routing::post};
use tokio::sync::mpsc;

use super::*;

fn dropped(events: u64) -> EventBody {
    EventBody::TelemetryDropped(TelemetryDropped { events })
}

fn settings(url: &str) -> TelemetrySettings {
    TelemetrySettings {
        url: url.parse().expect("a URL"),
        token: SecretString::from("t"),
        run_id: Uuid::now_v7(),
        project: "p".into(),
    }
}

async fn serve(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

#[tokio::test]
async fn every_event_arrives_once_and_nothing_is_lost() {
    let (seen, mut arrived) = mpsc::unbounded_channel();
    let router = Router::new().route(
        routes::EVENTS,
        post(move |Json(batch): Json<EventBatch>| async move {
            let accepted = u64::try_from(batch.events.len()).expect("few");
            for event in batch.events {
                seen.send(event).expect("the test listens");
            }
            (
                StatusCode::ACCEPTED,
                Json(BatchAnswer {
                    accepted,
                    rejected: Vec::new(),
                }),
            )
        }),
    );
    let telemetry = Telemetry::start(settings(&serve(router).await));
    for number in 0..250 {
        telemetry.record(dropped(number));
    }
    assert_eq!(telemetry.flush().await, 0);
    let mut events = Vec::new();
    while let Ok(event) = arrived.try_recv() {
        events.push(event);
    }
    let numbers: Vec<EventBody> = events.iter().map(|event| event.event.clone()).collect();
    assert_eq!(numbers, (0..250).map(dropped).collect::<Vec<_>>());
    let ids: std::collections::BTreeSet<Uuid> = events.iter().map(|event| event.id).collect();
    assert_eq!(ids.len(), 250);
}

#[tokio::test]
async fn a_full_queue_drops_the_oldest_and_counts() {
    // Nobody listens on this port, and the task has no chance to run before the queue is looked at.
    let telemetry = Telemetry::start(settings("http://127.0.0.1:9"));
    for number in 0..(u64::try_from(MOST_PENDING).expect("fits") + 5) {
        telemetry.record(dropped(number));
    }
    let queue = telemetry.shared.queue();
    assert_eq!((queue.events.len(), queue.dropped), (MOST_PENDING, 5));
    assert_eq!(queue.events[0].event, dropped(5));
}

#[tokio::test]
async fn a_tracker_that_is_down_or_broken_loses_events_and_says_how_many() {
    let broken = Router::new().route(routes::EVENTS, post(|| async { StatusCode::INTERNAL_SERVER_ERROR }));
    let garbage = Router::new().route(routes::EVENTS, post(|| async { "thanks" }));
    for url in [
        "http://127.0.0.1:9".to_owned(),
        serve(broken).await,
        serve(garbage).await,
    ] {
        let telemetry = Telemetry::start(settings(&url));
        telemetry.record(dropped(1));
        assert_eq!(telemetry.flush().await, 1, "{url}");
    }
}

#[tokio::test]
async fn a_tracker_that_hangs_costs_two_seconds_at_the_end_and_nothing_before() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let telemetry = Telemetry::start(settings(&format!(
        "http://{}",
        listener.local_addr().expect("an address")
    )));
    telemetry.record(dropped(1));
    let (connection, _) = listener.accept().await.expect("it connects");
    tokio::time::pause();
    let start = tokio::time::Instant::now();
    telemetry.flush().await;
    assert!(
        start.elapsed() <= REQUEST + Duration::from_millis(10),
        "{:?}",
        start.elapsed()
    );
    drop(connection);
}

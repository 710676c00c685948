//! A tracker that works.

use axum::{Json, Router, http::StatusCode, routing::post};
use conclave_engine::ports::TelemetrySink;
use conclave_shared::{
    routes,
    telemetry::{BatchAnswer, Event, EventBatch, EventBody, RejectedEvent, TelemetryDropped},
};
use tokio::sync::mpsc;

use super::*;

pub(crate) fn dropped(events: u64) -> EventBody {
    EventBody::TelemetryDropped(TelemetryDropped { events })
}

pub(crate) fn settings(url: &str) -> TelemetrySettings {
    TelemetrySettings {
        url: url.parse().expect("a URL"),
        access: SecretString::from("t").into(),
        secret: None,
        run_id: Uuid::now_v7(),
        project: "p".into(),
        certificates: ExtraCertificates::default(),
    }
}

pub(crate) async fn serve(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

/// A tracker that hands on what it takes.
pub(crate) fn tracker() -> (Router, mpsc::UnboundedReceiver<Event>) {
    let (seen, arrived) = mpsc::unbounded_channel();
    let take = move |Json(batch): Json<EventBatch>| async move {
        let accepted = u64::try_from(batch.events.len()).expect("few");
        for event in batch.events {
            seen.send(event).expect("the test listens");
        }
        let rejected = Vec::new();
        (
            StatusCode::ACCEPTED,
            Json(BatchAnswer {
                accepted,
                rejected,
                ..BatchAnswer::default()
            }),
        )
    };
    (Router::new().route(routes::EVENTS, post(take)), arrived)
}

#[tokio::test]
async fn every_event_arrives_once_and_nothing_is_lost() {
    let (router, mut arrived) = tracker();
    let telemetry = Telemetry::start(settings(&serve(router).await));
    for number in 0..250 {
        telemetry.record(dropped(number));
    }
    assert_eq!(telemetry.flush().await, Lost::default());
    let mut events = Vec::new();
    while let Ok(event) = arrived.try_recv() {
        events.push(event);
    }
    let mut numbers: Vec<u64> = events
        .iter()
        .map(|event| match &event.event {
            EventBody::TelemetryDropped(dropped) => dropped.events,
            other => panic!("nobody has recorded {other:?}"),
        })
        .collect();
    // Requests overtake each other.
    numbers.sort_unstable();
    assert_eq!(numbers, (0..250).collect::<Vec<_>>());
    let ids: std::collections::BTreeSet<Uuid> = events.iter().map(|event| event.id).collect();
    assert_eq!(ids.len(), 250);
    assert!(events.iter().all(|event| event.id.get_version_num() == 7));
}

#[tokio::test(start_paused = true)]
async fn events_are_sent_while_the_run_goes_on() {
    let (router, mut arrived) = tracker();
    let telemetry = Telemetry::start(settings(&serve(router).await));
    telemetry.record(dropped(7));
    let event = arrived.recv().await.expect("it arrives without a flush");
    assert_eq!(event.event, dropped(7));
}

#[tokio::test]
async fn an_event_that_the_tracker_refuses_is_counted_as_lost_with_the_reason() {
    let refuse = post(|Json(batch): Json<EventBatch>| async move {
        let rejected = vec![RejectedEvent {
            index: 0,
            detail: "unknown variant".to_owned(),
        }];
        let accepted = u64::try_from(batch.events.len()).expect("few") - 1;
        let status = if accepted == 0 { 422 } else { 207 };
        let answer = Json(BatchAnswer {
            accepted,
            rejected,
            ..BatchAnswer::default()
        });
        (StatusCode::from_u16(status).expect("a status"), answer)
    });
    let url = serve(Router::new().route(routes::EVENTS, refuse)).await;
    for events in [1, 3] {
        let telemetry = Telemetry::start(settings(&url));
        for number in 0..events {
            telemetry.record(dropped(number));
        }
        let lost = telemetry.flush().await;
        assert_eq!((lost.unsent, lost.refused), (0, 1), "{lost:?}");
        assert_eq!(lost.reason.as_deref(), Some("unknown variant"));
    }
}

#[tokio::test]
async fn a_stored_token_that_is_refused_beside_the_jobs_is_known_to_the_doctor() {
    let take = post(|| async {
        Json(BatchAnswer {
            token_refused: Some("it is not one of the Worker's INGEST_TOKENS".to_owned()),
            ..BatchAnswer::default()
        })
    });
    let url = serve(Router::new().route(routes::EVENTS, take)).await;
    let probed = crate::probe(&settings(&url), std::time::Duration::from_secs(5)).await;
    let refused = probed.expect("it takes events").token_refused;
    assert_eq!(refused.as_deref(), Some("it is not one of the Worker's INGEST_TOKENS"));
}

#[tokio::test]
async fn a_refused_job_is_given_the_trackers_reason_and_its_own_remedy() {
    let refuse = |_: axum::extract::Request| async {
        let problem = conclave_shared::problem::Problem::new(
            401,
            "unauthorized",
            "Unauthorized",
            "The job's token is made for another audience than conclave; set `aud`.",
        );
        (StatusCode::UNAUTHORIZED, Json(problem))
    };
    let with = |url: &str, access| TelemetrySettings {
        access,
        ..settings(url)
    };
    let url = serve(Router::new().fallback(refuse)).await;
    let job = with(&url, TrackerAccess::Job(SecretString::from("ey.x.y").into()));
    let said = probe(&job, std::time::Duration::from_secs(5))
        .await
        .expect_err("refused")
        .to_string();
    assert_eq!(
        said,
        "refused the job's token (The job's token is made for another audience than conclave; set `aud`): set the Worker's OIDC_ISSUER, \
         OIDC_AUDIENCE and OIDC_PROJECTS to fit the job's token"
    );
    let memory = TrackerClient::new(job.url, job.access, &job.certificates)
        .expect("a client")
        .memory("p")
        .await;
    let memory = memory.expect_err("refused").to_string();
    assert!(memory.ends_with(&said) && !memory.contains("OPERATOR"), "{memory}");
    let both =
        TrackerAccess::of(Some(SecretString::from("t")), Some(SecretString::from("ey.x.y").into())).expect("both");
    let said = probe(&with(&url, both), std::time::Duration::from_secs(5))
        .await
        .expect_err("refused")
        .to_string();
    assert!(said.contains("INGEST_TOKENS, or the Worker's OIDC_ISSUER"), "{said}");
}

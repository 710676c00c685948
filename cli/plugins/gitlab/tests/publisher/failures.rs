//! A GitLab that has a bad day: what is repeated, and that nothing is posted twice.

use std::time::{Duration, Instant};

use conclave_fake_gitlab::{Fault, FaultKind, MergeRequestSnapshot};
use conclave_shared::verdict::Verdict;

use crate::stage::{MAX_WAIT, Stage, edited, posted, publish};

const NOTES: &str = "/projects/{id}/merge_requests/{iid}/notes";
const DISCUSSIONS: &str = "/projects/{id}/merge_requests/{iid}/discussions";
const NOTE: &str = "/projects/{id}/merge_requests/{iid}/notes/{note}";

/// A run with this fault on posting leaves exactly one note; returns what was written.
async fn run_with(fault: Fault) -> Vec<String> {
    let stage = Stage::new().await;
    let before = stage.snapshot();
    stage.gitlab.inject(fault);
    assert_eq!(stage.run(Verdict::MinorIssues).await, stage.outcome(false, &[]));
    assert_eq!(stage.gitlab.remaining_faults(), 0);
    let review = stage.review(Verdict::MinorIssues);
    let after = stage.snapshot();
    let note = if after.notes[0].edited {
        edited(&review)
    } else {
        posted(&review)
    };
    assert_eq!(
        after,
        MergeRequestSnapshot {
            notes: vec![note],
            ..before
        }
    );
    stage.writes()
}

#[tokio::test]
async fn a_note_that_was_not_stored_is_posted_again() {
    for (kind, first) in [
        (FaultKind::ServerError, "POST /notes 500"),
        (FaultKind::BadGateway, "POST /notes 502"),
        (FaultKind::Unavailable, "POST /notes 503"),
        (FaultKind::ResourceLock, "POST /notes 409"),
    ] {
        let writes = run_with(Fault::once("POST", NOTES, kind)).await;
        assert_eq!(writes, [first, "POST /notes 201"]);
    }
}

#[tokio::test]
async fn posting_that_fails_for_good_says_so() {
    let stage = Stage::new().await;
    let before = stage.snapshot();
    stage
        .gitlab
        .inject(Fault::once("POST", NOTES, FaultKind::ServerError).times(99));
    let failed = publish(&stage.loaded().await, &stage.review(Verdict::Approved)).await;
    let text = "GitLab answered 500 when asked to post the review: Internal Server Error";
    assert_eq!(failed, Err(text.to_owned()));
    assert_eq!(stage.snapshot(), before, "nothing is approved without a note");
    assert_eq!(stage.writes(), ["POST /notes 500"; 3]);
}

#[tokio::test]
async fn a_rate_limit_is_waited_for() {
    let started = Instant::now();
    let writes = run_with(Fault::once(
        "POST",
        NOTES,
        FaultKind::RateLimited { retry_after: Some(7) },
    ))
    .await;
    assert_eq!(writes, ["POST /notes 429", "POST /notes 201"]);
    // Seven seconds were asked for; the stage's patience is shorter than that.
    assert!(started.elapsed() >= MAX_WAIT);
    let writes = run_with(Fault::once("POST", NOTES, FaultKind::ApplicationLimit)).await;
    assert_eq!(writes, ["POST /notes 429", "POST /notes 201"]);
}

#[tokio::test]
async fn an_edit_that_fails_is_repeated() {
    for kind in [
        FaultKind::ServerError,
        FaultKind::ErrorAfterStore,
        FaultKind::BadGateway,
        FaultKind::TruncatedBody,
        FaultKind::ResourceLock,
        FaultKind::RateLimited { retry_after: None },
    ] {
        let stage = Stage::new().await;
        stage.run(Verdict::Inconclusive).await;
        let before = stage.snapshot();
        stage.gitlab.inject(Fault::once("PUT", NOTE, kind.clone()));
        stage.run(Verdict::MinorIssues).await;
        assert_eq!(
            stage.snapshot(),
            MergeRequestSnapshot {
                notes: vec![edited(&stage.review(Verdict::MinorIssues))],
                ..before
            },
            "{kind:?}"
        );
    }
}

#[tokio::test]
async fn reading_goes_on_after_a_fault() {
    for kind in [
        FaultKind::BadGateway,
        FaultKind::ServerError,
        FaultKind::Unavailable,
        FaultKind::TruncatedBody,
        FaultKind::RateLimited { retry_after: Some(1) },
    ] {
        let stage = Stage::new().await;
        let expected = stage.plugin().load().await.unwrap().subject.clone();
        for path in ["/user", "/projects/{id}/merge_requests/{iid}", DISCUSSIONS] {
            stage.gitlab.inject(Fault::once("GET", path, kind.clone()));
        }
        let found = stage.plugin().load().await.unwrap().subject.clone();
        assert_eq!((found, stage.gitlab.remaining_faults()), (expected, 0), "{kind:?}");
    }
}

#[tokio::test]
async fn a_gateway_that_stays_bad_is_named() {
    let stage = Stage::new().await;
    stage.gitlab.inject(Fault::any(FaultKind::BadGateway).times(99));
    let text = "GitLab answered 502 when asked to read whose token it is: an HTML page";
    assert_eq!(stage.refusal().await.to_string(), text);
    assert_eq!(stage.gitlab.requests().len(), 3);
}

#[tokio::test]
async fn a_request_that_hangs_is_given_up() {
    for (method, path) in [("GET", "/user"), ("POST", NOTES)] {
        let mut stage = Stage::new().await;
        stage.timeouts.request = Duration::from_secs(1);
        stage.gitlab.inject(Fault::once(method, path, FaultKind::Hang));
        assert_eq!(stage.run(Verdict::MinorIssues).await, stage.outcome(false, &[]));
        assert_eq!(stage.gitlab.remaining_faults(), 0, "{path}");
    }
}

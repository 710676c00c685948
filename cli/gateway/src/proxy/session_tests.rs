use std::time::Duration;

use conclave_engine::ports::SessionId;
use conclave_shared::model::ModelId;

use super::{super::session::Sessions, *};
use crate::clock::now;

fn model(name: &str) -> ModelId {
    name.parse().expect("a model")
}

fn session() -> Arc<Session> {
    let sessions = Sessions::default();
    let id = SessionId("ses_a".to_owned());
    sessions.assign(&id, "security", &[model("a/one"), model("a/two")]);
    sessions.get(&id).expect("assigned")
}

#[tokio::test(start_paused = true)]
async fn idleness_is_that_of_the_liveliest_request_under_way() {
    let session = session();
    assert_eq!(session.idle_for(), None);
    let first = InFlightRequest::begin(Arc::clone(&session));
    tokio::time::advance(Duration::from_secs(7)).await;
    assert_eq!(session.idle_for(), Some(Duration::from_secs(7)));
    let second = InFlightRequest::begin(Arc::clone(&session));
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(session.idle_for(), Some(Duration::from_secs(2)));
    drop(second);
    assert_eq!(session.idle_for(), Some(Duration::from_secs(9)));
    first.touch();
    assert_eq!(session.idle_for(), Some(Duration::ZERO));
    drop(first);
    assert_eq!(session.idle_for(), None);
}

#[tokio::test(start_paused = true)]
async fn a_fallback_is_kept_for_a_while() {
    let session = session();
    let (one, two) = (model("a/one"), model("a/two"));
    session.keep_fallback(&one, &two, Duration::from_mins(2));
    tokio::time::advance(Duration::from_secs(100)).await;
    session.keep_fallback(&one, &two, Duration::from_mins(2));
    assert_eq!(session.fallback(&one), Some(two.clone()));
    tokio::time::advance(Duration::from_secs(21)).await;
    assert_eq!(session.fallback(&one), None, "using it does not prolong it");
    session.keep_fallback(&one, &two, Duration::from_mins(2));
    session.keep_fallback(&one, &one, Duration::from_mins(2));
    assert_eq!(session.fallback(&one), None);
}

#[tokio::test(start_paused = true)]
async fn a_session_knows_how_long_it_waits_for_a_model() {
    let session = session();
    assert_eq!(session.waits_for(), None);
    let waiting = session.wait_until(now() + Duration::from_secs(90));
    tokio::time::advance(Duration::from_secs(30)).await;
    assert_eq!(session.waits_for(), Some(Duration::from_mins(1)));
    drop(waiting);
    assert_eq!(session.waits_for(), None);
}

//! The queue on its own: what is dropped, counted and reported.

use super::*;

fn filled(requests: usize) -> Queue {
    let mut queue = Queue::default();
    for number in 0..requests * BATCH {
        queue.push(format!("{number}"), Instant::now());
    }
    queue
}

#[test]
fn a_full_request_does_not_wait_for_company() {
    let mut queue = filled(2);
    assert_eq!((queue.since(), queue.pending()), (None, 2));
    queue.push("x".to_owned(), Instant::now());
    assert!(queue.since().is_some());
    assert_eq!(queue.pending(), 3);
    let first = queue.take().expect("one waits");
    assert!(first.body().starts_with(r#"{"events":[0,1,2,"#), "{}", first.body());
}

#[test]
fn beyond_fifty_requests_the_oldest_is_dropped_and_counted() {
    let mut queue = filled(MAX_PENDING);
    assert_eq!((queue.pending(), queue.lost()), (50, 50 * 100));
    assert_eq!(queue.lost, 0);
    for number in 0..BATCH {
        queue.push(format!("n{number}"), Instant::now());
    }
    assert_eq!((queue.pending(), queue.lost), (50, 100));
    let oldest = queue.take().expect("one waits");
    assert!(
        oldest.body().starts_with(r#"{"events":[100,"#),
        "the first hundred are gone"
    );
}

#[test]
fn requests_on_their_way_count_and_are_not_dropped() {
    let mut queue = filled(MAX_PENDING);
    let sending = [queue.take(), queue.take()].map(|request| request.expect("one waits"));
    for number in 0..BATCH {
        queue.push(format!("n{number}"), Instant::now());
    }
    assert_eq!((queue.pending(), queue.lost), (50, 100));
    for request in &sending {
        queue.done(request, Some(0));
    }
    assert_eq!((queue.pending(), queue.lost), (48, 100));
}

#[test]
fn what_was_lost_is_reported_once_and_again_if_the_report_is_lost_too() {
    let mut queue = filled(1);
    let request = queue.take().expect("one waits");
    queue.done(&request, None);
    assert_eq!(queue.unreported(), None, "nothing is sent that could carry it");
    queue.push("x".to_owned(), Instant::now());
    assert_eq!(queue.unreported(), Some(100));
    assert_eq!(queue.unreported(), None);
    queue.report("lost 100".to_owned(), 100);
    queue.seal();
    let request = queue.take().expect("one waits");
    assert_eq!(request.body(), r#"{"events":[x,lost 100]}"#);
    queue.done(&request, None);
    // The event beside the report is lost as well; the report itself is none.
    assert_eq!(queue.lost(), 101);
    queue.close();
    assert_eq!(queue.unreported(), Some(101), "the last request may be a report alone");
    queue.report("lost 101".to_owned(), 101);
    queue.seal();
    let request = queue.take().expect("one waits");
    queue.done(&request, None);
    assert_eq!(queue.unreported(), None, "it is said once, and not for ever");
    assert_eq!((queue.lost(), queue.is_idle()), (101, true));
}

#[test]
fn what_the_tracker_refuses_is_lost_and_a_report_among_it_is_sent_again() {
    let mut queue = filled(1);
    let request = queue.take().expect("one waits");
    queue.done(&request, Some(7));
    assert_eq!((queue.refused(), queue.lost(), queue.unreported()), (7, 0, None));
    queue.push("x".to_owned(), Instant::now());
    queue.report("lost 5".to_owned(), 5);
    queue.seal();
    let request = queue.take().expect("one waits");
    queue.done(&request, Some(2));
    assert_eq!(queue.refused(), 8, "the report is not an event of the run");
    queue.close();
    assert_eq!(queue.unreported(), Some(5));
}

#[test]
fn a_request_is_never_longer_than_the_tracker_takes() {
    let mut queue = Queue::default();
    let event = "e".repeat(60 * 1024);
    for _ in 0..10 {
        queue.push(event.clone(), Instant::now());
    }
    queue.push("e".repeat(MAX_BATCH_BYTES), Instant::now());
    assert_eq!(queue.lost, 1, "what no request can hold is lost, and counted");
    queue.seal();
    let mut events = 0;
    while let Some(request) = queue.take() {
        assert!(request.body().len() <= MAX_BATCH_BYTES);
        events += request.count();
    }
    assert_eq!(events, 10);
}

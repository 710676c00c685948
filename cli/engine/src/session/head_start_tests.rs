//! Who asks first, in paused time.

use conclave_shared::{config::ModelRoute, reviewer::ReviewerName};
use tokio::time::advance;

use super::*;
use crate::{
    review::StopCause,
    session::{
        SessionTask,
        test_support::{Stage, context, run_session, says, task},
    },
};

fn member(name: &str, model: &str) -> PanelMember {
    PanelMember {
        name: ReviewerName::new(name).expect("a name"),
        route: Ok(ModelRoute {
            models: vec![model.parse().expect("a model")],
            skipped: Vec::new(),
            effort: conclave_shared::effort::Effort::Medium,
        }),
        required: true,
        attempt: Duration::from_mins(5),
        parts: Vec::new(),
        patches: Vec::new(),
        rules: None,
    }
}

/// Two models: `security` and `release` are the first of theirs.
fn panel() -> Vec<PanelMember> {
    vec![
        member("security", "a/large"),
        member("correctness", "a/large"),
        member("release", "a/small"),
    ]
}

fn named(name: &str) -> SessionTask {
    SessionTask {
        name: name.to_owned(),
        ..task()
    }
}

/// Who waits at this moment.
async fn waits(head_start: &HeadStart, name: &str) -> bool {
    let went = tokio::select! {
        biased;
        () = head_start.wait(name) => true,
        () = std::future::ready(()) => false,
    };
    !went
}

#[tokio::test(start_paused = true)]
async fn the_first_of_each_model_goes_at_once_and_everybody_else_when_all_of_them_have_asked() {
    let head_start = HeadStart::of(&panel(), 7);
    for (name, waiting) in [
        ("security", false),
        ("release", false),
        ("correctness", true),
        ("coordinator", true),
    ] {
        assert_eq!(waits(&head_start, name).await, waiting, "{name}");
    }
    head_start.started("security");
    assert!(waits(&head_start, "correctness").await, "release has not asked yet");
    head_start.started("release");
    for name in ["correctness", "coordinator"] {
        assert!(!waits(&head_start, name).await, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_long_nor_for_somebody_whose_turn_comes_later() {
    let head_start = HeadStart::of(&panel(), 7);
    advance(MAX_WAIT).await;
    assert!(!waits(&head_start, "coordinator").await);
    // Two sessions at once: `release` cannot begin before one of the others has ended.
    let head_start = HeadStart::of(&panel(), 2);
    head_start.started("security");
    assert!(!waits(&head_start, "correctness").await);
}

#[tokio::test(start_paused = true)]
async fn a_session_has_asked_when_the_gateway_holds_its_call() {
    let stage = Stage::new(|_, _| says(60, "nothing"));
    let (mut context, around, _stopper) = context(&stage);
    context.head_start = HeadStart::of(&panel()[..1], 7);
    let began = Instant::now();
    let (leader, follower) = (context.clone(), context.clone());
    let leader = tokio::spawn(async move { run_session(&leader, &named("security")).await });
    let follower = tokio::spawn(async move { run_session(&follower, &named("correctness")).await });
    sleep(Duration::from_millis(300)).await;
    assert_eq!(stage.busy(), ["security"]);
    *around.held.lock().expect("free") = Some(Duration::ZERO);
    while stage.busy().len() < 2 {
        sleep(POLL).await;
    }
    assert!(began.elapsed() < Duration::from_millis(400), "{:?}", began.elapsed());
    for session in [leader, follower] {
        session.await.expect("no panic");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_wait() {
    let stage = Stage::new(|_, _| says(60, "nothing"));
    let (mut context, _around, stopper) = context(&stage);
    context.head_start = HeadStart::of(&panel()[..1], 7);
    let began = Instant::now();
    let waiting = tokio::spawn(async move { run_session(&context, &named("coordinator")).await });
    sleep(Duration::from_millis(100)).await;
    stopper.send_replace(Some(StopCause::Asked));
    waiting.await.expect("no panic");
    assert_eq!(began.elapsed(), Duration::from_millis(100));
    assert_eq!(stage.sessions(), 0, "no session was made");
}

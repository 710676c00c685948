use super::*;

fn model(name: &str) -> ModelId {
    name.parse().expect("a model")
}

fn session() -> Arc<Session> {
    let sessions = Sessions::default();
    let id = SessionId("ses_a".to_owned());
    sessions.assign(&id, "security", &[model("a/one"), model("a/two")]);
    sessions.get(&id).expect("assigned")
}

#[test]
fn a_booking_replaces_what_it_said_before() {
    let session = session();
    let usage = |input, output| TokenUsage {
        input,
        output,
        ..TokenUsage::default()
    };
    let mut first = Booking::open(Arc::clone(&session), model("a/one"), None);
    let mut second = Booking::open(Arc::clone(&session), model("a/one"), None);
    first.set(Some(usage(100, 1)), 0);
    second.set(Some(usage(50, 7)), 0);
    first.set(Some(usage(100, 42)), 0);
    first.set(Some(usage(100, 42)), 0);
    drop(first);
    let account = session.accounts()[&model("a/one")];
    assert_eq!((account.calls, account.tokens), (2, usage(150, 49)));
}

#[test]
fn each_call_has_its_own_price() {
    let session = session();
    let sol = model("openai/gpt-6-sol");
    let facts = conclave_shared::pricing::facts(&sol);
    let mut sum = 0.0;
    for input in [200_000, 300_000] {
        let usage = TokenUsage {
            input,
            output: 1_000,
            ..TokenUsage::default()
        };
        let mut booking = Booking::open(Arc::clone(&session), sol.clone(), facts);
        booking.set(Some(TokenUsage { output: 1, ..usage }), 0);
        booking.set(Some(usage), 0);
        sum += facts.expect("known").cost_usd(&usage);
    }
    let account = session.accounts()[&sol];
    assert!((account.cost_usd - sum).abs() < 1e-9);
    let as_one = facts.expect("known").cost_usd(&account.tokens);
    assert!(
        (as_one - sum).abs() > 0.1,
        "the sum of both prompts would be a long one"
    );
}

#[tokio::test(start_paused = true)]
async fn idleness_is_that_of_the_liveliest_request_under_way() {
    let session = session();
    assert_eq!(session.idle_for(), None);
    let first = Flight::begin(Arc::clone(&session));
    tokio::time::advance(Duration::from_secs(7)).await;
    assert_eq!(session.idle_for(), Some(Duration::from_secs(7)));
    let second = Flight::begin(Arc::clone(&session));
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
async fn a_stand_in_is_kept_for_a_while() {
    let session = session();
    let (one, two) = (model("a/one"), model("a/two"));
    session.keep_stand_in(&one, &two, Duration::from_mins(2));
    tokio::time::advance(Duration::from_secs(100)).await;
    session.keep_stand_in(&one, &two, Duration::from_mins(2));
    assert_eq!(session.stand_in(&one), Some(two.clone()));
    tokio::time::advance(Duration::from_secs(21)).await;
    assert_eq!(session.stand_in(&one), None, "using it does not prolong it");
    session.keep_stand_in(&one, &two, Duration::from_mins(2));
    session.keep_stand_in(&one, &one, Duration::from_mins(2));
    assert_eq!(session.stand_in(&one), None);
}

#[test]
fn makers_of_reasoning_are_remembered() {
    let session = session();
    session.seal(&["c2ln".to_owned()], &model("a/one"));
    assert_eq!(session.maker("c2ln"), Some(model("a/one")));
    assert_eq!(session.maker("other"), None);
    assert!(session.has_foreign_seals(&model("a/two")));
    assert!(!session.has_foreign_seals(&model("a/one")));
}

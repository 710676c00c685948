//! Models and providers that do what none should: the review ends as it would without, on both runtimes.

use conclave_scripted_provider::{Answer, Fault, Position};
use serde_json::json;

use crate::support::{Conclave, Outcome, Repository, provider};

on_both_runtimes! {
    calls_that_are_wrong_a_hundred_at_once_or_more_than_a_context_cost_no_finding
    calls_without_end_end_and_nothing_is_approved
    ten_megabytes_of_text_end_and_nothing_is_approved
    a_stream_that_is_cut_inside_of_a_call_costs_no_finding
}

/// The one reviewer of the small change that is reviewed here.
const REVIEWER: &str = "generalist";

async fn reviewed(provider: &conclave_scripted_provider::ScriptedProvider, repository: &Repository) -> Outcome {
    Conclave::new(repository.path(), &["local", "main..feature"])
        .anthropic(provider)
        .run()
        .await
}

async fn calls_that_are_wrong_a_hundred_at_once_or_more_than_a_context_cost_no_finding() {
    let (provider, repository) = (provider().await, Repository::flawed());
    // 60 times 50 KB: more than half of what the largest model takes.
    repository.git(&["checkout", "--quiet", "main"]);
    repository.write("large.txt", &format!("{}\n", "y".repeat(1500)).repeat(80));
    repository.commit("A large text");
    repository.git(&["checkout", "--quiet", "feature"]);
    repository.git(&["rebase", "--quiet", "main"]);
    let mut calls = Answer::call("bash", json!({"command": "id"}));
    for (name, arguments) in [
        (
            "edit",
            json!({"filePath": "src/users.py", "oldString": "def", "newString": "fn"}),
        ),
        ("no such tool", json!({})),
        ("read", json!({})),
        ("read", json!({"filePath": 7})),
        ("read", json!({"filePath": "/etc/passwd"})),
        ("read", json!({"filePath": "src/users.py", "offset": "first"})),
        ("grep", json!({"pattern": "("})),
        ("glob", json!({"pattern": ["a"]})),
    ] {
        calls = calls.and_call(name, arguments);
    }
    for number in 0..100 {
        let arguments = match number % 5 {
            0 | 1 => json!({"filePath": "src/users.py", "offset": 1, "limit": number + 1}),
            _ => json!({"filePath": "large.txt", "offset": 1, "limit": 2000 - number}),
        };
        calls = calls.and_call("read", arguments);
    }
    provider.set(REVIEWER, 1, calls);
    let outcome = reviewed(&provider, &repository).await.expect_code(0);
    assert!(
        outcome.categories().contains(&"sql-injection".to_owned()),
        "{}",
        outcome.stdout
    );
    assert_eq!(outcome.review()["verdict"], "significant_concerns");
    let asked: Vec<_> = provider
        .requests()
        .into_iter()
        .filter(|request| request.agent == REVIEWER)
        .collect();
    assert_eq!(asked.len(), 2, "it was asked for its calls, and with their results");
    let last = asked[1].text();
    assert!(!last.contains("root:x:0"), "nothing outside of the workspace is shown");
    assert_eq!(provider.violations(), []);
}

async fn calls_without_end_end_and_nothing_is_approved() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let many = |count: usize| {
        (1..count).fold(Answer::call("grep", json!({"pattern": "def"})), |answer, number| {
            answer.and_call("read", json!({"filePath": "src/users.py", "limit": number}))
        })
    };
    provider.set_always(REVIEWER, many(30));
    let outcome = reviewed(&provider, &repository).await;
    assert_eq!(outcome.review()["verdict"], "inconclusive", "{}", outcome.stdout);
    assert!(provider.requests().len() < 40, "{}", provider.requests().len());
}

async fn ten_megabytes_of_text_end_and_nothing_is_approved() {
    let (provider, repository) = (provider().await, Repository::flawed());
    provider.set_always(REVIEWER, Answer::text("long ".repeat(2 << 20)));
    let outcome = reviewed(&provider, &repository).await;
    assert_eq!(outcome.review()["verdict"], "inconclusive", "{}", outcome.stdout);
}

async fn a_stream_that_is_cut_inside_of_a_call_costs_no_finding() {
    let (provider, repository) = (provider().await, Repository::flawed());
    provider.set(REVIEWER, 1, Answer::call("read", json!({"filePath": "src/users.py"})));
    provider.inject(Fault::cut().at(Position::MidContent).agent(REVIEWER).turn(1).times(1));
    let outcome = reviewed(&provider, &repository).await.expect_code(0);
    assert!(
        outcome.categories().contains(&"sql-injection".to_owned()),
        "{}",
        outcome.stdout
    );
    assert_eq!(outcome.review()["verdict"], "significant_concerns");
    let turns: Vec<usize> = provider
        .requests()
        .iter()
        .filter(|request| request.agent == REVIEWER)
        .map(|request| request.turn)
        .collect();
    assert_eq!(turns, [1, 1, 2], "it is asked again, and its call runs once");
}

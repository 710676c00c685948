//! Faults between a model and its reader: answers that break off, characters of which half comes, texts in unknown forms, counts
//! that cannot be true, and signs of life without an answer. No review approves an answer that was not read whole.

use std::sync::atomic::{AtomicBool, Ordering};

use conclave_scripted_provider::{Answer, Fault, Position, ScriptedProvider};
use serde_json::{Value, json};

use crate::support::{
    AgentRuntime, Conclave, Outcome, PROVIDER_KEY, Repository, acting, played, played_formats, provider,
};

on_both_runtimes! {
    a_whole_finding_of_an_answer_that_broke_off_counts_in_every_format
    half_a_critical_finding_of_an_answer_that_broke_off_is_asked_for
    half_characters_hide_no_finding_in_any_format
    a_text_of_known_parts_is_read_and_one_of_unknown_parts_never_approves_in_any_format
    counts_that_are_none_cost_no_review_and_the_cost_is_unknown_in_every_format
    a_token_budget_holds_where_the_provider_does_not_count
    signs_of_life_alone_end_as_a_stalled_answer_in_every_format
}

/// The one reviewer of the small change that is reviewed here.
const REVIEWER: &str = "generalist";
/// An answer without findings.
const NOTHING: &str = "<findings></findings>";
/// The formats in which models are asked.
const FORMATS: [&str; 3] = ["anthropic", "responses", "chat"];

/// A review by one model that speaks this format.
fn job(format: &str, provider: &ScriptedProvider, repository: &Repository) -> Conclave {
    Conclave::new(repository.path(), &["local", "main..feature"])
        .env("CONCLAVE_COMPATIBLE_BASE_URL", format!("{}/v1", provider.url()))
        .env("CONCLAVE_COMPATIBLE_API_KEY", PROVIDER_KEY)
        .env("CONCLAVE_COMPATIBLE_API", format)
        .env("CONCLAVE_MODELS", "compatible/model")
}

/// A critical finding that stands in the flawed change.
fn finding(repository: &Repository) -> String {
    let source = std::fs::read_to_string(repository.path().join("src/users.py")).unwrap();
    let (at, line) = source
        .lines()
        .enumerate()
        .find(|(_, line)| line.contains("SELECT"))
        .unwrap();
    format!(
        "<finding>\n<severity>critical</severity>\n<category>sql-injection</category>\n<file>src/users.py</file>\n\
         <line>{}</line>\n<claim>Whoever calls this gets every row.</claim>\n<evidence>\n{line}\n</evidence>\n\
         <scenario>Any call.</scenario>\n<checked>The callers.</checked>\n<confidence>0.95</confidence>\n</finding>\n",
        at + 1
    )
}

fn verdict(outcome: &Outcome) -> String {
    outcome.review()["verdict"].as_str().unwrap().to_owned()
}

fn claims(outcome: &Outcome) -> Vec<String> {
    let review = outcome.review();
    let findings = review["findings"].as_array().unwrap().iter();
    findings
        .map(|entry| entry["finding"]["claim"].as_str().unwrap().to_owned())
        .collect()
}

/// Breaks the reviewer's first answer, after which it says nothing of what that told.
async fn told_and_broken(format: &str, text: &str, fault: Fault) -> (Outcome, ScriptedProvider) {
    let (text, told) = (text.to_owned(), AtomicBool::new(false));
    let provider = acting(move |request| {
        let answer = || {
            if told.swap(true, Ordering::SeqCst) {
                NOTHING
            } else {
                text.as_str()
            }
        };
        (request.agent == REVIEWER).then(|| Answer::text(answer()))
    })
    .await;
    provider.inject(fault.agent(REVIEWER).times(1));
    let outcome = job(format, &provider, &Repository::flawed()).run().await;
    (outcome, provider)
}

async fn a_whole_finding_of_an_answer_that_broke_off_counts_in_every_format() {
    let finding = finding(&Repository::flawed());
    let text = format!(
        "<findings>\n{finding}{}",
        finding.replace("confidence", "never closed").repeat(3)
    );
    for format in played_formats(FORMATS) {
        for fault in played([
            Fault::cut(),
            Fault::clean_end(),
            Fault::garbage(),
            Fault::error_frame("overloaded_error", "Overloaded"),
        ]) {
            let shown = format!("{format} {fault:?}");
            let (outcome, provider) = told_and_broken(format, &text, fault).await;
            assert_eq!(verdict(&outcome), "significant_concerns", "{shown}: {}", outcome.stdout);
            assert_eq!(claims(&outcome)[0], "Whoever calls this gets every row.", "{shown}");
            assert!(provider.requests().len() > 1, "{shown}: it was asked again");
        }
    }
}

async fn half_a_critical_finding_of_an_answer_that_broke_off_is_asked_for() {
    let finding = finding(&Repository::flawed());
    let (outcome, _) = told_and_broken("anthropic", &format!("<findings>\n{finding}</findings>"), Fault::cut()).await;
    assert_eq!(
        (verdict(&outcome).as_str(), claims(&outcome).len()),
        ("inconclusive", 0),
        "{}",
        outcome.stdout
    );
}

async fn half_characters_hide_no_finding_in_any_format() {
    let repository = Repository::flawed();
    let text = format!(
        "<findings>\n{}</findings>",
        finding(&repository).replace("Any call.", "Any @ call.")
    );
    for format in played_formats(FORMATS) {
        for put in played([&b"\\ud800"[..], b"\\udfff", b"\xff", b"\xe2\x82"]) {
            let provider = provider().await;
            provider.set(REVIEWER, 1, Answer::text(&*text));
            provider.inject(Fault::bytes("@", put).agent(REVIEWER));
            let outcome = job(format, &provider, &repository).run().await.expect_code(0);
            assert_eq!(
                verdict(&outcome),
                "significant_concerns",
                "{format} {put:?}: {}",
                outcome.stdout
            );
            assert_eq!(
                claims(&outcome),
                ["Whoever calls this gets every row."],
                "{format} {put:?}"
            );
        }
    }
}

async fn a_text_of_known_parts_is_read_and_one_of_unknown_parts_never_approves_in_any_format() {
    for format in played_formats(FORMATS) {
        let find = match format {
            "anthropic" => "\"text\":\"@\"",
            "responses" => "\"delta\":\"@\"",
            _ => "\"content\":\"@\"",
        };
        let (field, _) = find.split_once(':').unwrap();
        for (value, expected) in played([
            (json!([{"type": "text", "text": NOTHING}]), "approved"),
            (
                json!([{"type": "text", "text": NOTHING}, {"type": "rich_text", "words": "a critical finding"}]),
                "inconclusive",
            ),
            (json!({"words": "a critical finding"}), "inconclusive"),
            (json!(7), "inconclusive"),
        ]) {
            let (provider, repository) = (provider().await, Repository::clean());
            provider.set_always(REVIEWER, Answer::text("@"));
            provider.inject(Fault::bytes(find, format!("{field}:{value}")).agent(REVIEWER));
            // In Responses the end repeats the text, which is another one here; the native runtime reads both.
            let is_contradicted = format == "responses" && AgentRuntime::current() == AgentRuntime::Native;
            let expected = if is_contradicted { "inconclusive" } else { expected };
            let outcome = job(format, &provider, &repository).run().await;
            assert_eq!(verdict(&outcome), expected, "{format} {value}: {}", outcome.stdout);
        }
    }
}

/// The usage with these counts, in the words of all formats.
fn usage(count: &Value) -> Value {
    json!({"input_tokens": count, "output_tokens": count, "prompt_tokens": count, "completion_tokens": count})
}

async fn counts_that_are_none_cost_no_review_and_the_cost_is_unknown_in_every_format() {
    for format in played_formats(FORMATS) {
        for (usage, is_known) in played([
            (None, false),
            (Some(json!(null)), false),
            (Some(usage(&json!(-5))), false),
            (Some(usage(&json!(1e30))), false),
            (Some(usage(&json!(u64::MAX))), false),
            (Some(usage(&json!("12"))), true),
            (Some(usage(&json!(1.5))), true),
        ]) {
            let (provider, repository) = (provider().await, Repository::flawed());
            provider.inject(Fault::field("usage", usage.clone()));
            let outcome = job(format, &provider, &repository).run().await.expect_code(0);
            assert_eq!(
                verdict(&outcome),
                "significant_concerns",
                "{format} {usage:?}: {}",
                outcome.stdout
            );
            let review = outcome.review();
            let used = &review["reviewers"][0]["usage"][0];
            assert_eq!(used["uncounted"].is_null(), is_known, "{format} {usage:?}: {used}");
            assert_eq!(
                outcome.record("review.md").contains("| unknown | cost unknown |"),
                !is_known,
                "{format} {usage:?}"
            );
            assert!(
                is_known || outcome.stdout.contains("tokens unknown") && outcome.stdout.contains("cost unknown"),
                "{format} {usage:?}: {}",
                outcome.stdout
            );
        }
    }
}

async fn a_token_budget_holds_where_the_provider_does_not_count() {
    for format in played_formats(FORMATS) {
        let (provider, repository) = (provider().await, Repository::flawed());
        provider.inject(Fault::field("usage", None));
        let outcome = job(format, &provider, &repository)
            .env("CONCLAVE_MAX_TOKENS", "3000")
            .run()
            .await;
        let asked = provider.requests().len();
        assert!(
            asked <= 2,
            "{format}: the first calls are more than the budget: {}",
            outcome.stdout
        );
        assert!(
            outcome.stdout.contains("all of the budget of 3000 tokens"),
            "{format}: {}",
            outcome.stdout
        );
        assert_ne!(verdict(&outcome), "approved", "{format}: {}", outcome.stdout);
    }
}

async fn signs_of_life_alone_end_as_a_stalled_answer_in_every_format() {
    for format in played_formats(FORMATS) {
        for position in played([Position::MidContent, Position::AfterStart]) {
            let (provider, repository) = (provider().await, Repository::clean());
            provider.inject(Fault::pings().at(position).agent(REVIEWER).times(1));
            let began = std::time::Instant::now();
            let outcome = job(format, &provider, &repository)
                .env("CONCLAVE_LIMITS", "idle_seconds=1")
                .run()
                .await
                .expect_code(0);
            assert_eq!(
                verdict(&outcome),
                "approved",
                "{format} {position:?}: {}",
                outcome.stdout
            );
            assert!(began.elapsed().as_secs() < 45, "{format} {position:?}");
            let told = format!("{}{}", outcome.stderr, outcome.stdout);
            assert!(
                position == Position::AfterStart || told.contains("(stalled)"),
                "{format} {position:?}: {told}"
            );
        }
    }
}

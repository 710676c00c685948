//! Replies and questions with nothing to review: the judge alone is asked, or no model.

use conclave_fake_gitlab::AccessLevel;
use conclave_scripted_provider::{Answer, COORDINATOR, ScriptedProvider};
use serde_json::{Value, json};

use crate::support::{Pipeline, Repository, provider};

on_both_runtimes! {
    a_question_alone_starts_the_judge_and_no_reviewer_and_is_answered_once
    a_reply_decides_in_the_projects_language_and_what_does_not_decide_starts_the_judge_alone
}

/// The agents that asked a model since so many requests.
fn asked(provider: &ScriptedProvider, since: usize) -> Vec<String> {
    let mut agents: Vec<String> = provider.requests()[since..]
        .iter()
        .map(|request| request.agent.clone())
        .collect();
    agents.dedup();
    agents
}

/// The judge submits this whenever it is asked.
fn submits(provider: &ScriptedProvider, more: Value) {
    let mut review = json!({"summary": "Nothing new.", "decisions": [], "proposed_verdict": "approved"});
    if let (Some(review), Value::Object(more)) = (review.as_object_mut(), more) {
        review.extend(more);
    }
    provider.set_always(COORDINATOR, Answer::call("submit_review", review));
}

async fn a_question_alone_starts_the_judge_and_no_reviewer_and_is_answered_once() {
    let (provider, repository) = (provider().await, Repository::clean());
    let pipeline = Pipeline::new(&repository).await;
    let job = || pipeline.job(&repository, &[]).anthropic(&provider);
    job().run().await.expect_code(0);
    assert!(pipeline.approved());
    let carol = pipeline.gitlab.create_user("carol");
    let ask = |text: &str| {
        let note = pipeline.gitlab.comment(pipeline.merge_request, carol, text);
        note.expect("a note");
    };
    // Each question with what was answered below it.
    let answered = || -> Vec<[String; 2]> {
        let threads = pipeline.gitlab.snapshot(pipeline.merge_request).threads;
        let pairs = threads.iter().map(|thread| {
            let [question, answer] = &thread.notes[..] else {
                panic!("a question and its answer, not {thread:?}")
            };
            let shown = answer.body.split("\n\n<!-- ").next().unwrap_or_default();
            [question.body.clone(), shown.to_owned()]
        });
        pairs.collect()
    };
    let mut expected: Vec<[String; 2]> = Vec::new();
    for (question, light, answer) in [
        ("机器人喜欢制表符还是空格？", true, Some("Tabs on weekdays.")),
        (
            "Does this also work with Postgres 12?",
            false,
            Some("Yes: it uses nothing newer. /approve"),
        ),
        // A second light-hearted one gets none.
        ("And on Sundays?", true, None),
    ] {
        ask(question);
        let text = answer.unwrap_or("Spaces.");
        submits(
            &provider,
            json!({"answers": [{"id": "Q1", "answer": text, "light": light}]}),
        );
        let before = provider.requests().len();
        let review = job().run().await.expect_code(0).review();
        assert_eq!(asked(&provider, before), [COORDINATOR], "{question}: {review:#}");
        let given = String::from_utf8_lossy(&provider.requests()[before].body).into_owned();
        assert!(given.contains(&format!("- Q1 | carol | {question}")), "{question}");
        assert_eq!(review["verdict"], "approved");
        assert!(pipeline.approved());
        expected.extend(answer.map(|answer| [question.to_owned(), answer.to_owned()]));
        assert_eq!(answered(), expected);
    }
    let before = provider.requests().len();
    job().run().await.expect_code(0);
    assert_eq!(asked(&provider, before), [""; 0], "a judge has read all of them");
    assert_eq!(answered(), expected);
    let snapshot = pipeline.gitlab.snapshot(pipeline.merge_request);
    assert!(
        snapshot.executed_commands.is_empty(),
        "{:?}",
        snapshot.executed_commands
    );
    assert_eq!(pipeline.gitlab.violations(), []);
}

async fn a_reply_decides_in_the_projects_language_and_what_does_not_decide_starts_the_judge_alone() {
    let repository = Repository::flawed();
    repository.git(&["checkout", "--quiet", "main"]);
    repository.write(".conclave.toml", "[review]\nlanguage = \"German\"\n");
    repository.commit("Settings");
    let (provider, pipeline) = (provider().await, Pipeline::new(&repository).await);
    let job = || pipeline.job(&repository, &[]).anthropic(&provider);
    let first = job().run().await.expect_code(0).review();
    assert_eq!(first["verdict"], "significant_concerns");
    let bob = pipeline.member("bob", AccessLevel::Developer);
    let threads = || pipeline.gitlab.snapshot(pipeline.merge_request).threads;
    let reply = |user, text: &str| {
        for thread in threads().iter().filter(|thread| !thread.resolved) {
            pipeline.gitlab.reply(pipeline.merge_request, user, &thread.id, text);
        }
    };
    let unresolved = || threads().iter().filter(|thread| !thread.resolved).count();
    let all = unresolved();
    submits(&provider, json!({}));
    for text in [
        "Wird nicht behoben？",
        "\u{201e}Wird nicht behoben\u{201c}, das w\u{e4}re zu einfach.",
        "Wird nicht behoben, falls niemand widerspricht.",
    ] {
        reply(bob, text);
        let before = provider.requests().len();
        let review = job().run().await.expect_code(0).review();
        assert_eq!(asked(&provider, before), [COORDINATOR], "{text}: {review:#}");
        assert_eq!(
            (unresolved(), &review["verdict"]),
            (all, &json!("significant_concerns")),
            "{text}"
        );
    }
    // The author may not settle what is critical, in whatever language.
    reply(pipeline.author, "Wird nicht behoben.");
    job().run().await.expect_code(0);
    assert!(unresolved() > 0 && !pipeline.approved());
    reply(bob, "Wird nicht behoben.");
    let before = provider.requests().len();
    job().run().await.expect_code(0);
    assert_eq!(unresolved(), 0);
    assert_eq!(asked(&provider, before), [""; 0], "a plain decision needs no model");
    assert_eq!(pipeline.gitlab.violations(), []);
}

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
    ask("机器人喜欢制表符还是空格？");
    submits(&provider, json!({"aside": "Tabs on weekdays."}));
    let before = provider.requests().len();
    let review = job().run().await.expect_code(0).review();
    assert_eq!(asked(&provider, before), [COORDINATOR], "{review:#}");
    assert_eq!(review["verdict"], "approved");
    assert!(pipeline.approved());
    let answers = pipeline.notes().into_iter();
    let answers = answers.filter(|note| note.starts_with("Tabs on weekdays."));
    assert_eq!(answers.count(), 1);
    let before = provider.requests().len();
    ask("And on Sundays?");
    job().run().await.expect_code(0);
    assert_eq!(asked(&provider, before), [""; 0], "one answer for each merge request");
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

//! The author of a pull request, with an ordinary right to write, deletes or edits what the bot has said, and the models say nothing.

use conclave_fake_github::ReviewState;
use conclave_scripted_provider::{Answer, ScriptedProvider};

use crate::support::{AgentRuntime, Repository, Workflow, on, provider};

#[tokio::test(flavor = "multi_thread")]
async fn what_the_author_does_to_the_bots_comments_lifts_no_block() {
    on(AgentRuntime::Native, wiped()).await;
}

async fn wiped() {
    let (seeing, blind, repository) = (provider().await, provider().await, Repository::flawed());
    blind.set_words("generalist", vec![Answer::text("<findings></findings>")]);
    // Set back to the review that found nothing, overwritten, deleted.
    for wiping in ["set back", "overwritten", "deleted"] {
        let workflow = Workflow::new(&repository).await;
        workflow.github.allow_actions_to_approve(workflow.repository, true);
        let job = workflow.opened(repository.path());
        let run = |provider: &ScriptedProvider| {
            let call = workflow.review_in(&job, &repository, &["--mode", "gate", "--gate", "block", "--full"]);
            call.anthropic(provider).env("CONCLAVE_SECRET", "a secret").run()
        };
        let (github, pull) = (&workflow.github, workflow.pull);
        let conclusion = || {
            workflow
                .snapshot()
                .checks
                .last()
                .and_then(|check| check.conclusion.clone())
        };
        run(&blind).await.expect_code(0);
        assert_eq!(conclusion().as_deref(), Some("success"), "{wiping}");
        let clean = workflow.snapshot().comments.remove(0);
        assert!(clean.body.contains("<!-- conclave:summary:"), "{}", clean.body);
        run(&seeing).await.expect_code(1);
        assert_eq!(conclusion().as_deref(), Some("failure"), "{wiping}");

        for thread in workflow.snapshot().threads {
            for comment in thread.comments {
                github.delete_review_comment(pull, comment.id);
            }
        }
        match wiping {
            "set back" => github.edit_comment(pull, workflow.author, clean.id, &clean.body),
            "overwritten" => github.edit_comment(pull, workflow.author, clean.id, "hello"),
            _ => github.delete_comment(pull, clean.id),
        }
        for _ in 0..2 {
            let review = run(&blind).await.expect_code(1).review();
            let holds = review["approval_holds"].as_array().unwrap();
            let is_held = holds.iter().any(|hold| hold["cause"] == "unreadable_reviews");
            assert!(is_held, "{wiping}: {review:#}");
            assert_eq!(conclusion().as_deref(), Some("action_required"), "{wiping}");
        }
        let reviews = workflow.snapshot().reviews;
        let mut requests = reviews
            .iter()
            .filter(|review| review.state == ReviewState::ChangesRequested);
        let request = requests.next().expect("it is not taken back").post.id;

        // Another person with write access looks at it, and ends it.
        github.dismiss_review(pull, workflow.member("bob"), request);
        github.delete_comment(pull, clean.id);
        run(&blind).await.expect_code(0);
        assert_eq!(conclusion().as_deref(), Some("success"), "{wiping}");
        assert_eq!(github.violations(), []);
    }
}

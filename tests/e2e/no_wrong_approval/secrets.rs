//! Reviews that another secret has signed: what they found cannot be read, so it stands until a person decides.

use conclave_fake_gitlab::{AccessLevel, FakeGitlab, Scope, Tier};
use conclave_scripted_provider::{Answer, ScriptedProvider};
use serde_json::Value;

use super::scene::REVIEWER;
use crate::support::{BOT, Conclave, Outcome, Pipeline, Repository, provider};

on_both_runtimes! {
    another_secret_lifts_no_block_until_it_is_known_again_or_a_person_has_cleared_it
    a_rotated_token_lifts_no_block
}

const FIRST: &str = "the first secret of the installation";
const SECOND: &str = "the second secret of the installation";
const SERIOUS: &str = "sql-injection";
const UNREADABLE: &str = "unreadable_reviews";

/// A change with a critical flaw, a model that sees it, and one that finds nothing.
struct Scene {
    pipeline: Pipeline,
    repository: Repository,
    seeing: ScriptedProvider,
    blind: ScriptedProvider,
}

impl Scene {
    async fn new() -> Self {
        let repository = Repository::flawed();
        let blind = provider().await;
        blind.set_words(REVIEWER, vec![Answer::text("<findings></findings>")]);
        Self {
            pipeline: Pipeline::on(FakeGitlab::builder().tier(Tier::Premium), &repository).await,
            repository,
            seeing: provider().await,
            blind,
        }
    }

    fn job(&self, provider: &ScriptedProvider) -> Conclave {
        self.pipeline
            .job(&self.repository, &["--mode", "gate"])
            .anthropic(provider)
    }

    fn is_blocked(&self) -> bool {
        let snapshot = self.pipeline.gitlab.snapshot(self.pipeline.merge_request);
        snapshot.requested_changes_by.iter().any(|name| name == BOT)
    }

    fn threads(&self) -> usize {
        let snapshot = self.pipeline.gitlab.snapshot(self.pipeline.merge_request);
        let about = snapshot.threads.iter();
        about.filter(|thread| thread.notes[0].body.contains(SERIOUS)).count()
    }

    /// A run that cannot read the earlier review: it says so, approves nothing and lifts nothing.
    fn lifts_nothing(&self, outcome: &Outcome) {
        assert_eq!(causes(&outcome.review()), [UNREADABLE], "{}", outcome.stdout);
        assert!(!self.pipeline.approved() && self.is_blocked(), "{}", outcome.stderr);
        assert!(!self.pipeline.thread_about(SERIOUS).resolved);
        // The log may break its lines anywhere.
        let words: Vec<&str> = outcome.stderr.split_whitespace().collect();
        let log = words.join(" ");
        assert!(log.contains("signed with another secret"), "{}", outcome.stderr);
        let notes = self.pipeline.notes().concat();
        for part in [
            "A person has to approve this",
            "Reviews that cannot be read",
            "signed with another secret",
            "`CONCLAVE_SECRET`",
        ] {
            assert!(notes.contains(part), "{part}: {notes}");
        }
        assert!(!notes.contains("✅ Approved"), "{notes}");
    }
}

fn causes(review: &Value) -> Vec<&str> {
    let holds = review["approval_holds"].as_array().into_iter().flatten();
    holds.map(|hold| hold["cause"].as_str().unwrap()).collect()
}

async fn another_secret_lifts_no_block_until_it_is_known_again_or_a_person_has_cleared_it() {
    let scene = Scene::new().await;
    let (pipeline, merge_request) = (&scene.pipeline, scene.pipeline.merge_request);
    let run = |provider: &ScriptedProvider, secret: &str| scene.job(provider).env("CONCLAVE_SECRET", secret).run();
    run(&scene.seeing, FIRST).await.expect_code(1);
    assert!(scene.is_blocked());

    // Once more, it is still so: what the second run has posted does not take its place.
    for _ in 0..2 {
        let outcome = run(&scene.blind, SECOND).await.expect_code(1);
        scene.lifts_nothing(&outcome);
    }

    // With the first secret the finding is known, and stands in the thread that it has.
    let review = run(&scene.blind, FIRST).await.expect_code(1).review();
    assert_eq!(review["verdict"], "significant_concerns", "{review:#}");
    let findings = review["findings"].as_array().unwrap();
    assert!(
        findings
            .iter()
            .any(|entry| entry["fate"] == "kept" && entry["finding"]["category"] == SERIOUS),
        "{review:#}"
    );
    assert!(scene.is_blocked() && !pipeline.approved());
    assert_eq!(scene.threads(), 1);

    // A person resolves the thread and deletes the notes: the next run begins anew.
    let bob = pipeline.member("bob", AccessLevel::Developer);
    let thread = pipeline.thread_about(SERIOUS);
    pipeline.gitlab.resolve(merge_request, bob, &thread.id, true);
    for note in pipeline.gitlab.snapshot(merge_request).notes {
        if note.author == BOT {
            pipeline.gitlab.delete_note(merge_request, note.id);
        }
    }
    let asked = scene.blind.requests().len();
    let review = run(&scene.blind, SECOND).await.expect_code(0).review();
    assert_eq!(causes(&review), Vec::<&str>::new(), "{review:#}");
    assert!(scene.blind.requests().len() > asked, "everything is reviewed");
    assert!(pipeline.approved() && !scene.is_blocked());
    assert!(!pipeline.notes().concat().contains("another secret"));
    assert_eq!(pipeline.gitlab.violations(), []);
}

async fn a_rotated_token_lifts_no_block() {
    let scene = Scene::new().await;
    let pipeline = &scene.pipeline;
    scene.job(&scene.seeing).run().await.expect_code(1);
    assert!(scene.is_blocked());
    let token = pipeline.gitlab.create_token(pipeline.bot, &[Scope::Api]);
    let outcome = scene.job(&scene.blind).env("GITLAB_TOKEN", token).run().await;
    scene.lifts_nothing(&outcome.expect_code(1));
    assert_eq!(pipeline.gitlab.violations(), []);
}

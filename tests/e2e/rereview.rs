//! The second review of a merge request: the whole program with the real OpenCode. The rules are held by many quick scenarios
//! (`cli/src/run/prepare/incremental_tests.rs`); here it is that they are in force.

use serde_json::Value;

use crate::support::{Pipeline, Repository, provider};

on_both_runtimes! {
    a_fixed_finding_is_resolved_and_only_what_changed_is_reviewed
    a_clean_merge_request_is_approved_in_one_note_and_a_rebase_of_it_without_a_model
    a_disagreement_is_answered_by_the_coordinator_alone
}

impl Pipeline {
    fn push(&self, repository: &Repository) {
        self.gitlab
            .push(self.merge_request.project, repository.path(), "feature");
    }

    /// Our threads: file, whether resolved, number of notes.
    fn threads(&self) -> Vec<(String, bool, usize)> {
        let snapshot = self.gitlab.snapshot(self.merge_request);
        let mut threads: Vec<(String, bool, usize)> = snapshot
            .threads
            .iter()
            .map(|thread| {
                let place = thread.position.as_ref().expect("a place");
                (place.new_path.clone().unwrap(), thread.resolved, thread.notes.len())
            })
            .collect();
        threads.sort();
        threads
    }
}

fn reviewed(review: &Value) -> Vec<&str> {
    let files = review["coverage"]["reviewed"].as_array().unwrap();
    files.iter().map(|file| file.as_str().unwrap()).collect()
}

async fn a_fixed_finding_is_resolved_and_only_what_changed_is_reviewed() {
    let (provider, repository) = (provider().await, Repository::two_flaws());
    let pipeline = Pipeline::new(&repository).await;
    let job = || pipeline.job(&repository, &[]).anthropic(&provider);
    let first = job().run().await.expect_code(0).review();
    assert_eq!(first["verdict"], "significant_concerns");
    let before = pipeline.threads();
    let of = |path: &str| before.iter().filter(|thread| thread.0 == path).count();
    assert!(of("src/orders.py") > 0 && of("src/users.py") > 0, "{before:?}");

    repository.git(&["checkout", "--quiet", "feature"]);
    repository.write(
        "src/users.py",
        "import sqlite3\n\n\ndef find(connection, name):\n    query = \"SELECT * FROM users WHERE name = ?\"\n    return \
         connection.execute(query, (name,)).fetchall()\n",
    );
    repository.commit("Bind the name");
    pipeline.push(&repository);
    let second = job().run().await.expect_code(0).review();
    assert_eq!(reviewed(&second), ["src/users.py"]);
    assert_eq!(second["coverage"]["earlier"][0]["files"][0], "src/orders.py");
    assert_eq!(second["coverage"]["earlier"][0]["head_sha"], first["head_sha"]);
    // The other one still stands, and still blocks.
    assert_eq!(second["verdict"], "significant_concerns");
    let after = pipeline.threads();
    assert_eq!(after.len(), before.len(), "{after:?}");
    for (path, resolved, notes) in &after {
        assert_eq!((*resolved, *notes), (path == "src/users.py", 1), "{after:?}");
    }
    assert_eq!(pipeline.gitlab.violations(), []);
}

async fn a_clean_merge_request_is_approved_in_one_note_and_a_rebase_of_it_without_a_model() {
    let (provider, repository) = (provider().await, Repository::clean());
    let pipeline = Pipeline::new(&repository).await;
    let job = || pipeline.job(&repository, &[]).anthropic(&provider);
    let outcome = job().run().await.expect_code(0);
    assert!(outcome.stderr.contains("approved by the bot"), "{}", outcome.stderr);
    let first = outcome.review();
    assert_eq!(first["verdict"], "approved");
    assert!(pipeline.approved());
    let notes = pipeline.notes();
    assert_eq!(notes.len(), 1, "{notes:#?}");
    assert!(notes[0].contains("Approved: nothing to change"), "{}", notes[0]);

    job().run().await.expect_code(0);
    assert_eq!(pipeline.notes().len(), 1, "a second run posts nothing twice");
    let asked = provider.requests().len();

    repository.git(&["checkout", "--quiet", "main"]);
    repository.write("NEWS.md", "# News\n");
    repository.commit("Meanwhile");
    pipeline
        .gitlab
        .push(pipeline.merge_request.project, repository.path(), "main");
    repository.git(&["checkout", "--quiet", "feature"]);
    repository.git(&["rebase", "--quiet", "main"]);
    pipeline.push(&repository);
    let second = job().run().await.expect_code(0).review();
    assert_ne!(second["head_sha"], first["head_sha"]);
    assert_eq!(provider.requests().len(), asked, "no model is asked");
    assert_eq!(second["verdict"], "approved");
    assert_eq!(reviewed(&second), [""; 0]);
    assert!(pipeline.approved());
    let notes = pipeline.notes();
    assert_eq!(notes.len(), 1);
    assert!(
        notes[0].contains("No reviewed file has changed since the review of"),
        "{}",
        notes[0]
    );
    assert_eq!(pipeline.gitlab.violations(), []);
}

async fn a_disagreement_is_answered_by_the_coordinator_alone() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let pipeline = Pipeline::new(&repository).await;
    let job = || pipeline.job(&repository, &[]).anthropic(&provider);
    job().run().await.expect_code(0);
    let bob = pipeline.gitlab.create_user("bob");
    pipeline.gitlab.add_member(
        pipeline.merge_request.project,
        bob,
        conclave_fake_gitlab::AccessLevel::Developer,
    );
    let snapshot = pipeline.gitlab.snapshot(pipeline.merge_request);
    let thread = &snapshot.threads[0];
    pipeline
        .gitlab
        .reply(pipeline.merge_request, bob, &thread.id, "I disagree: nobody calls it.");
    let review = job().run().await.expect_code(0).review();
    assert_eq!(reviewed(&review), [""; 0]);
    assert_eq!(review["verdict"], "significant_concerns");
    assert_eq!(review["coordinator"]["outcome"], "ok", "{review:#}");
    let snapshot = pipeline.gitlab.snapshot(pipeline.merge_request);
    let answered = snapshot.threads.iter().find(|other| other.id == thread.id).unwrap();
    assert_eq!(answered.notes.len(), 3, "{answered:#?}");
    assert!(answered.notes[2].body.contains("still does what the finding says"));
    // Once more, and nothing more is said.
    job().run().await.expect_code(0);
    let snapshot = pipeline.gitlab.snapshot(pipeline.merge_request);
    assert_eq!(
        snapshot.threads.iter().map(|thread| thread.notes.len()).sum::<usize>(),
        snapshot.threads.len() + 2
    );
    assert_eq!(pipeline.gitlab.violations(), []);
}

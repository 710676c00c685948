//! Who decides: settling findings, arguing about them, breaking the glass, and notes that look like the bot's.

use conclave_fake_gitlab::{AccessLevel, NewMergeRequest};
use serde_json::Value;

use crate::support::{Pipeline, Repository, provider};

on_both_runtimes! {
    the_author_settles_no_critical_finding_and_reads_who_can
    what_settles_one_place_of_a_line_settles_no_other
    the_target_branch_says_what_the_author_settles
    an_argument_in_any_language_is_read_by_the_judge
    break_glass_is_not_for_the_author_unless_the_target_branch_says_so
    break_glass_counts_as_a_plain_line_only
    break_glass_is_not_for_forks
    a_copied_marker_in_a_note_of_ours_counts_for_nothing
}

/// The flawed change, on a target branch with these settings.
fn repository(settings: &str) -> Repository {
    let repository = Repository::flawed();
    repository.git(&["checkout", "--quiet", "main"]);
    repository.write(".conclave.toml", settings);
    repository.commit("Settings");
    repository.git(&["checkout", "--quiet", "feature"]);
    repository.git(&["rebase", "--quiet", "main"]);
    repository
}

const SERIOUS: &str = "sql-injection";

fn stands(review: &Value) -> bool {
    let findings = review["findings"].as_array().expect("findings");
    findings
        .iter()
        .any(|entry| entry["fate"] == "kept" && entry["finding"]["category"] == SERIOUS)
}

async fn the_author_settles_no_critical_finding_and_reads_who_can() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let pipeline = Pipeline::new(&repository).await;
    let job = || pipeline.job(&repository, &[]).anthropic(&provider);
    // Also a maintainer is the author of the own change.
    let (project, alice) = (pipeline.merge_request.project, pipeline.author);
    pipeline.gitlab.add_member(project, alice, AccessLevel::Maintainer);
    job().run().await.expect_code(0);
    let thread = pipeline.thread_about(SERIOUS);
    pipeline
        .gitlab
        .reply(pipeline.merge_request, alice, &thread.id, "won't fix");
    let review = job().run().await.expect_code(0).review();
    assert!(stands(&review), "{review:#}");
    assert_eq!(review["verdict"], "significant_concerns");
    let told = pipeline.thread_about(SERIOUS);
    assert!(!told.resolved);
    assert!(told.notes.last().unwrap().body.contains("Another member"), "{told:#?}");
    // Nor by resolving the thread: it is opened again.
    pipeline.gitlab.resolve(pipeline.merge_request, alice, &thread.id, true);
    let review = job().run().await.expect_code(0).review();
    assert!(stands(&review) && !pipeline.thread_about(SERIOUS).resolved);
    assert!(!pipeline.approved());
    let notes = review["coverage"]["notes"].to_string();
    assert!(notes.contains("has tried to settle"), "{notes}");
    // Another member can.
    let bob = pipeline.member("bob", AccessLevel::Developer);
    pipeline
        .gitlab
        .reply(pipeline.merge_request, bob, &thread.id, "won't fix");
    let says_who = |review: &Value| {
        assert!(!stands(review), "{review:#}");
        assert_eq!(review["accepted"][0]["by"], "bob", "{review:#}");
        let notes = pipeline.notes().concat();
        assert!(!notes.contains("nothing to change"), "{notes}");
        for part in [
            "Approved; 1 critical finding accepted by bob",
            "bob has accepted this critical finding",
        ] {
            assert!(notes.contains(part), "{part}: {notes}");
        }
    };
    says_who(&job().run().await.expect_code(0).review());
    assert!(pipeline.thread_about(SERIOUS).resolved);
    // Nor is it forgotten.
    says_who(&job().run().await.expect_code(0).review());
    assert_eq!(pipeline.gitlab.violations(), []);
}

async fn what_settles_one_place_of_a_line_settles_no_other() {
    const QUERY: &str = "    return connection.execute(f\"SELECT * FROM users WHERE name = '{name}'\").fetchall()\n";
    let function = |name: &str| format!("\n\ndef {name}(connection, name):\n{QUERY}");
    let file = |names: &[&str]| names.iter().map(|name| function(name)).collect::<String>();
    let (provider, repository) = (provider().await, Repository::new());
    repository.git(&["checkout", "--quiet", "-b", "feature"]);
    repository.write("src/users.py", &file(&["find"]));
    repository.commit("Find users");
    let pipeline = Pipeline::new(&repository).await;
    let job = || pipeline.job(&repository, &[]).anthropic(&provider);
    job().run().await.expect_code(0);
    let bob = pipeline.member("bob", AccessLevel::Developer);
    let first = pipeline.thread_about(SERIOUS);
    pipeline
        .gitlab
        .reply(pipeline.merge_request, bob, &first.id, "won't fix");
    let review = job().run().await.expect_code(0).review();
    assert!(!stands(&review), "{review:#}");
    assert!(pipeline.approved());
    // The same line in one more function, where the settled one has been.
    repository.git(&["checkout", "--quiet", "feature"]);
    repository.write("src/users.py", &file(&["webhook", "find"]));
    repository.commit("More ways to find users");
    pipeline
        .gitlab
        .push(pipeline.merge_request.project, repository.path(), "feature");
    let lines = |review: &Value| {
        let findings = review["findings"].as_array().expect("findings").iter();
        let kept = findings.filter(|entry| entry["fate"] == "kept" && entry["finding"]["category"] == SERIOUS);
        let mut lines: Vec<u64> = kept.map(|entry| entry["finding"]["line"].as_u64().unwrap()).collect();
        lines.sort_unstable();
        lines
    };
    let threads = || {
        let threads = pipeline.gitlab.snapshot(pipeline.merge_request).threads;
        let about = threads
            .iter()
            .filter(|thread| thread.notes[0].body.contains("statement"));
        about.map(|thread| thread.resolved).collect::<Vec<_>>()
    };
    for _ in 0..2 {
        let review = job().run().await.expect_code(0).review();
        assert_eq!(lines(&review), [4], "{:#}", review["findings"]);
        assert!(!pipeline.approved());
        assert_eq!(threads(), [true, false], "each has a thread of its own");
    }
    // Without the settled one, the other stays.
    repository.git(&["checkout", "--quiet", "feature"]);
    repository.write("src/users.py", &file(&["webhook"]));
    repository.commit("By webhook only");
    pipeline
        .gitlab
        .push(pipeline.merge_request.project, repository.path(), "feature");
    let review = job().run().await.expect_code(0).review();
    assert_eq!(lines(&review), [4], "{:#}", review["findings"]);
    assert!(!pipeline.approved());
    assert_eq!(pipeline.gitlab.violations(), []);
}

async fn the_target_branch_says_what_the_author_settles() {
    let provider = provider().await;
    for (settings, settled) in [
        ("[review]\nauthor_settles = \"critical\"\n", true),
        ("[review]\nauthor_settles = \"none\"\n", false),
    ] {
        let repository = repository(settings);
        let pipeline = Pipeline::new(&repository).await;
        let job = || pipeline.job(&repository, &[]).anthropic(&provider);
        job().run().await.expect_code(0);
        let thread = pipeline.thread_about(SERIOUS);
        pipeline
            .gitlab
            .reply(pipeline.merge_request, pipeline.author, &thread.id, "Acknowledged.");
        let review = job().run().await.expect_code(0).review();
        assert_eq!(stands(&review), !settled, "{settings}: {review:#}");
    }
}

async fn an_argument_in_any_language_is_read_by_the_judge() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let pipeline = Pipeline::new(&repository).await;
    let job = || pipeline.job(&repository, &[]).anthropic(&provider);
    job().run().await.expect_code(0);
    let bob = pipeline.member("bob", AccessLevel::Developer);
    let thread = pipeline.thread_about(SERIOUS);
    let said = "Der Name kommt aus einer Konstante, nicht vom Benutzer.";
    pipeline.gitlab.reply(pipeline.merge_request, bob, &thread.id, said);
    let before = provider.requests().len();
    let review = job().run().await.expect_code(0).review();
    assert_eq!(review["coordinator"]["outcome"], "ok", "{review:#}");
    let asked = provider.requests();
    assert!(
        asked[before..]
            .iter()
            .any(|request| request.text().contains("aus einer Konstante")),
        "the coordinator reads it"
    );
    assert!(stands(&review));
}

async fn break_glass_is_not_for_the_author_unless_the_target_branch_says_so() {
    let provider = provider().await;
    for (settings, skipped, approved) in [
        ("", false, false),
        ("[break_glass]\nby = \"developers\"\n", true, true),
        (
            "[review]\nmode = \"comment\"\n[break_glass]\nby = \"developers\"\n",
            true,
            false,
        ),
    ] {
        let repository = repository(settings);
        let pipeline = Pipeline::new(&repository).await;
        pipeline
            .gitlab
            .comment(pipeline.merge_request, pipeline.author, "break glass");
        // The job cannot be milder than the target branch.
        let outcome = pipeline
            .job(&repository, &["--break-glass", "developers"])
            .anthropic(&provider)
            .run()
            .await
            .expect_code(0);
        assert_eq!(
            outcome.try_review().is_none(),
            skipped,
            "{settings}: {}",
            outcome.stderr
        );
        assert_eq!(pipeline.approved(), approved, "{settings}: {}", outcome.stderr);
    }
}

async fn break_glass_counts_as_a_plain_line_only() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let pipeline = Pipeline::new(&repository).await;
    let bob = pipeline.member("bob", AccessLevel::Developer);
    let say = |text: &str| {
        pipeline
            .gitlab
            .comment(pipeline.merge_request, bob, text)
            .expect("a note")
    };
    for text in [
        ">>>\nbreak glass\n>>>",
        "> he said\nbreak glass",
        "- the log:\n  ```\n  break glass\n  ```",
        "<!--\nbreak glass\n-->",
        "<pre>\nbreak glass\n</pre>",
        "<details>\n\nbreak glass\n\n</details>",
        "- a\n  - break glass",
    ] {
        say(text);
    }
    let edited = say("What now?");
    pipeline.gitlab.edit_note(pipeline.merge_request, edited, "break glass");
    let job = || pipeline.job(&repository, &[]).anthropic(&provider);
    let outcome = job().run().await.expect_code(0);
    assert_eq!(outcome.review()["verdict"], "significant_concerns");
    assert!(!pipeline.approved());
    say("It burns.\n\nbreak glass");
    let outcome = job().run().await.expect_code(0);
    assert!(outcome.stderr.contains("Break glass: bob"), "{}", outcome.stderr);
    assert!(pipeline.approved());
}

async fn break_glass_is_not_for_forks() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let pipeline = Pipeline::new(&repository).await;
    let project = pipeline.merge_request.project;
    let bob = pipeline.member("bob", AccessLevel::Maintainer);
    let fork = pipeline.gitlab.create_fork(project, "alice/service");
    let new = NewMergeRequest {
        source_project: Some(fork),
        ..NewMergeRequest::new(pipeline.author, "feature", "main")
    };
    let from_fork = pipeline.gitlab.create_merge_request(project, new);
    pipeline.gitlab.comment(from_fork, bob, "break glass");
    let outcome = pipeline
        .job_of(from_fork, &repository, &[])
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    assert_eq!(outcome.review()["verdict"], "significant_concerns");
    assert_eq!(pipeline.gitlab.snapshot(from_fork).approved_by, Vec::<String>::new());
}

async fn a_copied_marker_in_a_note_of_ours_counts_for_nothing() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let pipeline = Pipeline::new(&repository).await;
    let job = || pipeline.job(&repository, &[]).anthropic(&provider);
    job().run().await.expect_code(0);
    // The bot's own account says something that quotes the summary with all of its markers, in a fence.
    let summary = pipeline
        .notes()
        .into_iter()
        .find(|note| note.contains("conclave:summary"))
        .unwrap();
    let markers: Vec<&str> = summary
        .lines()
        .filter(|line| line.starts_with("<!-- conclave:"))
        .collect();
    let snapshot = pipeline.gitlab.snapshot(pipeline.merge_request);
    let old = snapshot.notes.iter().find(|note| note.body == summary).unwrap().id;
    pipeline.gitlab.delete_note(pipeline.merge_request, old);
    let bot = pipeline.bot;
    let copy = format!("Look at this:\n\n```\n{}\n```", markers.join("\n"));
    pipeline.gitlab.comment(pipeline.merge_request, bot, &copy);
    job().run().await.expect_code(0);
    let notes = pipeline.notes();
    assert!(notes.contains(&copy), "it is not taken for the summary: {notes:#?}");
    let summaries = notes
        .iter()
        .filter(|note| note.contains("## ") && note.contains("conclave:summary"));
    assert_eq!(summaries.count(), 1, "{notes:#?}");
}

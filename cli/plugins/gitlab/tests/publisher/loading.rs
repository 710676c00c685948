//! What is read of the merge request before the review.

use conclave_engine::review::{Comment, ReviewSubject};
use conclave_fake_gitlab::FakeGitlab;
use conclave_plugin_gitlab::{GitLab, GitLabSettings};
use conclave_shared::verdict::Verdict;

use crate::stage::{Stage, posted, without_memory};

/// What a new stage's merge request is.
fn subject(stage: &Stage) -> ReviewSubject {
    let refs = stage.gitlab.diff_refs(stage.merge_request);
    let sha = |name: &str| refs[name].as_str().unwrap().to_owned();
    ReviewSubject {
        forge: "gitlab",
        project: "group/project".to_owned(),
        merge_request: Some(stage.merge_request.iid),
        web_url: Some(format!(
            "{}/group/project/-/merge_requests/{}",
            stage.gitlab.url(),
            stage.merge_request.iid
        )),
        base_sha: sha("base_sha"),
        head_sha: sha("head_sha"),
        settings_sha: Some(sha("start_sha")),
        title: "Merge feature".into(),
        description: "".into(),
        source_branch: "feature".into(),
        target_branch: "main".into(),
        commit_subjects: Vec::new(),
        comments: Vec::new(),
        existing_findings: Vec::new(),
        previous_review: None,
        draft: false,
        from_fork: false,
        ..ReviewSubject::default()
    }
}

async fn load(stage: &Stage) -> ReviewSubject {
    stage.plugin().load().await.unwrap().subject.clone()
}

#[tokio::test]
async fn a_new_merge_request() {
    let stage = Stage::new().await;
    stage.gitlab.set_description(stage.merge_request, "Adds a line.");
    let expected = ReviewSubject {
        description: "Adds a line.".into(),
        ..subject(&stage)
    };
    assert_eq!(load(&stage).await, expected);
    assert!(stage.writes().is_empty());
}

#[tokio::test]
async fn the_newest_version_counts() {
    let stage = Stage::new().await;
    let old = stage.gitlab.head(stage.merge_request);
    stage.push();
    let found = load(&stage).await;
    assert_ne!(found.head_sha, old);
    assert_eq!(found, subject(&stage));
}

#[tokio::test]
async fn a_draft_is_one() {
    let stage = Stage::new().await;
    stage.gitlab.set_title(stage.merge_request, "Draft: Merge feature");
    let expected = ReviewSubject {
        title: "Draft: Merge feature".into(),
        draft: true,
        ..subject(&stage)
    };
    assert_eq!(load(&stage).await, expected);
}

#[tokio::test]
async fn a_fork_is_one() {
    let mut stage = Stage::new().await;
    stage.open_from_fork();
    let expected = ReviewSubject {
        from_fork: true,
        ..subject(&stage)
    };
    assert_eq!(load(&stage).await, expected);
}

#[tokio::test]
async fn a_project_can_be_named_by_its_path() {
    let stage = Stage::new().await;
    let settings = GitLabSettings {
        project: "group/project".to_owned(),
        ..stage.settings()
    };
    let found = GitLab::publisher(&settings, None)
        .unwrap()
        .load()
        .await
        .unwrap()
        .subject
        .clone();
    assert_eq!(found, subject(&stage));
}

#[tokio::test]
async fn a_gitlab_below_a_path() {
    let stage = Stage::with(FakeGitlab::builder().sub_path("/gitlab")).await;
    assert!(stage.gitlab.api_url().ends_with("/gitlab/api/v4"));
    assert_eq!(load(&stage).await, subject(&stage));
    assert_eq!(stage.run(Verdict::Approved).await, stage.outcome(true, &[]));
    assert_eq!(stage.run(Verdict::Approved).await, stage.outcome(true, &[]));
}

/// People's comments in their order, over a short page in the middle; neither GitLab's nor ours nor the internal ones.
#[tokio::test]
async fn the_discussion() {
    let stage = Stage::new().await;
    let say = |user, text: &str| stage.gitlab.comment(stage.merge_request, user, text);
    stage.gitlab.configure(|options| {
        options.pagination.largest_page = 4;
        options.pagination.short_middle_page = true;
    });
    let mut comments = Vec::new();
    for number in 0..7 {
        let (user, name) = [(stage.author, "alice"), (stage.human, "bob")][number % 2];
        let text = format!("Comment {number}");
        say(user, &text);
        comments.push(comment(name, &text));
    }
    say(stage.bot, "The nightly build is green.");
    stage
        .gitlab
        .comment_internally(stage.merge_request, stage.human, "The customer is in a hurry.");
    stage.run(Verdict::MinorIssues).await;
    stage.push();
    let thread = stage
        .gitlab
        .start_thread(stage.merge_request, stage.human, "Why?", &serde_json::Value::Null);
    stage
        .gitlab
        .reply(stage.merge_request, stage.author, &thread, "Because.");
    comments.extend([comment("bob", "Why?"), comment("alice", "Because.")]);

    assert!(!stage.snapshot().system_notes.is_empty());
    let reviewed = stage
        .gitlab
        .snapshot(stage.merge_request)
        .notes
        .into_iter()
        .find(|note| note.body.contains("conclave:summary"));
    let expected = ReviewSubject {
        comments,
        previous_review: reviewed.map(|note| shown(&note.body).into()),
        ..subject(&stage)
    };
    let mut found = load(&stage).await;
    let orders: Vec<u64> = found.comments.iter().map(|comment| comment.order).collect();
    assert!(orders.is_sorted_by(|a, b| a < b), "{orders:?}");
    // A question that another person has answered in its thread waits for none of ours.
    let waits: Vec<bool> = found.comments.iter().map(|comment| comment.waits.is_some()).collect();
    assert_eq!((&waits[..7], &waits[7..]), (&[true; 7][..], &[false, true][..]));
    for comment in &mut found.comments {
        (comment.order, comment.waits) = (0, None);
    }
    assert_eq!(found.comments, expected.comments);
    assert_eq!(found, expected);
}

fn comment(author: &str, body: &str) -> Comment {
    Comment {
        author: author.into(),
        body: body.into(),
        ..Comment::default()
    }
}

/// A note as people see it: what is hidden in it is for us, and no model reads it.
fn shown(body: &str) -> &str {
    body.split("\n\n<!-- conclave:").next().unwrap_or_default()
}

#[tokio::test]
async fn the_previous_review_is_ours() {
    let stage = Stage::new().await;
    stage.run(Verdict::MinorIssues).await;
    let body = stage.gitlab.snapshot(stage.merge_request).notes[0].body.clone();
    let without_memory = without_memory(&body);
    assert_eq!(without_memory, posted(&stage.review(Verdict::MinorIssues)).body);
    // A person who quotes it does not become us.
    stage.gitlab.comment(stage.merge_request, stage.human, &body);
    let expected = ReviewSubject {
        comments: vec![comment("bob", &body)],
        previous_review: Some(shown(&body).into()),
        ..subject(&stage)
    };
    let mut found = load(&stage).await;
    (found.comments[0].order, found.comments[0].waits) = (0, None);
    assert_eq!(found, expected);
}

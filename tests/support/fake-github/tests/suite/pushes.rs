//! Pushes: comments move or become outdated, reviews are re-pointed, approvals dismissed.

use conclave_fake_github::{NewPull, Permissions, Protection, PullState, ReviewState, Side};
use serde_json::{Value, json};

use crate::stage::{Client, Stage, changed};

#[tokio::test]
async fn a_push_moves_comments_and_outdates_those_whose_line_is_gone() {
    let stage = Stage::new().await;
    let first_head = stage.github.head(stage.pull);
    for (line, side) in [(5, Side::Right), (6, Side::Right), (40, Side::Left)] {
        stage
            .github
            .review_comment(stage.pull, stage.bob, ("src/lib.rs", side, line), "Here.");
    }
    let text = changed()
        .replace("line 1\n", "line zero\nline 1\n")
        .replace("line five and a half\n", "line 5.5\n");
    stage.copy.write("src/lib.rs", &text);
    stage.copy.commit("more");
    stage.github.push(stage.repository, stage.copy.path(), "feature");

    let (_, comments) = stage.bot.get("/pulls/1/comments").await;
    let lines: Vec<Value> = (0..3)
        .map(|index| json!([comments[index]["line"], comments[index]["original_line"]]))
        .collect();
    assert_eq!(json!(lines), json!([[6, 5], [null, 6], [40, 40]]));
    let head = stage.github.head(stage.pull);
    assert_eq!(
        (&comments[0]["commit_id"], &comments[0]["original_commit_id"]),
        (&json!(head), &json!(first_head))
    );
    assert_eq!(comments[1]["commit_id"], json!(first_head));
    let outdated: Vec<bool> = stage
        .bot
        .threads("isOutdated")
        .await
        .iter()
        .map(|one| one["isOutdated"] == true)
        .collect();
    assert_eq!(outdated, [false, true, false]);

    // A comment on the older commit is outdated from the start when its line is gone, and moved when it is not.
    for (line, now) in [(6, Value::Null), (5, json!(6))] {
        let body = json!({ "body": "Late.", "commit_id": first_head, "path": "src/lib.rs", "line": line });
        let (status, comment) = stage.bot.post("/pulls/1/comments", body).await;
        assert_eq!(
            (status, &comment["line"], &comment["original_line"]),
            (201, &now, &json!(line)),
            "{comment}"
        );
    }
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_force_push_re_points_reviews_and_a_changed_diff_dismisses_stale_approvals() {
    let stage = Stage::new().await;
    let protection = Protection {
        required_approvals: 1,
        dismiss_stale_approvals: true,
        ..Protection::default()
    };
    stage.github.protect(stage.repository, "main", protection);
    let approval = stage.github.review(stage.pull, stage.bob, ReviewState::Approved, "");
    let first_head = stage.github.head(stage.pull);
    // The same diff with another message: the approval stays, its commit does not.
    stage
        .copy
        .git(&["commit", "--quiet", "--amend", "--message", "feature, reworded"]);
    stage.github.push(stage.repository, stage.copy.path(), "feature");
    let (_, review) = stage.bot.get(&format!("/pulls/1/reviews/{approval}")).await;
    assert_eq!(review["state"], "APPROVED");
    assert_eq!(review["commit_id"], json!(stage.github.head(stage.pull)));
    assert_ne!(review["commit_id"], json!(first_head));
    // The old head can still be fetched.
    assert_eq!(stage.bot.get(&format!("/commits/{first_head}")).await.0, 200);

    stage.copy.write("new.txt", "a\nb\n");
    stage.copy.git(&["commit", "--quiet", "--all", "--amend", "--no-edit"]);
    stage.github.push(stage.repository, stage.copy.path(), "feature");
    let snapshot = stage.github.snapshot(stage.pull);
    assert_eq!(snapshot.reviews[0].state, ReviewState::Dismissed);
    assert_eq!(
        (snapshot.review_decision, snapshot.merge_state),
        (Some("REVIEW_REQUIRED"), "BLOCKED")
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_push_can_come_between_two_requests() {
    let stage = Stage::new().await;
    stage.copy.write("new.txt", "a\n");
    stage.copy.commit("in the last moment");
    let (github, repository, path) = (stage.github.clone(), stage.repository, stage.copy.path().to_owned());
    stage.github.after("POST", "/repos/*/*/pulls/*/reviews", move || {
        github.push(repository, &path, "feature");
    });
    let head = stage.github.head(stage.pull);
    let body = json!({ "event": "APPROVE", "commit_id": head });
    assert_eq!(stage.bot.post("/pulls/1/reviews", body).await.0, 200);
    let (_, pull) = stage.bot.get("/pulls/1").await;
    assert_ne!(pull["head"]["sha"], json!(head));
    stage.assert_no_violations();
}

#[tokio::test]
async fn another_target_branch_is_another_diff() {
    let stage = Stage::new().await;
    stage.copy.git(&["branch", "release", "feature~1"]);
    stage.copy.git(&["checkout", "--quiet", "release"]);
    stage.copy.write("new.txt", "a\nb\nc\n");
    stage.copy.commit("release has it");
    stage.github.push(stage.repository, stage.copy.path(), "release");
    assert_eq!(stage.bot.get("/pulls/1/files").await.1.as_array().unwrap().len(), 5);
    stage.github.retarget(stage.pull, "release");
    let (_, pull) = stage.bot.get("/pulls/1").await;
    assert_eq!(
        (&pull["base"]["ref"], &pull["mergeable"]),
        (&json!("release"), &json!(true))
    );
    stage.github.set_draft(stage.pull, true);
    stage.github.set_state(stage.pull, PullState::Merged);
    let (_, pull) = stage.bot.get("/pulls/1").await;
    assert_eq!(
        (&pull["state"], &pull["merged"], &pull["draft"]),
        (&json!("closed"), &json!(true), &json!(true))
    );
    assert_eq!(stage.bot.get("/pulls?state=open").await.1, json!([]));
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_fork_can_be_deleted_and_its_job_only_reads() {
    let stage = Stage::new().await;
    let eve = stage.github.create_user("eve");
    let fork = stage.github.fork(stage.repository, eve);
    let pull = stage
        .github
        .open_pull(stage.repository, NewPull::new(eve, "feature", "main").from_fork(fork));
    let token = stage.github.actions_token(stage.repository, Permissions::read_only());
    let job = Client::new(&stage.github, &token);
    let (status, answer) = job.post("/issues/2/comments", json!({ "body": "x" })).await;
    assert_eq!(
        (status, &answer["message"]),
        (403, &json!("Resource not accessible by integration"))
    );
    let (_, before) = job.get("/pulls/2").await;
    assert_ne!(before["head"]["repo"]["id"], before["base"]["repo"]["id"]);
    let (_, found) = job.get("/pulls?head=eve:feature").await;
    assert_eq!(found[0]["number"], 2);
    // The commit is in the target repository, but it leads to no pull request there.
    let (_, of_commit) = job.get(&format!("/commits/{}/pulls", stage.github.head(pull))).await;
    assert_eq!(of_commit[0]["number"], 1);
    let (_, compared) = job.get("/compare/main...eve:feature").await;
    assert_eq!(
        (&compared["ahead_by"], &compared["status"]),
        (&json!(1), &json!("diverged"))
    );
    stage.github.delete_repository(fork);
    let (_, after) = job.get("/pulls/2").await;
    assert_eq!(after["head"]["repo"], Value::Null);
    stage.assert_no_violations();
}

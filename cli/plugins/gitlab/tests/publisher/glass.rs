//! Break glass: whose word counts, and what happens then.

use conclave_engine::{
    ports::{NoSettings, SettingsWatch},
    review::ReviewMode,
};
use conclave_fake_gitlab::{AccessLevel, FakeGitlab, Tier};
use conclave_plugin_gitlab::{BreakGlass, BreakGlassPolicy};
use conclave_shared::verdict::Verdict;

use crate::stage::{BOT, Stage, in_mode};

async fn asked(stage: &Stage, policy: BreakGlassPolicy) -> Option<BreakGlass> {
    stage.plugin().break_glass(policy).await.unwrap()
}

async fn is_broken(stage: &Stage) -> bool {
    asked(stage, BreakGlassPolicy::Developers).await.is_some()
}

#[tokio::test]
async fn a_developers_own_line_counts() {
    let stage = Stage::new().await;
    assert!(!is_broken(&stage).await);
    let note = stage
        .gitlab
        .comment(stage.merge_request, stage.human, "Production is down.\n\nbreak glass")
        .unwrap();
    let expected = BreakGlass {
        user: "bob".to_owned(),
        user_id: stage.human.0,
        note,
        head_sha: stage.gitlab.head(stage.merge_request),
        merge_request: 1,
    };
    assert_eq!(asked(&stage, BreakGlassPolicy::Developers).await, Some(expected));
    assert_eq!(asked(&stage, BreakGlassPolicy::Off).await, None);
    // For later pushes, too, until it is withdrawn.
    stage.push();
    assert!(is_broken(&stage).await);
    stage
        .gitlab
        .comment(stage.merge_request, stage.author, "break glass off");
    assert!(!is_broken(&stage).await);
    stage.gitlab.comment(stage.merge_request, stage.human, "break glass");
    assert!(is_broken(&stage).await);
    assert!(stage.writes().is_empty());
}

#[tokio::test]
async fn a_line_in_a_thread_counts_too() {
    let stage = Stage::new().await;
    let thread = stage.gitlab.start_thread(
        stage.merge_request,
        stage.author,
        "Can this go out?",
        &serde_json::Value::Null,
    );
    stage
        .gitlab
        .reply(stage.merge_request, stage.human, &thread, "break glass");
    assert!(is_broken(&stage).await);
}

#[tokio::test]
async fn nobody_elses_word_counts() {
    let stage = Stage::new().await;
    stage.gitlab.set_description(stage.merge_request, "break glass");
    stage.gitlab.set_title(stage.merge_request, "break glass");
    let say = |user| stage.gitlab.comment(stage.merge_request, user, "break glass");
    for level in [AccessLevel::Guest, AccessLevel::Planner, AccessLevel::Reporter] {
        let user = stage.gitlab.create_user(&format!("user{}", level.number()));
        stage.gitlab.add_member(stage.project, user, level);
        say(user);
    }
    // The bot itself, another bot, and the account of a token that the server does not tell to be one.
    say(stage.bot);
    for name in ["deploy-bot", "project_7_bot_0f"] {
        let user = if name == "deploy-bot" {
            stage.gitlab.create_bot(name)
        } else {
            stage.gitlab.create_user(name)
        };
        stage.gitlab.add_member(stage.project, user, AccessLevel::Maintainer);
        say(user);
    }
    stage
        .gitlab
        .comment_internally(stage.merge_request, stage.human, "break glass");
    stage
        .gitlab
        .comment(stage.merge_request, stage.human, "> break glass\n\nNo!");
    assert!(!is_broken(&stage).await);
    // Nor does their withdrawal.
    say(stage.human);
    let guest = stage.gitlab.create_user("guest");
    stage.gitlab.add_member(stage.project, guest, AccessLevel::Guest);
    stage.gitlab.comment(stage.merge_request, guest, "break glass off");
    assert!(is_broken(&stage).await);
    // Who has left the project decides nothing any more.
    stage.gitlab.remove_member(stage.project, stage.human);
    assert!(!is_broken(&stage).await);
}

#[tokio::test]
async fn the_author_can_be_left_out() {
    let stage = Stage::new().await;
    stage.gitlab.comment(stage.merge_request, stage.author, "break glass");
    assert!(is_broken(&stage).await);
    assert_eq!(asked(&stage, BreakGlassPolicy::NotAuthor).await, None);
    stage.gitlab.comment(stage.merge_request, stage.human, "break glass");
    assert!(asked(&stage, BreakGlassPolicy::NotAuthor).await.is_some());
}

#[tokio::test]
async fn the_review_is_skipped_and_the_merge_request_approved() {
    let stage = Stage::with(FakeGitlab::builder().tier(Tier::Premium)).await;
    // An earlier review blocks it.
    let review = stage.review(Verdict::SignificantConcerns);
    stage.run_with(&review, in_mode(ReviewMode::Gate)).await;
    stage.gitlab.comment(stage.merge_request, stage.human, "break glass");
    let plugin = stage.plugin();
    let glass = plugin.break_glass(BreakGlassPolicy::Developers).await.unwrap().unwrap();
    let outcome = plugin.skip_review(&glass, ReviewMode::Gate, &NoSettings).await.unwrap();
    assert_eq!((outcome.approved, outcome.warnings), (true, Vec::new()));
    let found = stage.gitlab.snapshot(stage.merge_request);
    assert_eq!(
        (found.approved_by, found.requested_changes_by),
        (vec![BOT.to_owned()], Vec::new())
    );
    let own: Vec<_> = found.notes.iter().filter(|note| note.author == BOT).collect();
    assert_eq!(own.len(), 1);
    assert!(own[0].body.contains("Not reviewed: break glass"), "{}", own[0].body);
    assert!(own[0].body.contains("`bob`"), "{}", own[0].body);
    // A second time it changes nothing.
    stage.gitlab.forget_requests();
    let plugin = stage.plugin();
    let glass = plugin.break_glass(BreakGlassPolicy::Developers).await.unwrap().unwrap();
    assert!(
        plugin
            .skip_review(&glass, ReviewMode::Gate, &NoSettings)
            .await
            .unwrap()
            .approved
    );
    assert_eq!(stage.writes(), Vec::<String>::new());
    // Withdrawn, the next review is one again.
    stage
        .gitlab
        .comment(stage.merge_request, stage.human, "break glass off");
    stage.run_with(&review, in_mode(ReviewMode::Gate)).await;
    let found = stage.gitlab.snapshot(stage.merge_request);
    assert_eq!(
        (found.approved_by, found.requested_changes_by),
        (Vec::new(), vec![BOT.to_owned()])
    );
}

#[tokio::test]
async fn a_push_in_between_is_left_to_its_own_job() {
    let stage = Stage::new().await;
    stage.gitlab.comment(stage.merge_request, stage.human, "break glass");
    let plugin = stage.plugin();
    let glass = plugin.break_glass(BreakGlassPolicy::Developers).await.unwrap().unwrap();
    stage.push();
    let outcome = plugin
        .skip_review(&glass, ReviewMode::Approve, &NoSettings)
        .await
        .unwrap();
    assert!(
        !outcome.approved && outcome.warnings[0].contains("newer commit"),
        "{outcome:?}"
    );
    // The word is valid for that push, too.
    let plugin = stage.plugin();
    let glass = plugin.break_glass(BreakGlassPolicy::Developers).await.unwrap().unwrap();
    assert!(
        plugin
            .skip_review(&glass, ReviewMode::Approve, &NoSettings)
            .await
            .unwrap()
            .approved
    );
}

#[tokio::test]
async fn broken_glass_approves_no_other_target_than_the_one_that_was_read() {
    /// Settings that differ at each newer commit.
    #[derive(Debug)]
    struct Changed;
    #[async_trait::async_trait]
    impl SettingsWatch for Changed {
        async fn differing(&self, _commit: &str) -> Result<Vec<String>, String> {
            Ok(vec![".conclave.toml".to_owned()])
        }
    }
    let stage = Stage::new().await;
    stage.gitlab.comment(stage.merge_request, stage.human, "break glass");
    let plugin = stage.plugin();
    let glass = plugin.break_glass(BreakGlassPolicy::Developers).await.unwrap().unwrap();
    // Nothing has moved: nothing is compared.
    let outcome = plugin.skip_review(&glass, ReviewMode::Approve, &Changed).await.unwrap();
    assert!(outcome.approved, "{outcome:?}");

    let plugin = stage.plugin();
    let glass = plugin.break_glass(BreakGlassPolicy::Developers).await.unwrap().unwrap();
    stage.advance("release", "released\n");
    stage.gitlab.retarget(stage.merge_request, "release");
    let outcome = plugin
        .skip_review(&glass, ReviewMode::Approve, &NoSettings)
        .await
        .unwrap();
    assert!(
        !outcome.approved && outcome.warnings[0].contains("changed from main to release"),
        "{outcome:?}"
    );
    let found = stage.gitlab.snapshot(stage.merge_request);
    assert_eq!(
        found.approved_by,
        Vec::<String>::new(),
        "the earlier approval goes, too"
    );
    let note = found.notes.iter().rev().find(|note| note.author == BOT).unwrap();
    assert!(note.body.contains("The bot does not approve"), "{}", note.body);

    let stage = Stage::new().await;
    stage.gitlab.comment(stage.merge_request, stage.human, "break glass");
    let plugin = stage.plugin();
    let glass = plugin.break_glass(BreakGlassPolicy::Developers).await.unwrap().unwrap();
    stage.advance("main", "newer\n");
    let outcome = plugin.skip_review(&glass, ReviewMode::Approve, &Changed).await.unwrap();
    assert!(
        !outcome.approved && outcome.warnings[0].contains("Settings of main changed"),
        "{outcome:?}"
    );
    // Other settings are the same at the newer commit.
    let plugin = stage.plugin();
    let glass = plugin.break_glass(BreakGlassPolicy::Developers).await.unwrap().unwrap();
    stage.advance("main", "newest\n");
    let outcome = plugin
        .skip_review(&glass, ReviewMode::Approve, &NoSettings)
        .await
        .unwrap();
    assert!(outcome.approved, "{outcome:?}");
}

#[tokio::test]
async fn the_mode_comment_approves_nothing() {
    let stage = Stage::new().await;
    stage.gitlab.comment(stage.merge_request, stage.human, "break glass");
    let plugin = stage.plugin();
    let glass = plugin.break_glass(BreakGlassPolicy::Developers).await.unwrap().unwrap();
    assert!(
        !plugin
            .skip_review(&glass, ReviewMode::Comment, &NoSettings)
            .await
            .unwrap()
            .approved
    );
    assert_eq!(
        stage.gitlab.snapshot(stage.merge_request).approved_by,
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn what_was_read_to_look_for_it_is_not_read_again() {
    let stage = Stage::new().await;
    let plugin = stage.plugin();
    assert_eq!(plugin.break_glass(BreakGlassPolicy::Developers).await.unwrap(), None);
    let asked = stage.gitlab.requests().len();
    plugin.load().await.unwrap();
    assert_eq!(stage.gitlab.requests().len(), asked);
}

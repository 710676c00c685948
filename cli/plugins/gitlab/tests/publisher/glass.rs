//! Break glass: whose word counts, and what happens then.

use conclave_engine::publish::{BreakGlass, BreakGlassPolicy};
use conclave_fake_gitlab::AccessLevel;

use crate::stage::Stage;

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

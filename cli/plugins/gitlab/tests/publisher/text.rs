//! What we post does nothing but show: a model's words can be steered by the author of the merge request.

use conclave_engine::review::{ConfigurationFallback, ConfigurationInstead, JudgedFinding, Review};
use conclave_fake_gitlab::{CommandSnapshot, MergeRequestSnapshot};
use conclave_shared::{
    finding::{Finding, Quote},
    telemetry::ReviewerOutcome,
    verdict::Verdict,
};

use crate::{
    conformance::sample::finding,
    stage::{MARKER, SPENT, Stage, note, publish},
};

/// The texts that a hostile author wants to see posted.
const HOSTILE: &str = "/approve\n\r/merge\nx\r/close\r\n  /label ~bug\n> /reopen\n- /title x\n1. /draft\n\
                       @all and @alice\n![pixel](https://evil.example/?q=1) <img src=x> <script>alert(1)</script>\n\
                       [here](https://evil.example) www.evil.example https://evil.example\n#1 !1 ~bug %1\n\
                       :-\n`@all | x`\n\u{2028}/unlabel ~bug\n\u{0}/wip\n<!-- conclave:summary:0 -->";

/// Code that closes GitLab's idea of a code block: three back-ticks, however long the fence is.
const EVIDENCE: &str = "# How to\n```\n/approve\n/merge\n```\r/close\r\n\u{0}/wip\n@all `x`\n</details>";

fn hostile(stage: &Stage) -> Review {
    let entry = finding(HOSTILE, EVIDENCE);
    let finding = Finding {
        rule: None,
        scenario: HOSTILE.to_owned(),
        category: "x\n/approve".to_owned(),
        file: "a`b\n/approve.py".to_owned(),
        fix: Some(EVIDENCE.to_owned()),
        quoted_whole: true,
        second: Some(Quote {
            file: "c\r/merge.md".to_owned(),
            line: 2,
            code: EVIDENCE.to_owned(),
        }),
        ..entry.finding
    };
    let mut review = Review {
        summary: HOSTILE.to_owned(),
        findings: vec![JudgedFinding { finding, ..entry }],
        degraded: Some(HOSTILE.to_owned()),
        partial: Some(HOSTILE.to_owned()),
        configuration: Some(ConfigurationFallback {
            is_broken: false,
            instead: ConfigurationInstead::Defaults,
            reason: format!("{HOSTILE} again"),
        }),
        warnings: vec![HOSTILE.to_owned()],
        tier_reasons: vec![HOSTILE.to_owned()],
        ..stage.review(Verdict::Inconclusive)
    };
    review.coverage.gaps = vec![HOSTILE.to_owned()];
    review.coverage.not_read = vec!["x\n/approve".to_owned()];
    review.reviewers[0].outcome = ReviewerOutcome::Failed;
    review.reviewers[0].reason = Some("`| @all | `\n/approve".to_owned());
    review
}

#[tokio::test]
async fn the_texts_would_act_if_they_were_posted_as_they_are() {
    let stage = Stage::new().await;
    stage
        .gitlab
        .comment(stage.merge_request, stage.human, &format!("Hi\n{HOSTILE}"));
    let ran = stage.snapshot().executed_commands;
    assert_eq!(
        ran,
        ["/approve", "/merge"].map(|command| CommandSnapshot {
            user: "bob".to_owned(),
            command: command.to_owned(),
        })
    );
}

#[tokio::test]
async fn nothing_that_is_posted_acts() {
    let stage = Stage::new().await;
    let before = stage.snapshot();
    let review = hostile(&stage);
    // Posted and edited: both run quick actions.
    for edited in [false, true] {
        if edited {
            let note = stage.gitlab.snapshot(stage.merge_request).notes[0].id;
            stage
                .gitlab
                .edit_note(stage.merge_request, note, &format!("Something else\n\n{MARKER}"));
        }
        publish(&stage.loaded().await, &review).await.unwrap();
        let body = include_str!("golden/hostile.md").replace("{head}", &review.head_sha[..8]);
        let mut expected = note("review-bot", &format!("{body}\n{MARKER}\n{SPENT}"));
        expected.edited = edited;
        assert_eq!(
            stage.snapshot(),
            MergeRequestSnapshot {
                notes: vec![expected],
                executed_commands: Vec::new(),
                ..before.clone()
            }
        );
    }
}

/// Stricter than the fake: nowhere, not even inside a code block, does a line begin with a quick action.
#[tokio::test]
async fn no_line_begins_with_a_quick_action() {
    let stage = Stage::new().await;
    publish(&stage.loaded().await, &hostile(&stage)).await.unwrap();
    let body = &stage.snapshot().notes[0].body;
    for line in body.split(['\n', '\r', '\u{2028}']) {
        assert!(!line.starts_with('/'), "{line:?}");
    }
}

#[tokio::test]
async fn a_note_that_is_too_long_is_cut_and_found_again() {
    let stage = Stage::new().await;
    let review = Review {
        findings: vec![finding("A claim.", &"some code\n/approve\n".repeat(20_000))],
        ..stage.review(Verdict::MinorIssues)
    };
    for _ in 0..2 {
        publish(&stage.loaded().await, &review).await.unwrap();
    }
    let after = stage.snapshot();
    let [note] = &after.notes[..] else {
        unreachable!("{} notes", after.notes.len())
    };
    assert!((59_000..60_500).contains(&note.body.len()), "{}", note.body.len());
    let end = "```\n\n</details>\n\n> The review is longer than a comment can be; the whole of it is in the run's reports.\n\n";
    assert!(
        note.body.ends_with(&format!("{end}{MARKER}\n{SPENT}")),
        "{}",
        &note.body[note.body.len() - 200..]
    );
    assert_eq!(after.executed_commands, []);
}

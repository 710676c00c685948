//! A rule demands a person's look: no approval in that person's place, and reviewers where the rule wants them.

use conclave_engine::{review::Review, rules::ManualReview};
use conclave_fake_gitlab::{FakeGitlab, Fault, FaultKind, Tier};
use conclave_shared::{finding::RuleCitation, verdict::Verdict};

use crate::{
    conformance::sample::finding,
    stage::{Stage, publish},
};

fn manual(who: &[&str], add_as_reviewers: bool) -> ManualReview {
    ManualReview {
        rule: "DATA-003".into(),
        link: "https://rules.example.com/data-003".into(),
        when: "a schema changes".into(),
        who: who.iter().map(ToString::to_string).collect(),
        files: vec!["db/1.sql".into()],
        breach: false,
        add_as_reviewers,
    }
}

fn review(stage: &Stage, manual_reviews: Vec<ManualReview>) -> Review {
    Review {
        manual_reviews,
        ..stage.review(Verdict::ApprovedWithComments)
    }
}

fn reviewers(stage: &Stage) -> Vec<String> {
    let reviewers = stage.snapshot().reviewers;
    reviewers.into_iter().map(|reviewer| reviewer.user).collect()
}

#[tokio::test]
async fn the_bot_does_not_approve_and_takes_an_earlier_approval_back() {
    let stage = Stage::new().await;
    stage.run(Verdict::Approved).await;
    assert_eq!(stage.snapshot().approved_by, ["review-bot"]);
    let outcome = publish(
        &stage.loaded().await,
        &review(&stage, vec![manual(&["@group/data"], false)]),
    )
    .await;
    assert_eq!(outcome, Ok(stage.outcome(false, &[])));
    let snapshot = stage.snapshot();
    assert_eq!((&snapshot.approved_by[..], reviewers(&stage)), (&[][..], vec![]));
    let body = &snapshot.notes[0].body;
    for part in [
        "A person has to approve this",
        "**Manual review:** @\u{2060}group/data has to look, says the rule [DATA-003](https://rules.example.com/data-003)",
        "`db/1.sql`",
    ] {
        assert!(body.contains(part), "{part} is missing in\n{body}");
    }
}

#[tokio::test]
async fn people_become_reviewers_beside_those_who_are_there_already() {
    let stage = Stage::with(FakeGitlab::builder().tier(Tier::Premium)).await;
    let plugin = stage.loaded().await;
    let first = review(&stage, vec![manual(&["@alice"], true)]);
    assert_eq!(publish(&plugin, &first).await, Ok(stage.outcome(false, &[])));
    assert_eq!(reviewers(&stage), ["alice"]);
    let both = review(
        &stage,
        vec![
            manual(&["@BOB", "@alice", "@group/data"], true),
            manual(&["@bob"], true),
        ],
    );
    assert_eq!(publish(&plugin, &both).await, Ok(stage.outcome(false, &[])));
    assert_eq!(reviewers(&stage), ["alice", "bob"]);
    // A run that has nothing to add writes nothing.
    stage.gitlab.forget_requests();
    assert_eq!(publish(&plugin, &both).await, Ok(stage.outcome(false, &[])));
    assert_eq!(stage.writes(), Vec::<String>::new());
}

#[tokio::test]
async fn nobody_is_added_unless_the_rule_says_so() {
    let stage = Stage::new().await;
    let outcome = publish(&stage.loaded().await, &review(&stage, vec![manual(&["@alice"], false)])).await;
    assert_eq!(outcome, Ok(stage.outcome(false, &[])));
    assert_eq!(reviewers(&stage), [] as [&str; 0]);
}

#[tokio::test]
async fn what_gitlab_does_not_do_is_a_warning_and_the_review_is_posted() {
    let stage = Stage::new().await;
    let nobody = review(&stage, vec![manual(&["@nobody"], true)]);
    let outcome = publish(&stage.loaded().await, &nobody).await;
    let warning = "nobody was not made a reviewer: GitLab shows the bot no user of that name (a group cannot be one)";
    assert_eq!(outcome, Ok(stage.outcome(false, &[warning])));
    // Without Premium there is one reviewer: the one that is there stays.
    let two = review(&stage, vec![manual(&["@alice", "@bob"], true)]);
    let outcome = publish(&stage.loaded().await, &two).await;
    let warning = "GitLab did not make bob a reviewer; more than one needs GitLab Premium";
    assert_eq!(outcome, Ok(stage.outcome(false, &[warning])));
    assert_eq!(reviewers(&stage), ["alice"]);
}

#[tokio::test]
async fn a_refusal_is_a_warning_too() {
    let stage = Stage::new().await;
    let plugin = stage.loaded().await;
    let put = Fault::once("PUT", "/projects/*/merge_requests/*", FaultKind::BadGateway);
    stage.gitlab.inject(put.times(3));
    let outcome = publish(&plugin, &review(&stage, vec![manual(&["@alice"], true)]))
        .await
        .unwrap();
    assert!(
        outcome.warnings[0].starts_with("no reviewers were added: "),
        "{outcome:?}"
    );
    assert_eq!(stage.snapshot().notes.len(), 1);
}

#[tokio::test]
async fn a_rule_is_cited_with_its_link_and_hostile_names_do_nothing() {
    let stage = Stage::new().await;
    let mut entry = finding("It builds its own client.", "client = Client()");
    entry.finding.rule = Some(RuleCitation {
        id: "NET-012".into(),
        link: "https://rules.example.com/net-012?a=(b)".into(),
        on_breach: None,
    });
    let hostile = ManualReview {
        when: "x\n/approve @all".into(),
        files: vec!["a`b\n/merge".into()],
        ..manual(&["@alice"], false)
    };
    let review = Review {
        findings: vec![entry],
        ..review(&stage, vec![hostile])
    };
    publish(&stage.loaded().await, &review).await.unwrap();
    let snapshot = stage.snapshot();
    assert!(
        snapshot.executed_commands.is_empty(),
        "{:?}",
        snapshot.executed_commands
    );
    let body = &snapshot.notes[0].body;
    let cited = "Rule [NET-012](https://rules.example.com/net-012?a=%28b%29)";
    assert!(body.contains(cited), "{body}");
    assert!(!body.contains("@all") && !body.contains("@alice"), "{body}");
}

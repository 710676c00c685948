//! Threads that the token may not resolve: their comments say what became of the finding.

use conclave_engine::{
    ports::PublishSettings,
    review::{JudgedFinding, Review, ThreadAction, ThreadChange},
};
use conclave_fake_github::{FakeGithub, Fault, FaultKind, Options, Permissions};
use conclave_shared::verdict::Verdict;

use crate::{
    conformance::stage::{ForgeStage, Who, at},
    scenarios::OnGitHub,
    stage::Stage,
};

/// A pull request with two threads of ours, which the token may not resolve, and a review that resolves both.
async fn unresolvable(options: Options) -> (OnGitHub, Vec<JudgedFinding>, Review) {
    let base = [("src/a.py", Some("one\ntwo\n")), ("src/b.py", Some("one\n"))];
    let head = [
        ("src/a.py", Some("one\ntwo\nnew one\n")),
        ("src/b.py", Some("one\nf\n")),
    ];
    let builder = FakeGithub::builder().options(options);
    let mut stage = OnGitHub(Stage::of_change(builder, &base, &head).await);
    let (app, repository) = (stage.0.app, stage.0.repository);
    stage.0.token = stage
        .0
        .github
        .installation_token(app, repository, Permissions::review());
    let entries = vec![at("src/a.py", (3, 3), "new one"), at("src/b.py", (2, 2), "f")];
    let first = stage.with_findings(entries.clone());
    stage.run(&first, PublishSettings::default()).await;
    let threads = stage.shown().threads;
    assert_eq!(threads.len(), 2);
    let actions = threads.iter().zip(&entries).map(|(thread, entry)| ThreadAction {
        thread: thread.id.clone(),
        fingerprint: entry.finding.fingerprint.clone(),
        change: ThreadChange::Resolve {
            why: "fixed in `0123abcd`".to_owned(),
        },
    });
    let review = Review {
        threads: actions.collect(),
        ..stage.review(Verdict::Approved)
    };
    stage.forget();
    (stage, entries, review)
}

/// The first comments of the threads: the text, and the reason for which it is minimized.
fn first_comments(stage: &OnGitHub) -> Vec<(String, Option<String>)> {
    let threads = stage.0.snapshot().threads.into_iter();
    let firsts = threads.map(|mut thread| thread.comments.remove(0));
    firsts.map(|first| (first.body, first.minimized)).collect()
}

const SETTLED: &str = "✅ **Settled: fixed in `0123abcd`.**\n\n";

#[tokio::test]
async fn a_thread_that_may_not_be_resolved_says_in_its_comment_that_it_is_fixed() {
    let (stage, entries, review) = unresolvable(Options::default()).await;
    let before = first_comments(&stage);
    let outcome = stage.run(&review, PublishSettings::default()).await;
    let [warning] = &outcome.warnings[..] else {
        unreachable!("one warning for both: {outcome:?}")
    };
    for part in ["`contents: write`", "says that it is settled, and is minimized"] {
        assert!(warning.contains(part), "{warning}");
    }
    let settled: Vec<_> = before
        .iter()
        .map(|(body, _)| (format!("{SETTLED}{body}"), Some("RESOLVED".to_owned())))
        .collect();
    assert_eq!(first_comments(&stage), settled);
    assert!(stage.shown().threads.iter().all(|thread| !thread.resolved));
    // Again there is nothing to write; nor is there at a newer commit, where the cause would be another one.
    stage.forget();
    let mut later = review.clone();
    for action in &mut later.threads {
        action.change = ThreadChange::Resolve {
            why: "fixed in `4567abcd`".to_owned(),
        };
    }
    for review in [&review, &later] {
        let again = stage.run(review, PublishSettings::default()).await;
        assert_eq!(again.warnings, outcome.warnings);
        assert_eq!(stage.acts(), []);
    }
    // What stands again does not stay folded away as settled.
    let back = Review {
        threads: review
            .threads
            .iter()
            .map(|action| ThreadAction {
                change: ThreadChange::Keep,
                ..action.clone()
            })
            .collect(),
        ..stage.with_findings(entries[..1].to_vec())
    };
    stage.run(&back, PublishSettings::default()).await;
    assert_eq!(first_comments(&stage), [before[0].clone(), settled[1].clone()]);
}

#[tokio::test]
async fn a_thread_that_may_not_be_opened_again_is_answered_once_all_the_same() {
    let (stage, mut entries, review) = unresolvable(Options::default()).await;
    for (entry, action) in entries.iter_mut().zip(&review.threads) {
        stage.resolve(Who::Author, &action.thread);
        entry.thread = Some(action.thread.clone());
    }
    let objections = review.threads.iter().map(|action| ThreadAction {
        change: ThreadChange::Answer {
            text: "Only a member can settle this".to_owned(),
            resolve: false,
        },
        ..action.clone()
    });
    let objecting = Review {
        threads: objections.collect(),
        ..stage.with_findings(entries)
    };
    for _ in 0..2 {
        let outcome = stage.run(&objecting, PublishSettings::default()).await;
        let about = outcome
            .warnings
            .iter()
            .filter(|warning| warning.contains("open a thread again"));
        let about: Vec<&String> = about.collect();
        assert_eq!(about.len(), 1, "{outcome:?}");
        for part in ["`contents: write`", "an answer in it says why its finding stands"] {
            assert!(about[0].contains(part), "{outcome:?}");
        }
        for thread in stage.shown().threads {
            assert!(thread.resolved);
            assert_eq!(thread.answers, ["Only a member can settle this"]);
        }
    }
}

#[tokio::test]
async fn a_token_that_may_resolve_in_name_only_falls_back_all_the_same() {
    let (mut stage, _, review) = unresolvable(Options::default()).await;
    let (app, repository) = (stage.0.app, stage.0.repository);
    let permissions = Permissions::review().write("contents");
    stage.0.token = stage.0.github.installation_token(app, repository, permissions);
    let forbidden = FaultKind::GraphqlError {
        kind: "FORBIDDEN".to_owned(),
        message: "Resource not accessible by integration".to_owned(),
    };
    let fault = Fault::once("POST", "/graphql", forbidden).containing("resolveReviewThread");
    stage.0.github.inject(fault.times(99));
    let outcome = stage.run(&review, PublishSettings::default()).await;
    assert_eq!(outcome.warnings.len(), 1, "{outcome:?}");
    assert!(
        outcome.warnings[0].contains("the token may not resolve a thread"),
        "{outcome:?}"
    );
    assert!(
        first_comments(&stage)
            .iter()
            .all(|(body, minimized)| body.starts_with(SETTLED) && minimized.is_some())
    );
    assert!(stage.shown().threads.iter().all(|thread| !thread.resolved));
}

#[tokio::test]
async fn each_fallback_of_a_thread_that_may_not_be_resolved_is_said() {
    // Not minimized, and said.
    let (stage, _, review) = unresolvable(Options {
        apps_may_minimize: false,
        ..Options::default()
    })
    .await;
    let outcome = stage.run(&review, PublishSettings::default()).await;
    assert_eq!(outcome.warnings.len(), 1, "{outcome:?}");
    assert!(
        outcome.warnings[0]
            .contains("says that it is settled, and is not minimized: the token may not minimize a comment"),
        "{outcome:?}"
    );
    assert!(
        first_comments(&stage)
            .iter()
            .all(|(body, minimized)| body.starts_with(SETTLED) && minimized.is_none())
    );
    stage.forget();
    stage.run(&review, PublishSettings::default()).await;
    assert_eq!(stage.acts(), [], "what is not allowed is not tried");

    // Our own comment may not be edited: then it is not folded away either.
    let (stage, _, review) = unresolvable(Options::default()).await;
    let before = first_comments(&stage);
    let fault = Fault::once("PATCH", "/repos/*/*/pulls/comments/*", FaultKind::NotAccessible);
    stage.0.github.inject(fault.times(99));
    let outcome = stage.run(&review, PublishSettings::default()).await;
    assert!(
        outcome
            .warnings
            .iter()
            .all(|warning| warning.contains("nor can the bot's comment in it say that it is settled")),
        "{outcome:?}"
    );
    assert!(!outcome.warnings.is_empty());
    assert_eq!(first_comments(&stage), before);
}

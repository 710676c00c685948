//! Answers in a thread whose code has left its file.

use conclave_shared::{severity::Severity, telemetry::FindingPlacement};

use super::*;
use crate::{
    incremental::test_support::fresh,
    publish::{Account, Edited, Signer},
    review::test_support::review,
};

const NOW: &str = "The code of this finding is now in [src/b.py, line 4](https://git.example.org/src/b.py#L4).";

fn bot() -> BotIdentity {
    BotIdentity {
        account: 7,
        signer: Signer::new("secret".into(), "1\u{0}2".to_owned()),
    }
}

/// A review in which the finding of `src/a.py` stands in this file.
fn stands_in(file: &str, change: ThreadChange) -> Review {
    let mut entry = fresh("E1", Severity::Warning, "c");
    let fingerprint = entry.finding.fingerprint.clone();
    entry.finding.file = file.to_owned();
    entry.finding.line = 4;
    let mut review = review();
    review.findings = vec![entry];
    review.threads = vec![ThreadAction {
        thread: "thread".to_owned(),
        fingerprint,
        change,
    }];
    review
}

/// The finding's thread with these answers, each with its account.
fn thread(answers: &[(u64, &str)]) -> Conversation {
    let record = FindingRecord::new(&fresh("F1", Severity::Warning, "c"), "1111111111");
    let first = format!("What is wrong.\n\n{}", bot().signer.sign(&record));
    let notes = std::iter::once((7, first.as_str())).chain(answers.iter().copied());
    let note = |(order, (account, text)): (u64, (u64, &str))| Note {
        id: order,
        order,
        author: Some(Account {
            id: account,
            ..Account::default()
        }),
        text: text.to_owned(),
        by_forge: false,
        internal: false,
        edited: Edited::No,
        placement: FindingPlacement::Line,
    };
    Conversation {
        threads: vec![Thread {
            id: "thread".to_owned(),
            notes: (1..).zip(notes).map(note).collect(),
            ..Thread::default()
        }],
    }
}

fn planned(review: &Review, files: &[FileDiff], conversation: &Conversation) -> Vec<ThreadStep> {
    let link = |file: &str, line: u32, _: Option<u32>| Some(format!("https://git.example.org/{file}#L{line}"));
    let plan = plan_thread_changes(&bot(), (review, files), conversation, conversation, &link);
    plan.steps.into_iter().flat_map(|thread| thread.steps).collect()
}

fn reply(text: &str) -> Vec<ThreadStep> {
    vec![ThreadStep::Reply(text.to_owned())]
}

#[test]
fn a_thread_says_once_in_which_other_file_its_code_is() {
    let moved = stands_in("src/b.py", ThreadChange::Keep);
    assert_eq!(planned(&moved, &[], &thread(&[])), reply(NOW));
    assert_eq!(planned(&moved, &[], &thread(&[(7, NOW)])), []);
    // Also where it is at another line of that file by now, and has moved on to a third.
    let before = NOW.replace("line 4", "lines 8-9");
    assert_eq!(planned(&moved, &[], &thread(&[(7, before.as_str())])), []);
    let third = NOW.replace("b.py", "c.py");
    assert_eq!(
        planned(&moved, &[], &thread(&[(7, NOW), (7, third.as_str())])),
        reply(NOW)
    );
    let back = stands_in("src/a.py", ThreadChange::Keep);
    assert_eq!(planned(&back, &[], &thread(&[])), []);
    assert_eq!(
        planned(&back, &[], &thread(&[(7, NOW)])),
        reply(&NOW.replace("b.py", "a.py"))
    );
}

#[test]
fn a_renamed_file_is_the_threads_own_and_what_people_wrote_is_not_a_file() {
    let moved = stands_in("src/b.py", ThreadChange::Keep);
    let renamed = FileDiff {
        kind: ChangeKind::Renamed,
        old_path: "src/a.py".to_owned(),
        path: "src/b.py".to_owned(),
        ..FileDiff::default()
    };
    assert_eq!(planned(&moved, &[renamed], &thread(&[])), []);
    let described = stands_in(CONTEXT_FILE, ThreadChange::Keep);
    assert_eq!(planned(&described, &[], &thread(&[])), []);
    let fixed = ThreadChange::Resolve {
        why: "fixed in `22222222`".to_owned(),
    };
    let mut gone = stands_in("src/b.py", fixed);
    gone.findings.clear();
    let [ThreadStep::Resolve(_)] = &planned(&gone, &[], &thread(&[]))[..] else {
        panic!("it is only resolved")
    };
}

#[test]
fn a_thread_that_is_opened_again_says_it_too() {
    let back = ThreadChange::Answer {
        text: "It is back.".to_owned(),
        resolve: false,
    };
    let review = stands_in("src/b.py", back);
    for answers in [&[][..], &[(7, NOW)][..]] {
        let mut resolved = thread(answers);
        resolved.threads[0].resolved = true;
        let steps = planned(&review, &[], &resolved);
        let [ThreadStep::Reopen, ThreadStep::Reply(body)] = &steps[..] else {
            panic!("{steps:?}")
        };
        assert!(body.starts_with(&format!("It is back.\n\n{NOW}\n\n")), "{body}");
    }
    // A thread that a person has resolved stays as it is.
    let mut resolved = thread(&[]);
    resolved.threads[0].resolved = true;
    assert_eq!(planned(&stands_in("src/b.py", ThreadChange::Keep), &[], &resolved), []);
}

#[test]
fn a_persons_last_word_is_not_answered_with_a_place_alone() {
    let said = thread(&[(9, "Why?")]);
    let moved = stands_in("src/b.py", ThreadChange::Keep);
    assert_eq!(planned(&moved, &[], &said), []);
    let answer = ThreadChange::Answer {
        text: "Because.".to_owned(),
        resolve: false,
    };
    let answered = stands_in("src/b.py", answer);
    let text = format!("Because.\n\n{NOW}");
    assert_eq!(planned(&answered, &[], &said), reply(&text));
    assert_eq!(planned(&answered, &[], &thread(&[(9, "Why?"), (7, text.as_str())])), []);
}

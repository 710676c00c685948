//! Notes as earlier versions have posted them, and as they stand on merge requests today: each is still ours, and still read.

use conclave_shared::{severity::Severity, verdict::Verdict};

use super::{Account, BotIdentity, Conversation, Edited, Note, Signer, SummaryState, Thread};
use crate::review::{CarryOver, FindingRecord};

const SUMMARY: &str = include_str!("../../../../tests/fixtures/posted/summary.md");
const THREAD: &str = include_str!("../../../../tests/fixtures/posted/thread.md");
const BOT: u64 = 7;

fn note(id: u64, text: &str) -> Thread {
    let note = Note {
        id,
        order: id,
        author: Some(Account {
            id: BOT,
            ..Account::default()
        }),
        text: text.to_owned(),
        by_forge: false,
        internal: false,
        edited: Edited::No,
        placement: conclave_shared::telemetry::FindingPlacement::Line,
    };
    Thread {
        id: id.to_string(),
        notes: vec![note],
        ..Thread::default()
    }
}

#[test]
fn what_was_posted_is_ours_and_is_read() {
    let bot = BotIdentity {
        account: BOT,
        signer: Signer::new("the installation's secret".into(), "101\u{0}1".to_owned()),
    };
    let conversation = Conversation {
        threads: vec![note(1, THREAD), note(2, SUMMARY)],
    };
    assert_eq!(bot.summary(&conversation).map(|note| note.id), Some(2));
    let shown = "## 🟡 Minor issues\n\nThe change is small.";
    assert_eq!(bot.summary_text(&conversation).as_deref(), Some(shown));
    assert_eq!(bot.spent_micros(&conversation), 1_230_000);
    let state: SummaryState = bot.last_state(&conversation).expect("a state");
    assert!(state.requested_changes);
    assert_eq!(
        state.concluded.expect("a conclusion").verdict,
        Verdict::SignificantConcerns
    );
    let [own] = &bot.threads(&conversation)[..] else {
        panic!("one thread")
    };
    assert_eq!((own.thread.id.as_str(), own.record.line), ("1", 4));
    let carry_over: CarryOver = bot.remembered(&conversation).expect("a carry-over");
    let remembered: Option<&FindingRecord> = carry_over.findings[0].record.as_ref();
    assert_eq!(remembered, Some(&own.record));
    assert_eq!(own.record.severity, Severity::Warning);
}

#[test]
fn what_another_secret_has_signed_is_unreadable_where_our_account_wrote_it() {
    let bot = |account: u64, secret: &str| BotIdentity {
        account,
        signer: Signer::new(secret.into(), "101\u{0}1".to_owned()),
    };
    let unreadable = |bot: &BotIdentity, threads: Vec<Thread>| {
        let conversation = Conversation { threads };
        let summaries = bot.unreadable_summaries(&conversation);
        let threads = bot.unreadable_threads(&conversation);
        let summaries: Vec<u64> = summaries.iter().map(|note| note.id).collect();
        let threads: Vec<String> = threads.iter().map(|thread| thread.id.clone()).collect();
        (summaries, threads)
    };
    let posted = || vec![note(1, THREAD), note(2, SUMMARY)];
    let nothing = (Vec::new(), Vec::new());
    assert_eq!(unreadable(&bot(BOT, "the installation's secret"), posted()), nothing);
    let rotated = bot(BOT, "another secret");
    assert_eq!(unreadable(&rotated, posted()), (vec![2], vec!["1".to_owned()]));
    // Other accounts have copied it, and we have quoted it.
    assert_eq!(unreadable(&bot(BOT + 1, "another secret"), posted()), nothing);
    let quoted = [THREAD, SUMMARY].map(|text| format!("~~~~\n{text}\n~~~~"));
    let quoted = vec![note(1, &quoted[0]), note(2, &quoted[1])];
    assert_eq!(unreadable(&rotated, quoted), nothing);
    // An answer in a thread of another account's begins none of ours.
    let mut copied = posted();
    copied[0].notes[0].author = None;
    let own = note(3, THREAD).notes.remove(0);
    copied[0].notes.push(own);
    assert_eq!(unreadable(&rotated, copied), (vec![2], Vec::new()));
}

#[test]
fn a_summary_or_thread_that_another_account_has_edited_is_named_and_that_summary_is_not_read() {
    let bot = BotIdentity {
        account: BOT,
        signer: Signer::new("the installation's secret".into(), "101\u{0}1".to_owned()),
    };
    for edited in [Edited::No, Edited::ByAuthor, Edited::ByAnother] {
        let mut conversation = Conversation {
            threads: vec![
                note(1, THREAD),
                note(2, SUMMARY),
                note(3, "The nightly build is green."),
            ],
        };
        for thread in &mut conversation.threads {
            thread.notes[0].edited = edited;
        }
        let by_another = edited == Edited::ByAnother;
        assert_eq!(bot.last_state(&conversation).is_none(), by_another, "{edited:?}");
        assert_eq!(bot.threads(&conversation).len(), 1, "{edited:?}");
        let (summaries, threads) = (bot.edited_summaries(&conversation), bot.edited_threads(&conversation));
        let named = (
            summaries.first().map(|note| note.id),
            threads.first().map(|thread| thread.id.as_str()),
        );
        let expected = if by_another { (Some(2), Some("1")) } else { (None, None) };
        assert_eq!(named, expected, "{edited:?}");
    }
}

//! Notes of other runs that were written over the one of this run: with everything of it, or without.

use conclave_shared::severity::Severity;

use super::*;
use crate::{
    incremental::test_support::fresh,
    publish::{Account, Edited, Note, NoteForm, Signer, Summary, Thread},
    report::SuggestionSyntax,
    review::{Unlisted, test_support::review},
};

const BOT: u64 = 7;

fn bot() -> BotIdentity {
    BotIdentity {
        account: BOT,
        signer: Signer::new("the installation's secret".into(), "101\u{0}1".to_owned()),
    }
}

fn summary(review: &Review) -> Summary {
    let form = NoteForm {
        max_summary: 100_000,
        max_inline: 100_000,
        max_carry_over: 100_000,
        suggestion: SuggestionSyntax::Offsets,
    };
    Summary::of(review, form)
}

/// A merge request with the note of this review.
fn with_note_of(review: &Review) -> Conversation {
    let note = Note {
        id: 1,
        order: 1,
        author: Some(Account {
            id: BOT,
            ..Account::default()
        }),
        text: summary(review).body(&bot()),
        by_forge: false,
        internal: false,
        edited: Edited::No,
        placement: conclave_shared::telemetry::FindingPlacement::Summary,
    };
    let thread = Thread {
        id: "1".to_owned(),
        notes: vec![note],
        ..Thread::default()
    };
    Conversation { threads: vec![thread] }
}

#[test]
fn a_note_of_a_run_that_had_not_read_ours_is_told_from_one_that_had() {
    let meanwhile = |severity| Meanwhile {
        findings: vec![FoundMeanwhile {
            record: FindingRecord::new(&fresh("F1", severity, "c"), "1111111111"),
            thread: None,
        }],
        ..Meanwhile::default()
    };
    let unlisted = Meanwhile {
        held: HeldMeanwhile {
            unlisted: vec![Unlisted {
                patch: PatchId::of_all(std::iter::empty()),
                severity: Severity::Critical,
                object: None,
            }],
            ..HeldMeanwhile::default()
        },
        ..Meanwhile::default()
    };
    for held in [meanwhile(Severity::Warning), meanwhile(Severity::Critical), unlisted] {
        let (mut own, mut other) = (review(), review());
        own.add_meanwhile(&held);
        let (bot, before, seen) = (bot(), Conversation::default(), [summary(&own).state]);
        let lost = |now: &Review| {
            let others = OtherRuns {
                bot: &bot,
                before: &before,
                review: &own,
                seen: &seen,
                heads: None,
            };
            others.have_written_over(&with_note_of(now))
        };
        assert!(lost(&other), "it knows nothing of {held:?}");
        assert!(!lost(&own), "it is ours");
        // Not approving is not enough: the next run has to find what stands.
        other.verdict = conclave_shared::verdict::Verdict::Inconclusive;
        assert!(lost(&other), "it does not approve, and knows nothing of {held:?}");
        other.add_meanwhile(&held);
        "The other run's words.".clone_into(&mut other.summary);
        assert!(!lost(&other), "it has {held:?}");
    }
}

//! Markers that are ours, and markers that only look like it.

use conclave_shared::{finding::fingerprint, reviewer::ReviewerName, severity::Severity};

use super::*;
use crate::publish::SummaryState;

fn signer(secret: &str, project: u64, iid: u64) -> Signer {
    Signer::new(SecretString::from(secret), format!("{project}\0{iid}"))
}

#[test]
fn it_depends_on_everything() {
    let of = |secret: &str, project, iid| signer(secret, project, iid).summary();
    assert_eq!(of("s", 1, 2), of("s", 1, 2));
    for other in [of("t", 1, 2), of("s", 2, 2), of("s", 1, 3)] {
        assert_ne!(other, of("s", 1, 2));
    }
    assert_eq!(of("s", 1, 2).len(), "<!-- conclave:summary: -->".len() + 32);
}

#[test]
fn what_was_spent_is_read_from_our_own_comment_only() {
    let own_signer = signer("s", 1, 2);
    let read = |body: &str| own_signer.read_spent(body);
    let own = own_signer.spent(1_230_000);
    assert_eq!(read(&format!("text\n\n{own}\n")), Some(1_230_000));
    assert_eq!(read("text"), None);
    for foreign in [
        signer("t", 1, 2).spent(1),
        signer("s", 1, 3).spent(1),
        own.replace("1230000", "1"),
        own.replace("1230000", "99999999999999999999999"),
        own.get(..own.len() - 10).expect("ASCII").to_owned(),
    ] {
        assert_eq!(read(&foreign), None, "{foreign}");
        // One that never ends hides what follows.
        let seen = foreign.ends_with("-->").then_some(1_230_000);
        assert_eq!(read(&format!("{foreign}\n{own}")), seen, "{foreign}");
    }
}

#[test]
fn what_was_spent_is_replaced_and_nothing_else_of_the_note() {
    let own = signer("s", 1, 2);
    let note = |micros| {
        format!(
            "> {}\n\ntext\n\n{}\n{}\n",
            own.spent(7),
            own.summary(),
            own.spent(micros)
        )
    };
    let more = own.with_spent(&note(40), 90);
    assert_eq!(more.as_deref(), Some(note(90).as_str()));
    assert_eq!(own.with_spent("text", 90), None);
    assert_eq!(signer("t", 1, 2).with_spent(&note(40), 90), None);
}

fn record(claim: &str) -> FindingRecord {
    FindingRecord {
        schema: 1,
        fingerprint: fingerprint("src/a.py", "injection", "x"),
        severity: Severity::Critical,
        category: "injection".to_owned(),
        file: "src/a.py".to_owned(),
        line: 7,
        end_line: Some(9),
        section: ReviewerName::new("security").expect("a name"),
        head_sha: "a".repeat(40),
        claim: claim.to_owned(),
        anchor: None,
        production_risk: false,
        rule: None,
    }
}

#[test]
fn a_finding_is_read_back_as_it_was() {
    let secret = signer("s", 1, 2);
    for claim in ["It fails.", "ends --> here\n/approve", "Ünïcode 🦀 >?~", ""] {
        let own = secret.sign(&record(claim));
        assert!(own.ends_with(" -->") && own.matches("-->").count() == 1, "{own}");
        assert!(!own.contains('\n') && !own.contains("/approve"), "{own}");
        let body = format!("text\n\n{own}\n");
        assert_eq!(secret.read::<FindingRecord>(&body), Some(record(claim)));
    }
}

#[test]
fn a_marker_of_somebody_else_or_for_something_else_is_none() {
    let secret = signer("s", 1, 2);
    let own = secret.sign(&record("It fails."));
    let state = SummaryState {
        requested_changes: true,
        ..SummaryState::default()
    };
    let (start, end) = own.split_at(own.len() / 2);
    for foreign in [
        signer("t", 1, 2).sign(&record("It fails.")),
        signer("s", 1, 3).sign(&record("It fails.")),
        signer("s", 3, 2).sign(&record("It fails.")),
        secret.sign(&state).replace("conclave:state", "conclave:finding"),
        format!("{start}A{end}"),
        own.replace(" -->", "00 -->"),
        own.trim_end_matches(" -->").to_owned(),
        "<!-- conclave:finding: -->".to_owned(),
        "<!-- conclave:finding:. -->".to_owned(),
    ] {
        assert_eq!(secret.read::<FindingRecord>(&foreign), None, "{foreign}");
        let both = format!("> {foreign}\n\n{own}");
        assert_eq!(
            secret.read::<FindingRecord>(&both),
            Some(record("It fails.")),
            "{foreign}"
        );
    }
    let signed = secret.sign(&state);
    assert_eq!(secret.read::<SummaryState>(&signed), Some(state));
}

#[test]
fn of_several_the_last_one_is_the_notes_own() {
    let secret = signer("s", 1, 2);
    let quoted = secret.sign(&record("An older one."));
    let own = secret.sign(&record("This one."));
    let read = secret.read::<FindingRecord>(&format!("> {quoted}\n\n{own}"));
    assert_eq!(read, Some(record("This one.")));
}

#[test]
fn a_marker_counts_at_the_end_of_a_note_only() {
    let secret = signer("s", 1, 2);
    let own = secret.summary();
    let finding = secret.sign(&record("Copied."));
    for body in [
        format!("Text.\n\n{own}\n{finding}"),
        format!("Text.\n\n{own}\n{finding}\n\n"),
        format!("{own}\n{finding}"),
        format!("```\ncode\n```\n\n{own}\n{finding}"),
        format!("<details>\n\nx\n\n</details>\n\n{own}\n{finding}"),
        // The text above does not matter.
        format!("```\n{own}\n```\n\n{own}\n{finding}"),
    ] {
        assert!(has(&body, &own), "{body}");
        assert_eq!(secret.read::<FindingRecord>(&body), Some(record("Copied.")), "{body}");
    }
    for body in [
        format!("{own}\n{finding}\n\nText."),
        format!("```\n{own}\n{finding}\n```"),
        format!("```\n{own}\n{finding}"),
        format!("```suggestion:-0+0\n{own}\n{finding}\n```\n"),
        format!("> {own}\n> {finding}"),
        format!(">>>\n{own}\n{finding}\n>>>"),
        format!("- {own}\n- {finding}"),
        format!("- a\n\n  {own}\n  {finding}"),
        format!("    {own}\n    {finding}"),
        format!("`{own}` `{finding}`"),
        format!("Text {own} {finding}"),
        format!("<details>\n\n{own}\n{finding}\n\n</details>"),
    ] {
        assert!(!has(&body, &own), "{body}");
        assert_eq!(secret.read::<FindingRecord>(&body), None, "{body}");
    }
}

#[test]
fn a_marker_of_another_secret_is_foreign_and_a_quoted_one_is_not() {
    let (own, other) = (signer("s", 1, 2), signer("t", 1, 2));
    let markers = |signer: &Signer| [signer.summary(), signer.sign(&record("It fails."))];
    let foreign = |body: &str| (own.is_foreign_summary(body), own.is_foreign::<FindingRecord>(body));
    let [summary, finding] = markers(&other);
    assert_eq!(foreign(&format!("Text.\n\n{summary}\n")), (true, false));
    assert_eq!(foreign(&format!("Text.\n\n{finding}")), (false, true));
    // What a marker was made for does not stand in it.
    assert!(own.is_foreign_summary(&signer("s", 1, 3).summary()));
    // A genuine one beside it says whose the note is.
    let [own_summary, own_finding] = markers(&own);
    let both = format!("Text.\n\n{summary}\n{finding}\n{own_summary}\n{own_finding}");
    assert_eq!(foreign(&both), (false, false));
    for body in [
        format!("Text.\n\n{own_summary}\n{own_finding}"),
        format!("{summary}\n{finding}\n\nText."),
        format!("```\n{summary}\n{finding}\n```"),
        format!("> {summary}\n> {finding}"),
        format!("Text {summary} {finding}"),
        format!("Text.\n\n{}", other.spent(1)),
        "Text.".to_owned(),
        String::new(),
    ] {
        assert_eq!(foreign(&body), (false, false), "{body}");
    }
}

#[test]
fn our_hidden_comments_are_taken_out() {
    for (text, kept) in [
        ("Text.\n\n<!-- conclave:finding:abc -->", "Text."),
        ("<!-- conclave:a --> b <!-- conclave:c -->d", " b d"),
        ("\n  \n    an indented line is code\n", "    an indented line is code"),
        ("<!-- of somebody else -->", "<!-- of somebody else -->"),
        ("cut <!-- conclave:ledger:abc", "cut"),
        ("", ""),
    ] {
        assert_eq!(without_markers(text), kept, "{text:?}");
    }
}

use conclave_shared::severity::Severity;

use super::*;
use crate::incremental::test_support::{existing, fresh};

/// A critical on the same code, at this line.
fn at(id: &str, line: u32, claim: &str) -> JudgedFinding {
    let mut entry = fresh(id, Severity::Critical, "c");
    entry.finding.line = line;
    entry.finding.claim = claim.to_owned();
    entry
}

fn known(id: &str, line: u32, claim: &str) -> ExistingFinding {
    let mut finding = existing(id, "c");
    finding.anchor = AnchorState::Unchanged;
    finding.record.line = line;
    finding.record.claim = claim.to_owned();
    finding
}

fn identities(judged: &[JudgedFinding]) -> Vec<&str> {
    let ids = judged.iter().map(|entry| entry.finding.fingerprint.as_str());
    ids.collect()
}

const SQL: &str = "The name of the request becomes a part of the statement, so that a caller reads all rows.";
const REWORDED: &str = "A caller reads all rows: the name of the request becomes a part of the statement.";
const OTHER: &str = "The rounding of prices is lost where a customer pays in another currency.";

#[test]
fn the_same_line_at_two_places_is_two_problems() {
    let mut judged = [at("F1", 5, SQL), at("F2", 9, SQL), at("F3", 9, REWORDED)];
    let base = judged[0].finding.fingerprint.clone();
    identify(&mut judged, &[]);
    assert_eq!(judged[0].finding.fingerprint, base, "the first keeps it");
    assert_ne!(judged[1].finding.fingerprint, base);
    assert_eq!(
        judged[2].finding.fingerprint, judged[1].finding.fingerprint,
        "one problem in two reports"
    );
}

#[test]
fn an_earlier_finding_is_met_at_its_place_only() {
    let mut first = [at("F1", 5, SQL), at("F2", 9, SQL)];
    identify(&mut first, &[]);
    let mut earlier = [known("E1", 15, SQL), known("E2", 19, SQL)];
    for (finding, entry) in earlier.iter_mut().zip(&first) {
        finding.record.fingerprint = entry.finding.fingerprint.clone();
    }
    // Both have moved by ten lines, in another order, and there is a third.
    let mut judged = [at("F1", 30, SQL), at("F2", 19, OTHER), at("F3", 15, REWORDED)];
    identify(&mut judged, &earlier);
    assert_eq!(identities(&judged)[1..], [identities(&first)[1], identities(&first)[0]]);
    assert!(
        !identities(&first).contains(&identities(&judged)[0]),
        "the third is new"
    );
}

#[test]
fn two_problems_of_a_kind_on_one_line_stay_two_and_a_new_wording_makes_none() {
    let mut judged = [at("F1", 5, SQL), at("F2", 5, OTHER)];
    identify(&mut judged, &[]);
    assert_ne!(judged[0].finding.fingerprint, judged[1].finding.fingerprint);
    let mut earlier = [known("E1", 5, SQL), known("E2", 5, OTHER)];
    for (finding, entry) in earlier.iter_mut().zip(&judged) {
        finding.record.fingerprint = entry.finding.fingerprint.clone();
    }
    let mut again = [at("F1", 5, OTHER), at("F2", 5, REWORDED)];
    identify(&mut again, &earlier);
    assert_eq!(identities(&again), [identities(&judged)[1], identities(&judged)[0]]);
    let mut alone = [at("F1", 5, "Prices are not what they were.")];
    identify(&mut alone, &earlier[..1]);
    assert_eq!(identities(&alone), [earlier[0].record.fingerprint.as_str()]);
}

#[test]
fn the_same_code_under_a_wider_or_narrower_category_is_the_same_finding() {
    let earlier = [known("E1", 5, SQL)];
    for (category, is_same) in [
        ("injection", true),
        ("raw-sql-injection", true),
        ("naming", false),
        (Finding::PROMPT_INJECTION, false),
    ] {
        for (line, is_there) in [(5, true), (9, false)] {
            let mut entry = at("F1", line, OTHER);
            entry.finding.category = category.to_owned();
            entry.finding.fingerprint = conclave_shared::finding::fingerprint("src/a.py", category, "c");
            let mut judged = [entry];
            identify(&mut judged, &earlier);
            let same = judged[0].finding.fingerprint == earlier[0].record.fingerprint;
            assert_eq!(same, is_same && is_there, "{category} {line}");
        }
    }
}

#[test]
fn code_that_is_gone_from_its_place_is_met_where_its_words_are() {
    let mut gone = known("E1", 5, SQL);
    gone.anchor = AnchorState::Changed;
    let mut judged = [at("F1", 40, REWORDED), at("F2", 50, SQL)];
    identify(&mut judged, &[gone.clone()]);
    assert!(identities(&judged).contains(&gone.record.fingerprint.as_str()));
    assert_ne!(judged[0].finding.fingerprint, judged[1].finding.fingerprint);
}

#[test]
fn poor_instructions_are_one_matter_whatever_line_a_later_review_names() {
    let poor = |entry: &mut JudgedFinding| entry.finding.fingerprint = poor_instructions();
    let mut earlier = [known("E1", 3, SQL)];
    earlier[0].record.fingerprint = poor_instructions();
    for anchor in [AnchorState::Unchanged, AnchorState::Changed, AnchorState::Unknown] {
        earlier[0].anchor = anchor;
        let mut judged = [at("F1", 9, OTHER)];
        poor(&mut judged[0]);
        identify(&mut judged, &earlier);
        assert_eq!(judged[0].finding.fingerprint, poor_instructions(), "{anchor:?}");
    }
}

#[test]
fn who_says_the_same_takes_the_identity_before_who_says_something_else() {
    let earlier = [known("E1", 5, SQL)];
    let mut judged = [at("F1", 5, OTHER), at("F2", 5, REWORDED)];
    identify(&mut judged, &earlier);
    let own = earlier[0].record.fingerprint.as_str();
    assert_eq!(identities(&judged)[1], own);
    assert_ne!(identities(&judged)[0], own, "another problem of that line");
}

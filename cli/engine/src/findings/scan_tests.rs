//! Answers as models write them.

use proptest::prelude::*;

use super::*;

const GOOD: &str = "I looked at it.\n```xml\n<findings>\n<finding>\n<severity>critical</severity>\n<file>src/db.py</file>\n\
<line>4</line>\n<claim>a < b && c is read as text.</claim>\n<evidence>\n    if a < b && c:\n</evidence>\n\
</finding>\n</findings>\n```\nDone.";

#[test]
fn prose_and_fences_around_and_unescaped_code_inside() {
    let outcome = scan(GOOD);
    assert_eq!(outcome.faults, Vec::<String>::new());
    assert_eq!(outcome.findings.len(), 1);
    let finding = &outcome.findings[0];
    assert_eq!(finding.get("severity"), Some("critical"));
    assert_eq!(finding.get("claim"), Some("a < b && c is read as text."));
    assert_eq!(finding.code("evidence"), Some("    if a < b && c:"));
    assert_eq!(finding.get("fix"), None);
}

#[test]
fn no_finding_is_an_answer_and_silence_is_not() {
    for text in [
        "<findings></findings>",
        "<findings/>",
        "ok <findings>\n</findings>",
        "<findings />",
    ] {
        assert_eq!(scan(text), ScanOutcome::default(), "{text}");
    }
    for text in ["", "  \n", "LGTM!", "<finding><file>a</file></finding>", "<findingsx>"] {
        let outcome = scan(text);
        assert_eq!((outcome.findings.len(), outcome.faults.len()), (0, 1), "{text}");
    }
}

#[test]
fn the_last_block_counts() {
    let text = format!("First I thought <findings></findings> but then:\n{GOOD}");
    assert_eq!(scan(&text).findings.len(), 1);
}

#[test]
fn what_is_cut_off_is_a_fault_and_what_came_before_is_kept() {
    let one = "<finding><file>a</file><line>1</line></finding>";
    let cut = scan(&format!("<findings>{one}<finding><file>b</file><claim>unfin"));
    assert_eq!(cut.findings.len(), 1);
    assert_eq!(
        cut.faults,
        ["a <finding> is cut off", "the <findings> block is cut off"]
    );
    let open = scan(&format!("<findings><finding><file>z</file>{one}</findings>"));
    assert_eq!(
        open.findings.len(),
        2,
        "a finding that was not closed ends where the next one begins"
    );
}

#[test]
fn code_that_holds_closing_tags_stays_whole() {
    let text = "<findings><finding><file>x.xml</file><evidence><a></finding></a></evidence><line>3</line></finding></findings>";
    let outcome = scan(text);
    assert_eq!(outcome.findings[0].code("evidence"), Some("<a></finding></a>"));
    assert_eq!(outcome.findings[0].get("line"), Some("3"));
}

#[test]
fn code_that_holds_a_whole_block_is_still_code() {
    let inner = "text.find(\"<findings></findings>\")";
    let text = format!("<findings><finding><evidence>{inner}</evidence><line>7</line></finding></findings>");
    let outcome = scan(&text);
    assert_eq!(outcome.faults, Vec::<String>::new());
    assert_eq!(outcome.findings[0].get("evidence"), Some(inner));
    assert_eq!(outcome.findings[0].get("line"), Some("7"));
}

#[test]
fn a_fence_inside_evidence_is_taken_off() {
    let text = "<findings><finding><evidence>\n```py\n  x = 1\n```\n</evidence></finding></findings>";
    assert_eq!(scan(text).findings[0].code("evidence"), Some("  x = 1"));
}

#[test]
fn the_reviewers_are_told_of_exactly_these_fields() {
    let shared = crate::prompt::PromptLibrary::default();
    let text = shared.shared().expect("the rules of every reviewer");
    let output = text.split("## Output").nth(1).expect("the section");
    let example = output.split("```").nth(1).expect("the block");
    let told: std::collections::BTreeSet<&str> = example
        .split('<')
        .filter_map(|rest| rest.split_once('>'))
        .map(|(tag, _)| tag)
        .filter(|tag| !tag.starts_with('/') && !tag.starts_with("finding"))
        .collect();
    assert_eq!(told, FIELDS.into_iter().collect());
    for field in FIELDS {
        assert!(text.contains(&format!("`{field}`")), "`{field}` is not explained");
    }
}

proptest! {
    #[test]
    fn never_panics(text in "(<findings>|</findings>|<finding>|</finding>|<file>|</file>|<evidence>|</evidence>|```|a|<|é|\n){0,60}") {
        let _ = scan(&text);
    }

    #[test]
    fn text_between_known_tags_is_never_lost(claim in "[^<]{0,80}", code in "[a-z<>&= ;(){}]{0,80}") {
        let text = format!("<findings><finding><claim>{claim}</claim><evidence>{code}</evidence></finding></findings>");
        let outcome = scan(&text);
        prop_assert_eq!(outcome.findings.len(), 1);
        prop_assert_eq!(outcome.findings[0].get("claim"), Some(claim.trim()));
        prop_assert_eq!(outcome.findings[0].get("evidence"), Some(code.trim()));
    }
}

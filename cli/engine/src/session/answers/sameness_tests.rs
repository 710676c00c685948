//! Findings that come again, and those that are another problem.

use super::*;
use crate::{judge::test_support::finding, rules::RuleInForce};

const CLAIM: &str = "The name of the caller reaches the SQL query without a parameter.";
const REWORDED: &str = "Without a parameter the name of the caller reaches the SQL query of the report.";
const OTHER: &str = "Anyone may delete the report, because the route asks for no role.";
const CODE: &str = "rows = query(sql + name)";

/// A critical finding that stands.
fn stands(line: u32, claim: &str, code: &str) -> Finding {
    Finding {
        claim: claim.to_owned(),
        evidence: code.to_owned(),
        ..finding("F1", Severity::Critical, "sql-injection", "a.py", line)
    }
}

/// A critical finding that was not taken.
fn lost(line: u32, claim: &str, code: &str) -> Hallucinated {
    Hallucinated {
        claim: claim.to_owned(),
        severity: "critical".into(),
        category: "sql-injection".into(),
        file: "a.py".into(),
        line: Some(line),
        quote: code.to_owned(),
        misquoted: true,
        ..Hallucinated::default()
    }
}

/// The claims that stay open.
fn left(open: &[Hallucinated], findings: &[Finding], kept: &[Finding]) -> Vec<String> {
    let mut open = open.to_vec();
    make_good(&mut open, findings, kept, None);
    open.into_iter().map(|lost| lost.claim).collect()
}

fn cites(id: &str, finding: Finding) -> Finding {
    Finding {
        rule: Some(RuleCitation {
            id: id.into(),
            link: String::new(),
            on_breach: None,
        }),
        ..finding
    }
}

#[test]
fn the_same_problem_is_made_good_in_other_lines_words_or_code() {
    let elsewhere = Hallucinated {
        nearest: vec![(79, "def".into()), (80, CODE.into())],
        ..lost(10, CLAIM, "rows = query(sql)")
    };
    let no_claim = lost(10, "", CODE);
    let broke_off = lost(10, "The name of", "");
    let of_another_file = Hallucinated {
        file: "b.py".into(),
        ..lost(10, CLAIM, CODE)
    };
    let no_line = Hallucinated {
        line: None,
        ..lost(10, CLAIM, CODE)
    };
    for (lost, finding) in [
        (lost(10, CLAIM, "rows = query(name)"), stands(10, CLAIM, CODE)),
        (lost(10, CLAIM, "rows = query(name)"), stands(12, REWORDED, CODE)),
        (lost(10, CLAIM, "rows = query(name)"), stands(80, CLAIM, CODE)),
        (elsewhere, stands(80, REWORDED, CODE)),
        (no_line, stands(80, REWORDED, CODE)),
        (of_another_file, stands(80, REWORDED, CODE)),
        (no_claim, stands(10, CLAIM, CODE)),
        (broke_off, stands(11, CLAIM, CODE)),
        (
            lost(10, CLAIM, "rows = safe(name)"),
            stands(80, &format!("{CLAIM} (removed: `rows = safe(name)`)"), CODE),
        ),
    ] {
        assert_eq!(
            left(std::slice::from_ref(&lost), std::slice::from_ref(&finding), &[]),
            [""; 0],
            "{lost:?} {finding:?}"
        );
    }
}

#[test]
fn one_file_and_one_category_make_no_problem_of_two() {
    let misquoted = "rows = query(name)";
    for (lost, finding) in [
        (lost(10, CLAIM, misquoted), stands(10, OTHER, CODE)),
        (lost(10, CLAIM, misquoted), stands(80, REWORDED, CODE)),
        (lost(10, "", misquoted), stands(10, CLAIM, CODE)),
        (lost(10, "The name of", ""), stands(80, CLAIM, CODE)),
    ] {
        assert_eq!(
            left(std::slice::from_ref(&lost), std::slice::from_ref(&finding), &[]),
            [lost.claim.as_str()],
            "{finding:?}"
        );
    }
}

#[test]
fn what_only_repeats_a_kept_finding_makes_nothing_good() {
    let kept = [stands(10, CLAIM, CODE)];
    let open = [lost(14, CLAIM, "rows = query(name)")];
    let longer = Finding {
        end_line: Some(11),
        ..stands(10, CLAIM, "rows = query(sql + name)\nreturn rows")
    };
    let renamed = Finding {
        category: "injection".into(),
        ..stands(10, REWORDED, CODE)
    };
    for repeated in [kept[0].clone(), longer, renamed, stands(80, CLAIM, "return rows")] {
        assert_eq!(
            left(&open, std::slice::from_ref(&repeated), &kept),
            [CLAIM],
            "{repeated:?}"
        );
    }
    // The same claim, where the other one was said to be.
    assert_eq!(left(&open, &[stands(14, CLAIM, CODE)], &kept), [""; 0]);
    let breach = [cites("SQL-1", stands(10, CLAIM, CODE))];
    let mut asks = lost(12, OTHER, "rows = query(name)");
    asks.serious_rules = ["SQL-1".to_owned()].into();
    let again = cites("SQL-1", stands(10, OTHER, CODE));
    assert_eq!(left(&[asks], &[again], &breach), [OTHER]);
}

#[test]
fn a_finding_makes_good_one_at_most_the_nearest() {
    let open = [
        lost(10, CLAIM, "rows = query(name)"),
        lost(20, CLAIM, "rows = query(role)"),
    ];
    let lines = |findings: &[Finding]| {
        let mut open = open.to_vec();
        make_good(&mut open, findings, &[], None);
        open.iter().filter_map(|lost| lost.line).collect::<Vec<_>>()
    };
    assert_eq!(lines(&[stands(20, CLAIM, CODE)]), [10]);
    assert_eq!(lines(&[stands(11, CLAIM, CODE)]), [20]);
    assert_eq!(lines(&[stands(21, CLAIM, CODE), stands(11, CLAIM, CODE)]), [0; 0]);
}

#[test]
fn two_without_proof_are_one_only_as_the_same_problem() {
    for (later, distance) in [
        (lost(10, CLAIM, "rows = query(name)"), Some(0)),
        (lost(11, REWORDED, "rows = query(role)"), Some(1)),
        (lost(80, REWORDED, "rows = query(name)"), Some(SAME_CODE)),
        (lost(80, CLAIM, "rows = query(role)"), Some(SAME_CLAIM)),
        (lost(80, REWORDED, "rows = query(role)"), None),
        (lost(10, OTHER, "rows = query(name)"), None),
    ] {
        let before = lost(10, CLAIM, "rows = query(name)");
        assert_eq!(is_same(&later, &before), distance, "{later:?}");
    }
}

#[test]
fn words_that_steer_and_the_breach_of_another_rule_are_findings_of_their_own() {
    let known = finding("F1", Severity::Warning, "settings", "a.py", 1);
    let steers = Finding {
        category: Finding::PROMPT_INJECTION.into(),
        ..known.clone()
    };
    let breaks = |id: &str| cites(id, known.clone());
    for (one, other, is_one) in [
        (known.clone(), known.clone(), true),
        (known.clone(), steers.clone(), false),
        (steers.clone(), steers, true),
        (breaks("CFG-1"), breaks("CFG-1"), true),
        (breaks("CFG-1"), breaks("CFG-2"), false),
    ] {
        assert_eq!(says_again(&one, &other), is_one, "{one:?} {other:?}");
        assert_eq!(repeats_it(&one, &other), is_one, "{one:?} {other:?}");
    }
}

#[test]
fn a_finding_that_its_rule_caps_makes_good_what_was_written_as_critical() {
    let rule = |id: &str, most| RuleInForce {
        id: id.into(),
        most,
        files: ["a.py".to_owned()].into_iter().collect(),
        ..RuleInForce::default()
    };
    let rules = RuleBook::new(vec![rule("CFG-1", Some(Severity::Warning)), rule("CFG-2", None)]);
    let breach = |id: &str| cites(id, finding("F1", Severity::Warning, "settings", "a.py", 1));
    let lost = |rule: Option<&str>| Hallucinated {
        claim: "Claim F1.".into(),
        severity: "critical".into(),
        file: "a.py".into(),
        rule: rule.map(str::to_owned),
        ..Hallucinated::default()
    };
    let good = |finding: &str, lost: &Hallucinated| makes_good(&breach(finding), lost, &[], Some(&rules)).is_some();
    assert!(good("CFG-1", &lost(Some("CFG-1"))));
    assert!(good("CFG-1", &lost(None)), "it cited no rule before");
    assert!(!good("CFG-1", &lost(Some("CFG-2"))), "another rule is another finding");
    assert!(
        !good("CFG-2", &lost(Some("CFG-2"))),
        "nothing caps it: it is milder now"
    );

    let mut asks = lost(Some("CFG-1"));
    asks.serious_rules = ["CFG-1".to_owned()].into();
    assert!(good("CFG-1", &asks));
    asks.severity = "warning".into();
    assert!(!good("CFG-2", &asks), "that asks for nobody");
}

#[test]
fn what_cites_two_rules_that_ask_for_a_person_is_owed_a_finding_for_each() {
    let mut asks = lost(10, "It breaks both rules of the group.", CODE);
    asks.serious_rules = ["ASK-1", "ASK-2"].map(str::to_owned).into();
    let one = cites("ASK-1", stands(10, CLAIM, CODE));
    let other = cites("ASK-2", stands(10, OTHER, CODE));
    let open = [asks];
    assert_eq!(left(&open, std::slice::from_ref(&one), &[]).len(), 1);
    assert_eq!(left(&open, &[one.clone(), one.clone()], &[]).len(), 1);
    assert_eq!(left(&open, &[one, other], &[]).len(), 0);
}

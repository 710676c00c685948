//! How many duplicates are found, and how many distinct claims are taken for one.
//!
//! The pairs have no places, so all of them are put on the same lines: what is merged then is merged on the words alone, the
//! worst that can happen. What the place adds is measured on accepted comments whose lines overlap, which people left
//! side by side.

use std::collections::BTreeMap;

use conclave_engine::{
    findings::{claim_overlap, same_claims},
    judge::judge_without_model,
};
use conclave_shared::{
    finding::{Finding, Quote},
    reviewer::ReviewerName,
    severity::Severity,
    telemetry::FindingFate,
};
use serde_json::{Value, json};

use crate::data::{Comment, Pair, percent, repositories};

/// Distinct pairs that may be shown to a judge as one claim, in per mille.
const TOLERATED: usize = 25;

pub(crate) fn measure(pairs: &[Pair], comments: &[Comment]) -> Value {
    let pairs: Vec<Case<'_>> = pairs.iter().map(Case::of_pair).collect();
    let places = of_one_place(comments);
    json!({
        "what": "duplicates found and distinct claims taken for one, in per cent",
        "pairs_put_on_the_same_lines": tables(&pairs),
        "accepted_comments_whose_lines_overlap": tables(&places),
        "border_chosen_without_the_repository": {
            "merged_without_a_judge": left_out(&pairs, 0),
            "shown_to_the_judge": left_out(&pairs, TOLERATED),
        },
    })
}

/// Two claims that are one, or are not.
struct Case<'a> {
    repository: &'a str,
    is_duplicate: bool,
    overlap: f64,
    /// Whether the judge without a model makes one of them.
    merged: bool,
    /// Whether the judge is shown them as one claim.
    shown: bool,
}

impl<'a> Case<'a> {
    fn new(repository: &'a str, is_duplicate: bool, claims: [&str; 2], lines: [(u32, u32); 2]) -> Self {
        let findings = [("correctness", 0), ("security", 1)].map(|(reviewer, at)| {
            let quote = Quote {
                file: "src/a.rs".into(),
                line: lines[at].0,
                code: claims[at].into(),
            };
            // Each reviewer names the kind of problem in its own words: no two have one fingerprint.
            let mut finding = Finding::of_rules(reviewer, Severity::Warning, reviewer, quote);
            finding.id = format!("F{at}");
            finding.reviewer = ReviewerName::new(reviewer).expect("a name");
            finding.end_line = Some(lines[at].1);
            finding.claim = claims[at].into();
            finding
        });
        Self {
            repository,
            is_duplicate,
            overlap: claim_overlap(claims[0], claims[1]),
            shown: !same_claims(&findings).is_empty(),
            merged: judge_without_model(findings.to_vec())
                .iter()
                .any(|entry| entry.fate == FindingFate::Merged),
        }
    }

    fn of_pair(pair: &'a Pair) -> Self {
        Self::new(
            pair.repository(),
            pair.is_duplicate(),
            [&pair.a, &pair.b],
            [(1, 1), (1, 1)],
        )
    }
}

/// Pairs of accepted comments on overlapping lines: distinct, as people left both.
fn of_one_place(comments: &[Comment]) -> Vec<Case<'_>> {
    let mut files: BTreeMap<_, Vec<&Comment>> = BTreeMap::new();
    for comment in comments.iter().filter(|comment| comment.is_accepted()) {
        let file = (&comment.pr, &comment.path, &comment.side);
        files.entry(file).or_default().push(comment);
    }
    let mut cases = Vec::new();
    for comments in files.values() {
        for (at, one) in comments.iter().enumerate() {
            for other in &comments[at + 1..] {
                let (Some(lines), Some(other_lines)) = (one.lines(), other.lines()) else {
                    continue;
                };
                if lines.0 <= other_lines.1 && other_lines.0 <= lines.1 {
                    let claims = [one.text.as_str(), other.text.as_str()];
                    cases.push(Case::new(one.repository(), false, claims, [lines, other_lines]));
                }
            }
        }
    }
    cases
}

fn tables(cases: &[Case<'_>]) -> Value {
    json!({
        "merged_without_a_judge": table(cases, |case| case.merged),
        "shown_to_the_judge": table(cases, |case| case.shown),
    })
}

fn table(cases: &[Case<'_>], is_one: impl Fn(&Case<'_>) -> bool) -> Value {
    let row = |repository: Option<&str>| {
        let taken = |duplicate: bool| {
            let of = cases.iter().filter(|case| {
                case.is_duplicate == duplicate && repository.is_none_or(|repository| repository == case.repository)
            });
            let (one, all) = of.fold((0, 0), |(one, all), case| (one + usize::from(is_one(case)), all + 1));
            (one, all, percent(one, all))
        };
        (taken(true), taken(false))
    };
    let show = |((found, duplicates, found_share), (false_merges, distinct, false_share)): (Row, Row)| {
        json!({
            "duplicates": duplicates, "found": found, "found_in_per_cent": found_share,
            "distinct": distinct, "false_merges": false_merges, "false_merges_in_per_cent": false_share,
        })
    };
    let names = repositories(cases, |case| case.repository);
    let rows = names.iter().map(|name| (*name, row(Some(name))));
    let worst = rows.max_by(|one, other| (one.1.1).2.total_cmp(&(other.1.1).2));
    json!({
        "all": show(row(None)),
        "worst_repository": worst.map(|(name, row)| json!({"name": name, "row": show(row)})),
    })
}

/// How many are taken for one, of how many, and in per cent.
type Row = (usize, usize, f64);

/// What the lowest border does in each repository that is reached by no more than the tolerated part, in per mille, of the
/// distinct pairs of all others.
fn left_out(cases: &[Case<'_>], tolerated: usize) -> Value {
    let mut held: Vec<Case<'_>> = Vec::new();
    let mut borders = BTreeMap::new();
    for name in repositories(cases, |case| case.repository) {
        let (own, others): (Vec<&Case<'_>>, Vec<&Case<'_>>) = cases.iter().partition(|case| case.repository == name);
        let mut distinct: Vec<f64> = others
            .iter()
            .filter(|case| !case.is_duplicate)
            .map(|case| case.overlap)
            .collect();
        distinct.sort_by(|a, b| b.total_cmp(a));
        let border = distinct
            .get(distinct.len() * tolerated / 1000)
            .map_or(1.0, |highest| (highest * 100.0).floor() / 100.0 + 0.01);
        borders.insert(name, border);
        held.extend(own.into_iter().map(|case| Case {
            merged: case.overlap >= border,
            ..*case
        }));
    }
    json!({"borders": borders, "held_out": table(&held, |case| case.merged)})
}

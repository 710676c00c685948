//! The end of a review for the organization's rules: the account of what was checked, and the people who have to approve.

use std::collections::BTreeSet;

use conclave_shared::{engineering_rule::OnBreach, finding::RuleCitation, telemetry::FindingFate};

use crate::{
    review::{EarlierFiles, JudgedFinding, ReviewerReport},
    rules::{CODEX, CheckedRule, ManualReview, RuleBook},
};

/// The files that each rule was checked on. They count as checked if the reviewer of rules did all of its work; `unread` are those that
/// no reviewer reads, `left_out` those of which no reviewer was given a line.
pub(super) fn checked_rules(
    book: &RuleBook,
    unread: Vec<CheckedRule>,
    reports: &[ReviewerReport],
    earlier: &[EarlierFiles],
    left_out: &BTreeSet<String>,
    findings: &[JudgedFinding],
) -> Vec<CheckedRule> {
    let is_done = reports
        .iter()
        .any(|report| report.name.as_str() == CODEX && report.is_whole());
    let earlier: BTreeSet<&String> = earlier.iter().flat_map(|earlier| &earlier.files).collect();
    let mut rules: Vec<CheckedRule> = book
        .iter()
        .map(|rule| {
            let (before, now): (Vec<String>, Vec<String>) =
                rule.files.iter().cloned().partition(|file| earlier.contains(file));
            let (files, not_checked) = now.into_iter().partition(|file| is_done && !left_out.contains(file));
            let cites = |entry: &&JudgedFinding| cited(entry).is_some_and(|cited| cited.id == rule.id);
            let standing = findings.iter().filter(|entry| entry.stands()).filter(cites).count();
            let is_broken = findings
                .iter()
                .filter(|entry| is_breach(entry))
                .any(|entry| cites(&entry));
            CheckedRule {
                rule: rule.id.clone(),
                link: rule.link.clone(),
                level: rule.level,
                on_breach: rule.on_breach,
                files,
                earlier: before,
                not_checked,
                left_out: Vec::new(),
                left_out_more: 0,
                breaches: standing.max(usize::from(is_broken)),
            }
        })
        .collect();
    for unread in unread {
        match rules.iter_mut().find(|rule| rule.rule == unread.rule) {
            Some(rule) => rule.add_left_out(unread),
            None => rules.push(unread),
        }
    }
    rules
}

/// The rules with a standing breach that a person has to approve, each once, with the files that break it. What a rule wants
/// is what it says now; of one that is gone, what it said when the finding was posted.
pub(super) fn broken_rules(book: &RuleBook, findings: &[JudgedFinding]) -> Vec<ManualReview> {
    let mut broken: Vec<ManualReview> = Vec::new();
    for entry in findings.iter().filter(|entry| is_breach(entry)) {
        let Some(cited) = cited(entry) else { continue };
        let rule = book.find(&cited.id);
        if rule.map_or(cited.on_breach, |rule| rule.on_breach) != Some(OnBreach::Review) {
            continue;
        }
        let place = broken.iter().position(|known| known.rule == cited.id);
        let place = place.unwrap_or_else(|| {
            broken.push(ManualReview {
                rule: cited.id.clone(),
                link: rule.map_or(&cited.link, |rule| &rule.link).clone(),
                when: rule.map_or_else(String::new, |rule| rule.when.clone()),
                who: rule.map_or_else(Vec::new, |rule| rule.approvers.clone()),
                files: Vec::new(),
                breach: true,
                add_as_reviewers: false,
            });
            broken.len() - 1
        });
        if let Some(known) = broken.get_mut(place)
            && !known.files.contains(&entry.finding.file)
        {
            known.files.push(entry.finding.file.clone());
        }
    }
    broken
}

/// Returns whether a breach stands: also one that was merged into another finding, which keeps one rule only. One that code
/// refutes does not.
fn is_breach(entry: &JudgedFinding) -> bool {
    entry.stands() || (entry.fate == FindingFate::Merged && entry.refuted_by_code().is_none())
}

fn cited(entry: &JudgedFinding) -> Option<&RuleCitation> {
    entry.finding.rule.as_ref()
}

#[cfg(test)]
mod tests {
    use conclave_shared::{reviewer::ReviewerName, severity::Severity};

    use super::*;
    use crate::{
        judge::test_support::finding,
        review::{Refutation, RefutationStatus, RemovedBy},
        rules::{LeftOutFile, RuleInForce},
    };

    fn rule(id: &str, on_breach: OnBreach) -> RuleInForce {
        RuleInForce {
            id: id.into(),
            when: "it logs".into(),
            on_breach: Some(on_breach),
            approvers: vec!["@group/data".into()],
            files: ["a.py", "b.py"].map(str::to_owned).into(),
            ..RuleInForce::default()
        }
    }

    fn breach(id: &str, file: &str, rule: &RuleInForce) -> JudgedFinding {
        let mut finding = finding(id, Severity::Warning, "logging", file, 1);
        finding.rule = Some(rule.cite());
        JudgedFinding::kept(finding)
    }

    #[test]
    fn a_standing_breach_asks_for_the_people_that_the_rule_names_now() {
        let (asks, warns) = (rule("ASK-1", OnBreach::Review), rule("WARN-1", OnBreach::Warn));
        let mut dropped = breach("F4", "c.py", &asks);
        dropped.remove(FindingFate::Dropped, RemovedBy::Judge);
        let findings = [
            breach("F1", "a.py", &asks),
            breach("F2", "b.py", &asks),
            breach("F3", "a.py", &warns),
            dropped,
        ];
        let book = RuleBook::new(vec![asks.clone(), warns.clone()]);
        let [broken] = &broken_rules(&book, &findings)[..] else {
            panic!("one rule asks for a person");
        };
        assert_eq!((broken.rule.as_str(), broken.breach), ("ASK-1", true));
        assert_eq!(
            (&broken.who[..], &broken.files[..]),
            (
                &["@group/data".to_owned()][..],
                &["a.py".to_owned(), "b.py".to_owned()][..]
            )
        );
        // The rule is milder by now, or gone.
        let milder = RuleBook::new(vec![rule("ASK-1", OnBreach::Warn)]);
        assert_eq!(broken_rules(&milder, &findings), []);
        let gone = broken_rules(&RuleBook::default(), &findings);
        assert_eq!(gone.len(), 1, "what was posted still asks for a person");
        assert_eq!(gone[0].who, [""; 0]);
    }

    #[test]
    fn a_breach_that_was_merged_into_that_of_another_rule_still_asks_for_its_own_people() {
        let rules = [rule("ASK-1", OnBreach::Review), rule("ASK-2", OnBreach::Review)];
        let book = RuleBook::new(rules.to_vec());
        let mut merged = breach("F2", "a.py", &rules[1]);
        merged.remove(FindingFate::Merged, RemovedBy::Judge);
        let findings = [breach("F1", "a.py", &rules[0]), merged.clone()];
        let asks = |findings: &[JudgedFinding]| {
            let broken = broken_rules(&book, findings);
            broken.into_iter().map(|broken| broken.rule).collect::<Vec<_>>()
        };
        assert_eq!(asks(&findings), ["ASK-1", "ASK-2"]);
        let breaches: Vec<usize> = checked_rules(&book, Vec::new(), &[], &[], &BTreeSet::new(), &findings)
            .iter()
            .map(|checked| checked.breaches)
            .collect();
        assert_eq!(breaches, [1, 1]);
        merged.refutation = Some(Refutation {
            file: "c.py".into(),
            line: 1,
            end_line: None,
            quote: "check(name)".into(),
            status: RefutationStatus::UnchangedCode,
            needed: true,
            lost_by_target: false,
            altered_use: None,
            uncertain: None,
            fault: None,
            surroundings: None,
        });
        assert_eq!(asks(&[merged]), [""; 0], "code says that it is none");
    }

    #[test]
    fn what_no_reviewer_reads_joins_the_account_of_its_rule_or_is_one_of_its_own() {
        let unread = |id: &str| CheckedRule {
            rule: id.into(),
            link: String::new(),
            level: None,
            on_breach: None,
            files: Vec::new(),
            earlier: Vec::new(),
            not_checked: vec!["yarn.lock".into()],
            left_out: vec![LeftOutFile {
                path: "yarn.lock".into(),
                reason: "lock file".into(),
            }],
            left_out_more: 2,
            breaches: 0,
        };
        let book = RuleBook::new(vec![rule("ASK-1", OnBreach::Review)]);
        let mut report = ReviewerReport::skipped(ReviewerName::new(CODEX).expect("a name"));
        report.outcome = conclave_shared::telemetry::ReviewerOutcome::Ok;
        let unread = vec![unread("ASK-1"), unread("ASK-2")];
        let rules = checked_rules(&book, unread, &[report], &[], &BTreeSet::new(), &[]);
        let described = rules.iter().map(|rule| rule.describe(str::to_owned, str::to_owned));
        assert_eq!(
            described.collect::<Vec<_>>(),
            [
                "rule ASK-1 (a breach: review): checked on a.py, b.py; NOT checked on yarn.lock (lock file), 2 more; no breach stands",
                "rule ASK-2: NOT checked on yarn.lock (lock file), 2 more; no breach stands",
            ]
        );
    }

    #[test]
    fn a_rule_counts_as_checked_only_where_its_reviewer_did_all_of_its_work() {
        let rule = rule("ASK-1", OnBreach::Review);
        let findings = [breach("F1", "a.py", &rule)];
        let book = RuleBook::new(vec![rule]);
        let earlier = [EarlierFiles {
            head_sha: "abc".into(),
            files: vec!["b.py".into()],
        }];
        let codex = ReviewerName::new(CODEX).expect("a name");
        let mut report = ReviewerReport::skipped(codex);
        let of = |report: &ReviewerReport| {
            let reports = std::slice::from_ref(report);
            checked_rules(&book, Vec::new(), reports, &earlier, &BTreeSet::new(), &findings)
        };
        let [undone] = &of(&report)[..] else { panic!("one rule") };
        assert_eq!(
            (undone.files.len(), &undone.not_checked[..]),
            (0, &["a.py".to_owned()][..])
        );
        report.outcome = conclave_shared::telemetry::ReviewerOutcome::Ok;
        report.reason = None;
        let [done] = &of(&report)[..] else { panic!("one rule") };
        assert_eq!(
            (&done.files[..], &done.earlier[..]),
            (&["a.py".to_owned()][..], &["b.py".to_owned()][..])
        );
        assert_eq!((done.not_checked.len(), done.breaches), (0, 1));
        assert_eq!(
            done.describe(str::to_owned, str::to_owned),
            "rule ASK-1 (a breach: review): checked on a.py; checked by an earlier review on b.py; 1 breach stands"
        );
        let left_out = BTreeSet::from(["a.py".to_owned()]);
        let rules = checked_rules(&book, Vec::new(), &[report], &[], &left_out, &findings);
        assert_eq!(
            (&rules[0].files[..], &rules[0].not_checked[..]),
            (&["b.py".to_owned()][..], &["a.py".to_owned()][..]),
            "nobody was given a line of what is left out"
        );
    }
}

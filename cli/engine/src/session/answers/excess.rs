//! The findings that are taken from one answer, where it has more than anyone reads.

use std::{cmp::Reverse, collections::BTreeSet};

use conclave_shared::{finding::Finding, severity::Severity};

use crate::findings::{RawFinding, ScanOutcome, category_in};

/// Maximum number of findings that are taken from one answer, beside those that came before: each is compared with all others, and
/// people read far fewer.
const MAX_FINDINGS: usize = 200;

/// The findings that were taken from a reviewer's answers, each by its texts.
#[derive(Debug, Default)]
pub(super) struct Taken(BTreeSet<Vec<(&'static str, String)>>);

impl Taken {
    /// Leaves the most severe findings in an answer of more than are taken, and of those that are as severe the first. What an earlier
    /// answer had to the letter does not count: asked for the others, models give all of them again. Those that are left out are lost
    /// like those that cannot be read: a reviewer is asked for them, and has failed if they do not come.
    pub(super) fn bound(&mut self, outcome: &mut ScanOutcome) {
        let mut known: BTreeSet<&[(&'static str, String)]> = self.0.iter().map(Vec::as_slice).collect();
        let findings = &mut outcome.findings;
        let mut new: Vec<usize> = (0..findings.len())
            .filter(|at| !known.remove(findings[*at].texts()))
            .collect();
        if new.len() > MAX_FINDINGS {
            new.sort_by_cached_key(|at| Reverse(weight(&findings[*at])));
            let left_out: BTreeSet<usize> = new.split_off(MAX_FINDINGS).into_iter().collect();
            let mut places = 0..;
            findings.retain(|_| places.next().is_none_or(|at| !left_out.contains(&at)));
            outcome.lost += left_out.len();
            outcome.faults.push(format!(
                "{}, of which the {MAX_FINDINGS} most severe are kept; give the other {}, and no more than {MAX_FINDINGS} in one answer",
                too_many(),
                left_out.len()
            ));
        }
        self.0
            .extend(outcome.findings.iter().map(|finding| finding.texts().to_vec()));
    }
}

/// The findings, in words for people, that are missing for these faults.
pub(super) fn missing(faults: &[String]) -> String {
    let too_many = too_many();
    if faults.iter().any(|fault| fault.starts_with(&too_many)) {
        format!("one of more than {MAX_FINDINGS} findings in one answer")
    } else {
        "a finding that could not be read".to_owned()
    }
}

/// The beginning of the fault of an answer with more findings than are taken.
fn too_many() -> String {
    format!("the answer has more than {MAX_FINDINGS} findings")
}

/// Weight of a finding by its own words. A severity that cannot be read may be any.
fn weight(finding: &RawFinding) -> u8 {
    match finding.severity().and_then(Severity::parse_lenient) {
        Some(Severity::Critical) => 4,
        _ if category_in(finding) == Finding::PROMPT_INJECTION => 3,
        None => 2,
        Some(Severity::Warning) => 1,
        Some(Severity::Suggestion) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::scan;

    fn finding(severity: &str, category: &str) -> String {
        format!(
            "<finding><severity>{severity}</severity><category>{category}</category><file>a.py</file><line>4</line>\
             <claim>It fails.</claim><evidence>x = 1</evidence></finding>"
        )
    }

    fn read(findings: &[String]) -> ScanOutcome {
        scan(&format!("<findings>{}</findings>", findings.concat()), &["a.py"])
    }

    fn suggestions(count: usize) -> Vec<String> {
        (0..count)
            .map(|at| finding("suggestion", &format!("kind{at}")))
            .collect()
    }

    #[test]
    fn the_most_severe_are_taken_first_in_their_order() {
        let mut all = suggestions(250);
        for (severity, category) in [
            ("warning", "late"),
            ("soon", "odd"),
            ("suggestion", "prompt-injection"),
            ("critical", "last"),
        ] {
            all.push(finding(severity, category));
        }
        let mut outcome = read(&all);
        Taken::default().bound(&mut outcome);
        let categories: Vec<&str> = outcome
            .findings
            .iter()
            .filter_map(|finding| finding.get("category"))
            .collect();
        assert_eq!((categories.len(), outcome.lost), (MAX_FINDINGS, 54));
        assert_eq!(
            categories[195..],
            ["kind195", "late", "odd", "prompt-injection", "last"]
        );
        assert!(
            outcome.faults.iter().any(|fault| fault.starts_with(&too_many())),
            "{outcome:?}"
        );
    }

    #[test]
    fn what_came_before_to_the_letter_does_not_count() {
        let all = suggestions(300);
        let mut taken = Taken::default();
        for (count, lost) in [(200, 100), (300, 0), (300, 0)] {
            let mut outcome = read(&all);
            taken.bound(&mut outcome);
            assert_eq!((outcome.findings.len(), outcome.lost), (count, lost));
            assert_eq!(outcome.faults.is_empty(), lost == 0);
        }
        // Each counts once.
        let mut outcome = read(&[all.clone(), all].concat());
        taken.bound(&mut outcome);
        assert_eq!(outcome.findings.len(), 300 + MAX_FINDINGS);
    }
}

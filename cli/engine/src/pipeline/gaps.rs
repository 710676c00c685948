//! The gaps of a review: what was not read, or not by those who have to, and what required reviewers did not do.

use std::collections::BTreeSet;

use conclave_shared::telemetry::ReviewerOutcome;

use crate::{
    diff::FilteredFile,
    numbers::plural,
    review::{Coverage, CutFile, ReviewerReport, StopCause},
};

/// So many files that could not be read are named among the gaps; all of them are in the list of what was not reviewed.
const NAMED_GAPS: usize = 5;

/// Files that some reviewers have not opened.
#[derive(Debug, Default)]
pub(super) struct Unopened {
    /// None of those whose answer can be used.
    pub(super) by_side: Vec<String>,
    /// None of those whose answer cannot be used.
    pub(super) by_unusable: Vec<String>,
}

/// Lists what the review lacks. Files of which no reviewer was given a line are named with the change that is too large.
pub(super) fn gaps(
    reports: &[ReviewerReport],
    coverage: &Coverage,
    unopened: &Unopened,
    left_out: &BTreeSet<String>,
    stopped: Option<StopCause>,
) -> Vec<String> {
    let mut gaps: Vec<String> = stopped.iter().map(|cause| cause.describe().to_owned()).collect();
    for report in reports.iter().filter(|report| report.required) {
        let name = report.name.display_name();
        match (report.outcome, &report.reason) {
            (ReviewerOutcome::Ok, None) => {}
            // It did what it could, which was not all.
            (ReviewerOutcome::Ok, Some(reason)) => gaps.push(format!("{name}: {reason}")),
            (outcome, reason) => gaps.push(format!(
                "{name} {}: {}",
                outcome.as_str().replace('_', " "),
                reason.as_deref().unwrap_or("no reason given")
            )),
        }
    }
    let not_read = coverage.not_read.iter().filter(|path| !left_out.contains(*path));
    let (unread, aside): (Vec<&String>, Vec<&String>) = not_read.partition(|path| unopened.by_side.contains(path));
    let (nowhere, unusable): (Vec<&String>, Vec<&String>) =
        unread.into_iter().partition(|path| unopened.by_unusable.contains(path));
    for (who, paths) in [
        ("nobody read", nowhere),
        ("nobody whose answer can be used read", unusable),
        ("no reviewer whose answer is needed read", aside),
    ] {
        match paths.as_slice() {
            [] => {}
            [one] => gaps.push(format!("{who} {one}")),
            [first, rest @ ..] => gaps.push(format!("{who} {first} and {}", plural(rest.len(), "more file"))),
        }
    }
    let unread: Vec<&FilteredFile> = coverage.filtered.iter().filter(|file| file.reason.is_gap()).collect();
    let named = unread.iter().take(NAMED_GAPS);
    gaps.extend(named.map(|file| format!("{}: {}", file.path, file.reason.describe())));
    if unread.len() > NAMED_GAPS {
        gaps.push(format!(
            "{} that could not be read",
            plural(unread.len() - NAMED_GAPS, "more file")
        ));
    }
    gaps
}

/// The gap that a change leaves which is too large; nothing only if nothing was cut.
pub(super) fn too_large(cut: &[CutFile], words: Option<String>) -> Option<String> {
    let [first, ..] = cut else { return words };
    words.or_else(|| Some(format!("{} is too large to be read whole", first.path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_opened_for_an_answer_that_cannot_be_used_is_not_one_that_nobody_read() {
        let coverage = Coverage {
            not_read: vec!["a.py".into(), "b.py".into()],
            ..Coverage::default()
        };
        for (unopened, expected) in [
            (vec!["a.py", "b.py"], vec!["nobody read a.py and 1 more file"]),
            (
                vec!["b.py"],
                vec!["nobody read b.py", "nobody whose answer can be used read a.py"],
            ),
            (
                vec![],
                vec!["nobody whose answer can be used read a.py and 1 more file"],
            ),
        ] {
            let unopened = Unopened {
                by_side: coverage.not_read.clone(),
                by_unusable: unopened.into_iter().map(str::to_owned).collect(),
            };
            assert_eq!(gaps(&[], &coverage, &unopened, &BTreeSet::new(), None), expected);
        }
        let aside = Unopened::default();
        assert_eq!(
            gaps(&[], &coverage, &aside, &BTreeSet::new(), None),
            ["no reviewer whose answer is needed read a.py and 1 more file"]
        );
    }

    #[test]
    fn what_is_left_out_of_a_change_is_a_gap_and_named_once() {
        let coverage = Coverage {
            not_read: vec!["a.py".into(), "b.py".into()],
            cut: vec![CutFile {
                path: "b.py".into(),
                lines_left_out: 10,
            }],
            ..Coverage::default()
        };
        let unopened = Unopened {
            by_side: coverage.not_read.clone(),
            by_unusable: vec!["b.py".into()],
        };
        let left_out = BTreeSet::from(["b.py".to_owned()]);
        let expected = ["nobody whose answer can be used read a.py"];
        assert_eq!(gaps(&[], &coverage, &unopened, &left_out, None), expected);
        let words = Some("the change is too large".to_owned());
        assert_eq!(too_large(&coverage.cut, words.clone()), words);
        assert_eq!(too_large(&[], None), None);
        let gap = too_large(&coverage.cut, None).expect("never an approval");
        assert!(gap.contains("b.py"), "{gap}");
    }
}

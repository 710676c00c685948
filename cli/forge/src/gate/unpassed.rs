//! Merge requests of one commit that have not passed: what is written about them on a check run or a commit status, and the end that
//! counts then.

use std::collections::BTreeSet;

use super::api::GateRun;
use crate::{CheckEnd, Conclusion};

/// Numbers of merge requests whose reviews of a commit have not passed.
pub(super) type Unpassed = BTreeSet<u64>;

/// The end that counts for the commit: it does not pass as long as another merge request of the same commit has not.
pub(super) fn held(end: &CheckEnd, others: &Unpassed) -> CheckEnd {
    if others.is_empty() || !end.conclusion.passes() {
        return end.clone();
    }
    let numbers: Vec<String> = others.iter().map(|number| format!("#{number}")).collect();
    let title = format!(
        "The review of {}, which has the same commit, has not passed",
        numbers.join(", ")
    );
    CheckEnd {
        conclusion: Conclusion::Failure,
        summary: format!("{title}.\n\n{}", end.summary),
        title,
        annotations: end.annotations.clone(),
    }
}

/// The merge request that a run was made for, and those that have not passed; nothing for a run that is not ours.
pub(super) fn read_reference(run: &GateRun) -> Option<(u64, Unpassed)> {
    let mut numbers = run.reference.strip_prefix("conclave-")?.split('+');
    let own = numbers.next()?.parse().ok()?;
    let mut unpassed: Unpassed = numbers.filter_map(|number| number.parse().ok()).collect();
    if unpassed.is_empty() && !run.passed {
        unpassed.insert(own);
    }
    Some((own, unpassed))
}

/// The numbers in `[#1 #7] The review is running`.
pub(super) fn numbers_in(text: &str) -> Unpassed {
    let list = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let words = list.map_or("", |(list, _)| list).split(' ');
    words.filter_map(|word| word.strip_prefix('#')?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(reference: &str, passed: bool) -> GateRun {
        GateRun {
            id: 1,
            reference: reference.to_owned(),
            passed,
            annotated: false,
        }
    }

    #[test]
    fn a_run_says_which_merge_requests_have_not_passed() {
        for (reference, passed, expected) in [
            ("conclave-7", true, Some((7, vec![]))),
            // As version 0.1.0 and all that have the commit to themselves write it.
            ("conclave-7", false, Some((7, vec![7]))),
            ("conclave-7+1", false, Some((7, vec![1]))),
            ("conclave-7+1+7", false, Some((7, vec![1, 7]))),
            ("conclave-seven", false, None),
            ("1/main", false, None),
            ("", true, None),
        ] {
            let expected = expected.map(|(own, unpassed)| (own, unpassed.into_iter().collect()));
            assert_eq!(read_reference(&run(reference, passed)), expected, "{reference}");
        }
        assert_eq!(numbers_in("[#1 #12] Approved"), Unpassed::from([1, 12]));
        assert_eq!(numbers_in("Approved [#3]"), Unpassed::new());
    }

    #[test]
    fn what_passes_is_held_by_others_and_what_fails_says_why_itself() {
        let end = |conclusion| CheckEnd {
            conclusion,
            title: "Approved".to_owned(),
            summary: "S".to_owned(),
            annotations: Vec::new(),
        };
        let held_end = held(&end(Conclusion::Success), &Unpassed::from([3]));
        assert_eq!(held_end.conclusion, Conclusion::Failure);
        assert!(held_end.title.contains("#3"), "{}", held_end.title);
        let own = held(&end(Conclusion::TimedOut), &Unpassed::from([3]));
        assert_eq!((own.conclusion, own.title.as_str()), (Conclusion::TimedOut, "Approved"));
        assert_eq!(
            held(&end(Conclusion::Neutral), &Unpassed::new()).conclusion,
            Conclusion::Neutral
        );
    }
}

//! Merge requests of one commit, and whose reviews have passed: what is written about them on a check run or a commit status.

use std::collections::BTreeSet;

use super::api::GateRun;

/// Numbers of merge requests.
pub(super) type Numbers = BTreeSet<u64>;

/// The merge requests of a commit whose reviews are known, each in one of the two lists. Any other has no review.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Known {
    /// Those whose reviews of the commit have passed.
    pub(super) passed: Numbers,
    /// Those whose reviews have not passed, or are under way.
    pub(super) unpassed: Numbers,
}

impl Known {
    /// The same without this one.
    pub(super) fn without(mut self, number: u64) -> Self {
        self.passed.remove(&number);
        self.unpassed.remove(&number);
        self
    }

    /// The text on a check run of this merge request: those that have not passed, which may be all that its conclusion says of itself,
    /// and those that have. Earlier versions read the former only.
    pub(super) fn reference(&self, own: u64, is_unpassed: bool) -> String {
        let is_said = is_unpassed && !self.unpassed.is_empty();
        let unpassed = self.unpassed.iter().chain(is_said.then_some(&own));
        let text = unpassed.fold(format!("conclave-{own}"), |text, number| format!("{text}+{number}"));
        let passed = self.passed.iter();
        passed.fold(text, |text, number| format!("{text}+p{number}"))
    }

    /// The text on a commit status of this merge request, before which both lists stand.
    pub(super) fn status(&self, own: u64, is_unpassed: bool, text: &str) -> String {
        let unpassed = self.unpassed.iter().chain(is_unpassed.then_some(&own));
        let mut list: Vec<String> = unpassed.map(|number| format!("#{number}")).collect();
        // A merge queue has no number.
        let passed = self.passed.iter().chain((!is_unpassed && own > 0).then_some(&own));
        let passed: Vec<String> = passed.map(|number| format!("#{number}")).collect();
        if !passed.is_empty() {
            list.push(format!("{PASSED} {}", passed.join(" ")));
        }
        if list.is_empty() {
            text.to_owned()
        } else {
            format!("[{}] {text}", list.join(" "))
        }
    }
}

/// The word on a commit status that stands before those that have passed.
const PASSED: &str = "passed";

/// The merge request that a run was made for, and what it says of all; nothing for a run that is not ours.
pub(super) fn read_reference(run: &GateRun) -> Option<(u64, Known)> {
    let mut parts = run.reference.strip_prefix("conclave-")?.split('+');
    let own: u64 = parts.next()?.parse().ok()?;
    let mut known = Known::default();
    for part in parts {
        let (numbers, number) = match part.strip_prefix('p') {
            Some(number) => (&mut known.passed, number),
            None => (&mut known.unpassed, part),
        };
        numbers.extend(number.parse::<u64>().ok());
    }
    if known.unpassed.is_empty() && !run.passed {
        known.unpassed.insert(own);
    }
    if !known.unpassed.contains(&own) {
        known.passed.insert(own);
    }
    Some((own, known))
}

/// The numbers in `[#1 #7 passed #3] The review is running`.
pub(super) fn read_status(text: &str) -> Known {
    let list = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let list = list.map_or("", |(list, _)| list);
    let (unpassed, passed) = list.split_once(PASSED).unwrap_or((list, ""));
    let numbers = |words: &str| -> Numbers {
        let words = words.split(' ');
        words.filter_map(|word| word.strip_prefix('#')?.parse().ok()).collect()
    };
    Known {
        passed: numbers(passed),
        unpassed: numbers(unpassed),
    }
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

    fn known(passed: &[u64], unpassed: &[u64]) -> Known {
        Known {
            passed: passed.iter().copied().collect(),
            unpassed: unpassed.iter().copied().collect(),
        }
    }

    #[test]
    fn a_run_says_which_merge_requests_have_passed() {
        for (reference, passed, expected) in [
            ("conclave-7", true, Some((7, known(&[7], &[])))),
            // As version 0.1.0 and all that have the commit to themselves write it.
            ("conclave-7", false, Some((7, known(&[], &[7])))),
            ("conclave-7+1", false, Some((7, known(&[7], &[1])))),
            ("conclave-7+1+7", false, Some((7, known(&[], &[1, 7])))),
            ("conclave-7+p3", true, Some((7, known(&[3, 7], &[])))),
            ("conclave-7+p3", false, Some((7, known(&[3], &[7])))),
            ("conclave-7+1+7+p3", false, Some((7, known(&[3], &[1, 7])))),
            ("conclave-seven", false, None),
            ("1/main", false, None),
            ("", true, None),
        ] {
            assert_eq!(read_reference(&run(reference, passed)), expected, "{reference}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for (others, is_unpassed) in [
            (known(&[], &[]), true),
            (known(&[], &[]), false),
            (known(&[3], &[]), true),
            (known(&[3], &[1, 12]), true),
            (known(&[3, 4], &[1, 12]), false),
        ] {
            let mut expected = others.clone();
            if is_unpassed {
                expected.unpassed.insert(7);
            } else {
                expected.passed.insert(7);
            }
            // What passes is held by others.
            let passed = !is_unpassed && others.unpassed.is_empty();
            let reference = others.reference(7, is_unpassed);
            assert_eq!(
                read_reference(&run(&reference, passed)),
                Some((7, expected.clone())),
                "{reference}"
            );
            let status = others.status(7, is_unpassed, "Approved");
            assert_eq!(read_status(&status), expected, "{status}");
            assert_eq!(expected.without(7), others);
        }
        assert_eq!(known(&[3], &[1]).status(7, true, "Text"), "[#1 #7 passed #3] Text");
        assert_eq!(known(&[], &[]).status(0, false, "Text"), "Text");
        assert_eq!(read_status("[#1 #12] Approved"), known(&[], &[1, 12]));
        assert_eq!(read_status("Approved [#3 passed #4]"), known(&[], &[]));
    }
}

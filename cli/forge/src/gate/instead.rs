//! Ends that count in place of a run's own where that would pass, and the merge that was reviewed is not the one that would happen.

use conclave_engine::untrusted::code_span;

use super::known::Numbers;
use crate::{CheckEnd, Conclusion, Lifecycle};

/// The summary of a commit without a review.
pub(super) const UNREVIEWED: &str = "This commit was not reviewed.";

/// The end that counts for the commit: it does not pass as long as another merge request of the same commit has not.
pub(super) fn held(end: &CheckEnd, others: &Numbers) -> CheckEnd {
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

/// The end for a merge request that is not open any more: the commit may be that of another one, now or later.
pub(super) fn over(noun: &str, now: &Lifecycle, end: &CheckEnd) -> CheckEnd {
    CheckEnd {
        conclusion: Conclusion::Cancelled,
        title: format!("The {noun} is {} by now", now.word()),
        ..end.clone()
    }
}

/// The end on a commit that is not the newest: it may become the newest again, with another merge than the reviewed one, or with none.
pub(super) fn outdated(summary: &str) -> CheckEnd {
    CheckEnd {
        conclusion: Conclusion::Cancelled,
        title: "There is a newer commit".to_owned(),
        summary: summary.to_owned(),
        annotations: Vec::new(),
    }
}

/// The end of a review that would pass, and is not of the merge that would happen.
pub(super) fn retargeted(target: &str, now: &str, end: &CheckEnd) -> CheckEnd {
    let title = format!("The review is of the merge into {target}, and the target branch is {now} by now");
    CheckEnd {
        conclusion: Conclusion::Cancelled,
        summary: format!("{}. Run it again.\n\n{}", code_span(&title), end.summary),
        title,
        annotations: end.annotations.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_held_by_others_and_what_fails_says_why_itself() {
        let end = |conclusion| CheckEnd {
            conclusion,
            title: "Approved".to_owned(),
            summary: "S".to_owned(),
            annotations: Vec::new(),
        };
        let held_end = held(&end(Conclusion::Success), &Numbers::from([3]));
        assert_eq!(held_end.conclusion, Conclusion::Failure);
        assert!(held_end.title.contains("#3"), "{}", held_end.title);
        let own = held(&end(Conclusion::TimedOut), &Numbers::from([3]));
        assert_eq!((own.conclusion, own.title.as_str()), (Conclusion::TimedOut, "Approved"));
        assert_eq!(
            held(&end(Conclusion::Neutral), &Numbers::new()).conclusion,
            Conclusion::Neutral
        );
    }
}

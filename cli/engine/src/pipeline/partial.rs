//! What the budget did to a review.

use conclave_shared::telemetry::ReviewerOutcome;

use crate::{ports::BudgetState, review::ReviewerReport};

/// Why the review is only a part of one, if the budget cut it short.
pub(super) fn partial(
    reports: &[ReviewerReport],
    coordinator: Option<&ReviewerReport>,
    standing: &BudgetState,
) -> Option<String> {
    let (budget, how_much) = match standing {
        BudgetState::Free => return None,
        BudgetState::Tight(budget) => (budget, "four fifths"),
        BudgetState::Spent(budget) => (budget, "all"),
    };
    let missing: Vec<String> = reports
        .iter()
        .chain(coordinator)
        .filter(|report| report.outcome != ReviewerOutcome::Ok)
        .map(|report| report.name.display_name())
        .collect();
    (!missing.is_empty()).then(|| {
        let names = missing.join(", ");
        format!("{how_much} of the budget of {budget} is spent, without {names}")
    })
}

#[cfg(test)]
mod tests {
    use conclave_shared::reviewer::ReviewerName;

    use super::*;

    fn report(name: &str, outcome: ReviewerOutcome) -> ReviewerReport {
        ReviewerReport {
            name: ReviewerName::new(name).expect("a name"),
            outcome,
            reason: None,
            required: false,
            models: Vec::new(),
            usage: Vec::new(),
            seconds: 0.0,
            findings: 0,
            hallucinated: 0,
            repairs: Vec::new(),
            moves: Vec::new(),
        }
    }

    #[test]
    fn a_review_that_the_budget_cut_short_says_so() {
        use ReviewerOutcome::{Failed, Ok, Skipped};
        let coordinator = report("coordinator_two", Ok);
        let panel = |documentation| vec![report("security", Ok), report("documentation", documentation)];
        let spent = BudgetState::Spent("$2 for the run".to_owned());
        let tight = BudgetState::Tight("$2 for the run".to_owned());
        assert_eq!(
            partial(&panel(Ok), Some(&coordinator), &spent),
            None,
            "it was just enough"
        );
        assert_eq!(partial(&panel(Failed), Some(&coordinator), &BudgetState::Free), None);
        assert_eq!(
            partial(&panel(Skipped), Some(&coordinator), &tight).as_deref(),
            Some("four fifths of the budget of $2 for the run is spent, without documentation")
        );
        assert_eq!(
            partial(&panel(Failed), Some(&coordinator), &spent).as_deref(),
            Some("all of the budget of $2 for the run is spent, without documentation")
        );
    }
}

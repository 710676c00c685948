//! Budgets: the limits of a run, and its level within them.

use std::fmt;

/// From this share of a budget on, what can be done without is not begun any more.
const TIGHT_PERCENT: f64 = 80.0;

/// The limits of a run, and of all runs of its merge request. What is left out has no limit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Budget {
    /// The price of the run, in US dollars.
    pub run_usd: Option<f64>,
    /// The tokens of the run, of all kinds.
    pub run_tokens: Option<u64>,
    /// The model calls of the run.
    pub run_calls: Option<u64>,
    /// The price of all runs of the merge request, this one included, in US dollars.
    pub merge_request_usd: Option<f64>,
    /// The cost of earlier runs of the merge request.
    pub spent_before_usd: f64,
}

/// The usage of a run so far.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Used {
    /// In US dollars.
    pub usd: f64,
    /// Tokens of all kinds.
    pub tokens: u64,
    /// Model calls.
    pub calls: u64,
}

/// Which part of the budget is meant, with its limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Line {
    /// [`Budget::run_usd`].
    RunUsd(f64),
    /// [`Budget::run_tokens`].
    RunTokens(u64),
    /// [`Budget::run_calls`].
    RunCalls(u64),
    /// [`Budget::merge_request_usd`].
    MergeRequestUsd(f64),
}

impl fmt::Display for Line {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RunUsd(limit) => write!(formatter, "${limit} for the run"),
            Self::RunTokens(limit) => write!(formatter, "{limit} tokens for the run"),
            Self::RunCalls(limit) => write!(formatter, "{limit} model calls for the run"),
            Self::MergeRequestUsd(limit) => write!(formatter, "${limit} for all reviews of the change"),
        }
    }
}

/// The level of a run within its budget.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BudgetLevel {
    /// Far enough.
    Free,
    /// Four fifths of this line are used: nothing optional begins.
    Tight(Line),
    /// This line is used up: no more calls.
    Spent(Line),
}

impl Budget {
    /// The level of a run that has used this; the line that is closest to its end decides.
    #[expect(clippy::cast_precision_loss, reason = "counts of a run stay far below 2^53")]
    pub fn level(&self, used: &Used) -> BudgetLevel {
        let lines = [
            self.run_usd.map(|limit| (Line::RunUsd(limit), used.usd / limit)),
            self.run_tokens
                .map(|limit| (Line::RunTokens(limit), used.tokens as f64 / limit as f64)),
            self.run_calls
                .map(|limit| (Line::RunCalls(limit), used.calls as f64 / limit as f64)),
            self.merge_request_usd
                .map(|limit| (Line::MergeRequestUsd(limit), (self.spent_before_usd + used.usd) / limit)),
        ];
        let closest = lines.into_iter().flatten().max_by(|a, b| a.1.total_cmp(&b.1));
        match closest {
            Some((line, share)) if share >= 1.0 || share.is_nan() => BudgetLevel::Spent(line),
            Some((line, share)) if share * 100.0 >= TIGHT_PERCENT => BudgetLevel::Tight(line),
            _ => BudgetLevel::Free,
        }
    }
}

/// The stricter of two limits; what is left out has none.
pub fn stricter<T: PartialOrd>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other < one { other } else { one }),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_is_closest_to_its_end_decides() {
        let budget = Budget {
            run_usd: Some(2.0),
            run_tokens: Some(1000),
            run_calls: Some(10),
            merge_request_usd: Some(5.0),
            spent_before_usd: 3.0,
        };
        let used = |usd, tokens, calls| Used { usd, tokens, calls };
        for (used, expected) in [
            (used(0.0, 0, 0), BudgetLevel::Free),
            (used(0.9, 799, 7), BudgetLevel::Free),
            (used(0.0, 800, 0), BudgetLevel::Tight(Line::RunTokens(1000))),
            (used(0.0, 0, 8), BudgetLevel::Tight(Line::RunCalls(10))),
            (used(0.0, 999, 10), BudgetLevel::Spent(Line::RunCalls(10))),
            (used(1.59, 0, 0), BudgetLevel::Tight(Line::MergeRequestUsd(5.0))),
            (used(2.0, 0, 0), BudgetLevel::Spent(Line::MergeRequestUsd(5.0))),
            (used(0.0, 2000, 0), BudgetLevel::Spent(Line::RunTokens(1000))),
        ] {
            assert_eq!(budget.level(&used), expected, "{used:?}");
        }
        assert_eq!(
            Budget::default().level(&used(1e9, u64::MAX, u64::MAX)),
            BudgetLevel::Free
        );
    }

    #[test]
    fn what_earlier_runs_have_spent_counts_for_the_merge_request_only() {
        let budget = Budget {
            run_usd: Some(1.0),
            merge_request_usd: Some(10.0),
            spent_before_usd: 9.0,
            ..Budget::default()
        };
        assert_eq!(
            budget.level(&Used::default()),
            BudgetLevel::Tight(Line::MergeRequestUsd(10.0))
        );
        let spent = Budget {
            spent_before_usd: 11.0,
            ..budget
        };
        assert_eq!(
            spent.level(&Used::default()),
            BudgetLevel::Spent(Line::MergeRequestUsd(10.0))
        );
    }

    #[test]
    fn a_limit_of_nothing_is_spent_at_once() {
        let budget = Budget {
            run_calls: Some(0),
            ..Budget::default()
        };
        assert_eq!(budget.level(&Used::default()), BudgetLevel::Spent(Line::RunCalls(0)));
    }

    #[test]
    fn the_stricter_limit_counts() {
        for (one, other, expected) in [
            (None, None, None),
            (Some(2.0), None, Some(2.0)),
            (None, Some(3.0), Some(3.0)),
            (Some(2.0), Some(1.5), Some(1.5)),
            (Some(1.0), Some(1.5), Some(1.0)),
        ] {
            assert_eq!(stricter(one, other), expected);
        }
    }
}

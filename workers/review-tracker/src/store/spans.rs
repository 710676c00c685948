//! A window of days as spans: the whole weeks in it, and the days at its edges.
//!
//! Distributions are kept by day and by week (`bins`). Reading weeks instead of their days keeps what has to be read small,
//! however many runs a day has.

use worker::wasm_bindgen::JsValue;

use super::query::number;

const WEEK: i64 = 7;

/// The parts of a window, each from its first to its last start; the last one before the first one means none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spans {
    /// Days before the first whole week.
    pub(crate) leading: (i64, i64),
    /// Whole weeks, by the days of their Mondays.
    pub(crate) weeks: (i64, i64),
    /// Days after the last whole week.
    pub(crate) trailing: (i64, i64),
}

/// Nothing.
const NONE: (i64, i64) = (1, 0);

/// Bins of a window: parameter 1 is the project or `*`, 2 to 7 are [`Spans::parameters`]. Selects `metric`, `tier`, `bin`, `n`
/// of the metrics `duration_ms` and `cost_usd`.
pub(crate) const BINS: &str = "SELECT metric, tier, bin, sum(n) AS n FROM (
    SELECT metric, tier, bin, n FROM bins WHERE project = ?1 AND metric IN ('duration_ms', 'cost_usd') AND span = 7
      AND start BETWEEN ?4 AND ?5
    UNION ALL SELECT metric, tier, bin, n FROM bins WHERE project = ?1 AND metric IN ('duration_ms', 'cost_usd')
      AND span = 1 AND start BETWEEN ?2 AND ?3
    UNION ALL SELECT metric, tier, bin, n FROM bins WHERE project = ?1 AND metric IN ('duration_ms', 'cost_usd')
      AND span = 1 AND start BETWEEN ?6 AND ?7
  ) GROUP BY metric, tier, bin ORDER BY metric, tier, bin";

/// The Monday of a day's week.
pub(crate) const fn week(day: i64) -> i64 {
    day - (day + 3).rem_euclid(WEEK)
}

/// Cuts a window. Days before `days_from` are kept as weeks only: a window that begins or ends there is widened to whole weeks.
pub(crate) const fn spans(first_day: i64, last_day: i64, days_from: i64) -> Spans {
    let first = if first_day < days_from {
        week(first_day)
    } else {
        first_day
    };
    let last = if last_day < days_from {
        week(last_day) + WEEK - 1
    } else {
        last_day
    };
    // The first Monday that is not before the window, and the first one whose week is not in it.
    let monday = if week(first) == first {
        first
    } else {
        week(first) + WEEK
    };
    let after = week(last + 1);
    if after <= monday {
        // Not one whole week.
        let spans = Spans {
            leading: (first, last),
            weeks: NONE,
            trailing: NONE,
        };
        return spans;
    }
    Spans {
        leading: (first, monday - 1),
        weeks: (monday, after - WEEK),
        trailing: (after, last),
    }
}

impl Spans {
    /// The parameters 2 to 7 of [`BINS`].
    pub(crate) fn parameters(&self) -> [JsValue; 6] {
        let Self {
            leading,
            weeks,
            trailing,
        } = *self;
        [leading.0, leading.1, weeks.0, weeks.1, trailing.0, trailing.1].map(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every day of a window, by its spans.
    fn days(spans: Spans) -> Vec<i64> {
        let weeks = (spans.weeks.0..=spans.weeks.1)
            .step_by(7)
            .flat_map(|monday| monday..monday + WEEK);
        (spans.leading.0..=spans.leading.1)
            .chain(weeks)
            .chain(spans.trailing.0..=spans.trailing.1)
            .collect()
    }

    #[test]
    fn a_week_begins_on_monday() {
        // 1970-01-01 was a Thursday; 2026-11-16 is a Monday.
        assert_eq!(week(0), -3);
        assert_eq!([week(20_773), week(20_779), week(20_780)], [20_773, 20_773, 20_780]);
    }

    #[test]
    fn every_day_of_every_window_is_in_exactly_one_span() {
        for first in 20_000..20_008 {
            for length in 1..100 {
                let last = first + length - 1;
                let found = spans(first, last, 0);
                assert_eq!(days(found), (first..=last).collect::<Vec<_>>(), "{first} to {last}");
                let single = [found.leading, found.trailing].map(|(from, to)| to - from + 1);
                assert!(length < 14 || single.iter().all(|days| *days < WEEK), "{found:?}");
            }
        }
    }

    #[test]
    fn where_only_weeks_are_left_the_window_is_widened_to_them() {
        let monday = 20_773;
        let kept = monday + 14;
        assert_eq!(
            days(spans(monday + 2, monday + 3, kept)),
            (monday..monday + 7).collect::<Vec<_>>()
        );
        assert_eq!(
            days(spans(monday + 2, kept + 1, kept)),
            (monday..=kept + 1).collect::<Vec<_>>()
        );
        assert_eq!(days(spans(kept, kept + 1, kept)), [kept, kept + 1]);
    }
}

//! The steps of a chart over time: days, or weeks where days would be too many to tell apart.

use super::table::{Cell, TableOf};
use crate::store::Window;

/// Maximum number of days that are shown one by one.
const MAX_DAYS: i64 = 100;

/// The steps of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Periods {
    first: i64,
    last: i64,
    step: i64,
}

impl Periods {
    /// The steps of a query's window.
    pub(crate) const fn of(query: &Window) -> Self {
        let days = query.last_day - query.first_day + 1;
        Self {
            first: query.first_day,
            last: query.last_day,
            step: if days > MAX_DAYS { 7 } else { 1 },
        }
    }

    /// Returns whether there is more than one step: else there is nothing to draw.
    pub(crate) const fn several(self) -> bool {
        self.last > self.first
    }

    /// The number of days.
    pub(crate) const fn days(self) -> i64 {
        self.last - self.first + 1
    }

    /// The first days of the steps, in order.
    pub(crate) fn starts(self) -> impl DoubleEndedIterator<Item = i64> {
        (0..=(self.last - self.first) / self.step).map(move |index| self.first + index * self.step)
    }

    /// A table with a row a step, the latest first, by their first days; without rows if there is nothing to show.
    pub(crate) fn table(self, id: &'static str, title: &'static str, any: bool) -> TableOf<i64> {
        let starts = self.starts().rev().filter(|_| any);
        TableOf::new(id, title, starts).words("Day", "day", |start| Cell::Day(*start))
    }

    /// The first day of the step that a day is in.
    pub(crate) const fn start_of(self, day: i64) -> i64 {
        self.first + (day - self.first).div_euclid(self.step) * self.step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_days_become_weeks_and_none_is_left_out() {
        for (days, steps) in [(1, 1), (30, 30), (100, 100), (101, 15), (731, 105)] {
            let periods = Periods::of(&Window {
                project: None,
                tier: None,
                first_day: 1000,
                last_day: 1000 + days - 1,
            });
            let starts: Vec<i64> = periods.starts().collect();
            assert_eq!(starts.len(), steps, "{days}");
            assert!((1000..1000 + days).all(|day| starts.contains(&periods.start_of(day))));
        }
    }
}

//! Quantile sketches as rows: a value falls into a logarithmic bin, and a distribution is a count a bin.
//!
//! Bins grow by a constant factor, so every quantile is right to within 1 % of itself, whatever the scale. Merging two
//! distributions is adding counts, which SQL does; a blob would need to be read and written back for every event.

/// Maximum error of a quantile, as a share of itself.
const RELATIVE_ERROR: f64 = 0.01;

/// Upper border of a bin divided by its lower border.
const GROWTH: f64 = (1.0 + RELATIVE_ERROR) / (1.0 - RELATIVE_ERROR);

/// The bin of everything that is not above zero, which has no logarithm. Below every other bin.
pub(crate) const ZERO_BIN: i32 = -1_000_000;

/// A count as a number to calculate with.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub(crate) const fn float(count: u64) -> f64 {
    count as f64
}

/// The bin of a value.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the logarithm of a finite f64 is below 36,000"
)]
pub(crate) fn bin(value: f64) -> i32 {
    if value > 0.0 {
        (value.ln() / GROWTH.ln()).ceil() as i32
    } else {
        ZERO_BIN
    }
}

/// The value that stands for a bin: no value in it is further away than the relative error.
pub(crate) fn value(bin: i32) -> f64 {
    if bin == ZERO_BIN {
        0.0
    } else {
        2.0 * GROWTH.powi(bin) / (GROWTH + 1.0)
    }
}

/// The value below which a share of all lies; `bins` in ascending order. `None` when there is nothing.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "ranks stay far below 2^53 and are not negative"
)]
pub(crate) fn quantile(bins: &[(i32, u64)], share: f64) -> Option<f64> {
    let total: u64 = bins.iter().map(|(_, count)| count).sum();
    // The nearest-rank definition: the smallest value with at least that share at or below it.
    let rank = ((total as f64 * share).ceil() as u64).max(1);
    let mut seen = 0;
    bins.iter().find_map(|(bin, count)| {
        seen += count;
        (seen >= rank && total > 0).then(|| value(*bin))
    })
}

/// Returns how many values are at most `limit`: exact for values outside the bin that the limit itself falls into.
pub(crate) fn at_most(bins: &[(i32, u64)], limit: f64) -> u64 {
    let last = bin(limit);
    bins.iter()
        .filter(|(bin, _)| *bin <= last)
        .map(|(_, count)| count)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_stands_for_its_values_within_one_percent() {
        for value_in in [0.0001, 0.17, 1.0, 4.45, 219_000.0, 1e12] {
            let back = value(bin(value_in));
            assert!((back - value_in).abs() <= value_in * 0.0101, "{value_in} became {back}");
        }
        assert!((value(bin(0.0))).abs() < f64::EPSILON);
        assert!(bin(f64::MIN_POSITIVE) > ZERO_BIN);
    }

    #[test]
    fn quantiles_are_nearest_ranks() {
        let bins: Vec<(i32, u64)> = (1..=100).map(|value| (bin(f64::from(value)), 1)).collect();
        for (share, expected) in [(0.5, 50.0), (0.9, 90.0), (0.99, 99.0), (1.0, 100.0), (0.0, 1.0)] {
            let found = quantile(&bins, share).expect("there are values");
            assert!((found - expected).abs() <= expected * 0.0101, "{share}: {found}");
        }
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn counting_up_to_a_limit_includes_the_limit_itself() {
        let bins = [(bin(30.0), 2), (bin(60.0), 3), (bin(90.0), 1)];
        assert_eq!(at_most(&bins, 60.0), 5);
        assert_eq!(at_most(&bins, 59.0), 2);
        assert_eq!(at_most(&bins, 1e9), 6);
    }
}

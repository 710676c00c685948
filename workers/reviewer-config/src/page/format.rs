//! Moments and prices as people read them.

use chrono::{DateTime, Utc};

/// A moment: `2026-11-20 14:05`, in UTC.
pub(crate) fn moment(at_ms: i64) -> String {
    utc(at_ms).format("%Y-%m-%d %H:%M").to_string()
}

/// A moment for machines.
pub(crate) fn rfc3339(at_ms: i64) -> String {
    utc(at_ms).format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A price per million tokens.
pub(crate) fn price(dollars: f64) -> String {
    let text = format!("{dollars:.4}");
    let text = text.trim_end_matches('0');
    let decimals = text.rsplit_once('.').map_or(0, |(_, decimals)| decimals.len());
    if decimals < 2 {
        format!("${dollars:.2}")
    } else {
        format!("${text}")
    }
}

fn utc(at_ms: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(at_ms).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_prices_read_well() {
        assert_eq!(moment(1_795_000_000_000), "2026-11-18 11:06");
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        for (dollars, text) in [(5.0, "$5.00"), (2.5, "$2.50"), (0.125, "$0.125"), (0.0, "$0.00")] {
            assert_eq!(price(dollars), text);
        }
    }
}

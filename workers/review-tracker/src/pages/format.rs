//! Numbers, money, times as people read them.

use chrono::{DateTime, NaiveDate, Utc};
use conclave_shared::telemetry::DatabaseSize;

/// Stands where there is nothing to show.
pub(crate) const NOTHING: &str = "–";

/// A value that may be unknown.
pub(crate) fn or_nothing<T>(value: Option<T>, format: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| NOTHING.to_owned(), format)
}

/// A number of things: `1 review`, `2 reviews`.
pub(crate) fn counted(value: u64, noun: &str) -> String {
    let plural = if value == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(value))
}

/// The used and the allowed size of a database.
pub(crate) fn database_size(database: DatabaseSize) -> String {
    let megabytes = |bytes| count(bytes / 1_000_000);
    format!(
        "{} MB of {} MB",
        megabytes(database.used_bytes),
        megabytes(database.max_bytes)
    )
}

/// The share of tokens that came from a cache.
pub(crate) fn cached(share: f64) -> String {
    format!("{} from the cache", percent(share))
}

/// A whole number in groups: `12,345`.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A large number in short: `1.2 M`.
#[expect(clippy::cast_precision_loss, reason = "rounded to three digits anyway")]
pub(crate) fn short(value: u64) -> String {
    let exact = value as f64;
    match value {
        0..10_000 => count(value),
        10_000..1_000_000 => format!("{:.1}k", exact / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1}M", exact / 1e6),
        _ => format!("{:.1}B", exact / 1e9),
    }
}

/// US dollars: cents above ten, more digits where cents would all be zero.
pub(crate) fn money(value: f64) -> String {
    // The sum of nothing is a negative zero.
    let value = value + 0.0;
    if value >= 1000.0 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive and far below 2^63"
        )]
        let whole = value.round() as u64;
        format!("${}", count(whole))
    } else if value >= 0.1 || value == 0.0 {
        format!("${value:.2}")
    } else if value >= 0.0005 {
        format!("${value:.3}")
    } else {
        "<$0.001".to_owned()
    }
}

/// A duration: `41 s`, `3m 39s`, `1h 04m`.
pub(crate) fn duration(milliseconds: i64) -> String {
    let seconds = (milliseconds + 500) / 1000;
    match seconds {
        _ if milliseconds < 1000 => format!("{milliseconds}ms"),
        ..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A duration that a sketch estimated.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a duration in milliseconds is far below 2^53"
)]
pub(crate) fn estimated_duration(milliseconds: f64) -> String {
    duration(milliseconds.round() as i64)
}

/// A number without a unit of its own.
pub(crate) fn plain(value: f64) -> String {
    if value >= 100.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}

/// A share as a percentage.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// A wire name as words: `approved_with_comments` is "Approved with comments".
pub(crate) fn words(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut characters = words.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => words,
    }
}

/// A moment: `20 Nov, 14:05`, with the year where it is not the current one.
pub(crate) fn moment(at_ms: i64, now_ms: i64) -> String {
    let (at, now) = (utc(at_ms), utc(now_ms));
    let pattern = if at.format("%Y").to_string() == now.format("%Y").to_string() {
        "%-d %b, %H:%M"
    } else {
        "%-d %b %Y, %H:%M"
    };
    at.format(pattern).to_string()
}

/// A moment for machines.
pub(crate) fn rfc3339(at_ms: i64) -> String {
    utc(at_ms).format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A day: `20 Nov`.
pub(crate) fn day(day: i64) -> String {
    utc(day * crate::clock::DAY_MS).format("%-d %b").to_string()
}

/// A day for machines, and for forms: `2026-11-20`.
pub(crate) fn iso_day(day: i64) -> String {
    utc(day * crate::clock::DAY_MS).format("%Y-%m-%d").to_string()
}

/// A day as [`iso_day`] writes it, counted from 1970.
pub(crate) fn read_day(text: &str) -> Option<i64> {
    let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
    let days = date.signed_duration_since(NaiveDate::default()).num_days();
    (0..1_000_000).contains(&days).then_some(days)
}

fn utc(at_ms: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(at_ms).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well_at_every_size() {
        assert_eq!(
            ["0", "999", "1,000", "1,234,567"],
            [0, 999, 1000, 1_234_567].map(count).each_ref().map(String::as_str)
        );
        assert_eq!(
            ["9,999", "10.0k", "1.2M", "120.0B"],
            [9999, 10_000, 1_200_000, 120_000_000_000]
                .map(short)
                .each_ref()
                .map(String::as_str)
        );
        assert_eq!(
            ["$0.00", "<$0.001", "$0.004", "$0.98", "$131.25", "$156,182"],
            [0.0, 0.0001, 0.0042, 0.98, 131.25, 156_182.3]
                .map(money)
                .each_ref()
                .map(String::as_str)
        );
        assert_eq!(
            ["0ms", "999ms", "41s", "3m 39s", "1h 04m"],
            [0, 999, 41_000, 219_000, 3_840_000]
                .map(duration)
                .each_ref()
                .map(String::as_str)
        );
    }

    #[test]
    fn wire_names_become_words() {
        assert_eq!(
            ["", "Ok", "Über x", "Timed out"],
            ["", "ok", "über_x", "timed_out"]
                .map(words)
                .each_ref()
                .map(String::as_str)
        );
    }

    #[test]
    fn moments_name_the_year_only_where_it_is_another() {
        let now = 1_795_000_000_000;
        assert_eq!(moment(1_794_996_300_000, now), "18 Nov, 10:05");
        assert_eq!(moment(1_700_000_000_000, now), "14 Nov 2023, 22:13");
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(day(20_000), "4 Oct");
        assert_eq!(read_day(&iso_day(20_000)), Some(20_000));
        for nonsense in ["", "2024-13-01", "1969-12-31", "4 Oct", "99999-01-01"] {
            assert_eq!(read_day(nonsense), None, "{nonsense}");
        }
    }
}

//! Figures of a run that have no event of their own.

use serde::{Deserialize, Serialize};

/// The most figures in one event.
pub const MAX_METRIC_SAMPLES: usize = 100;
/// The longest name of a figure, in bytes.
pub const MAX_METRIC_NAME: usize = 64;

/// Figures of the run itself, sent once, right before its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Up to [`MAX_METRIC_SAMPLES`], each name once.
    pub samples: Vec<MetricSample>,
}

/// One figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricSample {
    /// The name, with its unit at the end, as in `gateway_first_byte_ms`: `a` to `z`, digits and `_`, beginning with a
    /// letter, up to [`MAX_METRIC_NAME`] bytes. Never anything from the change.
    pub name: String,
    /// Not negative, at most 10^15.
    pub value: f64,
}

/// Returns whether a figure may have this name.
pub fn is_metric_name(name: &str) -> bool {
    name.len() <= MAX_METRIC_NAME
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::is_metric_name;

    #[test]
    fn names_are_what_prometheus_could_take_and_nothing_of_the_change() {
        for name in ["a", "gateway_first_byte_ms", "stage_2_ms"] {
            assert!(is_metric_name(name), "{name}");
        }
        for name in ["", "_a", "2a", "A", "src/main.rs", "a b", &"x".repeat(65)] {
            assert!(!is_metric_name(name), "{name}");
        }
    }
}

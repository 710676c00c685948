//! Limits of fields. A fault has the field's name.

use conclave_shared::pricing::TokenUsage;

/// Far above any real count, and sums of it stay exact in a JSON number.
pub(super) const MAX_COUNT: u64 = 1_000_000_000;
const MAX_TOKENS: u64 = 1_000_000_000_000;
/// Maximum duration of a run or a session.
pub(super) const MAX_DURATION_MS: u64 = 30 * 86_400_000;
const MAX_COST_USD: f64 = 1_000_000.0;
/// Maximum bytes of a reviewer's name.
pub(super) const MAX_REVIEWER: usize = 64;

/// Nothing, or the fault with the field's name.
pub(super) type Checked = Result<(), String>;

pub(super) fn text<'a>(name: &str, value: impl Into<Option<&'a str>>, limit: usize) -> Checked {
    match value.into() {
        Some(value) if value.is_empty() || value.len() > limit || value.chars().any(char::is_control) => Err(format!(
            "`{name}` has to have 1 to {limit} bytes without control characters"
        )),
        _ => Ok(()),
    }
}

pub(super) fn count(name: &str, value: impl Into<Option<u64>>, limit: u64) -> Checked {
    match value.into() {
        Some(value) if value > limit => Err(format!("`{name}` is above {limit}")),
        _ => Ok(()),
    }
}

/// Checks several counts with the same limit.
pub(super) fn counts<const N: usize>(values: [(&str, u64); N], limit: u64) -> Checked {
    values
        .into_iter()
        .try_for_each(|(name, value)| count(name, value, limit))
}

pub(super) fn tokens(tokens: &TokenUsage) -> Checked {
    let values = [
        ("tokens/input", tokens.input),
        ("tokens/output", tokens.output),
        ("tokens/reasoning", tokens.reasoning),
        ("tokens/cache_read", tokens.cache_read),
        ("tokens/cache_write", tokens.cache_write),
    ];
    counts(values, MAX_TOKENS)
}

pub(super) fn cost(value: f64) -> Checked {
    if (0.0..=MAX_COST_USD).contains(&value) {
        Ok(())
    } else {
        Err(format!("`cost_usd` is not between 0 and {MAX_COST_USD}"))
    }
}

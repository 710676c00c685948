//! Literal patterns, each compiled once.

use regex::Regex;

/// Compiles a pattern of this crate.
#[expect(
    clippy::expect_used,
    reason = "the patterns are literals of this crate, and a test runs them all"
)]
pub(super) fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a valid pattern")
}

/// Whether a text matches a literal pattern, compiled once.
macro_rules! found {
    ($text:expr, $pattern:literal) => {{
        static PATTERN: std::sync::LazyLock<regex::Regex> =
            std::sync::LazyLock::new(|| $crate::demo::pattern::compile($pattern));
        PATTERN.is_match($text)
    }};
}
pub(super) use found;

/// The first group of a literal pattern in a text, compiled once.
macro_rules! group {
    ($text:expr, $pattern:literal) => {{
        static PATTERN: std::sync::LazyLock<regex::Regex> =
            std::sync::LazyLock::new(|| $crate::demo::pattern::compile($pattern));
        PATTERN
            .captures($text)
            .and_then(|groups| groups.get(1))
            .map(|group| group.as_str())
    }};
}
pub(super) use group;

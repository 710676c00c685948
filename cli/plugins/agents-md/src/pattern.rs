//! Patterns, each compiled once.

/// Compiles a pattern of this crate.
#[expect(
    clippy::unwrap_used,
    reason = "the patterns are literals of this crate, and the tests run them all"
)]
pub(crate) fn compile(text: &str) -> regex::Regex {
    regex::Regex::new(text).unwrap()
}

/// A literal pattern, compiled when it is first used.
macro_rules! pattern {
    ($text:expr) => {{
        static PATTERN: std::sync::LazyLock<regex::Regex> =
            std::sync::LazyLock::new(|| $crate::pattern::compile($text));
        &*PATTERN
    }};
}

pub(crate) use pattern;

//! An error in words, with what led to it.

use std::error::Error;

/// The error and its sources, outermost first; what a text before says already is left out. The outermost alone often
/// tells only that something failed, as that of an HTTP client does.
pub fn with_sources(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Failed(&'static str, #[source] Option<Box<Failed>>);

    #[test]
    fn every_cause_is_named_once() {
        let refused = Failed("connection refused", None);
        let connect = Failed("connection refused", Some(Box::new(refused)));
        let sending = Failed("failed to send", Some(Box::new(connect)));
        assert_eq!(with_sources(&sending), "failed to send: connection refused");
    }
}

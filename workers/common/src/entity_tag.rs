//! Entity tags: "has anything changed since I asked last?"

use sha2::{Digest, Sha256};

/// The strong entity tag of a body.
pub fn of(body: &[u8]) -> String {
    format!("\"{}\"", hex::encode(&Sha256::digest(body)[..16]))
}

/// Returns whether an `If-None-Match` header names this tag. Compared weakly, as RFC 9110 asks: something between that
/// compresses the answer may have made the tag weak.
pub fn matches(if_none_match: &str, tag: &str) -> bool {
    if_none_match
        .split(',')
        .map(str::trim)
        .any(|candidate| candidate == "*" || candidate.strip_prefix("W/").unwrap_or(candidate) == tag)
}

#[cfg(test)]
mod tests {
    use super::{matches, of};

    #[test]
    fn the_tag_changes_with_the_body() {
        assert_eq!(of(b"a"), of(b"a"));
        assert_ne!(of(b"a"), of(b"b"));
    }

    #[test]
    fn lists_weak_tags_and_the_star_match() {
        let tag = of(b"a");
        for header in [tag.clone(), format!("W/{tag}"), format!("\"x\", {tag}"), "*".to_owned()] {
            assert!(matches(&header, &tag), "{header}");
        }
        for header in ["", "\"x\"", tag.trim_matches('"')] {
            assert!(!matches(header, &tag), "{header}");
        }
    }
}

//! Bearer tokens: several valid at once for rotation, compared in constant time.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Whether `presented` is one of the comma-separated `accepted` tokens.
///
/// Digests are compared rather than texts, so neither the length nor the first wrong byte shows in the time taken, and
/// all accepted tokens are looked at. An empty list accepts nothing.
pub fn is_accepted(presented: &str, accepted: &str) -> bool {
    let presented = Sha256::digest(presented.as_bytes());
    let mut found = subtle::Choice::from(0);
    for token in accepted.split(',').map(str::trim).filter(|token| !token.is_empty()) {
        found |= presented.ct_eq(&Sha256::digest(token.as_bytes()));
    }
    found.into()
}

/// The token of an `Authorization: Bearer …` header.
pub fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_listed_token_is_accepted_and_nothing_else() {
        assert!(is_accepted("old", "old, new"));
        assert!(is_accepted("new", "old, new"));
        for wrong in ["", "ol", "old,", "old, new", "NEW"] {
            assert!(!is_accepted(wrong, "old, new"), "{wrong:?}");
        }
        assert!(!is_accepted("", ""));
        assert!(!is_accepted("", " , "));
    }

    #[test]
    fn reads_bearer_headers() {
        assert_eq!(bearer("Bearer abc"), Some("abc"));
        assert_eq!(bearer("bearer  abc "), Some("abc"));
        for wrong in ["abc", "Basic abc", "Bearer ", "Bearer"] {
            assert_eq!(bearer(wrong), None, "{wrong:?}");
        }
    }
}

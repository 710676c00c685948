//! Bearer tokens: several valid at once for rotation, compared in constant time.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Whether `presented` is one of the comma-separated `accepted` tokens.
///
/// Digests are compared rather than texts, so neither the length nor the first wrong byte shows in the time taken, and
/// all accepted tokens are looked at. An empty list accepts nothing.
pub fn is_accepted(presented: &str, accepted: &str) -> bool {
    holder(presented, accepted).is_some()
}

/// Who holds `presented`, if it is one of the comma-separated `accepted` tokens; empty for a token without a name.
///
/// A token may stand as `name:token`, so that a log of changes can say who it was. Bearer tokens have no colon (RFC 6750),
/// so nothing is ambiguous. Compared like [`is_accepted`].
pub fn holder<'a>(presented: &str, accepted: &'a str) -> Option<&'a str> {
    let presented = Sha256::digest(presented.as_bytes());
    let mut holder = None;
    for (name, token) in entries(accepted) {
        let same: bool = presented.ct_eq(&Sha256::digest(token.as_bytes())).into();
        if same {
            holder = Some(name);
        }
    }
    holder
}

/// The tokens of a comma-separated list with the names of their holders.
pub fn entries(accepted: &str) -> impl Iterator<Item = (&str, &str)> {
    let entries = accepted.split(',').map(|entry| {
        let (name, token) = entry.split_once(':').unwrap_or(("", entry));
        (name.trim(), token.trim())
    });
    entries.filter(|(_, token)| !token.is_empty())
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
    fn a_token_may_say_whose_it_is() {
        let accepted = "ada: one ,two, grace:three==";
        assert_eq!(holder("one", accepted), Some("ada"));
        assert_eq!(holder("two", accepted), Some(""));
        assert_eq!(holder("three==", accepted), Some("grace"));
        for wrong in ["", "ada", "ada:one", "ada: one", "grace"] {
            assert_eq!(holder(wrong, accepted), None, "{wrong:?}");
        }
        assert_eq!(holder("", "ada:, ,"), None);
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

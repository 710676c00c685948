//! The identity of what is claimed, wherever that is.

use sha2::{Digest, Sha256};

use crate::{findings::claim_words, review::MAX_CLAIM};

/// The identity of a claim in a category: the words that it is made of, whatever their order and endings. Names in the code
/// are words of it, so the same sentence about another function is another claim.
///
/// It leaves the run, the words do not: only a hash of all of them together.
pub fn claim_key(category: &str, claim: &str) -> String {
    // The summary keeps no more of a claim than that.
    let claim: String = claim.chars().take(MAX_CLAIM).collect();
    let mut hash = Sha256::new();
    hash.update(category.to_ascii_lowercase().as_bytes());
    hash.update([0]);
    for word in claim_words(&claim) {
        hash.update(word.as_bytes());
        hash.update(b" ");
    }
    hex::encode(&hash.finalize()[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_claim_in_other_words_is_one_and_about_another_name_it_is_not() {
        let one = claim_key("null-dereference", "`load_user` returns None for an unknown user.");
        for same in [
            "The `load_user` returns null for unknown users",
            "For an unknown user, `load_user` returned None.",
        ] {
            assert_eq!(claim_key("Null-Dereference", same), one, "{same}");
        }
        for other in [
            "`load_order` returns None for an unknown user.",
            "`load_user` returns None for an unknown user, and the caller crashes.",
        ] {
            assert_ne!(claim_key("null-dereference", other), one, "{other}");
        }
        assert_ne!(
            claim_key("naming", "`load_user` returns None for an unknown user."),
            one
        );
        assert_eq!(one.len(), 16);
    }

    #[test]
    fn what_the_summary_has_cut_is_still_the_same() {
        let claim = "word ".repeat(100) + "end";
        let cut: String = claim.chars().take(MAX_CLAIM).collect();
        assert_eq!(claim_key("c", &claim), claim_key("c", &cut));
    }
}

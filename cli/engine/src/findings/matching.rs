//! Whether two findings make the same claim.
//!
//! The place says little: four of ten real findings lie within three lines of another. So claims are compared by their
//! words: rare ones count more than common ones, identifiers are taken apart, and words that mean the same in a review
//! (`null`, `nil`, `None`) are one. The claims about one merge request are seen in each other's light: what most of them
//! name sets none apart. Three terms are added up; they stand in `similarity.rs`, and `scripts/evidence` measures them.
//!
//! No model is asked and nothing is loaded: the same findings give the same groups, on every machine.

mod agreement;
mod background;
mod concepts;
mod similarity;
mod stem;
mod words;

pub use agreement::{record_agreement, same_claims};
pub use background::table as background_table;
pub use similarity::{Claims, Likeness};

/// The words of a claim, in order and each once: stems, with words of one meaning made one.
pub fn claim_words(claim: &str) -> std::collections::BTreeSet<String> {
    words::Claim::new(claim).words
}

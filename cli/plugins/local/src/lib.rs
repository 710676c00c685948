//! The `local` plugin: a range of commits or the working tree as the subject of a review.

mod range;
mod source;

pub use range::{Range, RangeError};
pub use source::{LocalError, LocalReview, load};

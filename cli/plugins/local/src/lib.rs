//! The `local` plugin: a range of commits or the working tree as the subject of a review.

mod plugin;
mod range;
mod source;

pub use plugin::{LocalArrival, LocalPlugin};
pub use range::{Range, RangeError};
pub use source::{LocalError, LocalReview, load};

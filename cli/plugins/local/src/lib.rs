//! The `local` plugin: a range of commits, the working tree or what is staged as the subject of a review, and the hook that
//! reviews before a push.

mod hook;
mod range;
mod source;

pub use hook::{HookError, HookState, Push, install_hook, passed_over, pushes, uninstall_hook};
pub use range::{Range, RangeError};
pub use source::{LocalError, LocalReview, load};

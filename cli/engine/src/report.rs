//! The finished review as data and as text.

mod markdown;
mod neutral;
mod review;

pub use markdown::{duration, headline, render_markdown};
pub use neutral::neutral;
pub use review::{Coverage, CutFile, Review, SCHEMA_VERSION, StageTime};

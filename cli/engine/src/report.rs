//! The finished review as data and as text.

mod code_quality;
mod identity;
mod junit;
mod markdown;
mod neutral;
mod review;
mod sarif;
#[cfg(test)]
pub(crate) mod test_support;

pub use code_quality::render_code_quality;
pub use junit::render_junit;
pub use markdown::{Threads, duration, headline, render_markdown, render_markdown_with};
pub use neutral::neutral;
pub use review::{Coverage, CutFile, Review, SCHEMA_VERSION, StageTime, review_schema};
pub use sarif::render_sarif;

//! The finished review as data and as text.

mod code_quality;
mod configuration;
mod cost;
mod finding_record;
mod identity;
mod inline;
mod junit;
mod markdown;
mod neutral;
mod numbers;
mod review;
mod sarif;
mod settled;
mod suggestion;
#[cfg(test)]
pub(crate) mod test_support;
mod thread;

pub use code_quality::render_code_quality;
pub use configuration::{ConfigurationFallback, ConfigurationInstead};
pub use cost::Cost;
pub use finding_record::{FindingRecord, RECORD_SCHEMA};
pub use inline::{InlinePlace, render_inline};
pub use junit::render_junit;
pub use markdown::{duration, headline, render_markdown};
pub use neutral::{code_span, neutral};
pub use numbers::grouped;
pub use review::{Coverage, CutFile, Review, SCHEMA_VERSION, StageTime, review_schema};
pub use sarif::render_sarif;
pub use settled::SettledFinding;
pub use suggestion::{Suggestion, committable};
pub use thread::{ThreadAction, ThreadChange};

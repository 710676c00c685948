//! The finished review as data and as text.

mod finding_record;
mod inline;
mod markdown;
mod neutral;
mod review;
mod suggestion;
mod thread;

pub use finding_record::{FindingRecord, RECORD_SCHEMA};
pub use inline::{InlinePlace, render_inline};
pub use markdown::{duration, headline, render_markdown};
pub use neutral::neutral;
pub use review::{Coverage, CutFile, Review, SCHEMA_VERSION, StageTime};
pub use suggestion::{Suggestion, committable};
pub use thread::{ThreadAction, ThreadChange};

//! What changed: the diff as typed files, and which of them are reviewed.

mod filter;
mod generated;
mod line_map;
mod model;
mod noise;
mod parse;

pub use filter::{FilterReason, FilteredDiff, FilteredFile, filter};
pub use generated::is_marked_generated;
pub use line_map::LineMap;
pub use model::{ChangeKind, Content, Diff, FileDiff};
pub use parse::{DiffParseError, parse};

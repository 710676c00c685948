//! The diff: typed, without noise.
//!
//! A diff is never held as a whole. [`DiffReader`] is fed with git's output as it comes, hands each file's patch on to a
//! spool, and keeps of a file what the review needs to know: names, modes, counts, and which lines changed.

mod filter;
mod generated;
mod line_map;
mod model;
mod noise;
mod reader;
mod records;
mod section;

pub use filter::{FilterReason, FilterRules, FilteredDiff, FilteredFile, Peek, depends_on_content, filter, peek};
pub use line_map::{DiffRow, LineMap, RowKind};
pub use model::{ChangeKind, Content, Diff, FileDiff, PatchRange, Unread};
pub use reader::{DiffLimits, DiffParseError, DiffReader};

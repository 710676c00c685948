//! The diff: typed, without noise.
//!
//! A diff is never held as a whole. [`DiffReader`] is fed with git's output as it comes, hands each file's patch on to a
//! spool, and keeps of a file what the review needs to know: names, modes, counts, and which lines changed.

mod code_data;
mod decoded;
mod encoding;
mod file_diff;
mod filter;
mod filter_reason;
mod generated;
mod line_map;
mod peek;
mod reader;
mod records;
mod runs;
mod section;

pub use decoded::{TextPatch, decoded_patch, whole_patch};
pub use encoding::{Encoding, text_of};
pub use file_diff::{ChangeKind, Content, Diff, FileDiff, PatchRange, Unread};
pub use filter::{ByName, FilterRules, FilteredDiff, FilteredFile, filter, is_new_to_readers};
pub use filter_reason::FilterReason;
pub use line_map::{DiffRow, LineMap, RowKind};
pub use peek::{Peek, peek};
pub use reader::{DiffLimits, DiffParseError, DiffReader};
pub use runs::{changes_kind, has_ident, is_map, may_be_encoded};

//! Running git so that the repository under review cannot act.
//!
//! Every call has a cleared environment, no system or user configuration (but for the files that they ignore), no hooks, no file-system monitor, no external
//! diff or text conversion, no filters, no transport but a fetch's own, and explicit output options: neither the author of a merge request nor the habits of the
//! machine's user change what is executed or what the output looks like.

mod attributes;
mod blobs;
mod command;
mod diff;
mod fetch;
mod files;
mod git_directory;
mod guard;
mod hooks;
mod import;
mod merge;
mod partial;
mod places;
mod repository;
mod snapshot;
#[cfg(test)]
mod test_support;
mod tree;
mod workspace;

pub use attributes::{CheckoutAttributes, TreeFile};
pub use blobs::Blob;
pub use command::{GitError, OLDEST_GIT, version};
pub use diff::DiffStream;
pub use fetch::{FetchSettings, Remote, with_commits, with_history};
pub use hooks::HooksDirectory;
pub use import::import;
pub use merge::{MergedFile, Parting};
pub use places::{places_around, without_dots};
pub use repository::Repository;
pub use snapshot::{Snapshot, Uncommitted};
pub use workspace::{WORKSPACE_EXCLUDES, WorkspaceError, check_out_workspace};

//! The sandbox of Linux.

mod channel;
mod files;
mod filter;
mod helper;
mod kernel;
mod launch;
mod limits;
mod lists;
mod marked;
mod watch;

use crate::policy::FileRule;

pub use self::{
    files::FilesError,
    helper::run_helper,
    launch::{Guard, Launch},
    marked::{kill_marked, new_mark},
};

/// Puts the calling thread, and every process that it starts, under these rules for files, for good: nothing else can be opened,
/// made or run, and no TCP connection can be made. Its memory is still that of the whole program, so this is for code of our own
/// that may be misled, not for code of others. Returns the version of Landlock in force; 0 if there is none and files are open.
pub fn confine_thread(files: &[FileRule]) -> Result<u8, FilesError> {
    files::restrict(files, None)
}

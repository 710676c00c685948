//! Quick actions: lines of a note that begin with `/command` and act with the author's rights.

mod execute;
mod extract;

pub(crate) use execute::{PublishDrafts, Summary, change_state, execute};
pub(crate) use extract::extract;

/// A command with its argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) name: String,
    pub(crate) argument: String,
}

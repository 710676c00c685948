//! A changed file of the survey.

use conclave_engine::diff::ChangeKind;

/// A changed file, without its patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its path at head.
    pub path: String,
    /// Its path at base.
    pub old_path: String,
    /// What happened to it.
    pub kind: ChangeKind,
}

impl ChangedFile {
    pub(crate) fn is_new(&self) -> bool {
        matches!(self.kind, ChangeKind::Added | ChangeKind::Copied)
    }
}

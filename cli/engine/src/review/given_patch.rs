//! A patch as reviewers are given it.

/// A patch as reviewers are given it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GivenPatch {
    /// Its file, relative to the workspace.
    pub path: String,
    /// Number of lines of that file; `None` where only the runtime can say that nothing follows.
    pub lines: Option<u64>,
    /// True if its whole text stands in every reviewer's message.
    pub in_prompt: bool,
    /// True if none of its lines are given, because the change is too large: opening it is not reading it.
    pub is_left_out: bool,
}

impl GivenPatch {
    /// A patch that reviewers have to open, of unknown length.
    pub fn file(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            ..Self::default()
        }
    }
}

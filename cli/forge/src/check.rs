//! The end of a run as a forge's gate shows it, in words that check runs and commit statuses share.

/// The end of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// It passes.
    Success,
    /// It passes, and asks for a look.
    Neutral,
    /// It does not pass.
    Failure,
    /// It does not pass until a person has done something.
    ActionRequired,
    /// The run was stopped.
    Cancelled,
    /// The run had no time left.
    TimedOut,
}

impl Conclusion {
    /// Returns whether a merge that asks for the check may happen.
    pub const fn passes(self) -> bool {
        matches!(self, Self::Success | Self::Neutral)
    }

    /// The word of check runs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Neutral => "neutral",
            Self::Failure => "failure",
            Self::ActionRequired => "action_required",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
        }
    }

    /// The word of statuses, which know less.
    pub const fn status(self) -> &'static str {
        match self {
            Self::Success | Self::Neutral => "success",
            Self::Failure => "failure",
            Self::ActionRequired | Self::Cancelled | Self::TimedOut => "error",
        }
    }
}

/// A remark at lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// The file's path.
    pub path: String,
    /// The first and the last line.
    pub lines: (u32, u32),
    /// A failure, not a warning.
    pub is_failure: bool,
    /// Its title, in one line.
    pub title: String,
    /// Its text.
    pub message: String,
}

/// The end of a run, as its check says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckEnd {
    /// The conclusion.
    pub conclusion: Conclusion,
    /// One line.
    pub title: String,
    /// Markdown.
    pub summary: String,
    /// Remarks that stand nowhere else beside the code.
    pub annotations: Vec<Annotation>,
}

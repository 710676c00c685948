//! Why a run ends before its end.

/// Why a run has to end early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopCause {
    /// Somebody asked for it: Ctrl-C, or SIGTERM of a cancelled job.
    Asked,
    /// The time of the whole run is over.
    OutOfTime,
}

impl StopCause {
    /// The cause as a gap of the review.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Asked => "the run was stopped",
            Self::OutOfTime => "the run was out of time",
        }
    }
}

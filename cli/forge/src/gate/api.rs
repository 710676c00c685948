//! Check runs and commit statuses, as a gate asks a forge for them.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::{ApiError, CheckEnd, Conclusion, HttpClient, Lifecycle};

/// A check run of ours, or of another with the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateRun {
    /// Its number; newer ones have larger ones.
    pub id: u64,
    /// The text that its maker has put on it.
    pub reference: String,
    /// True if it has ended and lets a merge happen.
    pub passed: bool,
    /// True if it has annotations, which cannot be taken away.
    pub annotated: bool,
}

/// A state of the gate to be shown.
#[derive(Debug, Clone, Copy)]
pub struct GateState<'a> {
    /// The text to put on it.
    pub reference: &'a str,
    /// Its end; none while the run is at work.
    pub end: Option<&'a CheckEnd>,
}

impl GateState<'_> {
    /// The title of a check whose review is under way.
    pub const RUNNING: &'static str = "The review is running";
    /// The summary of such a check.
    pub const RUNNING_SUMMARY: &'static str = "The verdict is here when it ends.";
}

/// Check runs and commit statuses of a forge that has them, each under the gate's one name.
#[async_trait]
pub trait GateApi: Debug + Send + Sync {
    /// The number of the merge request.
    fn number(&self) -> u64;

    /// The client that it asks with.
    fn http(&self) -> &HttpClient;

    /// Reads a merge request as it stands now; none where there is none of this number, as for a merge queue. An error where the gate's
    /// own is not the one that was meant, because its number comes from a job that is not believed.
    async fn pull_state(&self, number: u64) -> Result<Option<PullState>, ApiError>;

    /// Reads the numbers of the open merge requests whose newest commit is this one, those from forks too; none for a merge queue, in
    /// which each had to pass its own.
    async fn open_at(&self, head: &str) -> Result<Vec<u64>, ApiError>;

    /// Reads the newest check runs of a commit.
    async fn runs(&self, head: &str) -> Result<Vec<GateRun>, ApiError>;

    /// Makes a check run.
    async fn create_run(&self, head: &str, state: GateState<'_>) -> Result<u64, ApiError>;

    /// Begins a check run again. Returns false if the forge has kept its end: then it does not tell that a run is at work.
    async fn begin_again(&self, run: u64, reference: &str) -> Result<bool, ApiError>;

    /// Changes a check run. Its annotations are added.
    async fn change_run(&self, run: u64, state: GateState<'_>) -> Result<(), ApiError>;

    /// Reads the text of the newest commit status; an empty one where there is none.
    async fn status(&self, head: &str) -> Result<String, ApiError>;

    /// Sets the commit status. Nothing as the conclusion means that the run is at work.
    async fn set_status(&self, head: &str, conclusion: Option<Conclusion>, text: &str) -> Result<(), ApiError>;
}

/// A merge request as it stands, as far as a gate asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullState {
    /// The stage of its life: open, closed, or over.
    pub lifecycle: Lifecycle,
    /// The newest commit.
    pub head: String,
    /// The branch that it is to be merged into.
    pub target: String,
}

impl PullState {
    pub(super) fn is_at(&self, head: &str) -> bool {
        self.lifecycle == Lifecycle::Open && self.head == head
    }
}

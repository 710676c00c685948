//! The forge: where the merge request comes from and where the review goes.

use std::collections::HashMap;

use async_trait::async_trait;
use conclave_shared::{finding::Fingerprint, telemetry::FindingPlacement};

use crate::{
    diff::{FileDiff, FilteredFile},
    review::{Meanwhile, Review, ReviewMode, ReviewState},
};

/// The forge failed. The text says what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ForgeError(pub String);

/// How a review is posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishSettings {
    /// What the verdict may do.
    pub mode: ReviewMode,
    /// The most findings that stand beside their lines, those of earlier reviews included; the others are in the summary.
    pub max_inline: usize,
    /// Whether what the review has cost has to be remembered, because there is a limit for all reviews of it together.
    pub remember_cost: bool,
    /// True if a review that blocks also fails the job.
    pub fails_job: bool,
}

impl PublishSettings {
    /// The most findings beside their lines, if nobody says another number.
    pub const MAX_INLINE: usize = 20;
}

impl Default for PublishSettings {
    fn default() -> Self {
        Self {
            mode: ReviewMode::default(),
            max_inline: Self::MAX_INLINE,
            remember_cost: true,
            fails_job: false,
        }
    }
}

/// A review that is to be posted, and what has to be known for that.
#[derive(Debug, Clone, Copy)]
pub struct Publication<'a> {
    /// The review. No text in it holds a secret any more.
    pub review: &'a Review,
    /// The changed files: where on the diff something can be said.
    pub files: &'a [FileDiff],
    /// The files that findings are about as they stand at head, by path; what is missing gets no suggestion to commit.
    pub sources: &'a HashMap<String, String>,
    /// How it is posted.
    pub settings: PublishSettings,
    /// Whether there are only seconds left: then everything is in the summary, and nothing beside its lines.
    pub hurried: bool,
    /// Compares the settings of the review with those of a newer tip of the target branch.
    pub settings_watch: &'a dyn SettingsWatch,
}

/// The settings that a review used, beside those of another commit.
#[async_trait]
pub trait SettingsWatch: std::fmt::Debug + Send + Sync {
    /// The files that steer reviews and are not the same at this commit; an error in words if that cannot be found out.
    async fn differing(&self, commit: &str) -> Result<Vec<String>, String>;
}

/// For reviews whose settings are not in a repository: whatever the commit, nothing differs.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSettings;

#[async_trait]
impl SettingsWatch for NoSettings {
    async fn differing(&self, _commit: &str) -> Result<Vec<String>, String> {
        Ok(Vec::new())
    }
}

/// What became of a posted review.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PublishOutcome {
    /// Where the review can be read.
    pub url: Option<String>,
    /// Whether the forge counts our approval, read back after posting.
    pub approved: bool,
    /// What the verdict asked for, and what the forge shows.
    pub applied_state: Option<AppliedState>,
    /// Findings that now stand beside their lines and did not before.
    pub posted_inline: usize,
    /// Where each finding is shown that has a note of its own; the others that stand are in the summary.
    pub placements: HashMap<Fingerprint, FindingPlacement>,
    /// What did not work as asked, in words.
    pub warnings: Vec<String>,
    /// The review as it stands now, where something happened up to the last moment that made it another one.
    pub amended: Option<Box<Review>>,
}

/// What the verdict asked for, and what the forge shows of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppliedState {
    /// What was asked for.
    pub wanted: ReviewState,
    /// What is shown, read back; nothing where the forge does not tell.
    pub shown: Option<ReviewState>,
}

impl AppliedState {
    /// Whether the forge shows something else than was asked for.
    pub fn is_mismatch(self) -> bool {
        self.shown.is_some_and(|shown| shown != self.wanted)
    }
}

/// A place where reviews are posted.
#[async_trait]
pub trait Forge: Send + Sync {
    /// Posts the review and sets the review state that its verdict asks for. A second time it changes nothing.
    async fn publish(&self, publication: Publication<'_>) -> Result<PublishOutcome, ForgeError>;

    /// Returns whether posting ended because the account may not write at all.
    fn was_denied(&self) -> bool {
        false
    }

    /// Returns whether posting ended because the forge refused what the account asked, whatever it had let it write before.
    fn was_refused(&self) -> bool {
        self.was_denied()
    }

    /// Returns whether this run has written anything of its review to the forge, or may have.
    fn has_written(&self) -> bool {
        true
    }

    /// Reads what other runs have posted since this one read the merge request, and what counts against this review.
    async fn meanwhile(&self, review: &Review) -> Result<Meanwhile, ForgeError>;

    /// Notes the files of a change that has none to review, for what is posted about the end of the run.
    fn left_out(&self, files: &[FilteredFile]);
    /// Sets the time for one request, from the next one on.
    fn limit_requests(&self, _limit: std::time::Duration) {}
}

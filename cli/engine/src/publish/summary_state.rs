//! The memory of the summary of the run that wrote it.

use conclave_shared::verdict::Verdict;
use serde::{Deserialize, Serialize};

use super::Marker;

/// The memory of the run that wrote the summary.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SummaryState {
    /// A hash of what the review concludes, without times, costs and wording.
    #[serde(default)]
    pub conclusion: String,
    /// A hash of the text as it was posted: whoever changes it does not change the next review.
    #[serde(default)]
    pub text: String,
    /// Whether changes were requested, which nothing else tells reliably.
    #[serde(default)]
    pub requested_changes: bool,
    /// The commit that was reviewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// The branch that the approval is for, if the review approves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_for: Option<String>,
    /// The commit whose review a person has dismissed: the bot neither approves it again nor repeats its request for changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dismissed: Option<String>,
    /// The conclusion of the last review; also in a note that only says what became of its approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concluded: Option<Concluded>,
    /// True if a request for changes was there of which nothing was known, as after the note with its findings was deleted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unexplained: bool,
}

impl SummaryState {
    /// The commit of the review that the note is about.
    pub fn reviewed(&self) -> Option<&str> {
        let concluded = self.concluded.as_ref().map(|concluded| &concluded.head);
        self.head.as_ref().or(concluded).map(String::as_str)
    }
}

/// The conclusion of a review, for other runs of the same merge request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Concluded {
    /// The commit that was reviewed.
    pub head: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Whether it would let the bot approve, whatever the mode.
    #[serde(default)]
    pub may_approve: bool,
}

impl Marker for SummaryState {
    const KIND: &'static str = "state";
}

//! Findings and what becomes of them. Their texts never leave the run.

use serde::{Deserialize, Serialize};

use crate::{named_enum, severity::Severity};

named_enum! {
    /// The judge's decision on a finding.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[derive(schemars::JsonSchema)]
    pub enum FindingFate {
        /// It stands in the review.
        Kept = "kept",
        /// It was another report of a finding that stands.
        Merged = "merged",
        /// It was taken out, with a reason code.
        Dropped = "dropped",
    }
}

/// A finding was judged. Its text never leaves the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FindingEvent {
    /// The reviewer that reported it first.
    pub reviewer: String,
    /// The severity that it was given in the end.
    pub severity: Severity,
    /// Its category.
    pub category: String,
    /// The file.
    pub path: String,
    /// Its stable identity.
    pub fingerprint: String,
    /// The judge's decision.
    pub fate: FindingFate,
    /// Why it was merged or dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_code: Option<String>,
    /// Where it was posted; absent when nothing was posted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<FindingPlacement>,
    /// Set if the judge took it out, and not a rule or an earlier finding.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed_by_judge: bool,
    /// The code that the judge quoted against it: `unchanged_code`, `this_change` or `invalid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refutation: Option<String>,
}

named_enum! {
    /// Where a finding was posted.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum FindingPlacement {
        /// On its line of the diff.
        Line = "line",
        /// On its file.
        File = "file",
        /// In the summary.
        Summary = "summary",
    }
}

named_enum! {
    /// The way in which a finding of an earlier review was settled.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[derive(schemars::JsonSchema)]
    pub enum Settlement {
        /// The code changed, and it is gone.
        Fixed = "fixed",
        /// A person resolved its thread.
        Resolved = "resolved",
        /// A person said that it is none, or will not be fixed.
        Rejected = "rejected",
    }
}

named_enum! {
    /// The one that settled a finding.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[derive(schemars::JsonSchema)]
    pub enum SettledBy {
        /// The merge request's author: this teaches the repository's memory nothing.
        Author = "author",
        /// Another member of the project.
        Member = "member",
        /// Changed code, as a later review saw it.
        Code = "code",
        /// A kind that a newer client knows.
        #[serde(other)]
        Unknown = "unknown",
    }
}

/// A later review, or a person, settled what an earlier review found. Sent once, by the review that notices it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingOutcome {
    /// The reviewer that had reported it.
    pub reviewer: String,
    /// Its severity.
    pub severity: Severity,
    /// Its category.
    pub category: String,
    /// Its file.
    pub path: String,
    /// Its stable identity, as in [`FindingEvent`].
    pub fingerprint: String,
    /// The identity of what was claimed, wherever that was: a hash. A repository remembers by it what people turned down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// The way in which it was settled.
    pub outcome: Settlement,
    /// The merge request's number, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_request: Option<u64>,
    /// The one that settled it, if the client says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_by: Option<SettledBy>,
    /// A code over the whole event, made with the installation's secret: see [`Event::sign`](super::Event::sign).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
}

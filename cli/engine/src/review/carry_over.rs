//! What the next review has to know of this one and no thread tells.

use std::collections::BTreeMap;

use conclave_shared::{finding::Fingerprint, reviewer::ReviewerName, severity::Severity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Before, FindingRecord, PatchId, PathId, Refutation, RefutingCode, Squeezed, UnprovenFinding};

/// The most characters of a claim that it keeps.
pub(crate) const MAX_CLAIM: usize = 200;

/// What our last summary remembers. New fields are optional with a default: summaries of older versions stay readable.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Ledger")]
pub struct CarryOver {
    /// The version of its shape.
    #[serde(default)]
    pub schema: u32,
    /// Findings that stood, and what became of others.
    #[serde(default)]
    pub findings: Vec<Remembered>,
    /// Patches that were reviewed, newest review first.
    #[serde(default)]
    pub reviewed: Vec<ReviewedFiles>,
    /// Every path that the change touched when this was written: `reviewed` counts only as long as each of them is still
    /// touched. Summaries of older versions have none, so what they call reviewed is reviewed again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touched: Vec<PathId>,
    /// Serious findings that nothing proved, and that a person has to decide.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unproven: Vec<RememberedUnproven>,
    /// Serious findings that the judge took out by code of the change itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refuted: Vec<RefutedFinding>,
    /// Patches with findings for which there was no room, neither in threads nor here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unlisted: Vec<Unlisted>,
    /// The patches of the change by their paths. Not in the summary: there each finding has its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub patches: BTreeMap<String, PatchId>,
    /// The objects of the changed files at head, by their paths. Not in the summary, like the patches.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub objects: BTreeMap<String, String>,
    /// The newest comment that a judge has read; 0 for none. A question up to it is not a reason to ask one again.
    #[serde(default, skip_serializing_if = "conclave_shared::skip::is_default")]
    pub heard: u64,
    /// The number of questions that judges were given so far.
    #[serde(default, skip_serializing_if = "conclave_shared::skip::is_default")]
    pub asked: u64,
}

/// A finding of an earlier review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Remembered {
    /// Its identity.
    pub fingerprint: Fingerprint,
    /// How bad it was; it may be worse than its thread says.
    pub severity: Severity,
    /// Whether it endangered production.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub production_risk: bool,
    /// What became of it.
    pub before: Before,
    /// The whole of it: no thread may show it, or somebody may delete the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<FindingRecord>,
    /// A mark of what members had said in its thread, and of its file where that may fix it, when a judge decided about that: it is not a
    /// reason to ask one again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard: Option<String>,
}

/// A patch with findings that stood and that the summary had no room for. They hold the approval until the patch changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unlisted {
    /// The patch of their file, or the whole change.
    pub patch: PatchId,
    /// The worst of them.
    pub severity: Severity,
    /// The object of their file at head, by which a file that is only renamed is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
}

/// Patches that one review looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewedFiles {
    /// The commit that was reviewed.
    pub head_sha: String,
    /// Who looked at them.
    pub panel: Vec<ReviewerName>,
    /// Their identities.
    pub patches: Vec<PatchId>,
    /// The identity of the target branch, and of what it and the organization say to all reviewers: they count as reviewed under no
    /// other. Summaries of older versions have none, so what they call reviewed is reviewed again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under: Option<PatchId>,
}

/// A serious finding without code that shows it, and the patch that it was reported on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RememberedUnproven {
    /// The finding.
    pub finding: UnprovenFinding,
    /// The patch of its file, or the whole change where its file is not reviewed.
    pub patch: PatchId,
    /// The patches of the change, where the file that it names is none of them: only older versions wrote them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PatchId>,
    /// The object of its file at head, by which a file that is only renamed is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// The text of its file at head without white space at the ends of lines: another of those makes no other patch of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<PatchId>,
    /// True if it is about nothing that was a file of the change: a review that reads its file as one ends it, and no other edit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside: bool,
    /// The texts that people wrote about the change, where it is about those: it holds while each of them is as it was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<PatchId>,
}

impl RememberedUnproven {
    /// Returns whether both are the same problem of the same patch.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let is_elsewhere =
            || self.outside && (self.finding.file != other.finding.file || self.written != other.written);
        self.patch == other.patch && self.finding.claim == other.finding.claim && !is_elsewhere()
    }

    /// Returns whether it is about nothing that was a file of the change.
    pub(crate) fn is_outside(&self) -> bool {
        self.outside || !self.parts.is_empty()
    }
}

impl CarryOver {
    /// Notes that threads show these findings now.
    pub fn posted<'f>(&mut self, fingerprints: impl IntoIterator<Item = &'f Fingerprint>) {
        for fingerprint in fingerprints {
            for entry in &mut self.findings {
                if entry.fingerprint == *fingerprint && entry.before == Before::Stood {
                    entry.before = Before::Posted;
                }
            }
        }
    }

    /// Notes that the threads of these findings are still open, whatever was meant to become of them; each with whether it
    /// is fixed. What is fixed stays so, and its thread is left to people. What people's words have settled is settled again
    /// by those.
    pub fn left_open<'f>(&mut self, findings: impl IntoIterator<Item = (&'f Fingerprint, bool)>) {
        for (fingerprint, is_fixed) in findings {
            for entry in &mut self.findings {
                if entry.fingerprint == *fingerprint && matches!(entry.before, Before::Resolved | Before::Declined) {
                    entry.before = if is_fixed { Before::Fixed } else { Before::Posted };
                }
            }
        }
    }

    /// Notes that what a judge made of these findings could not be said in their threads: it is asked again.
    pub fn left_unsaid<'f>(&mut self, findings: impl IntoIterator<Item = &'f Fingerprint>) {
        for fingerprint in findings {
            for entry in &mut self.findings {
                if entry.fingerprint == *fingerprint {
                    entry.heard = None;
                }
            }
        }
    }

    /// What is remembered of a finding.
    pub fn find(&self, fingerprint: &Fingerprint) -> Option<&Remembered> {
        self.findings.iter().find(|entry| entry.fingerprint == *fingerprint)
    }
}

/// A serious finding, and the code that refutes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefutedFinding {
    /// The finding.
    pub record: FindingRecord,
    /// The code that it quotes.
    #[serde(default)]
    pub evidence: String,
    /// The code that refutes it.
    pub refutation: Refutation,
    /// The same code, whole, by which it is found again; none in what older versions wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Squeezed>,
    /// The judge's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The state of that code. Set when a later review judges it anew.
    #[serde(skip)]
    pub(crate) now: RefutingCode,
}

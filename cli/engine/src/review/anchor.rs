//! The code that a finding stands on, remembered as hashes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The code that a finding stands on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Anchor {
    /// The quoted lines. White space does not matter: by this they are found again.
    pub(crate) code: String,
    /// The quoted lines and their neighbours, to the byte but for white space at their ends: an indentation can be the fix.
    pub(crate) around: String,
    /// The line above that they are under by its smaller indentation, as that of their function; none for lines under no other, and
    /// in what older versions wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) under: Option<String>,
    /// Each of several quoted lines, by which they are found again with others between them; none in what older versions wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) each: Vec<String>,
    /// The quoted lines without any white space. Notes of older versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) squeezed: Option<Squeezed>,
    /// Each of the quoted lines of code, by which they are found as parts of others; none in what older versions wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) parts: Vec<QuotedPart>,
    /// The same in the form in which code is compared, where that is another one; none in what older versions wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) normal: Vec<QuotedPart>,
    /// The quoted lines that the change removes, of a finding about these; none in others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) removed: Vec<RemovedLine>,
    /// The quoted words, line by line, of a finding about what people wrote, or about words that steer the review; none in others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) words: Vec<QuotedPart>,
    /// A small sum of each of these words in their order, by which they are known where some of them were changed; none in what older
    /// versions wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) wording: Vec<u32>,
}

/// A quoted line in the form in which it is looked for inside of others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuotedPart {
    /// Its hash.
    pub(crate) hash: String,
    /// Its length in bytes.
    pub(crate) length: usize,
    /// A sum of its bytes: only places with the same one are compared by hash.
    pub(crate) sum: u32,
}

/// A line that the change removes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemovedLine {
    /// The hash of the line without white space.
    pub(crate) hash: String,
    /// The number of times that its file has to have it for the removed one to stand again.
    pub(crate) times: u32,
}

/// Code without white space.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Squeezed {
    /// Its hash.
    pub(crate) hash: String,
    /// Its length in bytes.
    pub(crate) length: usize,
}

/// What has become of the code that a finding stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AnchorState {
    /// It stands there as before, and so do its neighbours.
    Unchanged,
    /// It is gone or another one.
    Changed,
    /// It stands as before, and a line beside it or its indentation is another one.
    ChangedBeside,
    /// Nobody knows: the earlier review did not remember it. It counts as unchanged.
    #[default]
    Unknown,
}

impl AnchorState {
    /// Whether the code is known to stand.
    pub(crate) const fn stands(self) -> bool {
        matches!(self, Self::Unchanged | Self::ChangedBeside)
    }

    /// Whether the code or a line beside it has changed, so that it may be fixed.
    pub const fn is_changed(self) -> bool {
        matches!(self, Self::Changed | Self::ChangedBeside)
    }

    /// The words that the models read.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unchanged => "code unchanged",
            Self::Changed => "code changed since",
            Self::ChangedBeside => "code stands, lines beside it changed since",
            Self::Unknown => "unknown whether the code changed",
        }
    }
}

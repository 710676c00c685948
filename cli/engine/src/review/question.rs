//! Questions that people ask about a change in comments of their own, and the judge's answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::untrusted::Untrusted;

/// A comment on the forge, as the place of an answer to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentPlace {
    /// The comment's number.
    pub note: u64,
    /// The id of the thread that it stands in.
    pub thread: String,
}

/// A person's question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The name that the coordinator uses: `Q1`, …
    pub id: String,
    /// The account's name.
    pub author: Untrusted,
    /// The whole comment.
    pub body: Untrusted,
    /// The comment on the forge.
    pub place: CommentPlace,
}

/// The questions on a change that no judge has read and that wait for an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenQuestions {
    /// Those that the judge of this review is given, oldest first.
    pub given: Vec<Question>,
    /// Number of further questions, beyond the limit.
    pub left: usize,
    /// The newest comment that counts as heard once the judge of this review has read them; 0 for none.
    pub newest: u64,
}

/// The judge's answer to a question. It is words: neither a verdict nor a finding depends on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The number of the comment that asks, on the forge.
    pub note: u64,
    /// The id of the thread that it stands in.
    pub thread: String,
    /// The beginning of the comment, which the answer quotes where it cannot be given in that thread.
    pub question: String,
    /// The answer.
    pub text: String,
    /// True if it is a light-hearted one, which is given once on a change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub light: bool,
}

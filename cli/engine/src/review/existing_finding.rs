//! A finding of an earlier review of ours, with its thread.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AnchorState, FindingRecord, PatchId};
use crate::{language::Language, untrusted::Untrusted};

/// A finding of an earlier review of ours, as a thread on the forge or as a part of our summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExistingFinding {
    /// The name that the coordinator uses: `E1`, … Given when the findings are assessed.
    pub id: String,
    /// What we know of it. File and lines are those at head, as far as the code was found again.
    pub record: FindingRecord,
    /// Its thread; none for one that only our summary shows.
    pub thread: Option<String>,
    /// What has become of the thread.
    pub state: ThreadState,
    /// The name of the account that resolved the thread; empty where none did, or the forge does not say.
    pub resolved_by: Untrusted,
    /// What we wrote.
    pub body: Untrusted,
    /// What was answered in the thread, oldest first.
    pub replies: Vec<Reply>,
    /// What has become of the code since.
    pub anchor: AnchorState,
    /// The code that it stands on, as it is at head; empty if it is gone.
    pub code: String,
    /// The identity of its file's text at head; none where there is no such text. Set when the findings are assessed.
    pub text: Option<PatchId>,
    /// What the last review made of it.
    pub before: Before,
    /// Whether it stood in the last review, as far as our summary remembers: what has become of it since is news.
    pub stood: bool,
    /// The mark of what a judge has decided about it: of its members' words, and of its file where that may fix it. Set when the findings
    /// are assessed.
    pub heard: Option<String>,
    /// The state of the code by which a judge refuted it. Set when the findings are assessed.
    pub refuting: RefutingCode,
    /// True if it has become worse than its thread said first. Set when the findings are assessed.
    pub raised: bool,
    /// The state of the engineering rule that it cites, against what is remembered of it. Set when the findings are assessed.
    pub rule: RuleSince,
    /// Whether the author of the merge request may settle it, by the settings of the target branch. Set when
    /// the findings are assessed.
    pub author_may_settle: bool,
    /// The project's language, in which plain decisions are understood too. Set when the findings are assessed.
    pub language: Option<Language>,
}

impl ExistingFinding {
    /// A finding as it is remembered, before anything is known of a thread or of its code.
    pub fn of_record(record: FindingRecord, before: Before) -> Self {
        let state = if before == Before::Resolved {
            ThreadState::ResolvedByUs
        } else {
            ThreadState::Open
        };
        Self {
            id: String::new(),
            body: Untrusted::from(record.claim.as_str()),
            record,
            thread: None,
            state,
            resolved_by: Untrusted::default(),
            replies: Vec::new(),
            anchor: AnchorState::Unknown,
            code: String::new(),
            text: None,
            before,
            stood: false,
            heard: None,
            refuting: RefutingCode::None,
            raised: false,
            rule: RuleSince::AsItWas,
            author_may_settle: false,
            language: None,
        }
    }

    /// Returns whether it has not been closed by those who may.
    pub(crate) fn is_live(&self) -> bool {
        match self.state {
            ThreadState::Open
            | ThreadState::ResolvedByOutsider
            | ThreadState::ResolvedByUnnamed
            | ThreadState::ResolvedByOther
            | ThreadState::Unknown => true,
            ThreadState::ResolvedByAuthor => !self.author_may_settle,
            ThreadState::ResolvedByUs | ThreadState::ResolvedByPerson => false,
        }
    }
}

/// The code by which a judge refuted a finding of an earlier review, as it is at head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RefutingCode {
    /// None is remembered.
    #[default]
    None,
    /// It stands.
    Stands,
    /// It is gone, or another one.
    Gone,
    /// It stands, and counts only under `prompt_paths`, which do not cover the file of the finding any more.
    Uncovered,
}

/// The engineering rule that an earlier finding cites, against what is remembered of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RuleSince {
    /// It is as strict as it was, or none is cited.
    #[default]
    AsItWas,
    /// It makes the finding more severe than it was.
    Stricter,
}

/// What the last review remembered of an earlier finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Before {
    /// It stood, in the summary only, or nothing is remembered.
    #[default]
    Stood,
    /// It stood, and a thread showed it.
    Posted,
    /// It was found to be fixed; its thread was left to the people who talk in it.
    Fixed,
    /// We resolved its thread.
    Resolved,
    /// We resolved its thread on a person's word, and its code is there.
    Declined,
    /// We had resolved its thread, and a person opened it again: from then on it is that person's to resolve.
    Reopened,
}

/// An answer in a thread of ours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// The account's name.
    pub author: Untrusted,
    /// The text.
    pub body: Untrusted,
    /// Whose word it is.
    pub role: AuthorRole,
    /// Whether the text was changed after it was written, perhaps by another person: then it is read, and decides nothing.
    pub edited: bool,
}

/// Whose word something is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AuthorRole {
    /// Our own account's.
    Us,
    /// A person's with at least the role Developer: such a word decides.
    Member,
    /// The same, of the person who opened the merge request or committed to it: such a word decides as far as the settings of
    /// the target branch say.
    Author,
    /// The word of the person who opened the merge request, without that role: it is weighed, and decides nothing.
    Contributor,
    /// Another person's without it: it is read, and decides nothing.
    #[default]
    Outsider,
    /// Another program's.
    Machine,
}

impl AuthorRole {
    /// The words that the models read.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Us => "us",
            Self::Member => "member",
            Self::Author => "member, author of the change",
            Self::Contributor => "author of the change, not a member",
            Self::Outsider => "not a member",
            Self::Machine => "a program",
        }
    }

    /// Whether a person speaks.
    pub const fn is_person(self) -> bool {
        matches!(self, Self::Member | Self::Author | Self::Contributor | Self::Outsider)
    }

    /// Whether a person speaks whose argument is weighed.
    pub const fn argues(self) -> bool {
        matches!(self, Self::Member | Self::Author | Self::Contributor)
    }
}

/// What has become of a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ThreadState {
    /// It is open.
    #[default]
    Open,
    /// We resolved it.
    ResolvedByUs,
    /// A person resolved it who has at least the role Developer.
    ResolvedByPerson,
    /// Such a person resolved it who opened the merge request or committed to it.
    ResolvedByAuthor,
    /// A person without that role resolved it, and may not decide that. The finding stands, and the thread is opened again.
    ResolvedByOutsider,
    /// It is resolved, and the forge names no account for it: the account was deleted, or a program did it. The finding stands, and the
    /// thread is opened again.
    ResolvedByUnnamed,
    /// Another program resolved it, or an account whose role cannot be read. The finding stands.
    ResolvedByOther,
    /// The forge does not say: it counts as open, which does not mean that a person has opened it again.
    Unknown,
}

impl ThreadState {
    /// The words that the models read.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open | Self::Unknown => "open",
            Self::ResolvedByUs => "resolved by us",
            Self::ResolvedByPerson => "resolved by a person",
            Self::ResolvedByAuthor => "resolved by the author of the change",
            Self::ResolvedByOutsider => "resolved by a person who is not a member of the project",
            Self::ResolvedByUnnamed => "resolved by an account that the forge does not name",
            Self::ResolvedByOther => "resolved by a program, or by an account whose role cannot be read",
        }
    }
}

//! A merge request as a forge shows it, in the words of every forge.

use chrono::{DateTime, FixedOffset};
use conclave_engine::{
    publish::{Account, NoteForm, Place, Shown, SummaryState},
    review::ReviewSubject,
};

use crate::{ApiError, ApiErrorKind};

/// A branch, as the forge shows it at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its name.
    pub branch: String,
    /// Its newest commit; none where the forge does not say.
    pub tip: Option<String>,
}

/// The words of a forge, in everything that a person reads. Each plugin has its own, and they are handed down from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForgeWords {
    /// Its name, as in `GitLab`.
    pub name: &'static str,
    /// Its word for a merge request.
    pub noun: &'static str,
    /// Its word for a project.
    pub project: &'static str,
    /// The people who may decide, as in `a person with the role Developer`.
    pub decider: &'static str,
    /// The settings with which a job has the whole history, as an order.
    pub whole_history: &'static str,
}

impl ForgeWords {
    /// The error for a token that is not accepted, with the forge's words; `advice` says which one to set.
    pub fn refused_token(&self, what: &str, words: String, advice: &str) -> ApiError {
        let forge = self.name;
        let text = format!("{forge} refused the token ({what}: 401 {words}). {advice}. `conclave doctor` says more");
        ApiError::new(ApiErrorKind::Unauthorized, text).with_words(words)
    }

    /// The error for what the forge does not find, with its words.
    pub fn not_found(&self, what: &str, words: String) -> ApiError {
        let text = format!(
            "{} does not find it ({what}: 404 {words}). A private {} that the token cannot see looks the same; `conclave doctor` \
             says what it sees",
            self.name, self.project
        );
        ApiError::new(ApiErrorKind::NotFound, text).with_words(words)
    }
}

/// The words and limits of a forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForgeTraits {
    /// Its words.
    pub words: ForgeWords,
    /// The form of notes.
    pub form: NoteForm,
    /// Threads that are opened at once.
    pub threads_at_once: usize,
}

/// A merge request as it was read before the review, without what is written on it.
#[derive(Debug)]
pub struct LoadedChange {
    /// Our account.
    pub bot: u64,
    /// The scope of our signatures: the repository and the number, which no other merge request has together, on no forge.
    pub marker_scope: String,
    /// For the engine; without comments, findings and commit messages.
    pub subject: ReviewSubject,
    /// The version that is reviewed.
    pub version: Version,
    /// The target branch.
    pub target: Target,
    /// The account that opened it; none where the forge does not say.
    pub author: Option<u64>,
}

/// A version of the merge request's diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The merge base.
    pub base: String,
    /// The target's commit that it was compared with.
    pub start: String,
    /// The newest commit.
    pub head: String,
    /// The time at which the forge made it, as far as it says.
    pub created_at: Option<DateTime<FixedOffset>>,
}

/// Whether a merge request can still be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lifecycle {
    /// It is open.
    Open,
    /// It is closed, and can be opened again.
    Closed,
    /// It is over, in the forge's word, as in `merged`.
    Over(String),
}

impl Lifecycle {
    /// The word in texts.
    pub fn word(&self) -> &str {
        match self {
            Self::Open => "opened",
            Self::Closed => "closed",
            Self::Over(word) => word,
        }
    }

    /// An error unless it is open; `noun` is the forge's word for a merge request.
    pub fn require_open(&self, noun: &str) -> Result<(), ApiError> {
        if *self == Self::Open {
            return Ok(());
        }
        let word = self.word().to_owned();
        let text = format!("the {noun} is {word}: only an open one is reviewed");
        Err(ApiError::new(ApiErrorKind::NotOpen(word), text))
    }
}

/// The facts about a merge request that may have changed since it was loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeRequestState {
    /// Whether it can still be merged.
    pub lifecycle: Lifecycle,
    /// The newest commit.
    pub head: Option<String>,
    /// The branch that it is to be merged into.
    pub target_branch: Option<String>,
    /// Whether the forge shows that changes are requested; that it does not proves nothing.
    pub shows_request: bool,
}

impl MergeRequestState {
    /// Returns whether it is open.
    pub fn is_open(&self) -> bool {
        self.lifecycle == Lifecycle::Open
    }

    /// Returns whether it has another newest commit than this one.
    pub fn is_newer_than(&self, head: &str) -> bool {
        self.head.as_deref().is_some_and(|newest| newest != head)
    }
}

/// Our approval as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// Whether the forge counts it.
    pub stands: bool,
    /// The commit that it is for.
    pub of: ApprovedCommit,
}

/// The commit of an approval, as far as a forge says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovedCommit {
    /// The commit.
    Head(String),
    /// The time of the approval: it is for the version that was there then, as the forge takes one for the newest commit only.
    Since(DateTime<FixedOffset>),
    /// Nothing.
    Unknown,
}

impl Approval {
    /// Returns whether it is for this version of the diff. Where the forge says nothing, our own note has to say so.
    pub fn is_for(&self, version: &Version, state: Option<&SummaryState>) -> bool {
        let noted =
            || state.is_some_and(|state| state.approved_for.is_some() && state.head.as_deref() == Some(&version.head));
        self.stands
            && match (&self.of, version.created_at) {
                (ApprovedCommit::Head(head), _) => *head == version.head,
                (ApprovedCommit::Since(since), Some(created)) => *since >= created,
                _ => noted(),
            }
    }
}

/// The forge's view of a request for changes that was just made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestShown {
    /// It stands.
    Stands,
    /// It cannot be seen; the reason in words.
    Hidden(String),
    /// It does not stand; the reason in words.
    Absent(String),
    /// It does not stand, because it does not block here; the reason in words, with what does: a failed job.
    Powerless(String),
    /// None was ever made of this commit, as far as the forge shows: the run that had to has died before.
    Unmade,
}

/// The newest review of ours that requests changes: proof that a finding was open, whatever our notes say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastRequest {
    /// The commit that it is for; none where its text cannot be trusted.
    pub head: Option<String>,
    /// Its fate.
    pub fate: RequestFate,
}

/// The fate of a request for changes that we have not taken back ourselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestFate {
    /// It stands.
    Stands,
    /// Another account has dismissed it: this one, as far as the forge says.
    Dismissed(Option<Account>),
}

/// The result of an attempt to take a request for changes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lifted {
    /// It is gone.
    Gone,
    /// It should be gone, and the forge does not show whether it is.
    Unseen,
    /// It stands; what a person can do, in words.
    Stands(String),
}

/// The result of opening a thread.
#[derive(Debug)]
pub enum Opened {
    /// It is open.
    Shown(Shown),
    /// The forge takes it nowhere.
    Refused(ApiError),
    /// It may have been stored, or not.
    Unknown(ApiError),
}

impl Opened {
    /// A thread that was just opened at this place, with its note.
    pub const fn new(note: u64, place: Place) -> Self {
        Self::Shown(Shown {
            note,
            placement: place.placement(),
            is_new: true,
        })
    }
}

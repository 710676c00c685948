//! A forge as the publisher needs it: small requests, each of which either happened or did not.
//!
//! | | GitLab | GitHub |
//! |---|---|---|
//! | thread | discussion with notes | review thread: GraphQL knows it, REST writes it |
//! | opening threads | one request each, some at once | one review (`COMMENT`) with many comments; refused as a whole (422), so that each is then tried alone with [`NotesApi::open_thread`] |
//! | place | position with the SHAs of a version, `line_range` | `line` and `side` at the head, lines of GitHub's own hunks only |
//! | summary | note of its own | issue comment; its numbers are not those of review comments, hence [`NotesApi::delete_summary`] beside [`NotesApi::delete_thread_note`] |
//! | answer to a comment | in place, which makes a thread of a note | in the thread; a comment on the whole stays alone ([`Thread::is_single`]), so that its answer is one of its own that quotes it |
//! | order of notes | their numbers | their times: two kinds of numbers |
//! | resolve | `PUT` on the discussion | GraphQL, with `contents: write`; where that is [`ApiErrorKind::Forbidden`](crate::ApiErrorKind), the note says what became of its finding and is minimized |
//! | approve | for a SHA, refused for any other | review `APPROVE` of any commit, so the head is read before it, too |
//! | approval's commit | the time of the approval and of the version | signed in the review's body: [`ApprovedCommit::Head`] |
//! | take an approval back | `unapprove` | dismiss each that stands |
//! | request changes | quick action; visible behind other checks only at times | review `REQUEST_CHANGES`, read back from the list |
//! | take a request back | three ways, by version | dismiss |
//! | delete or edit a note of ours | maintainers | everyone with write access, the author too: [`ReviewStateApi::last_request`] |
//! | role | access level, bots by name and flag | `collaborators/{login}/permission` |
//! | request changes | the same twice is one request | a review each time: looked for before, and a twin is dismissed |
//! | gate | exit code of the job | check run: [`Gate`](crate::Gate) |

use std::fmt::Debug;

use async_trait::async_trait;
use conclave_engine::{
    publish::{Account, Conversation, Place, Thread, ThreadDraft},
    review::AuthorRole,
};

use crate::{
    error::ApiError,
    http::HttpClient,
    model::{
        Approval, ForgeTraits, LastRequest, Lifted, LoadedChange, MergeRequestState, Opened, RequestShown, Version,
    },
};

/// The merge request itself, and the people around it.
#[async_trait]
pub trait ChangeApi: Debug + Send + Sync {
    /// The words and limits of the forge.
    fn traits(&self) -> ForgeTraits;

    /// The client that it asks with.
    fn http(&self) -> &HttpClient;

    /// Reads the merge request; an error if it is not open.
    async fn load(&self) -> Result<LoadedChange, ApiError>;

    /// Reads what may have changed since.
    async fn state(&self) -> Result<MergeRequestState, ApiError>;

    /// Reads the newest version of the diff.
    async fn newest_version(&self) -> Result<Version, ApiError>;

    /// Reads the head commits that the merge request has had, newest first.
    async fn heads(&self) -> Result<Vec<String>, ApiError>;

    /// Reads the newest commit of a branch; none where the forge does not say. `base` is a commit that the branch has.
    async fn branch_tip(&self, branch: &str, base: &str) -> Result<Option<String>, ApiError>;

    /// Reads the role of an account that is not ours, on a merge request with this author.
    async fn role(&self, user: &Account, author: Option<u64>, written: &Conversation) -> Result<AuthorRole, ApiError>;

    /// Makes these users reviewers; those that people have chosen stay. Returns what did not work, in words.
    async fn add_reviewers(&self, names: &[&str]) -> Result<Vec<String>, ApiError>;
}

/// The notes of the merge request. Nothing that creates something is repeated here: the publisher looks first whether it was
/// stored all the same.
#[async_trait]
pub trait NotesApi: Debug + Send + Sync {
    /// Reads all that is written on the merge request, from a page on, and returns the last page. `bot` is our account.
    async fn threads(&self, bot: u64, from_page: u64) -> Result<(Vec<Thread>, u64), ApiError>;

    /// The address of a note on the merge request at this address.
    fn link(&self, url: &str, note: u64) -> String;

    /// The address of lines, the first and the last, of a file at this commit of the merge request at this address.
    fn code_link(&self, url: &str, head: &str, file: &str, lines: (u32, u32)) -> Option<String>;

    /// Reads one thread.
    async fn thread(&self, bot: u64, id: &str) -> Result<Thread, ApiError>;

    /// Opens a thread at this place, and returns its note.
    async fn open_thread(&self, version: &Version, draft: &ThreadDraft<'_>, place: Place) -> Result<u64, ApiError>;

    /// Opens threads, each at the first place that the forge takes. An error is one that all others would meet too. Where a request
    /// takes one thread, this is [`one_by_one`](crate::one_by_one).
    async fn open_threads<'d>(
        &self,
        version: &Version,
        drafts: Vec<ThreadDraft<'d>>,
    ) -> Result<Vec<(ThreadDraft<'d>, Opened)>, ApiError>;

    /// Answers in a thread.
    async fn reply(&self, thread: &str, body: &str) -> Result<(), ApiError>;

    /// Resolves a thread, or opens it again.
    async fn set_resolved(&self, thread: &str, resolved: bool) -> Result<(), ApiError>;

    /// Edits the first note of a thread of ours.
    async fn edit_thread_note(&self, note: u64, body: &str) -> Result<(), ApiError>;

    /// Folds the first note of a thread of ours as one that is settled, or shows it again. Returns false where the forge folds nothing.
    async fn set_minimized(&self, thread: &str, minimized: bool) -> Result<bool, ApiError>;

    /// Deletes a note of ours in a thread, which may be gone already.
    async fn delete_thread_note(&self, note: u64) -> Result<(), ApiError>;

    /// Posts a note of its own, and returns its number. `what` completes "asked to".
    async fn post_note(&self, what: &'static str, body: &str) -> Result<Option<u64>, ApiError>;

    /// Edits the summary.
    async fn edit_summary(&self, note: u64, body: &str) -> Result<(), ApiError>;

    /// Deletes a summary, or another note of its own, which may be gone already.
    async fn delete_summary(&self, note: u64) -> Result<(), ApiError>;
}

/// The review state that the merge request shows of the bot.
#[async_trait]
pub trait ReviewStateApi: Debug + Send + Sync {
    /// Reads our approval.
    async fn approval(&self, bot: u64) -> Result<Approval, ApiError>;

    /// Returns whether an approval of ours was given to this version, whatever became of it. It is asked where none stands.
    async fn was_approved(&self, bot: u64, version: &Version) -> Result<bool, ApiError>;

    /// Approves the commit and no other, also where an approval `stands` already: it may stand for an older one. Returns a refusal in
    /// words; an error means that an approval may stand that should not. The merge request is read again by who asks.
    async fn approve(&self, head: &str, stands: bool) -> Result<Option<String>, ApiError>;

    /// Takes every approval of ours back; that there is none is what was wanted.
    async fn withdraw_approval(&self) -> Result<(), ApiError>;

    /// Requests changes. It may be repeated: where each request is a review of its own, one for the commit is made, also by two jobs
    /// at once.
    async fn request_changes(&self) -> Result<(), ApiError>;

    /// Reads whether the request stands.
    async fn request_shown(&self, bot: u64) -> Result<RequestShown, ApiError>;

    /// Returns our newest request for changes, unless an approval of ours followed or we have taken it back, as the notes that were read
    /// last show it. None where only people who may decide can delete our notes or change them.
    async fn last_request(&self, bot: u64) -> Option<LastRequest>;

    /// Takes our request for changes back, never by approving: a merge that only waits for that would happen at once. `shown` is
    /// whether the forge showed it before.
    async fn lift_request(&self, shown: bool) -> Result<Lifted, ApiError>;
}

/// A merge request on a forge.
pub trait ForgeApi: ChangeApi + NotesApi + ReviewStateApi {}

impl<T: ChangeApi + NotesApi + ReviewStateApi> ForgeApi for T {}

//! The merge request as GitLab tells it, and as the engine sees it.

use std::collections::HashSet;

use chrono::{DateTime, FixedOffset};
use conclave_engine::{
    review::{ApprovalHold, Comment, FindingRecord, HoldCause, Ledger, ReviewSubject},
    untrusted::Untrusted,
};
use secrecy::SecretString;
use serde::Deserialize;

use crate::{
    GitLabError, approval,
    client::Client,
    discussions::{Conversation, Note, User},
    marker::{self, SummaryState, marker},
    people::People,
    position::DiffRefs,
    target::Target,
    threads,
};

/// Millionths of a dollar in a dollar.
pub(crate) const MICROS: f64 = 1_000_000.0;

#[derive(Debug, Deserialize)]
struct MergeRequest {
    project_id: u64,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    state: Option<String>,
    #[serde(default)]
    draft: Option<bool>,
    #[serde(default)]
    source_branch: Option<String>,
    #[serde(default)]
    target_branch: Option<String>,
    #[serde(default)]
    source_project_id: Option<u64>,
    #[serde(default)]
    target_project_id: Option<u64>,
    #[serde(default)]
    web_url: Option<String>,
    #[serde(default)]
    references: Option<References>,
    #[serde(default)]
    author: Option<User>,
}

#[derive(Debug, Deserialize)]
struct References {
    #[serde(default)]
    full: Option<String>,
}

/// The merge request at a moment: what may have changed since it was loaded.
#[derive(Debug, Deserialize)]
pub(crate) struct MergeRequestNow {
    #[serde(default)]
    state: Option<String>,
    #[serde(default)]
    sha: Option<String>,
    #[serde(default)]
    detailed_merge_status: Option<String>,
    #[serde(default)]
    references: Option<References>,
    #[serde(default)]
    target_branch: Option<String>,
}

impl MergeRequestNow {
    pub(crate) async fn read(client: &Client) -> Result<Self, GitLabError> {
        client
            .get("read the merge request", &client.merge_request_path(""))
            .await
    }

    pub(crate) fn is_open(&self) -> bool {
        self.state() == "opened"
    }

    pub(crate) fn state(&self) -> &str {
        self.state.as_deref().unwrap_or("opened")
    }

    /// The newest commit.
    pub(crate) fn head(&self) -> Option<&str> {
        self.sha.as_deref()
    }

    /// Whether it has another newest commit than this one.
    pub(crate) fn is_newer_than(&self, head: &str) -> bool {
        self.head().is_some_and(|newest| newest != head)
    }

    /// The branch that it is to be merged into.
    pub(crate) fn target(&self) -> Option<&str> {
        self.target_branch.as_deref()
    }

    /// The first of GitLab's checks that fails.
    pub(crate) fn status(&self) -> &str {
        self.detailed_merge_status.as_deref().unwrap_or("unchecked")
    }

    /// The path of its project.
    pub(crate) fn project_path(&self) -> Option<&str> {
        project_path(self.references.as_ref())
    }
}

#[derive(Debug, Deserialize)]
struct VersionRow {
    head_commit_sha: Option<String>,
    base_commit_sha: Option<String>,
    start_commit_sha: Option<String>,
    #[serde(default)]
    created_at: Option<String>,
}

/// A version of the merge request's diff.
#[derive(Debug, Clone)]
pub(crate) struct Version {
    pub(crate) refs: DiffRefs,
    /// When GitLab made it.
    pub(crate) created_at: Option<DateTime<FixedOffset>>,
}

impl VersionRow {
    fn complete(&self) -> Option<Version> {
        let (base, head) = (self.base_commit_sha.clone()?, self.head_commit_sha.clone()?);
        Some(Version {
            refs: DiffRefs {
                start: self.start_commit_sha.clone().unwrap_or_else(|| base.clone()),
                base,
                head,
            },
            created_at: self.created_at.as_deref().and_then(approval::time_of),
        })
    }
}

/// Reads the newest version of the diff.
pub(crate) async fn newest_version(client: &Client) -> Result<Version, GitLabError> {
    let versions: Vec<VersionRow> = client
        .get("read the versions of its diff", &client.merge_request_path("/versions"))
        .await?;
    let newest = versions.first().and_then(VersionRow::complete);
    newest.ok_or(GitLabError::NotPrepared)
}

/// Reads the head commits that the merge request has had, the newest first.
pub(crate) async fn heads(client: &Client) -> Result<Vec<String>, GitLabError> {
    let versions: Vec<VersionRow> = client
        .get("read the versions of its diff", &client.merge_request_path("/versions"))
        .await?;
    Ok(versions
        .into_iter()
        .filter_map(|version| version.head_commit_sha)
        .collect())
}

/// Who we are: by this our note is known.
#[derive(Debug, Clone)]
pub(crate) struct Ourselves {
    bot: u64,
    pub(crate) marker: String,
    secret: SecretString,
    project: u64,
    iid: u64,
}

impl Ourselves {
    pub(crate) fn bot(&self) -> u64 {
        self.bot
    }

    pub(crate) fn wrote(&self, note: &Note) -> bool {
        note.system != Some(true) && note.author.as_ref().is_some_and(|author| author.id == self.bot)
    }

    /// Our review among the notes, the oldest if there are several. A marker that somebody copied is not ours, and neither
    /// is a note without one.
    pub(crate) fn summary<'n>(&self, notes: &[&'n Note]) -> Option<&'n Note> {
        notes
            .iter()
            .copied()
            .find(|note| self.wrote(note) && marker::has(note.text(), &self.marker))
    }

    /// The finding that our note shows.
    pub(crate) fn finding(&self, note: &Note) -> Option<FindingRecord> {
        self.wrote(note)
            .then(|| marker::read_finding(&self.secret, self.project, self.iid, note.text()))?
    }

    /// The comment by which a finding is known again.
    pub(crate) fn finding_marker(&self, record: &FindingRecord) -> String {
        marker::finding_marker(&self.secret, self.project, self.iid, record)
    }

    /// What the summary remembers of the run that wrote it.
    pub(crate) fn state(&self, note: &Note) -> Option<SummaryState> {
        marker::read_state(&self.secret, self.project, self.iid, note.text())
    }

    /// What the newest summary remembers.
    pub(crate) fn last_state(&self, conversation: &Conversation) -> Option<SummaryState> {
        self.state(self.summary(&conversation.notes())?)
    }

    pub(crate) fn state_marker(&self, state: &SummaryState) -> String {
        marker::state_marker(&self.secret, self.project, self.iid, state)
    }

    /// What the summary remembers of what was reviewed, and of what stands.
    pub(crate) fn ledger(&self, note: &Note) -> Option<Ledger> {
        marker::read_ledger(&self.secret, self.project, self.iid, note.text())
    }

    pub(crate) fn ledger_marker(&self, ledger: &Ledger) -> String {
        marker::ledger_marker(&self.secret, self.project, self.iid, ledger)
    }

    /// The comment by which an answer to a light-hearted question is known.
    pub(crate) fn aside_marker(&self) -> String {
        marker::aside(&self.secret, self.project, self.iid)
    }

    /// What our reviews have cost so far, in millionths of a dollar, as our note among these says.
    pub(crate) fn spent(&self, notes: &[&Note]) -> u64 {
        let body = self.summary(notes).map(Note::text);
        body.and_then(|body| marker::read_spent(&self.secret, self.project, self.iid, body))
            .unwrap_or_default()
    }

    /// The comment that says so for the next review.
    pub(crate) fn spent_marker(&self, micros: u64) -> String {
        marker::spent(&self.secret, self.project, self.iid, micros)
    }
}

/// What is known of the merge request before the review.
#[derive(Debug)]
pub struct MergeRequestInfo {
    /// For the engine; without commit messages, which git tells.
    pub subject: ReviewSubject,
    /// What earlier reviews of it have cost, in US dollars, as our note on it says.
    pub spent_before_usd: f64,
    /// What our last summary remembers of what was reviewed, and of what stands.
    pub ledger: Ledger,
    /// Whether a light-hearted question may still be answered: nobody has got such an answer yet.
    pub aside_open: bool,
    pub(crate) ourselves: Ourselves,
    /// The version that is reviewed.
    pub(crate) version: Version,
    /// The target branch when it was read.
    pub(crate) target: Target,
    /// The number of the account that opened it.
    pub author: Option<u64>,
    pub(crate) conversation: Conversation,
}

impl MergeRequestInfo {
    /// Why the bot will not approve, as far as that is known before the review.
    pub fn holds(&self) -> Option<ApprovalHold> {
        let unknown = || {
            ApprovalHold::new(
                HoldCause::TargetBranch,
                format!(
                    "GitLab does not tell the newest commit of the target branch {}, so its newest settings are unknown.",
                    self.target.branch
                ),
            )
        };
        self.target.tip.is_none().then(unknown)
    }
}

/// Reads everything that a review needs to know.
pub(crate) async fn load(client: &Client) -> Result<MergeRequestInfo, GitLabError> {
    let bot: User = client.get("read whose token it is", "user").await?;
    let merge_request: MergeRequest = client
        .get("read the merge request", &client.merge_request_path(""))
        .await?;
    if let Some(state) = merge_request.state.filter(|state| state != "opened") {
        return Err(GitLabError::NotOpen { state });
    }
    let version = newest_version(client).await?;
    let target_branch = merge_request.target_branch.unwrap_or_default();
    let target = Target::read(client, &target_branch, &version.refs.base).await?;
    let settings = client.settings();
    let ourselves = Ourselves {
        bot: bot.id,
        marker: marker(&settings.secret, merge_request.project_id, settings.iid),
        secret: settings.secret.clone(),
        project: merge_request.project_id,
        iid: settings.iid,
    };
    let conversation = Conversation::read(client).await?;
    let notes = conversation.notes();
    let in_own_threads: HashSet<u64> = conversation
        .own_threads(&ourselves)
        .iter()
        .flat_map(|thread| thread.discussion.notes().iter().map(|note| note.id))
        .collect();
    let comments = notes
        .iter()
        // Everybody can read the review, so what only members can read stays out of it. What is said in our threads is told
        // with our findings.
        .filter(|note| !ourselves.wrote(note) && note.is_public_comment() && !in_own_threads.contains(&note.id))
        .map(|note| comment(note))
        .collect();
    let summary = ourselves.summary(&notes);
    let previous_review = summary.map(|note| threads::without_markers(note.text()));
    let ledger = summary.and_then(|note| ourselves.ledger(note)).unwrap_or_default();
    let author = merge_request.author.map(|author| author.id);
    let mut people = People::new(client, ourselves.bot(), author, &conversation);
    let existing_findings = threads::read(&mut people, &ourselves, &conversation).await;
    let aside_open = !threads::has_aside(&ourselves, &conversation);
    let project = project_path(merge_request.references.as_ref()).unwrap_or(&settings.project);
    let subject = ReviewSubject {
        forge: "gitlab",
        project: project.to_owned(),
        merge_request: Some(settings.iid),
        web_url: merge_request.web_url,
        base_sha: version.refs.base.clone(),
        head_sha: version.refs.head.clone(),
        // The newest that GitLab tells of; where it tells nothing, the bot does not approve.
        settings_sha: Some(target.tip.clone().unwrap_or_else(|| version.refs.start.clone())),
        title: merge_request.title.unwrap_or_default().into(),
        description: merge_request.description.unwrap_or_default().into(),
        source_branch: merge_request.source_branch.unwrap_or_default().into(),
        target_branch: target_branch.into(),
        commit_subjects: Vec::new(),
        comments,
        existing_findings,
        previous_review: previous_review.map(Untrusted::from),
        draft: merge_request.draft.unwrap_or(false),
        // An unknown source is treated as a foreign one.
        from_fork: merge_request.source_project_id.is_none()
            || merge_request.source_project_id != merge_request.target_project_id,
    };
    #[expect(clippy::cast_precision_loss, reason = "amounts stay far below 2^53")]
    let spent_before_usd = ourselves.spent(&notes) as f64 / MICROS;
    Ok(MergeRequestInfo {
        subject,
        spent_before_usd,
        ledger,
        aside_open,
        ourselves,
        version,
        target,
        author,
        conversation,
    })
}

/// The project's path out of `group/project!7`.
fn project_path(references: Option<&References>) -> Option<&str> {
    let (path, _) = references?.full.as_deref()?.rsplit_once('!')?;
    Some(path)
}

fn comment(note: &Note) -> Comment {
    let author = note.author.as_ref().and_then(|author| author.username.clone());
    Comment {
        author: author.unwrap_or_default().into(),
        body: note.body.clone().unwrap_or_default().into(),
    }
}

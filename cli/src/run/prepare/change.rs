//! What a command asks for, and how it is loaded.

use std::sync::Arc;

use camino::Utf8PathBuf;
use conclave_engine::{
    ports::{Forge, PublishSettings},
    repo_config::ReviewSettings,
    review::{ApprovalHold, CarryOver, ReviewMode, ReviewSubject},
};
use conclave_forge::Publisher;
use conclave_git::{Parting, Repository, places_around};
use conclave_plugin_local::{Range, load};
use conclave_shared::config::BudgetLimits;
use secrecy::SecretString;

use super::checkout::{Checkout, LaterCommits};
use crate::{args::Gate, exit::Failure, run::workflow::WorkflowReport};

/// What is reviewed and where the result goes.
pub(crate) struct Job {
    /// What is reviewed.
    pub(crate) subject: ReviewSubject,
    /// Where its commits are.
    pub(crate) repository: Repository,
    /// At how many commits the change and its target branch parted.
    pub(crate) parting: Parting,
    /// Where the review is posted; nowhere means that it is only printed.
    pub(crate) forge: Option<Arc<dyn Forge>>,
    /// What the job says about posting.
    pub(crate) posting: Posting,
    /// The installation's secret, if there is one.
    pub(crate) secret: Option<SecretString>,
    /// What earlier reviews of the merge request have cost, as far as they are known.
    pub(crate) spent_before_usd: f64,
    /// What our last review of the merge request remembers.
    pub(crate) carry_over: CarryOver,
    /// The number of the account that opened the merge request.
    pub(crate) author: Option<u64>,
    /// Remarks for the person.
    pub(crate) notes: Vec<String>,
    /// Why the bot withholds its approval, as far as the forge and the history tell.
    pub(crate) holds: Vec<ApprovalHold>,
    /// Fetches commits that become necessary after the review began.
    pub(crate) later: Option<LaterCommits>,
    /// Reports to the workflow that this is a job of.
    pub(crate) workflow: Option<Arc<WorkflowReport>>,
}

/// What a command asks for. Nothing of it has been read yet.
pub(crate) struct Source {
    /// Where the change comes from.
    pub(crate) origin: Origin,
    /// The project's name, for configuration and telemetry.
    pub(crate) project: String,
    /// The installation's secret, if there is one.
    pub(crate) secret: Option<SecretString>,
}

/// Where the change comes from.
pub(crate) enum Origin {
    /// A merge request.
    Forge {
        publisher: Arc<Publisher>,
        /// The checkout of its job, as far as there is one.
        checkout: Box<Checkout>,
        /// How the review is posted; not at all without.
        post: Option<Posting>,
        /// Reports to the workflow that this is a job of.
        workflow: Option<Arc<WorkflowReport>>,
        /// True if everything is reviewed, also what an earlier review has looked at.
        full: bool,
    },
    /// A range of a repository on this machine.
    Local {
        /// A directory in the repository.
        directory: Utf8PathBuf,
        range: Range,
        /// Takes a snapshot of the working tree.
        scratch: Utf8PathBuf,
    },
}

/// What the job says about posting; the repository's own settings say the rest.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Posting {
    /// What the verdict may do.
    pub(crate) mode: Option<ReviewMode>,
    /// Maximum number of findings beside their lines.
    pub(crate) max_inline: Option<u16>,
    /// The mode where neither the job nor the repository says one.
    pub(crate) default_mode: ReviewMode,
    /// The consequence of a verdict that blocks, for the job.
    pub(crate) gate: Option<Gate>,
}

impl Posting {
    /// How the review is posted.
    pub(crate) fn settings(self, repo: &ReviewSettings, budget: &BudgetLimits) -> PublishSettings {
        let mode = self.mode.or(repo.mode).unwrap_or(self.default_mode);
        PublishSettings {
            mode,
            max_inline: self
                .max_inline
                .or(repo.max_inline)
                .map_or(PublishSettings::MAX_INLINE, usize::from),
            remember_cost: budget.merge_request_usd.is_some(),
            fails_job: Gate::in_force(self.gate, repo.gate, mode) == Gate::Block,
        }
    }
}

impl Source {
    /// Directories of the repository, as far as they are known before anything is read.
    pub(crate) fn places(&self) -> Vec<Utf8PathBuf> {
        match &self.origin {
            Origin::Forge { checkout, .. } => checkout.places(),
            Origin::Local { directory, .. } => places_around(directory),
        }
    }

    /// Loads the change.
    pub(crate) async fn load(self) -> Result<Job, Failure> {
        let secret = self.secret;
        match self.origin {
            Origin::Forge {
                publisher,
                checkout,
                post,
                workflow,
                full,
            } => {
                let info = publisher.load().await?;
                let mut subject = info.subject.clone();
                let (repository, mut notes, later) = checkout.complete(&subject).await?;
                // A job may be the first to run with another secret: the log says it before anything is paid for.
                let unreadable = info.holds.iter().filter(|hold| hold.cause.may_hide_a_block());
                notes.extend(unreadable.map(|hold| hold.reason.clone()));
                let parting = later.parting(&repository, &subject).await;
                let subjects = repository.subjects(&subject.base_sha, &subject.head_sha).await?;
                subject.commit_subjects = subjects.into_iter().map(Into::into).collect();
                let mut carry_over = info.carry_over.clone();
                if full {
                    // What stands still stands.
                    carry_over.reviewed.clear();
                }
                Ok(Job {
                    subject,
                    repository,
                    parting,
                    forge: post.map(|_| publisher as _),
                    posting: post.unwrap_or_default(),
                    secret,
                    spent_before_usd: info.spent_before_usd,
                    carry_over,
                    author: info.author,
                    notes,
                    holds: info.holds.clone(),
                    later: Some(later),
                    workflow,
                })
            }
            Origin::Local {
                directory,
                range,
                scratch,
            } => {
                let review = load(&directory, &range, &scratch).await?;
                Ok(Job {
                    subject: review.subject,
                    repository: review.repository,
                    parting: review.parting,
                    forge: None,
                    posting: Posting::default(),
                    secret,
                    spent_before_usd: 0.0,
                    carry_over: CarryOver::default(),
                    author: None,
                    notes: review.notes,
                    holds: Vec::new(),
                    later: None,
                    workflow: None,
                })
            }
        }
    }
}

//! What a command asks for, and how it becomes something that can be reviewed.

use std::sync::Arc;

use camino::Utf8PathBuf;
use conclave_engine::{
    ports::{Forge, PublishSettings},
    repo_config::ReviewSettings,
    review::{ApprovalHold, CarryOver, ReviewMode, ReviewSubject},
};
use conclave_forge::Publisher;
use conclave_git::Repository;
use conclave_plugin_gitlab::{GitLabPlugin, MergeRequestArrival};
use conclave_plugin_local::{LocalArrival, LocalPlugin, Range};
use conclave_shared::config::BudgetLimits;
use secrecy::SecretString;

use crate::{
    exit::Failure,
    run::prepare::checkout::{Checkout, LaterCommits},
};

/// What is reviewed and where the result goes.
pub(crate) struct Job {
    /// What is reviewed.
    pub(crate) subject: ReviewSubject,
    /// Where its commits are.
    pub(crate) repository: Repository,
    /// Where the review is posted; nowhere means that it is only printed.
    pub(crate) forge: Option<Arc<dyn Forge>>,
    /// What the job says about posting.
    pub(crate) posting: Posting,
    /// The installation's secret, if there is one.
    pub(crate) secret: Option<SecretString>,
    /// What earlier reviews of the merge request have cost, as far as they are known.
    pub(crate) spent_before_usd: f64,
    /// What our last review of the merge request remembers.
    pub(crate) ledger: CarryOver,
    /// The number of the account that opened the merge request.
    pub(crate) author: Option<u64>,
    /// Whether a light-hearted question may be answered.
    pub(crate) aside_open: bool,
    /// What the person should know.
    pub(crate) notes: Vec<String>,
    /// Why the bot withholds its approval, as far as the forge tells.
    pub(crate) holds: Vec<ApprovalHold>,
    /// Fetches commits that become necessary after the review began.
    pub(crate) later: Option<LaterCommits>,
}

/// What a command asks for. Nothing of it has been read yet.
pub(crate) struct Assignment {
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
    GitLab {
        /// The merge request's server.
        gitlab: Arc<Publisher>,
        /// The checkout of its pipeline, as far as there is one.
        checkout: Box<Checkout>,
        /// How the review is posted; not at all without.
        post: Option<Posting>,
    },
    /// A range of a repository on this machine.
    Local {
        /// A directory in the repository.
        directory: Utf8PathBuf,
        /// The range.
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
    /// The most findings beside their lines.
    pub(crate) max_inline: Option<u16>,
}

impl Posting {
    /// How the review is posted.
    pub(crate) fn settings(self, repo: &ReviewSettings, budget: &BudgetLimits) -> PublishSettings {
        PublishSettings {
            mode: self.mode.or(repo.mode).unwrap_or_default(),
            max_inline: self
                .max_inline
                .or(repo.max_inline)
                .map_or(PublishSettings::MAX_INLINE, usize::from),
            remember_cost: budget.merge_request_usd.is_some(),
        }
    }
}

/// Where the change will arrive.
pub(crate) enum Arrival {
    GitLab {
        merge_request: MergeRequestArrival,
        gitlab: Arc<Publisher>,
        checkout: Box<Checkout>,
        post: Option<Posting>,
    },
    Local(LocalArrival),
}

impl Origin {
    /// Whether it is a merge request.
    pub(crate) const fn is_merge_request(&self) -> bool {
        matches!(self, Self::GitLab { .. })
    }

    /// The two plugins that bring something to review, one of them at work, and where that arrives.
    pub(crate) fn plugins(self) -> (GitLabPlugin, LocalPlugin, Arrival) {
        match self {
            Self::GitLab { gitlab, checkout, post } => {
                let (plugin, merge_request) = GitLabPlugin::new(Arc::clone(&gitlab));
                let arrival = Arrival::GitLab {
                    merge_request,
                    gitlab,
                    checkout,
                    post,
                };
                (plugin, LocalPlugin::off(), arrival)
            }
            Self::Local {
                directory,
                range,
                scratch,
            } => {
                let (plugin, review) = LocalPlugin::new(directory, range, scratch);
                (GitLabPlugin::off(), plugin, Arrival::Local(review))
            }
        }
    }
}

impl Arrival {
    /// Waits for the change, which a plugin loads meanwhile.
    pub(crate) async fn wait(self, secret: Option<SecretString>) -> Result<Job, Failure> {
        match self {
            Self::GitLab {
                merge_request,
                gitlab,
                checkout,
                post,
            } => {
                let info = merge_request.await.map_err(|_| never_asked())??;
                let mut subject = info.subject.clone();
                let (repository, notes, later) = checkout.complete(&subject).await?;
                let subjects = repository.subjects(&subject.base_sha, &subject.head_sha).await?;
                subject.commit_subjects = subjects.into_iter().map(Into::into).collect();
                Ok(Job {
                    subject,
                    repository,
                    forge: post.map(|_| gitlab as _),
                    posting: post.unwrap_or_default(),
                    secret,
                    spent_before_usd: info.spent_before_usd,
                    ledger: info.ledger.clone(),
                    author: info.author,
                    aside_open: info.aside_open,
                    notes,
                    holds: info.hold.iter().cloned().collect(),
                    later: Some(later),
                })
            }
            Self::Local(review) => {
                let review = review.await.map_err(|_| never_asked())??;
                Ok(Job {
                    subject: review.subject,
                    repository: review.repository,
                    forge: None,
                    posting: Posting::default(),
                    secret,
                    spent_before_usd: 0.0,
                    ledger: CarryOver::default(),
                    author: None,
                    aside_open: false,
                    notes: review.notes,
                    holds: Vec::new(),
                    later: None,
                })
            }
        }
    }
}

fn never_asked() -> Failure {
    Failure::Settings("the plugin that brings the change was never started".to_owned())
}

//! What a command asks for, and how it becomes something that can be reviewed.

use std::sync::Arc;

use camino::Utf8PathBuf;
use conclave_plugin_gitlab::{GitLab, GitLabPlugin, MergeRequestArrival};
use conclave_plugin_local::{LocalArrival, LocalPlugin, Range};
use secrecy::SecretString;

use super::{Job, checkout::Checkout};
use crate::exit::Failure;

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
        gitlab: Arc<GitLab>,
        /// The checkout of its pipeline, as far as there is one.
        checkout: Box<Checkout>,
        /// Whether the review is posted.
        post: bool,
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

/// Where the change will arrive.
pub(super) enum Arrival {
    GitLab {
        merge_request: MergeRequestArrival,
        gitlab: Arc<GitLab>,
        checkout: Box<Checkout>,
        post: bool,
    },
    Local(LocalArrival),
}

impl Origin {
    /// The two plugins that bring something to review, one of them at work, and where that arrives.
    pub(super) fn plugins(self) -> (GitLabPlugin, LocalPlugin, Arrival) {
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
    pub(super) async fn wait(self, secret: Option<SecretString>) -> Result<Job, Failure> {
        match self {
            Self::GitLab {
                merge_request,
                gitlab,
                checkout,
                post,
            } => {
                let info = merge_request.await.map_err(|_| never_asked())??;
                let mut subject = info.subject;
                let (repository, notes) = checkout.complete(&subject).await?;
                let subjects = repository.subjects(&subject.base_sha, &subject.head_sha).await?;
                subject.commit_subjects = subjects.into_iter().map(Into::into).collect();
                Ok(Job {
                    subject,
                    repository,
                    forge: post.then_some(gitlab as _),
                    secret,
                    spent_before_usd: info.spent_before_usd,
                    notes,
                })
            }
            Self::Local(review) => {
                let review = review.await.map_err(|_| never_asked())??;
                Ok(Job {
                    subject: review.subject,
                    repository: review.repository,
                    forge: None,
                    secret,
                    spent_before_usd: 0.0,
                    notes: review.notes,
                })
            }
        }
    }
}

fn never_asked() -> Failure {
    Failure::Settings("the plugin that brings the change was never started".to_owned())
}

//! GitHub's API: the client of one pull request, the places of its diff, its reviews, and its quirks. What is posted, and in which
//! order, is decided in `conclave_engine::publish` and `conclave-forge`.
//!
//! The token lives here and nowhere else: the agent's process never sees it.
//!
//! The crate `octocrab` (0.49) was read for this and is not used: its retries repeat any request after any 5xx, it follows
//! redirects with the token, hides the headers that hold pages and limits, and knows neither threads nor file-level comments.

mod address;
mod check;
mod conversation;
mod error;
mod examine;
mod github;
mod graphql;
mod identity;
mod memory;
mod notes;
mod own_reviews;
mod people;
mod position;
mod pull_request;
mod rest_conversation;
mod review_state;
mod reviewers;
mod wire;

pub use address::PullRequestAddress;
pub use check::CheckSettings;
pub use error::WORDS;
pub use examine::{Examination, Right, Rights, examine};
pub use github::GitHub;
pub use own_reviews::SignedOpinion;

use std::path::PathBuf;

use secrecy::SecretString;
use url::Url;

/// Where the pull request is, and who posts.
#[derive(Debug, Clone)]
pub struct GitHubSettings {
    /// The address of the REST API, as in `https://api.github.com`.
    pub api_url: Url,
    /// The address of the GraphQL API, as in `https://api.github.com/graphql`.
    pub graphql_url: Url,
    /// A token that may write pull requests.
    pub token: SecretString,
    /// The target repository, as in `owner/name`.
    pub repository: String,
    /// The pull request's number.
    pub number: u64,
    /// The installation's secret, for the hidden marker.
    pub secret: SecretString,
    /// Files with certificates (PEM) to trust besides the system's.
    pub ca_files: Vec<PathBuf>,
    /// The head by GitHub's own record, where its number comes from a job without rights. Another one is refused.
    pub expected: Option<ExpectedHead>,
}

/// The head of a pull request, as GitHub's record of a workflow's run has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedHead {
    /// The commit.
    pub sha: String,
    /// The number of the repository that it is in.
    pub repository: u64,
}

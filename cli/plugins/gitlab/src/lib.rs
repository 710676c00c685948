//! The `gitlab` plugin: the merge request, its discussion, and the publisher.
//!
//! The token lives here and nowhere else: the agent's process never sees it.

mod address;
mod approval;
mod break_glass;
mod client;
mod discussions;
mod error;
mod examine;
mod inline;
mod latest;
mod length;
mod marker;
mod merge_request;
mod pace;
mod people;
mod plugin;
mod position;
mod project_settings;
mod publisher;
mod reviewers;
mod stance;
mod summary;
mod target;
mod threads;
mod withdrawal;

pub use address::{Located, MergeRequestAddress};
pub use break_glass::{BreakGlass, BreakGlassPolicy};
pub use client::Patience;
pub use error::GitLabError;
pub use examine::{
    Account, Examination, LEAST_ROLE, MergeRequestFacts, ProjectFacts, TokenFacts, check_certificates, examine,
};
pub use merge_request::MergeRequestInfo;
pub use plugin::{GitLabPlugin, MergeRequestArrival};
pub use project_settings::ProjectSettings;
pub use publisher::GitLab;
pub use withdrawal::Withdrawal;

use std::path::PathBuf;

use secrecy::SecretString;
use url::Url;

/// Where the merge request is, and who posts.
#[derive(Debug, Clone)]
pub struct GitLabSettings {
    /// The API's address, ending in `/api/v4`.
    pub api_url: Url,
    /// A token of the bot with the scope `api` and the role Developer.
    pub token: SecretString,
    /// The target project: its number or its path.
    pub project: String,
    /// The merge request's number in the project.
    pub iid: u64,
    /// The installation's secret, for the hidden marker.
    pub secret: SecretString,
    /// Files with certificates (PEM) to trust besides the system's.
    pub ca_files: Vec<PathBuf>,
}

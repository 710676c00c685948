//! GitLab's API: the client of one merge request, the places of its diff, its approvals, and its quirks. What is posted, and in
//! which order, is decided in `conclave_engine::publish` and `conclave-forge`.
//!
//! The token lives here and nowhere else: the agent's process never sees it.
//!
//! The crate `gitlab` (0.1905, typed endpoints) was read for this and is not used. Its retries block the thread, repeat the creation
//! of a note after any 5xx, and do not wait for a rate limit; its client follows redirects with the token, takes neither a time
//! limit nor certificates of its own, and hides the headers that hold pages and limits. Resolving a thread, answering in one,
//! deleting a note, versions of the diff and draft notes are not among its endpoints, so a third of the requests would stay as
//! they are. It would add some thirty crates for about 150 lines of types.

mod address;
mod discussions;
mod error;
mod examine;
mod gitlab;
mod merge_request;
mod people;
mod position;
mod project_settings;
mod review_state;
mod reviewers;
mod target;

pub use address::{Located, MergeRequestAddress};
pub use error::WORDS;
pub use examine::{Account, Examination, MIN_ROLE, MergeRequestFacts, ProjectFacts, TokenFacts, examine};
pub use gitlab::GitLab;
pub use project_settings::ProjectSettings;

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

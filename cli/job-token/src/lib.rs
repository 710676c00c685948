//! The CI job's own token for a Worker, which proves the job's project.
//!
//! GitLab hands a job tokens that live as long as the job (`id_tokens`): they are fixed. A job of GitHub Actions with
//! `id-token: write` asks for tokens that live for some minutes, and a review can be longer: they are asked for when they are needed,
//! kept, and renewed before they expire. The age of a token is measured by this machine's steady clock and the token's own span, because
//! the wall clock may be wrong. The Worker alone decides what is valid.

mod actions;

pub use actions::{ActionsTokens, JobTokenError};

use std::sync::Arc;

use secrecy::SecretString;

/// The job's own token.
#[derive(Debug, Clone)]
pub struct JobToken(Source);

#[derive(Debug, Clone)]
enum Source {
    Fixed(SecretString),
    Actions(Arc<ActionsTokens>),
}

impl JobToken {
    /// The token as it is now, good for a request at least.
    pub async fn get(&self) -> Result<SecretString, JobTokenError> {
        match &self.0 {
            Source::Fixed(token) => Ok(token.clone()),
            Source::Actions(tokens) => tokens.get().await,
        }
    }

    /// Renews a token that was used whenever it is due, and never ends.
    pub async fn keep_fresh(&self) {
        match &self.0 {
            Source::Fixed(_) => std::future::pending().await,
            Source::Actions(tokens) => tokens.keep_fresh().await,
        }
    }
}

impl From<SecretString> for JobToken {
    fn from(token: SecretString) -> Self {
        Self(Source::Fixed(token))
    }
}

impl From<ActionsTokens> for JobToken {
    fn from(tokens: ActionsTokens) -> Self {
        Self(Source::Actions(Arc::new(tokens)))
    }
}

//! What can go wrong with GitLab, in words that say what to do.

use conclave_shared::error_chain::with_sources;
use reqwest::StatusCode;
use serde_json::Value;

/// The most characters of somebody else's text in an error.
const MOST_CHARACTERS: usize = 300;

/// GitLab failed, or refused.
#[derive(Debug, thiserror::Error)]
pub enum GitLabError {
    /// The token cannot be sent.
    #[error("GITLAB_TOKEN holds characters that no token has, such as a line break or a letter with an accent")]
    UnusableToken,
    /// No answer, or not the whole of one.
    #[error("the connection to GitLab at {host} failed ({what}): {cause}")]
    Unreachable {
        /// The host.
        host: String,
        /// What was asked.
        what: String,
        /// Why.
        cause: String,
    },
    /// The token is not accepted.
    #[error(
        "GitLab refused the token ({what}: 401 {message}). Set GITLAB_TOKEN to a project access token with the scope `api` \
         and the role Developer; it may have expired. `conclave doctor` says more"
    )]
    Unauthorized {
        /// What was asked.
        what: String,
        /// GitLab's words.
        message: String,
    },
    /// The token's scope is too small.
    #[error(
        "the token may not {what} (403 {message}). Make one with the scope `api` and set GITLAB_TOKEN to it. \
         `conclave doctor` says what else is missing"
    )]
    Scope {
        /// What was asked.
        what: String,
        /// GitLab's words.
        message: String,
    },
    /// The token's user lacks a right.
    #[error(
        "the token's user may not {what} (403 {message}). Give it the role Developer in the project, or a higher one. \
         `conclave doctor` says which it has"
    )]
    Forbidden {
        /// What was asked.
        what: String,
        /// GitLab's words.
        message: String,
    },
    /// It does not exist, or the token cannot see it.
    #[error(
        "GitLab does not find it ({what}: 404 {message}). A private project that the token cannot see looks the same; \
         `conclave doctor` says what it sees"
    )]
    NotFound {
        /// What was asked.
        what: String,
        /// GitLab's words.
        message: String,
    },
    /// It is elsewhere. Nothing is sent there: the token is for this address only.
    #[error(
        "GitLab answered {status} when asked to {what}: it is at {location} now. Correct the address or the project; \
         a redirect is not followed, because it would get the token"
    )]
    Moved {
        /// What was asked.
        what: String,
        /// The status.
        status: u16,
        /// Where it is.
        location: String,
    },
    /// Any other refusal.
    #[error("GitLab answered {status} when asked to {what}: {message}")]
    Status {
        /// What was asked.
        what: String,
        /// The status.
        status: u16,
        /// GitLab's words.
        message: String,
    },
    /// An answer that is none.
    #[error("GitLab's answer to {what} cannot be read: {cause}. Is there a proxy or a log-in page in between?")]
    Garbage {
        /// What was asked.
        what: String,
        /// Why.
        cause: String,
    },
    /// More than a merge request can have.
    #[error(
        "GitLab has more than {rows} rows to tell when asked to {what}; a merge request that large is not reviewed"
    )]
    TooMuch {
        /// What was asked.
        what: String,
        /// How many were read.
        rows: usize,
    },
    /// A file with certificates that cannot be used.
    #[error("the certificates in {path} cannot be used: {problem}. Correct --ca-file, or CI_SERVER_TLS_CA_FILE")]
    CaFile {
        /// The file.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
    /// An address that is none of a merge request.
    #[error(
        "`{address}` is not the address of a merge request: {problem}. It looks like \
         https://gitlab.example.com/group/project/-/merge_requests/7"
    )]
    Address {
        /// As it was given.
        address: String,
        /// What is wrong with it.
        problem: String,
    },
    /// No GitLab answers there.
    #[error("no GitLab answers at {origin}, nor below a path of it that {address} could mean: {reason}")]
    NoGitLab {
        /// The server.
        origin: String,
        /// The address of the merge request.
        address: String,
        /// What came instead.
        reason: String,
    },
    /// There is nothing to review any more.
    #[error("the merge request is {state}: only an open one is reviewed")]
    NotOpen {
        /// `closed`, `merged` or `locked`.
        state: String,
    },
    /// GitLab computes the diff after the merge request was opened.
    #[error("GitLab has not prepared the merge request's diff yet: run the job again")]
    NotPrepared,
}

impl GitLabError {
    /// An error status.
    pub(crate) fn refusal(what: &str, status: StatusCode, body: &str) -> Self {
        let (what, message) = (what.to_owned(), message(body));
        match status.as_u16() {
            401 => Self::Unauthorized { what, message },
            403 if is_scope(body) => Self::Scope { what, message },
            403 => Self::Forbidden { what, message },
            404 => Self::NotFound { what, message },
            status => Self::Status { what, status, message },
        }
    }

    /// A request without an answer.
    pub(crate) fn unreachable(host: &str, what: &str, error: reqwest::Error) -> Self {
        Self::Unreachable {
            host: host.to_owned(),
            what: what.to_owned(),
            cause: shorten(&with_sources(&error.without_url())),
        }
    }

    /// Whether the request may have been carried out although it failed.
    pub(crate) fn may_have_happened(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Garbage { .. } => true,
            Self::Status { status, .. } => *status >= 500,
            _ => false,
        }
    }

    /// Whether GitLab refused a note for what it is or where it should stand; nothing was done.
    pub(crate) fn is_refused_note(&self) -> bool {
        matches!(
            self,
            Self::Status {
                status: 400 | 413 | 422,
                ..
            }
        )
    }

    /// Whether the merge request holds as many notes as it can.
    pub(crate) fn is_full(&self) -> bool {
        matches!(self, Self::Status { message, .. } if message.contains("Maximum number of comments"))
    }

    /// Whether another request held the merge request at the same time; nothing was done.
    pub(crate) fn is_lock(&self) -> bool {
        matches!(self, Self::Status { status: 409, message, .. } if message.contains("Resource lock"))
    }
}

/// Whether the token, and not its user, lacks the right.
fn is_scope(body: &str) -> bool {
    serde_json::from_str::<Value>(body).is_ok_and(|value| value["error"] == "insufficient_scope")
}

/// GitLab's words, in whichever of its shapes they come: a text, an object of lists, `error`, HTML, or nothing.
fn message(body: &str) -> String {
    let text = match serde_json::from_str::<Value>(body) {
        Ok(value) => {
            let said = ["message", "error_description", "error"]
                .iter()
                .find_map(|key| value.get(*key));
            match said {
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
                None => value.to_string(),
            }
        }
        Err(_) if body.trim_start().starts_with('<') => "an HTML page".to_owned(),
        Err(_) => body.trim().to_owned(),
    };
    shorten(&text)
}

fn shorten(text: &str) -> String {
    text.chars().take(MOST_CHARACTERS).collect()
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;

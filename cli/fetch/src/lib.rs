//! A small text of the organisation from an https address: its engineering rules, its template for AGENTS.md.
//!
//! The server can cost a few seconds and a megabyte at most, and a copy on disk stands in when it fails. The
//! copy carries a keyed mark, because the directory of a CI job's cache can lie in the checkout, where the author of a
//! merge request can put files of their own.

mod address;
mod cache;
mod download;
pub mod own_copies;

pub use address::{AddressError, TextUrl};

use std::time::Duration;

use camino::Utf8PathBuf;
use chrono::{DateTime, Utc};
use secrecy::SecretString;

use self::cache::{Cache, Copy};

/// Maximum time for a server, the whole text included.
pub const TOTAL: Duration = Duration::from_secs(5);
/// Maximum length of a text, in bytes.
pub const MAX_BYTES: usize = 1024 * 1024;
/// Time for which a copy is good without asking the server.
pub const FRESH: chrono::Duration = chrono::Duration::minutes(10);

/// The cause why there is no text. Completes "the rules at HOST …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// Nothing, or not everything, came in time.
    #[error("did not answer within {:.0?}", .0)]
    Late(Duration),
    /// No connection, or one that broke.
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    /// A status that is not a success.
    #[error("answered {0}")]
    Status(u16),
    /// Too much.
    #[error("answered with more than {0} bytes")]
    TooLarge(usize),
    /// Bytes that are not UTF-8.
    #[error("answered something that is not UTF-8 text")]
    NotText,
    /// A text that cannot be what was asked for.
    #[error("answered something else: {0}")]
    Refused(String),
    /// There is a copy, and without the installation's secret nothing says who made it.
    #[error("{0}; the copy on disk is not used, because without CONCLAVE_SECRET nothing proves whose it is")]
    Unproven(Box<FetchError>),
    /// There is a copy, and it is too old.
    #[error("{0}; the copy on disk is too old to stand in")]
    TooOld(Box<FetchError>),
}

/// Limits, and where copies are kept.
#[derive(Debug, Clone)]
pub struct FetchSettings {
    /// The directory of the copies; without one, or without a secret, nothing is kept and none is used.
    pub cache: Option<Utf8PathBuf>,
    /// The installation's secret, with which copies are marked.
    pub secret: Option<SecretString>,
    /// Time for everything.
    pub total: Duration,
    /// Maximum length of a text, in bytes.
    pub max_bytes: usize,
    /// Time for which a copy is good without asking.
    pub fresh: chrono::Duration,
    /// Additional certificates to trust (PEM).
    pub extra_ca_file: Option<Utf8PathBuf>,
}

impl FetchSettings {
    /// The usual limits.
    pub fn new(cache: Option<Utf8PathBuf>, secret: Option<SecretString>) -> Self {
        Self {
            cache,
            secret,
            total: TOTAL,
            max_bytes: MAX_BYTES,
            fresh: FRESH,
            extra_ca_file: None,
        }
    }
}

/// A text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The text itself.
    pub text: String,
    /// That the server failed and a copy stands in, in words.
    pub warning: Option<String>,
}

/// Fetches texts.
#[derive(Debug, Clone)]
pub struct Fetcher {
    settings: FetchSettings,
    cache: Option<Cache>,
}

impl Fetcher {
    /// A fetcher; nothing is asked and no directory made yet.
    pub fn new(settings: FetchSettings) -> Self {
        let place = settings.cache.as_ref().zip(settings.secret.as_ref());
        let cache = place.map(|(directory, secret)| Cache::new(directory, secret));
        Self { settings, cache }
    }

    /// The text at an address.
    ///
    /// A copy that is fresh is taken as it is. Else the server is asked, with what it said about its last answer. When it
    /// fails, or answers what `check` refuses (a sign-in page, say), the last good copy of the last seven days stands in, with a
    /// warning that tells its age.
    pub async fn text(
        &self,
        url: &TextUrl,
        now: DateTime<Utc>,
        check: impl Fn(&str) -> Result<(), String>,
    ) -> Result<Fetched, FetchError> {
        let current = |text| Fetched { text, warning: None };
        let copy = self.cache.as_ref().and_then(|cache| cache.read(url));
        let copy = match copy {
            Some(copy) if copy.is_fresh(now, self.settings.fresh) => return Ok(current(copy.text)),
            copy => copy,
        };
        let answer = download::get(&self.settings, url, copy.as_ref(), now).await;
        let answer = answer.and_then(|new| match new {
            Some(new) => check(&new.text).map_err(FetchError::Refused).map(|()| Some(new)),
            None => Ok(copy.clone().map(|copy| Copy { asked: now, ..copy })),
        });
        match (answer, copy) {
            (Ok(Some(copy)), _) => {
                self.keep(url, &copy);
                Ok(current(copy.text))
            }
            // "Unchanged" to a question without a condition is an answer to nothing.
            (Ok(None), _) => Err(FetchError::Status(304)),
            (Err(error), Some(copy)) if !copy.may_stand_in(now) => Err(FetchError::TooOld(Box::new(error))),
            (Err(error), Some(copy)) => Ok(Fetched {
                warning: Some(format!(
                    "{url} {error}; the copy of {} is used",
                    copy.asked.format("%Y-%m-%d %H:%M UTC")
                )),
                text: copy.text,
            }),
            (Err(error), None) if self.has_unproven(url) => Err(FetchError::Unproven(Box::new(error))),
            (Err(error), None) => Err(error),
        }
    }

    /// Returns whether there is a copy that could be used if there were a secret.
    fn has_unproven(&self, url: &TextUrl) -> bool {
        let directory = self.settings.cache.as_ref().filter(|_| self.settings.secret.is_none());
        directory.is_some_and(|directory| cache::path(directory, url).exists())
    }

    fn keep(&self, url: &TextUrl, copy: &Copy) {
        let Some(cache) = &self.cache else { return };
        // A read-only home costs the next run a question, and this one nothing.
        if let Err(error) = cache.write(url, copy) {
            tracing::debug!(%error, %url, "no copy could be kept");
        }
    }
}

#[cfg(test)]
mod tests;

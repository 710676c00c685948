//! Errors: a gateway that cannot start, a call that gave nothing, and what the runtime hears of one.

mod refusal;
mod rejection;
mod words;

use std::{path::PathBuf, time::Duration};

use conclave_certificates::{CertificatesError, ClientError};
use conclave_resilience::classify::{Concession, FailureClass, ProviderFault, classify, concessions};
use serde_json::Value;

pub(crate) use refusal::shown_address;
pub use refusal::{Refusal, RefusalAnswer};
pub use rejection::Rejection;
use words::said;
pub(crate) use words::{is_page, message, short};

/// The configuration cannot be used, or the gateway could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A provider's name is not a single path segment, or is there twice.
    #[error("provider name `{0}` is empty, doubled, or not made of letters, digits, `-`, `_` and `.`")]
    ProviderName(String),
    /// A provider's address is not usable.
    #[error("base URL of provider `{0}` must be http(s), without user, password, query and fragment")]
    BaseUrl(String),
    /// A header name is not one.
    #[error("`{0}` is not a header name")]
    Header(String),
    /// A credential cannot be sent.
    #[error(
        "the key of the provider `{0}` has a character that no key has, such as a line break: set it to the key alone"
    )]
    Credential(String),
    /// The file of extra certificates cannot be used.
    #[error("{0}. Correct CONCLAVE_CA_FILE, or what --ca-file names")]
    CaFile(#[from] CertificatesError),
    /// The recording cannot be written or read.
    #[error("recording {0}: {1}")]
    Recording(PathBuf, String),
    /// There is no client to ask providers with.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The system has no randomness.
    #[error("no randomness for the run's key: {0}")]
    Randomness(String),
    /// The port cannot be opened.
    #[error("cannot listen on the loopback address: {0}")]
    Listen(#[from] std::io::Error),
}

/// A call of a model that gave nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallFailure {
    pub(crate) class: FailureClass,
    /// The wait that the provider asked for.
    pub(crate) retry_after: Option<Duration>,
    /// The changes with which the request may be taken, the likeliest first.
    pub(crate) concessions: Vec<Concession>,
    /// The provider's words.
    pub(crate) said: String,
    /// The status that it answered with, and its words.
    pub(crate) refusal: Option<Refusal>,
    /// The answer was to come from a recording, which does not have it.
    pub(crate) unrecorded: bool,
}

impl CallFailure {
    /// The failure of a call that was refused with this status and body, whose secrets are masked.
    pub(crate) fn refused(status: u16, retry_after: Option<Duration>, body: &str) -> Self {
        let class = classify(status, body);
        let concessions = match class {
            FailureClass::BadRequest => concessions(status, body),
            _ => Vec::new(),
        };
        Self {
            retry_after,
            said: said(body),
            concessions,
            refusal: Some(Refusal::new(status, body)),
            ..class.into()
        }
    }

    /// The failure of a call whose answer has this body in place of a stream. Some gateways put the status of their own upstream
    /// there.
    pub(crate) fn in_place_of_an_answer(body: &str) -> Self {
        let parsed: Value = serde_json::from_str(body).unwrap_or_default();
        let status = parsed["error"]["code"]
            .as_u64()
            .and_then(|code| u16::try_from(code).ok());
        if let Some(status) = status.filter(|status| (400..600).contains(status)) {
            return Self::refused(status, None, body);
        }
        Self {
            said: message(&parsed).unwrap_or_default(),
            ..ProviderFault::Garbage.into()
        }
    }

    /// The provider's words, for people; empty if it said nothing.
    pub(crate) fn words(&self) -> String {
        match &self.refusal {
            Some(refusal) => refusal.words(),
            None if self.said.is_empty() => String::new(),
            None => format!("\"{}\"", self.said),
        }
    }
}

impl From<FailureClass> for CallFailure {
    fn from(class: FailureClass) -> Self {
        Self {
            class,
            retry_after: None,
            concessions: Vec::new(),
            said: String::new(),
            refusal: None,
            unrecorded: false,
        }
    }
}

impl From<ProviderFault> for CallFailure {
    fn from(fault: ProviderFault) -> Self {
        FailureClass::from(fault).into()
    }
}

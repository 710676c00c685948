//! The address of a merge request as a person copies it from the browser.

use percent_encoding::percent_decode_str;
use url::Url;

use crate::{ApiError, ApiErrorKind};

/// The form of the addresses that a forge reads, for error texts.
#[derive(Debug, Clone, Copy)]
pub struct AddressForm {
    /// The forge's word, as in `merge request`.
    pub noun: &'static str,
    /// An address that is right.
    pub example: &'static str,
    /// The problem of one with a user or a password: the token is never a part of an address.
    pub with_user: &'static str,
}

impl AddressForm {
    /// The server, without a path, and the parts of the path, decoded; of a web address without a user.
    pub fn read(&self, address: &str) -> Result<(Url, Vec<String>), ApiError> {
        let mut url = Url::parse(address.trim()).map_err(|error| self.refused(address, &error.to_string()))?;
        if !matches!(url.scheme(), "https" | "http") || url.host_str().is_none() {
            return Err(self.refused(address, "it does not begin with https:// and a host"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            // Shown without it: this ends up in a log.
            let address = format!("{}://…@{}", url.scheme(), url.host_str().unwrap_or_default());
            return Err(self.refused(&address, self.with_user));
        }
        let segments = url.path_segments().into_iter().flatten();
        let segments = segments
            .filter(|segment| !segment.is_empty())
            .map(|segment| percent_decode_str(segment).decode_utf8_lossy().into_owned())
            .collect();
        url.set_path("");
        url.set_query(None);
        url.set_fragment(None);
        Ok((url, segments))
    }

    /// Reads the number of a merge request.
    pub fn number(&self, address: &str, text: &str) -> Result<u64, ApiError> {
        let problem = || format!("`{text}` is not the number of a {}", self.noun);
        text.parse().map_err(|_| self.refused(address, &problem()))
    }

    /// The error for an address with this problem.
    pub fn refused(&self, address: &str, problem: &str) -> ApiError {
        let text = format!(
            "`{address}` is not the address of a {}: {problem}. It looks like {}",
            self.noun, self.example
        );
        ApiError::new(ApiErrorKind::Settings, text)
    }
}

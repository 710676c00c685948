//! GitHub's API for one pull request: its addresses and its authentication.

use std::time::Duration;

use conclave_forge::{
    ApiError, ApiErrorKind, ClientTimeouts, Committers, HttpClient, HttpDialect, Publisher, Repeat, client_builder,
    token_header,
};
use conclave_resilience::retry::RetryPolicy;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{
    Method,
    header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue},
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::sync::{Mutex, OnceCell};
use tokio::time::Instant;

use crate::{
    ExpectedHead, GitHubSettings,
    error::{MAX_WAIT, WORDS, hidden_limit, refusal, wait},
    memory::Memory,
    wire::Review,
};

/// The version of the REST API that is spoken.
const API_VERSION: &str = "2022-11-28";

/// Characters of names that stay as they are.
const NAME: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// GitHub's API for one pull request.
#[derive(Debug)]
pub struct GitHub {
    pub(crate) http: HttpClient,
    /// The addresses of both APIs, without a slash at their ends.
    api_url: String,
    pub(crate) graphql_url: String,
    pub(crate) owner: String,
    pub(crate) name: String,
    pub(crate) number: u64,
    pub(crate) secret: SecretString,
    pub(crate) expected: Option<ExpectedHead>,
    /// Our account.
    pub(crate) account: OnceCell<u64>,
    /// The number of the target repository.
    pub(crate) repository_id: OnceCell<u64>,
    /// The commit that is reviewed.
    pub(crate) reviewed: Mutex<Option<String>>,
    pub(crate) memory: Mutex<Memory>,
    /// The accounts behind the commits.
    pub(crate) committers: Committers<u64>,
    /// Rows of a page.
    pub(crate) page_size: u32,
}

impl GitHub {
    /// The API with these time limits; nothing is asked yet.
    pub fn new(settings: &GitHubSettings, timeouts: ClientTimeouts) -> Result<Self, ApiError> {
        let token = format!("Bearer {}", settings.token.expose_secret());
        let unusable =
            "GITHUB_TOKEN holds characters that no token has, such as a line break or a letter with an accent";
        let token = token_header(&token, unusable)?;
        let repository = &settings.repository;
        let (owner, name) = repository.split_once('/').ok_or_else(|| {
            let text = format!("`{repository}` is not a repository: it looks like OWNER/NAME");
            ApiError::new(ApiErrorKind::Settings, text)
        })?;
        let builder = client_builder(
            &settings.ca_files,
            "CONCLAVE_CA_FILE, or what --ca-file names",
            Some(&settings.api_url),
        )?;
        let version = HeaderName::from_static("x-github-api-version");
        let dialect = HttpDialect {
            words: WORDS,
            headers: HeaderMap::from_iter([
                (AUTHORIZATION, token),
                (ACCEPT, HeaderValue::from_static("application/vnd.github+json")),
                (version, HeaderValue::from_static(API_VERSION)),
            ]),
            refusal,
            hidden_limit,
            wait,
        };
        let text = |url: &url::Url| url.as_str().trim_end_matches('/').to_owned();
        Ok(Self {
            http: HttpClient::new(builder, &settings.api_url, dialect, timeouts)?,
            api_url: text(&settings.api_url),
            graphql_url: text(&settings.graphql_url),
            owner: owner.to_owned(),
            name: name.to_owned(),
            number: settings.number,
            secret: settings.secret.clone(),
            expected: settings.expected.clone(),
            account: OnceCell::new(),
            repository_id: OnceCell::new(),
            reviewed: Mutex::default(),
            memory: Mutex::default(),
            committers: Committers::default(),
            page_size: 100,
        })
    }

    /// The usual time limits in a job that ends then. When comments come too fast, GitHub asks for a minute and more.
    pub fn timeouts(ends: Option<Instant>) -> ClientTimeouts {
        ClientTimeouts {
            retry: RetryPolicy {
                longest_asked: MAX_WAIT,
                ..RetryPolicy::default()
            },
            write_gap: Duration::from_secs(1),
            ends,
            ..ClientTimeouts::default()
        }
    }

    /// A publisher for the pull request, with the usual time limits, in a job that ends then.
    pub fn publisher(settings: &GitHubSettings, ends: Option<Instant>) -> Result<Publisher, ApiError> {
        let api = Self::new(settings, Self::timeouts(ends))?;
        Ok(Publisher::new(Box::new(api), settings.secret.clone()))
    }

    /// The same with pages of so many rows.
    #[must_use]
    pub fn with_pages_of(mut self, rows: u32) -> Self {
        self.page_size = rows;
        self
    }

    /// The address of something in the API.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.api_url)
    }

    /// The address of the repository, or of something below it.
    pub(crate) fn repository(&self, below: &str) -> String {
        let (owner, name) = (encoded(&self.owner), encoded(&self.name));
        self.url(&format!("repos/{owner}/{name}{below}"))
    }

    /// The address of the pull request, or of something below it.
    pub(crate) fn pull(&self, below: &str) -> String {
        self.repository(&format!("/pulls/{}{below}", self.number))
    }

    /// The address of something below the issue that the pull request is.
    pub(crate) fn issue(&self, below: &str) -> String {
        self.repository(&format!("/issues/{}{below}", self.number))
    }

    /// Reads all reviews, oldest first; pending ones are shown to their author only.
    pub(crate) async fn reviews(&self) -> Result<Vec<Review>, ApiError> {
        self.http.list("read its reviews", &self.pull("/reviews")).await
    }

    /// Creates something, which must not happen twice.
    pub(crate) async fn create(&self, what: &str, url: &str, body: &Value) -> Result<Value, ApiError> {
        self.http.write(what, Method::POST, url, body, Repeat::Never).await
    }
}

/// A part of a path.
pub(crate) fn encoded(part: &str) -> impl std::fmt::Display {
    utf8_percent_encode(part, NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_not_printed() {
        let settings = GitHubSettings {
            api_url: "https://api.github.com".parse().expect("an address"),
            graphql_url: "https://api.github.com/graphql".parse().expect("an address"),
            token: "ghs_12_x.y.z".to_owned().into(),
            repository: "acme/shop".to_owned(),
            number: 1,
            secret: "s".to_owned().into(),
            ca_files: Vec::new(),
            expected: None,
        };
        let client = GitHub::new(&settings, GitHub::timeouts(None)).expect("a client");
        assert!(!format!("{client:?}").contains("ghs_12"));
    }
}

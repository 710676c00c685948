//! GitLab's REST API: authentication, pages and retries.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use chrono::{DateTime, Utc};
use conclave_resilience::{classify::ProviderFault, retry::RetryPolicy};
use futures_util::{StreamExt, stream};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{
    Certificate, ClientBuilder, Method, Response, StatusCode,
    header::{DATE, HeaderMap, HeaderName, HeaderValue, LINK, LOCATION},
    redirect::Policy,
};
use secrecy::ExposeSecret;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use crate::{
    GitLabError, GitLabSettings,
    pace::{self, Pace},
};

/// Stands for the one path that is not below `/api/v4`.
const GRAPHQL: &str = "../graphql";

const PRIVATE_TOKEN: HeaderName = HeaderName::from_static("private-token");

/// The most pages of one list. A hundred rows each: far beyond GitLab's own limit of comments.
const MOST_PAGES: u64 = 100;

/// How many pages are read beside each other.
const PAGES_AT_ONCE: usize = 4;

/// How long GitLab is waited for, and how often it is asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Time for one request.
    pub request: Duration,
    /// When a request that failed is repeated.
    pub retry: RetryPolicy,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            request: Duration::from_secs(30),
            // GitLab asks for a minute when comments come too fast: two repetitions are that minute.
            retry: RetryPolicy {
                longest_asked: Duration::from_secs(30),
                ..RetryPolicy::default()
            },
        }
    }
}

/// A client of one merge request.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    token: HeaderValue,
    settings: GitLabSettings,
    retry: RetryPolicy,
    /// Time for one request, in milliseconds; it can be changed while the client is in use.
    request_ms: Arc<AtomicU64>,
    pace: Arc<Pace>,
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

struct Answer {
    headers: HeaderMap,
    body: String,
}

struct Failure {
    error: GitLabError,
    /// What another attempt may get over.
    fault: Option<ProviderFault>,
    asked: Option<Duration>,
}

impl Client {
    pub(crate) fn new(settings: GitLabSettings, patience: Patience) -> Result<Self, GitLabError> {
        let mut token =
            HeaderValue::from_str(settings.token.expose_secret()).map_err(|_| GitLabError::UnusableToken)?;
        token.set_sensitive(true);
        let http = builder(&settings.ca_files)?
            .build()
            .map_err(|error| GitLabError::unreachable(host(&settings), "prepare the client", error))?;
        Ok(Self {
            http,
            token,
            settings,
            retry: patience.retry,
            request_ms: Arc::new(AtomicU64::new(milliseconds(patience.request))),
            pace: Arc::default(),
        })
    }

    /// Sets the time for one request, from the next one on.
    pub(crate) fn limit_requests(&self, limit: Duration) {
        self.request_ms.store(milliseconds(limit), Ordering::Relaxed);
    }

    pub(crate) fn settings(&self) -> &GitLabSettings {
        &self.settings
    }

    /// The path of this merge request, or of something below it.
    pub(crate) fn merge_request_path(&self, below: &str) -> String {
        format!("{}/merge_requests/{}{below}", self.project_path(), self.settings.iid)
    }

    pub(crate) fn project_path(&self) -> String {
        format!(
            "projects/{}",
            utf8_percent_encode(&self.settings.project, NON_ALPHANUMERIC)
        )
    }

    /// Reads one object.
    pub(crate) async fn get<T: DeserializeOwned>(&self, what: &str, path: &str) -> Result<T, GitLabError> {
        let answer = self.send(what, &Method::GET, path, None, true).await?;
        read(what, &answer.body)
    }

    /// Reads one object, and when GitLab thinks that it is.
    pub(crate) async fn get_dated<T: DeserializeOwned>(
        &self,
        what: &str,
        path: &str,
    ) -> Result<(T, Option<DateTime<Utc>>), GitLabError> {
        let answer = self.send(what, &Method::GET, path, None, true).await?;
        let date = answer.headers.get(DATE).and_then(|value| value.to_str().ok());
        let date = date.and_then(|text| DateTime::parse_from_rfc2822(text).ok());
        Ok((read(what, &answer.body)?, date.map(|date| date.to_utc())))
    }

    /// Reads the pages of a list from this one on, following what GitLab says: a short page is no last page. Returns the
    /// last page's number, too.
    pub(crate) async fn list_from<T: DeserializeOwned>(
        &self,
        what: &str,
        path: &str,
        first: u64,
    ) -> Result<(Vec<T>, u64), GitLabError> {
        let mut rows = Vec::new();
        let mut page = first;
        loop {
            let answer = self.page(what, path, page).await?;
            rows.extend(read::<Vec<T>>(what, &answer.body)?);
            let Some(mut next) = next_page(&answer.headers) else {
                return Ok((rows, page));
            };
            // Where GitLab says how many there are, the pages in between are read beside each other. The last one is asked
            // for what follows it, as ever.
            let last = number(&answer.headers, "x-total-pages").unwrap_or(next).min(MOST_PAGES);
            let mut between = stream::iter(next..last)
                .map(|page| self.page(what, path, page))
                .buffered(PAGES_AT_ONCE);
            while let Some(answer) = between.next().await {
                rows.extend(read::<Vec<T>>(what, &answer?.body)?);
                next += 1;
            }
            page = next;
            if page > MOST_PAGES {
                return Err(GitLabError::TooMuch {
                    what: what.to_owned(),
                    rows: rows.len(),
                });
            }
        }
    }

    async fn page(&self, what: &str, path: &str, page: u64) -> Result<Answer, GitLabError> {
        let separator = if path.contains('?') { '&' } else { '?' };
        let paged = format!("{path}{separator}per_page=100&page={page}");
        self.send(what, &Method::GET, &paged, None, true).await
    }

    /// Writes what may be written twice with the same result.
    pub(crate) async fn put(&self, what: &str, path: &str, body: &Value) -> Result<(), GitLabError> {
        self.send(what, &Method::PUT, path, Some(body), true).await.map(|_| ())
    }

    /// Asks for something that may be asked for twice with the same result.
    pub(crate) async fn post(&self, what: &str, path: &str, body: &Value) -> Result<(), GitLabError> {
        self.send(what, &Method::POST, path, Some(body), true).await.map(|_| ())
    }

    /// Writes what must not be written twice: repeated only when GitLab says that it did nothing.
    pub(crate) async fn post_once(&self, what: &str, path: &str, body: &Value) -> Result<Value, GitLabError> {
        let answer = self.send(what, &Method::POST, path, Some(body), false).await?;
        read(what, &answer.body)
    }

    /// Deletes something; that it is gone already is what was wanted.
    pub(crate) async fn delete(&self, what: &str, path: &str) -> Result<(), GitLabError> {
        match self.send(what, &Method::DELETE, path, None, true).await {
            Ok(_) | Err(GitLabError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Sends a query to GitLab's other API, for what the one used elsewhere does not have.
    pub(crate) async fn graphql(&self, what: &str, body: &Value) -> Result<Value, GitLabError> {
        let answer = self.send(what, &Method::POST, GRAPHQL, Some(body), true).await?;
        read(what, &answer.body)
    }

    /// Waits before something is tried again that has failed so many times; false when it has had its attempts.
    pub(crate) async fn pause(&self, failed: u32) -> bool {
        match self.retry.next_wait(failed, ProviderFault::ServerError, None, 0.5) {
            Some(wait) => {
                tokio::time::sleep(wait).await;
                true
            }
            None => false,
        }
    }

    async fn send(
        &self,
        what: &str,
        method: &Method,
        path: &str,
        body: Option<&Value>,
        repeatable: bool,
    ) -> Result<Answer, GitLabError> {
        let mut failed = 0;
        loop {
            let Failure { error, fault, asked } = match self.once(what, method, path, body).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            failed += 1;
            let did_nothing = matches!(fault, Some(ProviderFault::RateLimited | ProviderFault::Overloaded));
            let wait = fault
                .filter(|_| repeatable || did_nothing)
                .and_then(|fault| self.retry.next_wait(failed, fault, asked, 0.5));
            let Some(wait) = wait else { return Err(error) };
            tracing::warn!(%error, ?wait, "asking GitLab again");
            if matches!(fault, Some(ProviderFault::RateLimited)) {
                // The limit is for all requests of the token, so those that run beside this one wait, too.
                self.pace.hold(wait);
            } else {
                tokio::time::sleep(wait).await;
            }
        }
    }

    async fn once(&self, what: &str, method: &Method, path: &str, body: Option<&Value>) -> Result<Answer, Failure> {
        let broken = |error: reqwest::Error| Failure {
            fault: Some(if error.is_timeout() {
                ProviderFault::Timeout
            } else {
                ProviderFault::Network
            }),
            error: GitLabError::unreachable(host(&self.settings), what, error),
            asked: None,
        };
        let api = self.settings.api_url.as_str().trim_end_matches('/');
        let url = match path {
            GRAPHQL => format!("{}/graphql", api.trim_end_matches("/v4")),
            path => format!("{api}/{path}"),
        };
        self.pace.wait().await;
        let mut request = self
            .http
            .request(method.clone(), url)
            .timeout(Duration::from_millis(self.request_ms.load(Ordering::Relaxed)))
            .header(PRIVATE_TOKEN, self.token.clone());
        if let Some(body) = body {
            request = request.json(body);
        }
        let response: Response = request.send().await.map_err(broken)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.text().await.map_err(broken)?;
        if let Some(wait) = pace::used_up(&headers) {
            self.pace.hold(wait.min(self.retry.longest_asked));
        }
        if status.is_success() {
            return Ok(Answer { headers, body });
        }
        let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let error = match text(LOCATION) {
            Some(location) if status.is_redirection() => GitLabError::Moved {
                what: what.to_owned(),
                status: status.as_u16(),
                location: location.to_owned(),
            },
            _ => GitLabError::refusal(what, status, &body),
        };
        Err(Failure {
            fault: fault(status, &error),
            error,
            asked: pace::asked(&headers),
        })
    }
}

/// A client's settings that hold for every request to GitLab.
pub(crate) fn builder(ca_files: &[std::path::PathBuf]) -> Result<ClientBuilder, GitLabError> {
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("conclave/", env!("CARGO_PKG_VERSION")))
        // The token's header would go along to wherever a redirect points, and a redirected POST becomes a GET.
        .redirect(Policy::none());
    for path in ca_files {
        let problem = |problem: String| GitLabError::CaFile {
            path: path.display().to_string(),
            problem,
        };
        let pem = std::fs::read(path).map_err(|error| problem(error.to_string()))?;
        let certificates = Certificate::from_pem_bundle(&pem).map_err(|error| problem(error.to_string()))?;
        if certificates.is_empty() {
            return Err(problem("it holds no certificate".to_owned()));
        }
        builder = builder.tls_certs_merge(certificates);
    }
    Ok(builder)
}

fn host(settings: &GitLabSettings) -> &str {
    settings.api_url.host_str().unwrap_or_default()
}

/// What another attempt may get over. After a rate limit or a lock it is certain that nothing was done.
fn fault(status: StatusCode, error: &GitLabError) -> Option<ProviderFault> {
    match status.as_u16() {
        429 => Some(ProviderFault::RateLimited),
        409 if error.is_lock() => Some(ProviderFault::Overloaded),
        500 | 502..=504 => Some(ProviderFault::ServerError),
        _ => None,
    }
}

fn read<T: DeserializeOwned>(what: &str, body: &str) -> Result<T, GitLabError> {
    serde_json::from_str(body).map_err(|error| GitLabError::Garbage {
        what: what.to_owned(),
        cause: error.to_string(),
    })
}

/// A header that is a number.
fn number(headers: &HeaderMap, name: &'static str) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// The number of the next page, if there is one. Some proxies let only standard headers through, hence the link.
fn next_page(headers: &HeaderMap) -> Option<u64> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    if let Some(next) = text(HeaderName::from_static("x-next-page")) {
        return next.trim().parse().ok();
    }
    let link = text(LINK)?.split(',').find(|link| link.contains("rel=\"next\""))?;
    let address = link.split_once('<')?.1.split_once('>')?.0;
    let address = Url::parse(address).ok()?;
    let (_, page) = address.query_pairs().find(|(name, _)| name == "page")?;
    page.parse().ok()
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;

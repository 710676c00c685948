//! A forge's API over HTTP: authentication, pages, retries, and its rate limit.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use chrono::{DateTime, Utc};
use conclave_certificates::ExtraCertificates;
use conclave_resilience::{classify::ProviderFault, retry::RetryPolicy};
use futures_util::{StreamExt, stream};
use reqwest::{
    ClientBuilder, Method, StatusCode,
    header::{DATE, HeaderMap, HeaderName, HeaderValue, LINK, LOCATION},
    redirect::Policy,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};
use url::Url;

use crate::{
    ApiError, ApiErrorKind, ForgeWords,
    rate_limit::{self, RateLimit},
};

/// Maximum pages of one list. A hundred rows each: far beyond the forges' own limits of comments.
const MAX_PAGES: u64 = 100;

/// Pages that are read beside each other.
const PAGES_AT_ONCE: usize = 4;

/// Time limits and repetitions of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientTimeouts {
    /// Time for one request.
    pub request: Duration,
    /// When a request that failed is repeated.
    pub retry: RetryPolicy,
    /// Time between two writes.
    pub write_gap: Duration,
    /// The end of the job, if it is known: nothing is asked after it, and no wait goes beyond it.
    pub ends: Option<Instant>,
}

impl ClientTimeouts {
    /// Each request once, with this time.
    pub fn once(limit: Duration) -> Self {
        Self {
            request: limit,
            retry: RetryPolicy {
                retries: 0,
                ..RetryPolicy::default()
            },
            ..Self::default()
        }
    }
}

impl Default for ClientTimeouts {
    fn default() -> Self {
        Self {
            request: Duration::from_secs(30),
            // A forge asks for a minute when comments come too fast: two repetitions are that minute.
            retry: RetryPolicy {
                longest_asked: Duration::from_secs(30),
                ..RetryPolicy::default()
            },
            write_gap: Duration::ZERO,
            ends: None,
        }
    }
}

/// The ways in which forges differ over HTTP.
#[derive(Debug, Clone)]
pub struct HttpDialect {
    /// The forge's words in texts.
    pub words: ForgeWords,
    /// Headers of every request, the token's among them, marked as sensitive.
    pub headers: HeaderMap,
    /// Reads a refusal: what was asked, the status, the headers, and the body.
    pub refusal: fn(&str, StatusCode, &HeaderMap, &str) -> ApiError,
    /// Reads a limit in the body of an answer whose status is a success, as GraphQL sends it; none in any other.
    pub hidden_limit: fn(&str, &HeaderMap, &str) -> Option<ApiError>,
    /// Reads the wait that a failed request's headers ask for.
    pub wait: fn(&ApiError, &HeaderMap) -> Option<Duration>,
}

/// Whether a request may be carried out twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// Twice has the same result as once.
    Safe,
    /// It is repeated only where the forge says that it did nothing.
    Never,
}

/// A client of a forge's API.
#[derive(Debug, Clone)]
pub struct HttpClient {
    http: reqwest::Client,
    dialect: HttpDialect,
    retry: RetryPolicy,
    write_gap: Duration,
    ends: Option<Instant>,
    /// Time for one request, in milliseconds; it can be changed while the client is in use.
    request_ms: Arc<AtomicU64>,
    rate_limit: Arc<RateLimit>,
    has_written: Arc<AtomicBool>,
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

struct Answer {
    headers: HeaderMap,
    body: String,
}

impl HttpClient {
    /// A client of the API at this address, with these settings; nothing is asked yet.
    pub fn new(
        builder: ClientBuilder,
        api_url: &Url,
        dialect: HttpDialect,
        timeouts: ClientTimeouts,
    ) -> Result<Self, ApiError> {
        let (forge, host) = (dialect.words.name, api_url.host_str().unwrap_or_default());
        let http = builder.build();
        let http = http.map_err(|error| ApiError::unreachable(forge, host, "prepare the client", error))?;
        Ok(Self {
            http,
            dialect,
            retry: timeouts.retry,
            write_gap: timeouts.write_gap,
            ends: timeouts.ends,
            request_ms: Arc::new(AtomicU64::new(milliseconds(timeouts.request))),
            rate_limit: Arc::default(),
            has_written: Arc::default(),
        })
    }

    /// Returns whether something was written, or may have been by a request that failed.
    pub fn has_written(&self) -> bool {
        self.has_written.load(Ordering::Relaxed)
    }

    /// Waits until a write would be sent at once: what is read right before it is then no older than it has to be.
    pub(crate) async fn until_write(&self) {
        self.rate_limit.until_turn().await;
    }

    /// Sets the time for one request, from the next one on.
    pub fn limit_requests(&self, limit: Duration) {
        self.request_ms.store(milliseconds(limit), Ordering::Relaxed);
    }

    /// The forge's words in texts.
    pub(crate) const fn words(&self) -> ForgeWords {
        self.dialect.words
    }

    /// When a request that failed is repeated.
    pub const fn retry(&self) -> RetryPolicy {
        self.retry
    }

    /// Reads one object.
    pub async fn get<T: DeserializeOwned>(&self, what: &str, url: &str) -> Result<T, ApiError> {
        Ok(self.get_dated(what, url).await?.0)
    }

    /// Reads one object, and the time on the server.
    pub async fn get_dated<T: DeserializeOwned>(
        &self,
        what: &str,
        url: &str,
    ) -> Result<(T, Option<DateTime<Utc>>), ApiError> {
        let answer = self.send(what, &Method::GET, url, None, Repeat::Safe).await?;
        let date = answer.headers.get(DATE).and_then(|value| value.to_str().ok());
        let date = date.and_then(|text| DateTime::parse_from_rfc2822(text).ok());
        Ok((self.read(what, &answer.body)?, date.map(|date| date.to_utc())))
    }

    /// Reads all pages of a list.
    pub async fn list<T: DeserializeOwned>(&self, what: &str, url: &str) -> Result<Vec<T>, ApiError> {
        Ok(self.list_from(what, url, 1).await?.0)
    }

    /// Reads the pages of a list from this one on, following what the forge says: a short page need not be the last one. Returns
    /// the last page's number, too.
    pub async fn list_from<T: DeserializeOwned>(
        &self,
        what: &str,
        url: &str,
        first: u64,
    ) -> Result<(Vec<T>, u64), ApiError> {
        let mut rows = Vec::new();
        let mut page = first;
        loop {
            let answer = self.page(what, url, page).await?;
            rows.extend(self.read::<Vec<T>>(what, &answer.body)?);
            let Some(mut next) = next_page(&answer.headers) else {
                return Ok((rows, page));
            };
            // Where the forge says how many there are, the pages in between are read beside each other. The last one is asked
            // for what follows it, as ever.
            let last = number(&answer.headers, "x-total-pages").unwrap_or(next).min(MAX_PAGES);
            let mut between = stream::iter(next..last)
                .map(|page| self.page(what, url, page))
                .buffered(PAGES_AT_ONCE);
            while let Some(answer) = between.next().await {
                rows.extend(self.read::<Vec<T>>(what, &answer?.body)?);
                next += 1;
            }
            page = next;
            if page > MAX_PAGES {
                let (forge, noun) = (self.dialect.words.name, self.dialect.words.noun);
                let text = format!(
                    "{forge} has more than {MAX_PAGES} pages for a list when asked to {what}; a {noun} that large is not reviewed"
                );
                return Err(ApiError::new(ApiErrorKind::Other, text));
            }
        }
    }

    async fn page(&self, what: &str, url: &str, page: u64) -> Result<Answer, ApiError> {
        let separator = if url.contains('?') { '&' } else { '?' };
        let paged = format!("{url}{separator}per_page=100&page={page}");
        self.send(what, &Method::GET, &paged, None, Repeat::Safe).await
    }

    /// Writes something, and reads the answer.
    pub async fn write<T: DeserializeOwned>(
        &self,
        what: &str,
        method: Method,
        url: &str,
        body: &Value,
        repeat: Repeat,
    ) -> Result<T, ApiError> {
        let answer = self.send(what, &method, url, Some(body), repeat).await?;
        self.read(what, &answer.body)
    }

    /// Writes what may be written twice with the same result, whatever the answer holds.
    pub async fn put(&self, what: &str, method: Method, url: &str, body: &Value) -> Result<(), ApiError> {
        self.send(what, &method, url, Some(body), Repeat::Safe).await.map(drop)
    }

    /// Deletes something; that it is gone already is what was wanted.
    pub async fn delete(&self, what: &str, url: &str) -> Result<(), ApiError> {
        ApiError::found(self.send(what, &Method::DELETE, url, None, Repeat::Safe).await).map(drop)
    }

    /// Reads by a request with a body, such as a query of GraphQL.
    pub async fn query<T: DeserializeOwned>(&self, what: &str, url: &str, body: &Value) -> Result<T, ApiError> {
        let answer = self.repeat(what, &Method::POST, url, Some(body), Repeat::Safe).await?;
        self.read(what, &answer.body)
    }

    /// Time until the job's end.
    fn time_left(&self) -> Option<Duration> {
        self.ends.map(|ends| ends.saturating_duration_since(Instant::now()))
    }

    async fn send(
        &self,
        what: &str,
        method: &Method,
        url: &str,
        body: Option<&Value>,
        repeat: Repeat,
    ) -> Result<Answer, ApiError> {
        if *method == Method::GET {
            return self.repeat(what, method, url, body, repeat).await;
        }
        self.rate_limit.pace(self.write_gap).await;
        let written = self.repeat(what, method, url, body, repeat).await;
        let is_certain = written.as_ref().err().is_some_and(|error| !error.may_have_happened());
        self.has_written.fetch_or(!is_certain, Ordering::Relaxed);
        written
    }

    async fn repeat(
        &self,
        what: &str,
        method: &Method,
        url: &str,
        body: Option<&Value>,
        repeat: Repeat,
    ) -> Result<Answer, ApiError> {
        let mut failed = 0;
        loop {
            let (error, asked) = match self.once(what, method, url, body).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            failed += 1;
            let fault = error.fault();
            let did_nothing = matches!(fault, Some(ProviderFault::RateLimited | ProviderFault::Overloaded));
            let wait = fault
                .filter(|_| repeat == Repeat::Safe || did_nothing)
                .and_then(|fault| self.retry.next_wait(failed, fault, asked, 0.5));
            let Some(wait) = wait else { return Err(error) };
            if self.time_left().is_some_and(|left| left < wait) {
                return Err(error.adding("the job ends before it may be asked again"));
            }
            tracing::warn!(%error, ?wait, forge = self.dialect.words.name, "asking the forge again");
            if error.kind == ApiErrorKind::RateLimited {
                // The limit is for all requests of the token, so those that run beside this one wait, too.
                self.rate_limit.hold(wait);
            } else {
                tokio::time::sleep(wait).await;
            }
        }
    }

    /// One attempt; a failure comes with the wait that the forge asks for.
    async fn once(
        &self,
        what: &str,
        method: &Method,
        url: &str,
        body: Option<&Value>,
    ) -> Result<Answer, (ApiError, Option<Duration>)> {
        let forge = self.dialect.words.name;
        let broken = |error: reqwest::Error| {
            let host = Url::parse(url).ok();
            let host = host.as_ref().and_then(Url::host_str).unwrap_or_default();
            (ApiError::unreachable(forge, host, what, error), None)
        };
        let mut limit = Duration::from_millis(self.request_ms.load(Ordering::Relaxed));
        match self.ends {
            // A wait that another request has to hold for may go beyond the end; this one is not sent then.
            Some(ends) => {
                timeout_at(ends, self.rate_limit.wait()).await.ok();
                limit = limit.min(ends.saturating_duration_since(Instant::now()));
            }
            None => self.rate_limit.wait().await,
        }
        if limit.is_zero() {
            let text = format!("{forge} was not asked to {what}: the job's time is over");
            return Err((ApiError::new(ApiErrorKind::Other, text), None));
        }
        let mut request = self
            .http
            .request(method.clone(), url)
            .timeout(limit)
            .headers(self.dialect.headers.clone());
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(broken)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.text().await.map_err(broken)?;
        if let Some(wait) = rate_limit::used_up(&headers) {
            self.rate_limit.hold(wait.min(self.retry.longest_asked));
        }
        if status.is_success() {
            let Some(limit) = (self.dialect.hidden_limit)(what, &headers, &body) else {
                return Ok(Answer { headers, body });
            };
            let wait = (self.dialect.wait)(&limit, &headers);
            return Err((limit, wait));
        }
        let error = match headers.get(LOCATION).and_then(|value| value.to_str().ok()) {
            Some(location) if status.is_redirection() => {
                let status = status.as_u16();
                let text = format!(
                    "{forge} answered {status} when asked to {what}: it is at {location} now. Correct the address or the \
                     project; a redirect is not followed, because it would get the token"
                );
                ApiError::new(ApiErrorKind::Moved, text)
            }
            _ => (self.dialect.refusal)(what, status, &headers, &body),
        };
        let wait = (self.dialect.wait)(&error, &headers);
        Err((error, wait))
    }

    fn read<T: DeserializeOwned>(&self, what: &str, body: &str) -> Result<T, ApiError> {
        serde_json::from_str(body).map_err(|error| ApiError::garbage(self.dialect.words.name, what, &error))
    }
}

/// Settings of a client that hold for every request to a forge, which is at this address, if it is known. `correct` names what a user has
/// to correct where a file with certificates (PEM) cannot be used.
pub fn client_builder(ca_files: &[PathBuf], correct: &str, address: Option<&Url>) -> Result<ClientBuilder, ApiError> {
    let builder = reqwest::Client::builder()
        .user_agent(concat!("conclave/", env!("CARGO_PKG_VERSION")))
        // The token's header would go along to wherever a redirect points, and a redirected POST becomes a GET.
        .redirect(Policy::none());
    let certificates = ExtraCertificates::read(ca_files)
        .map_err(|error| ApiError::new(ApiErrorKind::Settings, format!("{error}. Correct {correct}")))?;
    certificates
        .trusted_by(builder, address)
        .map_err(|error| ApiError::new(ApiErrorKind::Settings, error.to_string()))
}

/// The value of a header with a token, which is not printed; `unusable` is the error's text where it can be none.
pub fn token_header(value: &str, unusable: &'static str) -> Result<HeaderValue, ApiError> {
    let mut header = HeaderValue::from_str(value).map_err(|_| ApiError::new(ApiErrorKind::UnusableToken, unusable))?;
    header.set_sensitive(true);
    Ok(header)
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
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_in_one_header_or_the_other() {
        let link = r#"<https://x/api/v4/a?page=1&per_page=2>; rel="first", <https://x/api/v4/a?page=3&per_page=2>; rel="next""#;
        let last = r#"<https://x/api/v4/a?page=1&per_page=2>; rel="first""#;
        for (headers, expected) in [
            (vec![("x-next-page", "2")], Some(2)),
            (vec![("x-next-page", ""), ("link", link)], None),
            (vec![("link", link)], Some(3)),
            (vec![("link", last)], None),
            (vec![], None),
        ] {
            let map: HeaderMap = headers
                .iter()
                .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
                .collect();
            assert_eq!(next_page(&map), expected, "{headers:?}");
        }
    }
}

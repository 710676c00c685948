//! The administrators' side of the Worker, for `conclave config`.

use std::{collections::BTreeMap, time::Duration};

use conclave_certificates::{ExtraCertificates, redirect_target};
use conclave_shared::{
    config::{self, ConfigDocument, ConfigFault, ProviderSwitch},
    model::ModelId,
    problem::{NO_SUCH_REVISION, Problem, ProblemItem, READERS_TOKEN},
    routes,
};
use reqwest::{
    Client, Method, RequestBuilder, Response,
    header::{CONTENT_TYPE, ETAG, HeaderName, HeaderValue, IF_MATCH},
    redirect::Policy,
};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use url::Url;

use crate::fetch::{FetchError, MAX_BYTES, read};

/// The time for one request. An operator waits longer than a review may.
const LIMIT: Duration = Duration::from_secs(15);
/// Maximum bytes of a stored document that are read to be shown and mended: as much as KV holds, and a little more for what the text
/// becomes where it is not UTF-8.
const MAX_STORED: usize = 80 * 1024 * 1024;

/// Why the Worker did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// It cannot be reached, or its answer is none of its own.
    #[error("the configuration service at {host} {problem}")]
    Service {
        /// Where it is.
        host: String,
        /// The problem, as the end of a sentence about the service.
        problem: String,
    },
    /// It lets none of the credentials in that only read.
    #[error("the configuration service at {host} {problem}")]
    Denied {
        /// Where it is.
        host: String,
        /// The problem, as the end of a sentence about the service.
        problem: String,
    },
    /// The token is not an administrator's.
    #[error(
        "the configuration service at {0} refused the token: set CONCLAVE_CONFIG_ADMIN_TOKEN to one of its ADMIN_TOKENS, without the name \
         and the colon before it"
    )]
    Refused(String),
    /// The token only reads.
    #[error(
        "the configuration service at {0} refused the token: CONCLAVE_CONFIG_ADMIN_TOKEN is one of its READER_TOKENS, which change nothing; \
         set it to one of its ADMIN_TOKENS"
    )]
    Reader(String),
    /// It cannot be sent as it is.
    #[error("CONCLAVE_CONFIG_ADMIN_TOKEN has a character that no token has, such as a line break: set it to one token")]
    Token,
    /// Another change came first.
    #[error(
        "another change came first, and nothing was written: `conclave config history` shows whose it was. Run the command again to see \
         and write yours on top of it"
    )]
    Stale,
    /// It says what is wrong with the request.
    #[error("{}{}", .0.detail, items(&.0.errors))]
    Problem(Problem),
}

fn items(errors: &[ProblemItem]) -> String {
    let lines = errors.iter().map(|error| match error.pointer.as_str() {
        "" => format!("\n  {}", error.detail),
        pointer => format!("\n  {pointer}: {}", error.detail),
    });
    lines.collect()
}

impl AdminError {
    /// Returns whether the service failed, rather than what it was asked for.
    pub const fn is_service(&self) -> bool {
        matches!(self, Self::Service { .. })
    }
}

/// The document as it is stored. A person who writes to KV by hand can store anything.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredDocument {
    /// The text.
    pub text: String,
    /// The document, fields of later versions included; or why the text is not JSON.
    pub document: Result<Value, String>,
    /// The entity tag, which a change of it has to name.
    pub tag: String,
}

impl StoredDocument {
    /// The document that counts in reviews: all of its faults if none does.
    pub fn in_force(&self) -> Result<ConfigDocument, Vec<ConfigFault>> {
        let of_whole = |detail: String| {
            vec![ConfigFault {
                pointer: String::new(),
                detail,
            }]
        };
        let document = match &self.document {
            Ok(document) => config::read(document)?,
            Err(error) => return Err(of_whole(format!("is not JSON: {error}"))),
        };
        // Reviews are sent what is known of it.
        let bytes = serde_json::to_vec(&document).map_or(0, |sent| sent.len());
        if bytes > MAX_BYTES {
            return Err(of_whole(format!("has {bytes} bytes; reviews read {MAX_BYTES} at most")));
        }
        Ok(document)
    }

    /// The document as a value to compare; a text that is not JSON as it is.
    pub fn value(&self) -> Value {
        self.document
            .clone()
            .unwrap_or_else(|_| Value::String(self.text.clone()))
    }
}

/// A line of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// The revision.
    pub revision: u64,
    /// When, in milliseconds since 1970 in UTC.
    pub at_ms: i64,
    /// The name of the token; empty for one without.
    pub who: String,
    /// The reason that was given.
    pub why: Option<String>,
    /// What was done.
    pub action: String,
}

/// A revision with what it left behind.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PastRevision {
    /// The document; nothing before the first write.
    pub document: Option<Value>,
    /// The switches.
    pub switches: BTreeMap<String, ProviderSwitch>,
}

/// A client with an administrator's token.
#[derive(Debug, Clone)]
pub struct AdminClient {
    client: Client,
    url: Url,
    token: SecretString,
}

#[derive(Deserialize)]
struct Written {
    revision: u64,
}

#[derive(Deserialize)]
struct History {
    revisions: Vec<HistoryEntry>,
}

impl AdminClient {
    /// A client of the Worker at this address.
    pub fn new(url: Url, token: SecretString, certificates: &ExtraCertificates) -> Result<Self, AdminError> {
        if HeaderValue::try_from(token.expose_secret()).is_err() {
            return Err(AdminError::Token);
        }
        let client = Client::builder().timeout(LIMIT).redirect(Policy::none());
        let client = certificates
            .client(client, [&url])
            .map_err(|error| AdminError::Service {
                host: host(&url),
                problem: FetchError::from(error).to_string(),
            })?;
        Ok(Self { client, url, token })
    }

    /// The document.
    pub async fn document(&self) -> Result<StoredDocument, AdminError> {
        let response = self
            .send(self.request(Method::GET, routes::CONFIG_DOCUMENT, &[]))
            .await?;
        // An answer that breaks off, or is too large, is reported as such first.
        let tag = document_tag(&response);
        let body = read(response, MAX_STORED).await.map_err(|error| self.service(&error))?;
        let tag = tag.map_err(|error| self.service(&error))?;
        let text = String::from_utf8_lossy(&body).into_owned();
        let document = serde_json::from_str(&text).map_err(|error| error.to_string());
        Ok(StoredDocument { text, document, tag })
    }

    /// Writes a document over the one that has this tag; answers the new revision.
    pub async fn replace(&self, document: &Value, tag: &str, reason: &str) -> Result<u64, AdminError> {
        let request = self.request(Method::PUT, routes::CONFIG_DOCUMENT, &[("reason", reason)]);
        self.written(request.header(IF_MATCH, tag).json(document)).await
    }

    /// Flips a provider's switch, if this revision is still the newest.
    pub async fn switch(&self, provider: &str, switch: &ProviderSwitch, newest: u64) -> Result<u64, AdminError> {
        let path = format!("{}/{}", routes::PROVIDERS, segment(provider));
        let request = self.request(Method::PUT, &path, &[]);
        self.written(request.header(IF_MATCH, tag(newest)).json(switch)).await
    }

    /// Says who stands in for whom, in the document that has this tag.
    pub async fn failback(
        &self,
        failback: &BTreeMap<String, Option<ModelId>>,
        tag: &str,
        reason: &str,
    ) -> Result<u64, AdminError> {
        let request = self.request(Method::PUT, routes::FAILBACK, &[("reason", reason)]);
        self.written(request.header(IF_MATCH, tag).json(failback)).await
    }

    /// The newest revision; 0 before the first write.
    pub async fn newest(&self) -> Result<u64, AdminError> {
        let history = self.history(1, None).await?;
        Ok(history.first().map_or(0, |newest| newest.revision))
    }

    /// The last revisions, newest first.
    pub async fn history(&self, limit: u32, before: Option<u64>) -> Result<Vec<HistoryEntry>, AdminError> {
        let limit = limit.to_string();
        let before = before.map(|before| before.to_string());
        let mut query = vec![("limit", limit.as_str())];
        query.extend(before.as_deref().map(|before| ("before", before)));
        let response = self.send(self.request(Method::GET, routes::HISTORY, &query)).await?;
        Ok(self.parse::<History>(response).await?.revisions)
    }

    /// A revision of the past.
    pub async fn revision(&self, revision: u64) -> Result<PastRevision, AdminError> {
        let path = format!("{}/{revision}", routes::HISTORY);
        let response = self.send(self.request(Method::GET, &path, &[])).await?;
        self.parse(response).await
    }

    /// Goes back to a revision, which makes a new one, if this revision is still the newest.
    pub async fn roll_back(&self, revision: u64, newest: u64, reason: &str) -> Result<u64, AdminError> {
        let path = format!("{}/{revision}", routes::ROLLBACK);
        let request = self.request(Method::POST, &path, &[("reason", reason)]);
        self.written(request.header(IF_MATCH, tag(newest))).await
    }

    fn request(&self, method: Method, path: &str, query: &[(&str, &str)]) -> RequestBuilder {
        let mut url = self.url.clone();
        url.set_path(&format!("{}{path}", url.path().trim_end_matches('/')));
        url.query_pairs_mut().clear().extend_pairs(query);
        self.client.request(method, url).bearer_auth(self.token.expose_secret())
    }

    async fn written(&self, request: RequestBuilder) -> Result<u64, AdminError> {
        let response = self.send(request).await?;
        Ok(self.parse::<Written>(response).await?.revision)
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, AdminError> {
        let response = request.send().await.map_err(|error| {
            let problem = if error.is_timeout() {
                FetchError::Late(LIMIT)
            } else {
                FetchError::connection(error)
            };
            self.service(&problem)
        })?;
        let status = response.status();
        match status.as_u16() {
            200 => Ok(response),
            401 | 403 => {
                let body = read(response, MAX_BYTES).await.unwrap_or_default();
                let problem = serde_json::from_slice::<Problem>(&body).ok();
                let reads = problem.is_some_and(|problem| problem.kind.ends_with(READERS_TOKEN));
                let error = if reads { AdminError::Reader } else { AdminError::Refused };
                Err(error(host(&self.url)))
            }
            412 => Err(AdminError::Stale),
            _ if status.is_redirection() => Err(self.service(&FetchError::Redirect(redirect_target(&response)))),
            code => {
                let nothing = FetchError::not_found(&response);
                let body = read(response, MAX_BYTES).await.unwrap_or_default();
                let problem = serde_json::from_slice::<Problem>(&body).ok();
                // Without that kind of problem it is the Worker that is not there.
                let problem = problem.filter(|problem| code != 404 || problem.kind.ends_with(NO_SUCH_REVISION));
                Err(match problem {
                    None if code == 404 => self.service(&nothing),
                    Some(problem) if status.is_client_error() => AdminError::Problem(problem),
                    problem => self.service(&FetchError::Status(code, problem.map(|problem| problem.detail))),
                })
            }
        }
    }

    async fn parse<T: DeserializeOwned>(&self, response: Response) -> Result<T, AdminError> {
        let body = read(response, MAX_BYTES).await.map_err(|error| self.service(&error))?;
        serde_json::from_slice(&body).map_err(|error| self.service(&FetchError::Garbage(error.to_string())))
    }

    fn service(&self, problem: &FetchError) -> AdminError {
        AdminError::Service {
            host: host(&self.url),
            problem: problem.to_string(),
        }
    }
}

/// The entity tag of a stored document. The Worker sends one with each: with JSON, and with the plain text of what was written to KV by
/// hand. Anything else is the page of a login, a portal or another server, which nothing may show or keep as a document.
fn document_tag(response: &Response) -> Result<String, FetchError> {
    let header = |name: HeaderName| {
        let value = response.headers().get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default()
    };
    let (kind, tag) = (header(CONTENT_TYPE), header(ETAG));
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !["application/json", "text/plain"].contains(&kind) {
        let kind: String = kind.chars().take(100).collect();
        return Err(FetchError::Garbage(format!("its content type is `{kind}`")));
    }
    if tag.is_empty() {
        return Err(FetchError::Garbage("it has no entity tag".to_owned()));
    }
    Ok(tag.to_owned())
}

fn host(url: &Url) -> String {
    url.host_str().unwrap_or("(no host)").to_owned()
}

/// The entity tag of a revision.
fn tag(revision: u64) -> String {
    format!("\"{revision}\"")
}

/// A name as one segment of a path, whatever is in it.
fn segment(name: &str) -> String {
    url::form_urlencoded::byte_serialize(name.as_bytes())
        .collect::<String>()
        .replace('+', "%20")
}

/// A document without the number that every write changes.
pub fn without_revision(document: &Value) -> Value {
    let mut document = document.clone();
    if let Value::Object(fields) = &mut document {
        fields.remove("revision");
    }
    document
}

/// An empty document.
pub fn empty_document() -> Value {
    json!({ "schema_version": conclave_shared::config::SCHEMA_VERSION })
}

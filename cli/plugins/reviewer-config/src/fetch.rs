//! Asking the service.

use std::time::Duration;

use conclave_certificates::{ClientError, FailedConnection, redirect_target, shown};
use conclave_job_token::JobTokenError;
use conclave_shared::{
    config::{EffectiveConfig, ProjectRules, SCHEMA_VERSION, validate},
    problem::Problem,
    routes,
};
use futures_util::{StreamExt, stream::FuturesUnordered};
use reqwest::{
    Client, Response,
    header::{AUTHORIZATION, ETAG, HeaderValue, IF_NONE_MATCH},
    redirect::Policy,
};
use secrecy::ExposeSecret;

use crate::{ConfigAccess, ConfigSource};

/// The largest document that is read, in bytes.
pub(crate) const MAX_BYTES: usize = 1024 * 1024;

/// The setting that has the Worker's address.
const URL_SETTING: &str = "CONCLAVE_CONFIG_URL";

/// Why there is no remote configuration.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error("did not answer within {} s", .0.as_secs())]
    Late(Duration),
    #[error("cannot be reached, because {0}")]
    NoClient(#[from] ClientError),
    #[error(transparent)]
    Connection(FailedConnection),
    #[error(
        "cannot be asked without a token: set CONCLAVE_CONFIG_TOKEN to one of the Worker's READER_TOKENS, or have the job ask for \
         CONCLAVE_CONFIG_OIDC_TOKEN (`id_tokens` of the CI component; on GitHub, `id-token: write` among the job's permissions is enough)"
    )]
    NoCredential,
    #[error("refused the token: set CONCLAVE_CONFIG_TOKEN to one of the Worker's READER_TOKENS")]
    Refused,
    /// An operator's.
    #[error(
        "refused the token: set CONCLAVE_CONFIG_ADMIN_TOKEN to one of its ADMIN_TOKENS, without the name and the colon before it"
    )]
    AdminRefused,
    #[error("refused the job's token ({0}): see the Worker's variables OIDC_ISSUER, OIDC_AUDIENCE and OIDC_PROJECTS")]
    JobRefused(String),
    #[error(
        "cannot be asked as this job ({0}): give the job `id-token: write` among its `permissions`, or set CONCLAVE_CONFIG_TOKEN"
    )]
    NoJobToken(#[from] JobTokenError),
    /// Every credential was refused, each for its own reason.
    #[error("{}", all(.0))]
    AllRefused(Vec<FetchError>),
    /// Followed nowhere: a login page in front of the Worker must not see the token, and no other host may answer for it.
    #[error(
        "redirects to {0}: set CONCLAVE_CONFIG_URL to the Worker's own address, and let machines pass what asks people to log in"
    )]
    Redirect(String),
    /// Nothing is at this address.
    #[error("answered 404 at {0}: set CONCLAVE_CONFIG_URL to the reviewer-config Worker's own address")]
    NotFound(String),
    /// With the service's own words about it, if it has any.
    #[error("answered {0}{words}", words = in_brackets(.1.as_deref()))]
    Status(u16, Option<String>),
    #[error("answered with more than {0} bytes")]
    TooLarge(usize),
    #[error(
        "answered something that is not a configuration ({0}): see that CONCLAVE_CONFIG_URL is the Worker's own address"
    )]
    Garbage(String),
    #[error(
        "has a document of schema version {0}, and this conclave understands up to {SCHEMA_VERSION}: update conclave"
    )]
    Newer(u64),
    #[error("has a document with faults: {0}")]
    Invalid(String),
}

fn in_brackets(words: Option<&str>) -> String {
    words.map_or_else(String::new, |words| format!(" ({words})"))
}

impl FetchError {
    /// Nothing came, or not all of it.
    pub(crate) fn connection(error: reqwest::Error) -> Self {
        Self::Connection(FailedConnection::new(error, URL_SETTING))
    }

    /// There is nothing where the service was asked.
    pub(crate) fn not_found(response: &Response) -> Self {
        Self::NotFound(shown(response.url()))
    }

    /// Returns whether there is a document that cannot be read.
    pub(crate) const fn is_broken_document(&self) -> bool {
        matches!(
            self,
            Self::TooLarge(_) | Self::Garbage(_) | Self::Newer(_) | Self::Invalid(_)
        )
    }

    /// Whether another credential may be let in where this one was not. Besides refusals these are the answers of a Worker that
    /// counts guesses (429), and of one that cannot check a job's token or has no list of tokens (503).
    const fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Refused | Self::AdminRefused | Self::JobRefused(_) | Self::NoJobToken(_) | Self::Status(429 | 503, _)
        )
    }

    /// Returns whether the credentials were refused, rather than that the service failed.
    pub(crate) fn is_denied(&self) -> bool {
        match self {
            Self::Refused | Self::AdminRefused | Self::JobRefused(_) | Self::NoJobToken(_) | Self::NoCredential => true,
            Self::AllRefused(refusals) => refusals.iter().any(Self::is_denied),
            _ => false,
        }
    }
}

fn all(refusals: &[FetchError]) -> String {
    let texts: Vec<String> = refusals.iter().map(ToString::to_string).collect();
    texts.join("; with the other credential it ")
}

/// Asks the service for one project, again and again.
#[derive(Debug, Clone)]
pub(crate) struct Fetcher {
    client: Client,
    source: ConfigSource,
    /// The tag of the last good answer: only that is worth not being sent again.
    tag: Option<HeaderValue>,
    /// The place of the credential that was let in last: it is shown first, so that a refused one does not count as a guess with
    /// every question.
    accepted: usize,
    /// Why credentials were refused while another one was let in.
    refused: Vec<String>,
}

/// A good answer, with its tag; nothing if it is the same as last time.
type Answer = Option<(EffectiveConfig, Option<HeaderValue>)>;

impl Fetcher {
    pub(crate) fn new(source: ConfigSource) -> Result<Self, FetchError> {
        let client = Client::builder().redirect(Policy::none());
        let client = source.certificates.client(client, [&source.url]);
        Ok(Self {
            client: client?,
            source,
            tag: None,
            accepted: 0,
            refused: Vec::new(),
        })
    }

    /// Why credentials were refused while another one was let in; of the last question.
    pub(crate) fn refused(&self) -> &[String] {
        &self.refused
    }

    /// The answer, or nothing if it is the same as last time. `limit` is for all of it: connecting, TLS and the body, with
    /// whichever credential.
    pub(crate) async fn fetch(&mut self, limit: Duration) -> Result<Option<EffectiveConfig>, FetchError> {
        let (place, answer, refusals) = tokio::time::timeout(limit, self.ask(limit))
            .await
            .unwrap_or(Err(FetchError::Late(limit)))?;
        self.accepted = place;
        self.refused = refusals.iter().map(ToString::to_string).collect();
        Ok(answer.map(|(config, tag)| {
            self.tag = tag;
            config
        }))
    }

    /// Tries the credentials one after the other: the next one when one was refused, and also when it has got no answer for its
    /// share of the time, because a Worker that waits for the issuer's keys answers late. Both count then.
    async fn ask(&self, limit: Duration) -> Result<(usize, Answer, Vec<FetchError>), FetchError> {
        let count = self.source.access.len();
        let share = limit / u32::try_from(count.max(1)).unwrap_or(1);
        let mut waiting = (0..count).map(|step| (self.accepted + step) % count);
        let mut refusals = Vec::new();
        let mut asked = FuturesUnordered::new();
        loop {
            if asked.is_empty() {
                match waiting.next() {
                    Some(place) => asked.push(self.ask_with(place)),
                    None if refusals.is_empty() => return Err(FetchError::NoCredential),
                    None if refusals.len() == 1 => return Err(refusals.remove(0)),
                    None => return Err(FetchError::AllRefused(refusals)),
                }
            }
            match tokio::time::timeout(share, asked.next()).await {
                Ok(Some((place, Ok(answer)))) => return Ok((place, answer, refusals)),
                Ok(Some((_, Err(error)))) if error.is_refusal() => refusals.push(error),
                Ok(Some((_, Err(error)))) => return Err(error),
                Ok(None) => {}
                Err(_) => asked.extend(waiting.next().map(|place| self.ask_with(place))),
            }
        }
    }

    async fn ask_with(&self, place: usize) -> (usize, Result<Answer, FetchError>) {
        let answer = match self.source.access.get(place) {
            Some(access) => self.ask_as(access).await,
            None => Err(FetchError::NoCredential),
        };
        (place, answer)
    }

    async fn ask_as(&self, access: &ConfigAccess) -> Result<Answer, FetchError> {
        let refused = |why: String| match access {
            ConfigAccess::Token(_) => FetchError::Refused,
            ConfigAccess::Admin(_) => FetchError::AdminRefused,
            ConfigAccess::Job(_) => FetchError::JobRefused(why),
        };
        let token = match access {
            ConfigAccess::Token(token) | ConfigAccess::Admin(token) => token.clone(),
            ConfigAccess::Job(job) => job.get().await?,
        };
        let mut bearer = HeaderValue::try_from(format!("Bearer {}", token.expose_secret()))
            .map_err(|_| refused("it has characters that no token has".to_owned()))?;
        bearer.set_sensitive(true);
        let mut url = self.source.url.clone();
        url.set_path(&format!("{}{}", url.path().trim_end_matches('/'), routes::CONFIG));
        url.query_pairs_mut().append_pair("project", &self.source.project);
        let mut request = self.client.get(url).header(AUTHORIZATION, bearer);
        if let Some(tag) = &self.tag {
            request = request.header(IF_NONE_MATCH, tag.clone());
        }
        let response = request.send().await.map_err(FetchError::connection)?;
        let tag = response.headers().get(ETAG).cloned();
        match response.status().as_u16() {
            304 if self.tag.is_some() => Ok(None),
            200 => {
                let config = parse(&read(response, MAX_BYTES).await?, &self.source.project)?;
                Ok(Some((config, tag)))
            }
            status @ (401 | 403) => {
                let why = detail(response).await;
                Err(refused(why.unwrap_or_else(|| format!("status {status}"))))
            }
            404 => Err(FetchError::not_found(&response)),
            _ if response.status().is_redirection() => Err(FetchError::Redirect(redirect_target(&response))),
            status => Err(FetchError::Status(status, detail(response).await)),
        }
    }
}

/// The body, if it is not longer than so many bytes.
pub(crate) async fn read(response: Response, max: usize) -> Result<Vec<u8>, FetchError> {
    let mut body = Vec::new();
    let mut stream = response.bytes_stream();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(FetchError::connection)?;
        if body.len() + chunk.len() > max {
            return Err(FetchError::TooLarge(max));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// What the Worker says about its status, as one line.
async fn detail(response: Response) -> Option<String> {
    let body = read(response, MAX_BYTES).await.unwrap_or_default();
    let problem = serde_json::from_slice::<Problem>(&body).ok()?;
    let clean = problem.detail.chars().filter(|character| !character.is_control());
    Some(clean.take(300).collect::<String>().trim_end_matches('.').to_owned())
}

fn parse(body: &[u8], project: &str) -> Result<EffectiveConfig, FetchError> {
    let value: serde_json::Value =
        serde_json::from_slice(body).map_err(|error| FetchError::Garbage(error.to_string()))?;
    // Looked at first: a newer document may have changed the meaning of what would still parse.
    if let Some(version) = value
        .pointer("/config/schema_version")
        .and_then(serde_json::Value::as_u64)
        && version > u64::from(SCHEMA_VERSION)
    {
        return Err(FetchError::Newer(version));
    }
    let mut answer: EffectiveConfig =
        serde_json::from_value(value).map_err(|error| FetchError::Garbage(error.to_string()))?;
    let faults = validate(&answer.config);
    if !faults.is_empty() {
        let faults = faults.iter().map(|fault| format!("{} {}", fault.pointer, fault.detail));
        return Err(FetchError::Invalid(faults.collect::<Vec<_>>().join("; ")));
    }
    // The Worker answers with what is in force for the project. One that hands the whole document on is taken at its word.
    if !answer.config.projects.is_empty() {
        let (config, warnings) = ProjectRules::new(answer.config).of(project);
        answer.config = config;
        answer.warnings.extend(warnings);
    }
    // An older Worker hands names on as they are stored.
    for said in answer.config.correct_names() {
        if !answer.warnings.contains(&said) {
            answer.warnings.push(said);
        }
    }
    Ok(answer)
}

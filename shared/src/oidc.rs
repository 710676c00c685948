//! Tokens that other services give out, job tokens of GitLab (`id_tokens`) and of GitHub Actions (`id-token: write`), and those of
//! Cloudflare Access: what has to be true of one, besides its signature.
//!
//! Projects of two forges may have one path. A repository of GitHub is therefore known by its host, too (`github.com:octo/shop`),
//! which no project of GitLab can be called: a colon stands in no path of either forge. Which of both a token names is decided by
//! its issuer alone, and of its claims only the one counts that this kind of issuer vouches for.
//!
//! A token is a JWT. Its signature is checked where there is cryptography; everything else is decided here, from the
//! token's text, the settings, and the time, which is an argument. The algorithm is pinned: what a token says of its own
//! algorithm decides nothing, and a token that names another one is refused.

use std::fmt;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;

use crate::project::{self, ProjectPatterns, split_host};

/// The only algorithm, which is GitLab's and GitHub's.
pub const ALGORITHM: &str = "RS256";
/// The longest token that is looked at. GitLab's have about 2 KB.
pub const MAX_TOKEN: usize = 16 * 1024;
/// How far the clocks of a forge and of this side may be apart, in seconds.
pub const LEEWAY_SECONDS: i64 = 60;
/// The shortest key, in bits.
const MIN_BITS: usize = 2048;
/// The host whose repositories, and the jobs in them, are open to every account of the world.
const PUBLIC_GITHUB: &str = "github.com";

/// The name of a GitHub repository where projects of several forges meet: `github.com:octo/shop`.
pub fn github_project(host: &str, repository: &str) -> String {
    format!("{}:{repository}", host.to_ascii_lowercase())
}

/// Whose tokens are taken.
#[derive(Debug, Clone)]
pub struct OidcPolicy {
    /// The issuer, as tokens name it: the instance's address, or that of GitHub's tokens.
    pub issuer: String,
    /// The audience that tokens have to be made for.
    pub audience: String,
    /// The host of GitHub whose repositories the tokens name; none of a GitLab, whose projects have their bare paths.
    host: Option<String>,
    projects: ProjectPatterns,
}

impl OidcPolicy {
    /// A policy for each issuer of a list with commas between them. `projects` is the list of patterns of projects that are let in:
    /// bare paths of GitLab's projects, and `HOST:` before those of GitHub's repositories. A pattern counts for its own issuer only.
    /// The error completes "jobs' tokens cannot be checked: …".
    pub fn of_issuers(issuers: &str, audience: &str, projects: &str) -> Result<Vec<Self>, String> {
        let mut policies: Vec<Self> = Vec::new();
        let mut patterns: Vec<(Option<String>, &str)> = entries(projects)
            .map(|pattern| (split_host(pattern).0, pattern))
            .collect();
        for issuer in entries(issuers) {
            let issuer = issuer.trim_end_matches('/');
            let host = github_host(issuer);
            if policies.iter().any(|policy| policy.host == host) {
                return Err(format!(
                    "`{issuer}` is the second issuer of projects with the same names; a Worker can have only one of them"
                ));
            }
            let own: Vec<&str> = patterns
                .extract_if(.., |(named, _)| *named == host)
                .map(|(_, pattern)| pattern)
                .collect();
            let is_open = |path: &&str| {
                let owner = path.trim_start_matches('/').split('/').next().unwrap_or_default();
                owner.contains(['*', '?', '[', '{'])
            };
            if let Some(open) = own
                .iter()
                .map(|pattern| split_host(pattern).1)
                .find(is_open)
                .filter(|_| host.as_deref() == Some(PUBLIC_GITHUB))
            {
                return Err(format!(
                    "`{PUBLIC_GITHUB}:{open}` lets in repositories of every account; name the owner, as in `{PUBLIC_GITHUB}:octo/**`"
                ));
            }
            policies.push(Self {
                issuer: issuer.to_owned(),
                audience: audience.to_owned(),
                host,
                projects: ProjectPatterns::new(&own)
                    .map_err(|bad| bad.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?,
            });
        }
        match patterns.first() {
            Some((host, pattern)) => {
                let pattern = split_host(pattern).1;
                let named = host
                    .as_ref()
                    .map_or_else(|| "a GitLab".to_owned(), |host| format!("{host}:"));
                Err(format!(
                    "`{pattern}` is a pattern for {named}, whose issuer is not listed; repositories of GitHub are written with their host, as \
                     in `{PUBLIC_GITHUB}:octo/**`"
                ))
            }
            None => Ok(policies),
        }
    }

    /// The address of the issuer's keys, where its kind of issuer has them.
    pub fn keys(&self) -> String {
        let path = match self.host {
            Some(_) => "/.well-known/jwks",
            None => "/oauth/discovery/keys",
        };
        format!("{}{path}", self.issuer)
    }

    /// The name of the project that the claims are of, if it is on the list.
    fn project(&self, claims: &Claims) -> Result<String, OidcError> {
        let (name, is_listed) = match &self.host {
            None => {
                let path = claims.project_path.as_deref().ok_or(OidcError::Malformed)?;
                (project::identity(path.to_owned()), self.projects.is_match(path))
            }
            Some(host) => {
                let repository = claims.repository.as_deref().ok_or(OidcError::Malformed)?;
                let (owner, name) = repository.split_once('/').ok_or(OidcError::Malformed)?;
                let is_match = |repository: &str| self.projects.is_match(&github_project(host, repository));
                // Names can be taken over when an account gives its name up, its number cannot.
                let numbered = claims
                    .repository_owner_id
                    .as_ref()
                    .map(|id| format!("{owner}@{id}/{name}"));
                let is_listed = is_match(repository) || numbered.is_some_and(|name| is_match(&name));
                let name = project::identity(github_project(host, repository));
                (name, is_listed && !repository.contains('@'))
            }
        };
        let is_clear = name.matches(':').count() == usize::from(self.host.is_some());
        if is_listed && is_clear {
            return Ok(name);
        }
        let shown = name.chars().filter(|character| !character.is_control());
        Err(OidcError::Project(shown.take(200).collect()))
    }
}

/// The entries of a list with commas between them.
fn entries(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|entry| !entry.is_empty())
}

/// The host of the repositories that an issuer's tokens name, if it is one of GitHub Actions. An enterprise may have an address
/// of its own below that of github.com.
fn github_host(issuer: &str) -> Option<String> {
    let (_, rest) = issuer.split_once("://")?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = authority.split(':').next()?.to_ascii_lowercase();
    if host == "token.actions.githubusercontent.com" {
        return Some(PUBLIC_GITHUB.to_owned());
    }
    match host.strip_prefix("token.actions.") {
        Some(residence) if residence.ends_with(".ghe.com") => Some(residence.to_owned()),
        _ => (path == "_services/token").then_some(host),
    }
}

/// Which tokens of Cloudflare Access are taken: who passes is decided there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessPolicy {
    /// The team's address, which is the issuer: `https://TEAM.cloudflareaccess.com`.
    pub issuer: String,
    /// The tag of the application, which is the audience.
    pub audience: String,
}

impl AccessPolicy {
    /// A policy. The team's address may have a slash at its end.
    pub fn new(issuer: &str, audience: &str) -> Self {
        Self {
            issuer: issuer.trim_end_matches('/').to_owned(),
            audience: audience.to_owned(),
        }
    }
}

/// Why a token is refused. Nothing of the token is told but what its issuer says anyway.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OidcError {
    /// Not three parts of base64url with JSON in them.
    #[error("is not a JSON Web Token")]
    Malformed,
    /// Another algorithm than the pinned one, `none` included.
    #[error("is signed with {0}; only {ALGORITHM} is taken")]
    Algorithm(String),
    /// The header demands something that is not understood.
    #[error("has a critical header, which is not understood")]
    Critical,
    /// No key has its id.
    #[error("is signed with a key that its issuer does not publish")]
    UnknownKey,
    /// The signature is wrong.
    #[error("has a signature that does not fit")]
    Signature,
    /// Of another instance.
    #[error("is of another issuer than {0}")]
    Issuer(String),
    /// Made for another audience.
    #[error("is made for another audience than {0}")]
    Audience(String),
    /// Too old.
    #[error("expired {0} s ago")]
    Expired(i64),
    /// Of the future.
    #[error("is not valid before {0} s from now; the clocks disagree")]
    NotYet(i64),
    /// Of a project that may not read.
    #[error("is of the project {0}, which is not on the list of allowed ones")]
    Project(String),
}

impl OidcError {
    /// Returns whether the token is genuine, and what it asks for is not allowed.
    pub const fn is_forbidden(&self) -> bool {
        matches!(self, Self::Project(_))
    }
}

/// Returns whether a bearer token has the shape of a JWT.
pub fn looks_like_a_token(text: &str) -> bool {
    text.len() <= MAX_TOKEN && text.bytes().filter(|byte| *byte == b'.').count() == 2 && text.starts_with("ey")
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    crit: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    aud: Audience,
    exp: i64,
    nbf: Option<i64>,
    iat: Option<i64>,
    /// GitLab: the job's project.
    project_path: Option<String>,
    /// GitHub: the job's repository. The others of its claims may be missing or look otherwise one day; this one is what a repository
    /// is known by.
    repository: Option<String>,
    /// GitHub: the number of the account that the repository belongs to.
    repository_owner_id: Option<String>,
    /// Access: a person.
    email: Option<String>,
    /// Access: a service token.
    common_name: Option<String>,
}

impl Claims {
    /// Checks what every token has: who gave it out, for whom, and when it is good.
    fn check(&self, issuer: &str, audience: &str, now_seconds: i64) -> Result<(), OidcError> {
        if self.iss.trim_end_matches('/') != issuer {
            return Err(OidcError::Issuer(issuer.to_owned()));
        }
        if !self.aud.names(audience) {
            return Err(OidcError::Audience(audience.to_owned()));
        }
        let over = now_seconds.saturating_sub(self.exp);
        if over >= LEEWAY_SECONDS {
            return Err(OidcError::Expired(over));
        }
        let early = self
            .nbf
            .max(self.iat)
            .map_or(0, |from| from.saturating_sub(now_seconds));
        if early > LEEWAY_SECONDS {
            return Err(OidcError::NotYet(early));
        }
        Ok(())
    }
}

/// One audience or several, as RFC 7519 has it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

impl Audience {
    fn names(&self, audience: &str) -> bool {
        match self {
            Self::One(own) => own == audience,
            Self::Several(own) => own.iter().any(|own| own == audience),
        }
    }
}

/// A token that was taken apart and not believed yet.
pub struct UnverifiedToken {
    /// The id of the key that signed it, if it says.
    pub key_id: Option<String>,
    /// What is signed.
    pub signed: String,
    /// The signature.
    pub signature: Vec<u8>,
    claims: Claims,
}

impl fmt::Debug for UnverifiedToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Nothing of a credential goes into logs.
        formatter
            .debug_struct("UnverifiedToken")
            .field("key_id", &self.key_id)
            .finish_non_exhaustive()
    }
}

/// The job behind a token whose signature and claims were checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobIdentity {
    /// The job's project ([`project::identity`]): its path at GitLab, with the host before it at GitHub.
    pub project_path: String,
}

impl UnverifiedToken {
    /// Takes a token apart. Only RS256 gets through.
    pub fn parse(text: &str) -> Result<Self, OidcError> {
        if text.len() > MAX_TOKEN {
            return Err(OidcError::Malformed);
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(OidcError::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(OidcError::Malformed)?;
        let header: Header = json(header)?;
        if header.alg != ALGORITHM {
            return Err(OidcError::Algorithm(
                header.alg.chars().filter(char::is_ascii_graphic).take(20).collect(),
            ));
        }
        if header.crit.is_some() {
            return Err(OidcError::Critical);
        }
        Ok(Self {
            key_id: header.kid,
            signature: bytes(signature)?,
            claims: json(claims)?,
            signed: signed.to_owned(),
        })
    }

    /// The place of the policy for the issuer that the token names. It only says whose keys are to be asked for.
    pub fn issuer(&self, policies: &[OidcPolicy]) -> Result<usize, OidcError> {
        let named = self.claims.iss.trim_end_matches('/');
        let place = policies.iter().position(|policy| policy.issuer == named);
        let known = || policies.iter().map(|policy| policy.issuer.as_str()).collect::<Vec<_>>();
        place.ok_or_else(|| OidcError::Issuer(known().join(" and ")))
    }

    /// Checks the claims of a job's token. The signature has to be checked before anything is believed.
    pub fn check(self, policy: &OidcPolicy, now_seconds: i64) -> Result<JobIdentity, OidcError> {
        self.claims.check(&policy.issuer, &policy.audience, now_seconds)?;
        let project_path = policy.project(&self.claims)?;
        Ok(JobIdentity { project_path })
    }

    /// Checks the claims of a token of Cloudflare Access, and says whose it is; empty if it does not say. The signature has
    /// to be checked before anything is believed.
    pub fn check_access(self, policy: &AccessPolicy, now_seconds: i64) -> Result<String, OidcError> {
        self.claims.check(&policy.issuer, &policy.audience, now_seconds)?;
        Ok(self.claims.email.or(self.claims.common_name).unwrap_or_default())
    }
}

fn bytes(part: &str) -> Result<Vec<u8>, OidcError> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| OidcError::Malformed)
}

fn json<T: serde::de::DeserializeOwned>(part: &str) -> Result<T, OidcError> {
    serde_json::from_slice(&bytes(part)?).map_err(|_| OidcError::Malformed)
}

/// The keys that an issuer publishes (RFC 7517), those of them that can have signed a token of ours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeySet {
    keys: Vec<PublicKey>,
}

/// An RSA key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    /// Its id.
    pub id: Option<String>,
    /// The modulus, as JWK has it.
    pub modulus: String,
    /// The exponent, as JWK has it.
    pub exponent: String,
}

#[derive(Deserialize)]
struct Published {
    keys: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    #[serde(default, rename = "use")]
    purpose: Option<String>,
    alg: Option<String>,
    n: String,
    e: String,
}

impl KeySet {
    /// Reads a published set. Keys of other kinds are left out; `None` if it is no set at all.
    pub fn read(body: &[u8]) -> Option<Self> {
        let published: Published = serde_json::from_slice(body).ok()?;
        let keys = published.keys.into_iter().filter_map(|key| {
            let key: Jwk = serde_json::from_value(key).ok()?;
            let fits = key.kty == "RSA"
                && key.purpose.as_deref().is_none_or(|purpose| purpose == "sig")
                && key.alg.as_deref().is_none_or(|algorithm| algorithm == ALGORITHM)
                && bytes(&key.n).is_ok_and(|modulus| modulus.len() * 8 >= MIN_BITS);
            fits.then_some(PublicKey {
                id: key.kid,
                modulus: key.n,
                exponent: key.e,
            })
        });
        Some(Self { keys: keys.collect() })
    }

    /// The key that a token names. One that names none fits only a set of one key.
    pub fn find(&self, id: Option<&str>) -> Option<&PublicKey> {
        match (id, self.keys.as_slice()) {
            (Some(id), keys) => keys.iter().find(|key| key.id.as_deref() == Some(id)),
            (None, [only]) => Some(only),
            (None, _) => None,
        }
    }
}

#[cfg(test)]
#[path = "oidc_tests.rs"]
mod tests;

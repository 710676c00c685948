//! The sender of a review's request: which projects it may speak for, and of which one it has proved to be.
//!
//! A job's own token (`id_tokens` of GitLab) proves one project. An ingest token proves none: its holder may send figures for
//! the projects that it is good for, and nothing that changes a review.

use conclave_shared::{
    oidc::{JobIdentity, looks_like_a_token},
    routes::JOB_TOKEN_HEADER,
    token::{self, Grant},
};
use conclave_worker_common::{
    Outcome, Refusal, configured, denied, detail, limit, oidc, presented, refusal, unauthorized, unconfigured,
};
use worker::{Env, Request, console_error};

use crate::texts;

/// The secret that lists the tokens of reviews.
const INGEST_TOKENS: &str = "INGEST_TOKENS";

/// The sender of a review's request.
#[derive(Debug)]
pub(crate) struct Caller {
    job: Option<JobIdentity>,
    token: Option<Grant>,
    /// The job's token beside an ingest token, until its signature is checked.
    unchecked: Option<String>,
    /// Why the job's token beside an ingest token is not good.
    pub(crate) job_refused: Option<String>,
    /// Why the ingest token beside the job's token is not good.
    pub(crate) token_refused: Option<String>,
    /// The account of its requests.
    pub(crate) account: Account,
}

/// The account that requests are counted under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    /// Its events.
    pub(crate) events: String,
    /// The projects that are new: jobs have one count together, because each of them is of another project.
    pub(crate) projects: String,
}

impl Caller {
    /// Returns whether it may send events of a project, and read its memory.
    pub(crate) fn may_speak_for(&self, project: &str) -> bool {
        self.has_proved(project) || self.token.as_ref().is_some_and(|token| token.allows(project))
    }

    /// Checks the job's token beside an ingest token. The ingest token lets the review in by itself, so this is asked only where
    /// the project has to be proved: an issuer that does not answer must not hold up what needs no proof.
    pub(crate) async fn prove_project(&mut self, env: &Env) -> Result<(), Refusal> {
        let Some(text) = self.unchecked.take() else {
            return Ok(());
        };
        match oidc::verify(&text, env).await {
            Ok(job) => self.job = Some(job),
            // With an ingest token beside it, it is a review whose project is not proved.
            Err(refusal) => self.job_refused = detail(refusal).await?,
        }
        Ok(())
    }

    /// Returns whether it is a job of this project. Both names are identities, so that one project is never many here, each of
    /// them new.
    pub(crate) fn has_proved(&self, project: &str) -> bool {
        let own = |job: &JobIdentity| job.project_path == project;
        self.job.as_ref().is_some_and(own)
    }
}

/// Lets a review pass that has an ingest token, a job's token, or both. Only those who are refused are counted against the limit
/// of guesses.
pub(crate) async fn authorize(request: &Request, env: &Env) -> Outcome<Caller> {
    limit::refused(request, env, judged(request, env).await).await
}

async fn judged(request: &Request, env: &Env) -> Outcome<Caller> {
    let bearer = presented(request)?;
    let accepted = configured(env, INGEST_TOKENS).unwrap_or_default();
    let token = bearer.as_deref().and_then(|bearer| token::grant(bearer, &accepted));
    let sent = job_token(request, bearer.as_deref())?.filter(|_| oidc::is_on(env));
    let job_refused = match (&sent, &token) {
        (Some(text), Some(_)) => oidc::obvious_fault(text, env),
        _ => None,
    };
    let (job, unchecked) = match (sent, &token) {
        (Some(text), None) => (Some(oidc::verify(&text, env).await?), None),
        (text, _) => (None, text.filter(|_| job_refused.is_none())),
    };
    let is_beside = bearer.as_deref().is_some_and(|bearer| !looks_like_a_token(bearer));
    let token_refused = (job.is_some() && token.is_none() && is_beside).then(|| texts::refused_token(INGEST_TOKENS));
    let account = match (&token, &job) {
        (Some(_), _) => {
            let key = token::key(bearer.as_deref().unwrap_or_default());
            Account {
                events: format!("token {key}"),
                projects: format!("token {key}"),
            }
        }
        (None, Some(job)) => Account {
            events: format!("job {}", job.project_path),
            projects: "jobs".to_owned(),
        },
        (None, None) if token::entries(&accepted).next().is_none() && !oidc::is_on(env) => {
            return Err(unconfigured(INGEST_TOKENS)?);
        }
        (None, None) if !token::misplaced(&accepted).is_empty() => {
            let why = texts::misplaced_projects(INGEST_TOKENS, &token::misplaced(&accepted));
            console_error!("{}", why.detail);
            return Err(refusal(&why)?);
        }
        (None, None) => return Err(denied(&unauthorized(bearer.is_some()))?),
    };
    Ok(Caller {
        job,
        token,
        unchecked,
        job_refused,
        token_refused,
        account,
    })
}

/// The job's token: the bearer token, or beside an ingest token in a header of its own.
fn job_token(request: &Request, bearer: Option<&str>) -> Result<Option<String>, Refusal> {
    if let Some(bearer) = bearer.filter(|bearer| looks_like_a_token(bearer)) {
        return Ok(Some(bearer.to_owned()));
    }
    let header = request.headers().get(JOB_TOKEN_HEADER)?;
    Ok(header.filter(|text| looks_like_a_token(text)))
}

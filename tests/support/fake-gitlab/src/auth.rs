//! Tokens: who may come in, and with which scope.

use crate::call::Caller;
use crate::fault::{insufficient_scope, invalid_token};
use crate::reply::{ApiError, Reply};
use crate::spec::Operation;
use crate::state::State;
use crate::state::people::{Scope, Token, TokenKind};

/// The tokens that came with a request, by the header they came in.
#[derive(Debug, Clone, Default)]
pub(crate) struct Credentials {
    /// `PRIVATE-TOKEN` or `Authorization: Bearer`.
    pub(crate) access: Option<String>,
    /// `JOB-TOKEN`.
    pub(crate) job: Option<String>,
}

/// What a CI job token may do.
const JOB_TOKEN_OPERATIONS: [&str; 6] = [
    "GET /job",
    "GET /projects/{id}/merge_requests",
    "GET /projects/{id}/merge_requests/{merge_request_iid}",
    "GET /projects/{id}/merge_requests/{noteable_id}/notes",
    "GET /projects/{id}/merge_requests/{noteable_id}/notes/{note_id}",
    "GET /projects/{id}/repository/files/{file_path}/raw",
];

/// The name of the user behind the token, for the log.
pub(crate) fn peek(state: &State, credentials: &Credentials) -> Option<String> {
    let text = credentials.access.as_ref().or(credentials.job.as_ref())?;
    state
        .tokens
        .get(text)
        .map(|token| state.user(token.user).username.clone())
}

/// Whose token came with a request; nobody's that has ended.
pub(crate) fn holder(state: &State, credentials: &Credentials) -> Option<Caller> {
    let token = state.tokens.get(credentials.access.as_ref()?)?;
    (!token.revoked && !token.expired).then(|| caller(token))
}

/// Lets a request in, or says why not. A request without a token is anonymous.
pub(crate) fn admit(state: &State, credentials: &Credentials, operation: &Operation) -> Result<Option<Caller>, Reply> {
    let refused = || ApiError::unauthorized().reply();
    let Some(text) = credentials.access.as_ref().or(credentials.job.as_ref()) else {
        return Ok(None);
    };
    let token = state.tokens.get(text).ok_or_else(refused)?;
    if token.revoked {
        return Err(invalid_token(
            "Token was revoked. You have to re-authorize from the user.",
        ));
    }
    if token.expired {
        return Err(invalid_token(
            "Token is expired. You can either do re-authorization or token refresh.",
        ));
    }
    let as_job = credentials.access.is_none();
    match &token.kind {
        TokenKind::Access(_) if as_job => Err(refused()),
        TokenKind::Job(_) if !as_job => Err(refused()),
        TokenKind::Access(scopes) if !allows(scopes, operation) => Err(insufficient_scope()),
        TokenKind::Job(_) if !JOB_TOKEN_OPERATIONS.contains(&operation.name().as_str()) => {
            let writes_comments = operation.method != "GET"
                && (operation.path.contains("/notes") || operation.path.contains("/discussions"));
            Err(if writes_comments {
                ApiError::forbidden_because("Job tokens are restricted to read-only operations").reply()
            } else {
                refused()
            })
        }
        _ => Ok(Some(caller(token))),
    }
}

fn caller(token: &Token) -> Caller {
    Caller {
        user: token.user,
        token: token.kind.clone(),
    }
}

fn allows(scopes: &[Scope], operation: &Operation) -> bool {
    scopes.iter().any(|scope| match scope {
        Scope::Api => true,
        Scope::ReadApi => operation.method == "GET",
        Scope::ReadUser => operation.name() == "GET /user",
    })
}

//! Texts for callers of either Worker whose request is refused, and for every page's frame.

use conclave_shared::{oidc::OidcError, problem::Problem};

/// A kind of problem: its status, its name, and its title, the same for every occurrence.
#[derive(Debug, Clone, Copy)]
pub struct ProblemKind(pub u16, pub &'static str, pub &'static str);

impl ProblemKind {
    /// A problem of this kind; `detail` says what happened, and what to do about it.
    pub fn with(self, detail: impl Into<String>) -> Problem {
        let Self(status, name, title) = self;
        Problem::new(status, name, title, detail)
    }
}

/// A request that cannot be read.
pub const BAD_REQUEST: ProblemKind = ProblemKind(400, "bad-request", "Bad request");
const UNAUTHORIZED: ProblemKind = ProblemKind(401, "unauthorized", "Unauthorized");
const FORBIDDEN: ProblemKind = ProblemKind(403, "forbidden", "Not allowed");
const OTHER_ORIGIN: ProblemKind = ProblemKind(403, "other-origin", "Sent from elsewhere");
/// A request about a project that its sender may not speak for.
pub const OTHER_PROJECT: ProblemKind = ProblemKind(403, "other-project", "Another project");
/// Something that does not exist.
pub const NOT_FOUND: ProblemKind = ProblemKind(404, "not-found", "Not found");
const METHOD_NOT_ALLOWED: ProblemKind = ProblemKind(405, "method-not-allowed", "Method not allowed");
const TOO_LARGE: ProblemKind = ProblemKind(413, "too-large", "Body too large");
const TOO_MANY_REQUESTS: ProblemKind = ProblemKind(429, "too-many-requests", "Too many requests");
const INTERNAL: ProblemKind = ProblemKind(500, "internal", "Internal error");
/// A setting of the Worker that is missing.
pub const NOT_CONFIGURED: ProblemKind = ProblemKind(503, "not-configured", "Not configured");
const NO_KEYS: ProblemKind = ProblemKind(503, "no-keys", "No keys");

/// There is nothing at this path.
pub fn not_found(path: &str) -> Problem {
    let shown: String = path.chars().take(200).collect();
    NOT_FOUND.with(format!("There is nothing at `{shown}`."))
}

/// The path exists, the method does not.
pub(crate) fn method_not_allowed(method: &str, allowed: &str) -> Problem {
    METHOD_NOT_ALLOWED.with(format!("`{method}` is not possible here; use {allowed}."))
}

/// No token, or a wrong one.
pub fn unauthorized(presented: bool) -> Problem {
    let detail = if presented {
        "The bearer token is not one of the accepted ones."
    } else {
        "Send a token as `Authorization: Bearer TOKEN`."
    };
    UNAUTHORIZED.with(detail)
}

pub(crate) fn unconfigured(name: &str) -> Problem {
    NOT_CONFIGURED.with(format!(
        "No token is configured, so every request is refused. Set the secret `{name}` to one or more tokens \
         separated by commas: `wrangler secret put {name} -e WORKER`, or a line in `.dev.vars` for local use."
    ))
}

pub(crate) fn other_origin() -> Problem {
    OTHER_ORIGIN.with("This form has to be sent from a page of this Worker. Open the page again and repeat it there.")
}

pub(crate) fn too_large(limit: usize) -> Problem {
    TOO_LARGE.with(format!("The body may have at most {limit} bytes; send it in parts."))
}

pub(crate) fn too_many_requests() -> Problem {
    TOO_MANY_REQUESTS.with("Wait a minute before the next request.")
}

/// An address was refused too often; `cause` is why it was refused now.
pub(crate) fn too_many_refusals(cause: &str) -> Problem {
    TOO_MANY_REQUESTS.with(format!(
        "Too many requests from this address were refused. Wait a minute, and correct the cause: {cause}"
    ))
}

/// An issuer's keys cannot be had.
pub(crate) fn no_keys() -> Problem {
    NO_KEYS.with(
        "The keys of the tokens' issuer cannot be read, so the token cannot be checked. The Worker's log has the reason.",
    )
}

/// A job's token is refused.
pub(crate) fn bad_job_token(error: &OidcError) -> Problem {
    if error.is_forbidden() {
        return FORBIDDEN.with(format!(
            "The job's token {error}. The variable `OIDC_PROJECTS` of the Worker has the list."
        ));
    }
    let remedy = match error {
        OidcError::Audience(_) => {
            "; set `aud` of the job's `id_tokens`, or CONCLAVE_OIDC_AUDIENCE in a job of GitHub, to it"
        }
        _ => "",
    };
    UNAUTHORIZED.with(format!("The job's token {error}{remedy}."))
}

/// The settings for jobs' tokens are incomplete or wrong.
pub(crate) fn bad_oidc_settings(detail: &str) -> Problem {
    NOT_CONFIGURED.with(format!("Jobs' tokens cannot be checked: {detail}."))
}

pub(crate) fn internal() -> Problem {
    INTERNAL.with("The request could not be answered. The reason is in the Worker's log.")
}

/// The heading of a page that could not be made.
pub const FAILED: &str = "That did not work";
pub(crate) const TOO_MANY_LOG_INS: &str =
    "Too many attempts to log in from this address. Wait a minute before the next one.";

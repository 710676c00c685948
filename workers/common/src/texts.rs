//! Texts for callers of either Worker whose request is refused, and for every page's frame.

use conclave_shared::{oidc::OidcError, problem::Problem};

/// There is nothing at this path.
pub fn not_found(path: &str) -> Problem {
    let shown: String = path.chars().take(200).collect();
    Problem::new(404, "not-found", "Not found", format!("There is nothing at `{shown}`."))
}

/// The path exists, the method does not.
pub(crate) fn method_not_allowed(method: &str, allowed: &str) -> Problem {
    Problem::new(
        405,
        "method-not-allowed",
        "Method not allowed",
        format!("`{method}` is not possible here; use {allowed}."),
    )
}

/// No token, or a wrong one.
pub fn unauthorized(presented: bool) -> Problem {
    let detail = if presented {
        "The bearer token is not one of the accepted ones."
    } else {
        "Send a token as `Authorization: Bearer TOKEN`."
    };
    Problem::new(401, "unauthorized", "Unauthorized", detail)
}

pub(crate) fn unconfigured(name: &str) -> Problem {
    Problem::new(
        503,
        "not-configured",
        "Not configured",
        format!(
            "No token is configured, so every request is refused. Set the secret `{name}` to one or more tokens \
             separated by commas: `wrangler secret put {name} -e WORKER`, or a line in `.dev.vars` for local use."
        ),
    )
}

pub(crate) fn other_origin() -> Problem {
    Problem::new(
        403,
        "other-origin",
        "Sent from elsewhere",
        "This form has to be sent from a page of this Worker. Open the page again and repeat it there.",
    )
}

pub(crate) fn too_large(limit: usize) -> Problem {
    Problem::new(
        413,
        "too-large",
        "Body too large",
        format!("The body may have at most {limit} bytes; send it in parts."),
    )
}

pub(crate) fn too_many_requests() -> Problem {
    Problem::new(
        429,
        "too-many-requests",
        "Too many requests",
        "Wait a minute before the next request.",
    )
}

/// An address was refused too often; `cause` is why it was refused now.
pub(crate) fn too_many_refusals(cause: &str) -> Problem {
    Problem::new(
        429,
        "too-many-requests",
        "Too many requests",
        format!("Too many requests from this address were refused. Wait a minute, and correct the cause: {cause}"),
    )
}

/// An issuer's keys cannot be had.
pub(crate) fn no_keys() -> Problem {
    Problem::new(
        503,
        "no-keys",
        "No keys",
        "The keys of the tokens' issuer cannot be read, so the token cannot be checked. The Worker's log has the reason.",
    )
}

/// A job's token is refused.
pub(crate) fn bad_job_token(error: &OidcError) -> Problem {
    if error.is_forbidden() {
        return Problem::new(
            403,
            "forbidden",
            "Not allowed",
            format!("The job's token {error}. The variable `OIDC_PROJECTS` of the Worker has the list."),
        );
    }
    let remedy = match error {
        OidcError::Audience(_) => {
            "; set `aud` of the job's `id_tokens`, or CONCLAVE_OIDC_AUDIENCE in a job of GitHub, to it"
        }
        _ => "",
    };
    Problem::new(
        401,
        "unauthorized",
        "Unauthorized",
        format!("The job's token {error}{remedy}."),
    )
}

/// The settings for jobs' tokens are incomplete or wrong.
pub(crate) fn bad_oidc_settings(detail: &str) -> Problem {
    Problem::new(
        503,
        "not-configured",
        "Not configured",
        format!("Jobs' tokens cannot be checked: {detail}."),
    )
}

pub(crate) fn internal() -> Problem {
    Problem::new(
        500,
        "internal",
        "Internal error",
        "The request could not be answered. The reason is in the Worker's log.",
    )
}

/// The heading of a page that could not be made.
pub const FAILED: &str = "That did not work";
pub(crate) const TOO_MANY_LOG_INS: &str =
    "Too many attempts to log in from this address. Wait a minute before the next one.";

//! Methods that a route answers, and the routes that both Workers have.

use serde_json::json as object;
use worker::{Request, Response, Result, RouteContext};

use crate::{Outcome, Refusal, finish, json, problem, texts};

/// Refuses a method that is not listed with a 405 that names the listed ones in `Allow`.
///
/// The method is read from the runtime's own request: the `worker` crate takes a method that it does not know for GET.
pub fn allow(request: &Request, methods: &[&str]) -> Outcome<()> {
    let method = request.inner().method();
    if methods.contains(&method.as_str()) {
        return Ok(());
    }
    let allowed = methods.join(", ");
    let response = problem(&texts::method_not_allowed(&method, &allowed))?;
    response.headers().set("allow", &allowed)?;
    Err(Refusal::Answer(response))
}

/// Answers that the Worker runs.
pub fn health(request: &Request) -> Result<Response> {
    let allowed = allow(request, &["GET", "HEAD"]);
    finish(allowed.and_then(|()| Ok(json(200, &object!({ "status": "ok" }))?)))
}

/// Answers at a path where nothing is.
#[expect(clippy::needless_pass_by_value, reason = "the router hands requests over by value")]
pub fn nothing_here(request: Request, _: RouteContext<()>) -> Result<Response> {
    problem(&texts::not_found(&request.path()))
}

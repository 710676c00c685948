//! Methods that a route answers.

use worker::Request;

use crate::{Outcome, Refusal, problem, texts};

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

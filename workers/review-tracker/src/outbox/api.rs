//! The outbox for operators, over HTTP: look at it, replay dead letters, throw one away.

use conclave_worker_common::{Outcome, allow, authorize, json, not_found, refusal};
use serde_json::{Value, json as object};
use worker::{Env, Method, Request, Response};

use super::LetterId;
use crate::texts;

/// The secret that lists the tokens of operators.
const OPERATOR_TOKENS: &str = "OPERATOR_TOKENS";

/// `GET /v1/outbox`.
pub(crate) async fn outbox(request: &Request, env: &Env) -> Outcome<Response> {
    allow(request, &["GET", "HEAD"])?;
    authorize(request, env, OPERATOR_TOKENS).await?;
    Ok(json(200, &super::status(env).await?)?)
}

/// `GET` and `DELETE /v1/dead-letters/ID`.
pub(crate) async fn letter(request: &Request, env: &Env, id: &str) -> Outcome<Response> {
    allow(request, &["GET", "HEAD", "DELETE"])?;
    authorize(request, env, OPERATOR_TOKENS).await?;
    let id = known(request, id)?;
    if request.method() == Method::Delete {
        return if super::discard(env, id).await? {
            Ok(json(200, &object!({ "discarded": 1 }))?)
        } else {
            Err(refusal(&texts::no_letter(id))?)
        };
    }
    match super::letter(env, id).await? {
        Some(body) => Ok(json(
            200,
            &serde_json::from_str::<Value>(&body).unwrap_or(Value::String(body)),
        )?),
        None => Err(refusal(&texts::no_letter(id))?),
    }
}

/// `POST /v1/dead-letters/ID/replay`, and `POST /v1/dead-letters/replay` for all.
pub(crate) async fn replay(request: &Request, env: &Env, id: Option<&str>) -> Outcome<Response> {
    allow(request, &["POST"])?;
    authorize(request, env, OPERATOR_TOKENS).await?;
    let replayed = match id {
        None => super::replay_all(env).await?,
        Some(id) => {
            let id = known(request, id)?;
            if !super::replay(env, id).await? {
                return Err(refusal(&texts::no_letter(id))?);
            }
            1
        }
    };
    Ok(json(202, &object!({ "replayed": replayed }))?)
}

fn known(request: &Request, id: &str) -> Outcome<LetterId> {
    match id.parse() {
        Ok(id) => Ok(id),
        Err(()) => Err(refusal(&not_found(&request.path()))?),
    }
}

//! The door: admits a request, and finds its provider and session.

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, Method, Response},
};
use conclave_engine::ports::{SPARE_MODEL, SessionId};
use conclave_shared::model::ModelId;

use super::{call::Call, core::Core, in_flight::InFlightRequest, relay, run_key::has_run_key, session::Session};
use crate::{
    errors::Rejection,
    event::GatewayEvent,
    provider::{Provider, forwarded},
    wire::{Outline, Wire},
};

/// Maximum length of a request body. Real ones reach a few megabytes; beyond this no model could read it.
const MAX_BODY: usize = 64 * 1024 * 1024;

/// The router of the gateway.
pub(crate) fn router(core: Arc<Core>) -> Router {
    Router::new().fallback(handle).with_state(core)
}

/// The known facts of a call that is being refused.
#[derive(Default)]
struct Caller {
    session: Option<SessionId>,
    model: Option<ModelId>,
}

async fn handle(State(core): State<Arc<Core>>, request: Request) -> Response<Body> {
    let wire = spoken_at(request.uri().path());
    let mut caller = Caller::default();
    match admit(&core, request, &mut caller).await {
        Ok(response) => response,
        Err(reason) => {
            core.events.record(GatewayEvent::Rejected {
                session: caller.session,
                model: caller.model,
                reason,
            });
            reason.response(wire)
        }
    }
}

/// The format that a client speaks that calls this path, known or not.
fn spoken_at(path: &str) -> Wire {
    Wire::ALL
        .into_iter()
        .find(|wire| path.ends_with(&format!("/{}", wire.endpoint())))
        .unwrap_or(Wire::OpenAiChat)
}

async fn admit(core: &Arc<Core>, request: Request, caller: &mut Caller) -> Result<Response<Body>, Rejection> {
    let (parts, body) = request.into_parts();
    if !has_run_key(&parts.headers, &core.run_key) {
        return Err(Rejection::WrongRunKey);
    }
    if let Some(caller) = parts.extensions.get::<conclave_loopback::Caller>() {
        caller.has_proved_itself();
    }
    if core.closing.is_cancelled() {
        return Err(Rejection::ShuttingDown);
    }
    let (name, provider) = route(core, &parts.method, parts.uri.path())?;
    let session = session_of(core, &parts.headers, caller)?;
    let request = Arc::new(InFlightRequest::begin(session));
    let body = to_bytes(body, MAX_BODY).await.map_err(|_| Rejection::Malformed)?;
    let outline = Outline::of(&body).map_err(|_| Rejection::Malformed)?;
    let written_for = ModelId::from_parts(name, &outline.model).map_err(|_| Rejection::Malformed)?;
    let asked = if outline.model == SPARE_MODEL {
        request.session.spare(name).ok_or(Rejection::Malformed)?
    } else {
        written_for.clone()
    };
    caller.model = Some(asked.clone());
    if !request.session.admits(outline.last_message) {
        return Err(Rejection::RequestLoop);
    }
    tracing::debug!(session = %request.session.id, reviewer = request.session.reviewer(), model = %asked, "model call");
    let call = Call {
        core,
        provider,
        request,
        written_for,
        asked,
        headers: forwarded(&parts.headers),
        body,
        tool_calls: outline.tool_results,
    };
    let opened = call.run().await?;
    Ok(relay::response(Arc::clone(core), opened))
}

/// The provider behind `/<provider>/v1/messages`, `/<provider>/v1/chat/completions` or `/<provider>/v1/responses`.
fn route<'a, 'b>(core: &'a Core, method: &Method, path: &'b str) -> Result<(&'b str, &'a Provider), Rejection> {
    let unknown = Rejection::UnknownRoute;
    let (name, endpoint) = path
        .strip_prefix('/')
        .and_then(|path| path.split_once("/v1/"))
        .ok_or(unknown)?;
    let provider = core.providers.get(name).ok_or(unknown)?;
    if method != Method::POST || endpoint != provider.wire.endpoint() {
        return Err(unknown);
    }
    Ok((name, provider))
}

fn session_of(core: &Core, headers: &HeaderMap, caller: &mut Caller) -> Result<Arc<Session>, Rejection> {
    let id = headers
        .get("x-session-id")
        .and_then(|value| value.to_str().ok())
        .ok_or(Rejection::UnknownSession)?;
    let id = SessionId(id.to_owned());
    let session = core.sessions.get(&id).ok_or(Rejection::UnknownSession)?;
    caller.session = Some(id);
    Ok(session)
}

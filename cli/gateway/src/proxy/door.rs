//! The door: admits a request, and finds its provider and session.

use std::sync::{Arc, Mutex};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, Method, Response},
};
use bytes::Bytes;
use conclave_engine::ports::{SPARE_MODEL, SessionId};
use conclave_shared::model::ModelId;

use super::{
    attempt::Opened,
    call::Call,
    core::Core,
    in_flight::InFlightRequest,
    relay::{self, Relay},
    run_key::has_run_key,
    session::Session,
};
use crate::{
    errors::{Refusal, Rejection},
    event::GatewayEvent,
    lock::locked,
    provider::{Provider, client_headers, forwarded},
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
    /// The provider's refusal, if the call is refused for that.
    refusal: Option<Refusal>,
}

impl Caller {
    /// Notes that the call is refused.
    fn refused(self, core: &Core, reason: Rejection) {
        core.events.record(GatewayEvent::Rejected {
            session: self.session,
            model: self.model,
            reason,
            refusal: self.refusal,
        });
    }
}

async fn handle(State(core): State<Arc<Core>>, request: Request) -> Response<Body> {
    let wire = spoken_at(request.uri().path());
    let mut caller = Caller::default();
    match admit(&core, request, &mut caller).await {
        Ok(opened) => relay::response(Relay::new(core, opened)),
        Err(reason) => {
            caller.refused(&core, reason);
            reason.response(wire)
        }
    }
}

/// Answers a call that comes from this process. It needs no key: the holder of the gateway has the key too.
pub(crate) async fn call_in_process(
    core: &Arc<Core>,
    provider: &str,
    session: &SessionId,
    body: Bytes,
) -> Result<Relay, Rejection> {
    let mut caller = Caller::default();
    let admitted = async {
        if core.closing.is_cancelled() {
            return Err(Rejection::ShuttingDown);
        }
        let provider = (provider, core.providers.get(provider).ok_or(Rejection::UnknownRoute)?);
        let request = Arc::new(InFlightRequest::begin(known_session(core, session, &mut caller)?));
        proceed(
            core,
            provider,
            request,
            client_headers(provider.1.wire),
            body,
            &mut caller,
        )
        .await
    };
    match admitted.await {
        Ok(opened) => Ok(Relay::new(Arc::clone(core), opened)),
        Err(reason) => {
            caller.refused(core, reason);
            Err(reason)
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

async fn admit(core: &Arc<Core>, request: Request, caller: &mut Caller) -> Result<Opened, Rejection> {
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
    let provider = route(core, &parts.method, parts.uri.path())?;
    let session = session_of(core, &parts.headers, caller)?;
    let request = Arc::new(InFlightRequest::begin(session));
    let body = to_bytes(body, MAX_BODY).await.map_err(|_| Rejection::Malformed)?;
    proceed(core, provider, request, forwarded(&parts.headers), body, caller).await
}

/// Asks models for the answer to a call that was let in.
async fn proceed(
    core: &Arc<Core>,
    (name, provider): (&str, &Provider),
    request: Arc<InFlightRequest>,
    headers: HeaderMap,
    body: Bytes,
    caller: &mut Caller,
) -> Result<Opened, Rejection> {
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
        headers,
        body,
        refusal: Mutex::default(),
    };
    let opened = call.run().await;
    if matches!(opened, Err(Rejection::CredentialsRejected | Rejection::RequestRejected)) {
        caller.refusal = locked(&call.refusal).take();
    }
    opened
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
    known_session(core, &SessionId(id.to_owned()), caller)
}

fn known_session(core: &Core, id: &SessionId, caller: &mut Caller) -> Result<Arc<Session>, Rejection> {
    let session = core.sessions.get(id).ok_or(Rejection::UnknownSession)?;
    caller.session = Some(id.clone());
    Ok(session)
}

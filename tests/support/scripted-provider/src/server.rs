//! The HTTP side: a request comes in, is checked, answered and booked.

use crate::ai_gateway::with_stored_key;
use crate::books::Usage;
use crate::fault::FaultKind;
use crate::locked;
use crate::model::Format;
use crate::state::{State, Tally};
use crate::wire::{self, Parsed, Refusal, Reply, errors, header};
use crate::{stream, tokens};
use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, State as Extract};
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri};
use axum::routing::get;
use bytes::Bytes;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// The router: the three endpoints, at the root or below any prefix (`/openai/v1/responses`).
pub(crate) fn router(state: Arc<State>) -> Router {
    Router::new()
        .route("/health", get(|| async { "ok" }))
        .fallback(handle)
        .layer(DefaultBodyLimit::disable())
        .with_state(state)
}

fn format_of(method: &Method, path: &str) -> Option<Format> {
    let endpoints = [
        ("/v1/messages", Format::Messages),
        // Not every provider has it below a version: Vertex AI's is `…/endpoints/openapi/chat/completions`.
        ("/chat/completions", Format::ChatCompletions),
        ("/v1/responses", Format::Responses),
    ];
    let (_, format) = endpoints.into_iter().find(|(end, _)| path.ends_with(end))?;
    (method == Method::POST).then_some(format)
}

async fn handle(
    Extract(state): Extract<Arc<State>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let path = uri.path();
    let format = format_of(&method, path);
    let number = state.record(format, path, &headers, &body);
    let request_id = format!("req_011504{number:06}");
    let (format, headers) = match &state.ai_gateway {
        None => {
            let given = headers.contains_key("authorization") || headers.contains_key("x-api-key");
            let headers = match format {
                Some(format) if state.keyless && !given => with_stored_key(&headers, format, state.key.as_deref()),
                _ => headers,
            };
            (format, headers)
        }
        Some(gateway) => match gateway.admit(&method, path, &headers, &state.host) {
            Ok(format) => {
                let stored = with_stored_key(&headers, format, state.key.as_deref());
                (Some(format), stored)
            }
            Err(refusal) => return state.refuse(Format::ChatCompletions, number, &refusal, &request_id),
        },
    };
    if method == Method::GET && path.ends_with("/v1/models") {
        return state.list_models(number, &headers, &request_id);
    }
    let Some(format) = format else {
        let refusal = Refusal {
            status: 404,
            message: format!("Not found: {method} {path}"),
        };
        return state.refuse(Format::ChatCompletions, number, &refusal, &request_id);
    };
    let parsed = match wire::parse(format, state.key.as_deref(), &headers, &body) {
        Ok(parsed) => parsed,
        Err(refusal) => return state.refuse(format, number, &refusal, &request_id),
    };
    let Parsed { request, prompt, .. } = &parsed;
    state.identify(number, request);
    if let Some(models) = &state.models
        && !models.contains(&request.model)
    {
        let message = errors::message(format, 404, &request.model, &request_id);
        return state.refuse(format, number, &Refusal { status: 404, message }, &request_id);
    }
    let lookup = locked(&state.cache).look_up(prompt);
    let (answer, fault) = state.faulty.respond(request, path);
    match &fault {
        Some(FaultKind::Hang) => {
            state.closing.cancelled().await;
            return error_response(format, 503, "shutting down", &request_id, None);
        }
        Some(FaultKind::Status { code, retry_after }) => {
            let message = errors::message(format, *code, &request.model, &request_id);
            state.set_status(number, *code);
            return error_response(format, *code, &message, &request_id, *retry_after);
        }
        Some(FaultKind::ContextOverflow) => {
            let message = errors::overflow(format, lookup.usage.prompt());
            state.set_status(number, 400);
            return error_response(format, 400, &message, &request_id, None);
        }
        _ => {}
    }
    let usage = Usage {
        output: tokens(answer.chars().1),
        ..lookup.usage
    };
    let seed = hex::encode(Sha256::digest(&body));
    let frames = wire::frames(
        format,
        &Reply {
            answer: &answer,
            usage,
            model: &request.model,
            seed: &seed,
            wants_usage: parsed.wants_usage,
        },
    );
    let steps = stream::steps(format, frames, state.delay, fault.as_ref());
    state.set_status(number, 200);
    let entry = state.open_entry(number, request, header(&headers, "x-session-id"));
    let tally = Tally {
        state: Arc::clone(&state),
        entry,
        lookup: Some(lookup),
        chars: 0,
    };
    respond(
        200,
        "text/event-stream; charset=utf-8",
        &request_id,
        None,
        Body::from_stream(stream::play(steps, tally)),
    )
}

impl State {
    /// The list of models: costs nothing, and asks for the key. Providers tell apart who asks by where the key is.
    fn list_models(&self, number: usize, headers: &HeaderMap, request_id: &str) -> Response<Body> {
        let format = match header(headers, "x-api-key") {
            Some(_) => Format::Messages,
            None => Format::ChatCompletions,
        };
        if let Err(refusal) = wire::check_key(format, self.key.as_deref(), headers) {
            // A wrong key is what this is asked for, so it breaks no rule.
            self.set_status(number, refusal.status);
            return error_response(format, refusal.status, &refusal.message, request_id, None);
        }
        self.set_status(number, 200);
        let names = self.models.iter().flatten();
        let rows: Vec<Value> = names
            .map(|name| json!({"type": "model", "object": "model", "id": name}))
            .collect();
        let body = json!({"object": "list", "data": rows, "has_more": false}).to_string();
        respond(200, "application/json", request_id, None, Body::from(body))
    }

    fn refuse(&self, format: Format, number: usize, refusal: &Refusal, request_id: &str) -> Response<Body> {
        self.note_refusal(number, refusal);
        error_response(format, refusal.status, &refusal.message, request_id, None)
    }
}

fn error_response(
    format: Format,
    status: u16,
    message: &str,
    request_id: &str,
    retry_after: Option<u64>,
) -> Response<Body> {
    let body = errors::body(format, status, message, request_id).to_string();
    respond(status, "application/json", request_id, retry_after, Body::from(body))
}

fn respond(status: u16, content_type: &str, request_id: &str, retry_after: Option<u64>, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut headers = vec![
        ("content-type", content_type.to_owned()),
        ("cache-control", "no-cache".to_owned()),
        ("request-id", request_id.to_owned()),
        ("x-request-id", request_id.to_owned()),
    ];
    headers.extend(retry_after.map(|seconds| ("retry-after", seconds.to_string())));
    for (name, value) in headers {
        if let Ok(value) = value.parse() {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

//! Requests of administrators: read and write the document, flip switches, look back, roll back.

use std::collections::BTreeMap;

use conclave_shared::{
    config::{MAX_DOCUMENT_BYTES, ProviderSwitch, SCHEMA_VERSION, hidden_character, unknown_fields},
    model::ModelId,
};
use conclave_worker_common::{
    Access, Outcome, allow, configured, denied, is_json, json, judge, limit, listed, now_ms, presented, read_capped,
    refusal,
};
use serde::de::DeserializeOwned;
use serde_json::json as value;
use worker::{Env, Request, Response, ResponseBuilder, RouteContext};

use crate::{
    current,
    ledger::{self, Ask, HistoryEntry, Revision, Write, Written},
    revision::{Command, check_document},
    texts,
};

/// The secret that lists the administrators' tokens, best as `name:token`.
pub(crate) const ADMIN_TOKENS: &str = "ADMIN_TOKENS";
/// The secret that lists the readers' tokens.
pub(crate) const READER_TOKENS: &str = "READER_TOKENS";
/// The binding that counts administrators' requests by token.
const REQUESTS: &str = "ADMIN_REQUESTS";
/// The longest reason, in bytes.
const MAX_REASON: usize = 500;
/// Maximum number of revisions in one answer.
const MAX_HISTORY: u32 = 200;
const DEFAULT_HISTORY: u32 = 50;

/// `GET` and `PUT /v1/config/document`.
pub(crate) async fn document(mut request: Request, env: &Env) -> Outcome<Response> {
    allow(&request, &["GET", "HEAD", "PUT"])?;
    let who = authorize(&request, env).await?;
    let current = current::fresh(env).await?;
    if request.inner().method() != "PUT" {
        let response = match current.document() {
            (Some(document), _) => json(200, &document)?,
            // As it is stored: its author has to see it, and a client that expects JSON must not take it for an empty one.
            (None, Some(text)) => ResponseBuilder::new()
                .with_header("content-type", "text/plain; charset=utf-8")?
                .fixed(text.as_bytes().to_vec()),
            (None, None) => json(200, &value!({ "schema_version": SCHEMA_VERSION }))?,
        };
        response.headers().set("etag", &current.document_tag())?;
        return Ok(response);
    }
    let seen = seen_document(&request, &current)?;
    let document = body(&mut request).await?;
    let why = reason(&request)?;
    write(env, &current, Command::Replace { document }, seen, who, why).await
}

/// `POST /v1/config/validate`.
pub(crate) async fn validate(mut request: Request, env: &Env) -> Outcome<Response> {
    allow(&request, &["POST"])?;
    authorize(&request, env).await?;
    let document = body(&mut request).await?;
    match check_document(&document) {
        Ok(()) => {
            // No fault, but without effect, which their writer should hear.
            let unknown = unknown_fields(&document);
            Ok(json(200, &value!({ "valid": true, "unknown": unknown }))?)
        }
        Err(fault) => Err(refusal(&fault)?),
    }
}

/// `PUT /v1/providers/{id}`.
pub(crate) async fn provider(mut request: Request, context: &RouteContext<()>) -> Outcome<Response> {
    let env = &context.env;
    allow(&request, &["PUT"])?;
    let who = authorize(&request, env).await?;
    let provider = parameter(context, "id");
    let switch: ProviderSwitch = body(&mut request).await?;
    let current = current::fresh(env).await?;
    let seen = expected(&request, current.snapshot.revision)?;
    flip(env, &current, provider, switch, seen, who).await
}

/// Flips a switch, for the API and for the page.
pub(crate) async fn flip(
    env: &Env,
    current: &current::Current,
    provider: String,
    mut switch: ProviderSwitch,
    seen: Option<u64>,
    who: String,
) -> Outcome<Response> {
    switch.reason = match switch.reason {
        Some(reason) => checked_reason(&reason)?,
        None => None,
    };
    let why = switch.reason.clone();
    write(env, current, Command::Switch { provider, switch }, seen, who, why).await
}

/// `PUT /v1/failback`.
pub(crate) async fn failback(mut request: Request, env: &Env) -> Outcome<Response> {
    allow(&request, &["PUT"])?;
    let who = authorize(&request, env).await?;
    let failback: BTreeMap<String, Option<ModelId>> = body(&mut request).await?;
    let why = reason(&request)?;
    let current = current::fresh(env).await?;
    let (document, by_hand) = current.document();
    if by_hand.is_some() && !document.as_ref().is_some_and(serde_json::Value::is_object) {
        return Err(refusal(&texts::unusable_document())?);
    }
    // It replaces all chains, so those that a colleague wrote meanwhile would be lost.
    let seen = seen_document(&request, &current)?;
    let base = Some(document.unwrap_or_else(|| value!({ "schema_version": SCHEMA_VERSION })));
    write(env, &current, Command::Failback { failback, base }, seen, who, why).await
}

/// `GET /v1/history`.
pub(crate) async fn history(request: &Request, env: &Env) -> Outcome<Response> {
    allow(request, &["GET", "HEAD"])?;
    authorize(request, env).await?;
    let limit = number(request, "limit")?.map_or(DEFAULT_HISTORY, |limit| {
        u32::try_from(limit).unwrap_or(MAX_HISTORY).clamp(1, MAX_HISTORY)
    });
    let before = number(request, "before")?;
    let revisions: Vec<HistoryEntry> = ledger::ask(env, &Ask::History { before, limit }).await?;
    Ok(json(200, &value!({ "revisions": revisions }))?)
}

/// `GET /v1/history/{revision}`.
pub(crate) async fn revision(request: &Request, context: &RouteContext<()>) -> Outcome<Response> {
    allow(request, &["GET", "HEAD"])?;
    authorize(request, &context.env).await?;
    let revision = revision_number(context)?;
    let found: Option<Revision> = ledger::ask(&context.env, &Ask::Revision { revision }).await?;
    match found {
        Some(found) => Ok(json(200, &found)?),
        None => Err(refusal(&texts::no_such_revision(revision))?),
    }
}

/// `POST /v1/rollback/{revision}`.
pub(crate) async fn rollback(request: &Request, context: &RouteContext<()>) -> Outcome<Response> {
    let env = &context.env;
    allow(request, &["POST"])?;
    let who = authorize(request, env).await?;
    let to = revision_number(context)?;
    let why = reason(request)?;
    let current = current::fresh(env).await?;
    let seen = expected(request, current.snapshot.revision)?;
    let by_hand = current.of_no_revision();
    write(env, &current, Command::Rollback { to, by_hand }, seen, who, why).await
}

/// Counts an administrator's request against the rate limit.
pub(crate) async fn count(env: &Env, who: &str) -> Outcome<()> {
    limit::count(env, REQUESTS, who.to_owned()).await
}

/// Lets an administrator pass, and returns the name.
async fn authorize(request: &Request, env: &Env) -> Outcome<String> {
    let who = match listed(request, env, ADMIN_TOKENS) {
        Err(_) if is_readers(request, env)? => Err(denied(&texts::readers_token())?),
        who => who,
    };
    let who = limit::refused(request, env, who).await?;
    count(env, &who).await?;
    Ok(who)
}

/// Returns whether a request shows a token that only reads, where there are administrators' tokens.
fn is_readers(request: &Request, env: &Env) -> Outcome<bool> {
    let token = presented(request)?;
    let of = |list: &str| judge(token.as_deref(), configured(env, list).as_deref());
    Ok(of(ADMIN_TOKENS) == Access::Denied && of(READER_TOKENS) == Access::Granted)
}

async fn write(
    env: &Env,
    current: &current::Current,
    command: Command,
    seen: Option<u64>,
    who: String,
    why: Option<String>,
) -> Outcome<Response> {
    let write = Write {
        command,
        seen,
        who,
        why,
        now_ms: now_ms(),
        by_hand: current.by_hand(),
    };
    let written: Written = ledger::ask(env, &Ask::Write(Box::new(write))).await?;
    current::forget();
    match written {
        Written::Done { revision } => {
            let response = json(200, &value!({ "revision": revision }))?;
            response.headers().set("etag", &format!("\"{revision}\""))?;
            Ok(response)
        }
        Written::Refused { problem } => Err(refusal(&problem)?),
    }
}

/// The current revision, if a writer names the tag of the document in force, which every change of the document has to be based on.
fn seen_document(request: &Request, current: &current::Current) -> Outcome<Option<u64>> {
    let tag = current.document_tag();
    match request.headers().get("if-match")? {
        None => Err(refusal(&texts::if_match_needed(&tag))?),
        // Compared here for what was written by hand, and again where nothing can come in between.
        Some(seen) if names(&seen, &tag) => Ok(Some(current.snapshot.revision)),
        Some(_) => Err(refusal(&texts::stale_tag(&tag))?),
    }
}

/// The revision that a writer has seen, where it says so.
fn expected(request: &Request, current: u64) -> Outcome<Option<u64>> {
    let Some(seen) = request.headers().get("if-match")? else {
        return Ok(None);
    };
    let tag = format!("\"{current}\"");
    if names(&seen, &tag) {
        return Ok(Some(current));
    }
    Err(refusal(&texts::stale_tag(&tag))?)
}

/// Returns whether an `If-Match` header names this tag. `*` would be "whatever it is", which is what loses updates.
fn names(if_match: &str, tag: &str) -> bool {
    if_match.split(',').any(|candidate| candidate.trim() == tag)
}

async fn body<T: DeserializeOwned>(request: &mut Request) -> Outcome<T> {
    if !is_json(request)? {
        return Err(refusal(&texts::not_json())?);
    }
    let bytes = read_capped(request, MAX_DOCUMENT_BYTES).await?;
    match serde_json::from_slice(&bytes) {
        Ok(body) => Ok(body),
        Err(error) => Err(refusal(&texts::bad_body(&error))?),
    }
}

/// Why something is changed, from the query.
fn reason(request: &Request) -> Outcome<Option<String>> {
    let url = request.url()?;
    let reason = url.query_pairs().find(|(name, _)| name == "reason");
    reason.map_or(Ok(None), |(_, reason)| checked_reason(&reason))
}

fn checked_reason(reason: &str) -> Outcome<Option<String>> {
    let reason = reason.trim();
    if reason.len() > MAX_REASON {
        return Err(refusal(&texts::bad_reason(MAX_REASON))?);
    }
    if let Some(hidden) = hidden_character(reason) {
        return Err(refusal(&texts::hidden_in_reason(&hidden))?);
    }
    Ok((!reason.is_empty()).then(|| reason.to_owned()))
}

fn number(request: &Request, name: &str) -> Outcome<Option<u64>> {
    let url = request.url()?;
    let found = url.query_pairs().find(|(key, _)| key == name);
    match found.map(|(_, value)| value.parse::<u64>()) {
        None => Ok(None),
        Some(Ok(number)) => Ok(Some(number)),
        Some(Err(_)) => Err(refusal(&texts::bad_number(name))?),
    }
}

fn revision_number(context: &RouteContext<()>) -> Outcome<u64> {
    match parameter(context, "revision").parse() {
        Ok(revision) => Ok(revision),
        Err(_) => Err(refusal(&texts::bad_number("revision"))?),
    }
}

fn parameter(context: &RouteContext<()>, name: &str) -> String {
    context.param(name).cloned().unwrap_or_default()
}

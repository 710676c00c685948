//! The page of administrators: what is in force, and the switches.
//!
//! Pages are made by the Worker, have no script, and ask nobody else for anything. What can be done here goes through the
//! same code as the API, the history and the limits included.

mod format;
mod layout;
mod login;
mod overview;
mod sections;
mod texts;

use conclave_shared::config::ProviderSwitch;
use conclave_worker_common::{
    Outcome, Refusal, Sessions, allow, configured, entity_tag, finish, not_found, now_ms, page, problem, read_capped,
    same_origin, see_other,
};
use url::form_urlencoded;
use worker::{Env, Request, Response, ResponseBuilder, Router};

use crate::{
    admin::{self, ADMIN_TOKENS},
    current, limit,
};

const STYLE: &str = include_str!("../assets/admin.css");
const ICON: &str = include_str!("../assets/icon.svg");

/// The largest form.
const MAX_FORM: usize = 8 * 1024;

/// Log-in sessions of administrators. Shorter than the dashboard's: more can be done with one.
const SESSIONS: Sessions = Sessions {
    cookie: "conclave_admin",
    purpose: "conclave reviewer-config administrator 1",
    lifetime_seconds: 12 * 3_600,
};

/// Adds the page's routes.
pub(crate) fn routes(router: Router<'static, ()>) -> Router<'static, ()> {
    router
        .on_async("/", |request, context| async move {
            finish(shown(overview::page(&request, &context.env).await))
        })
        .on_async("/login", |request, context| async move {
            finish(shown(login::login(request, &context.env).await))
        })
        .on("/logout", |request, _| finish(login::logout(&request)))
        .on_async("/providers/:id", |request, context| async move {
            let id = context.param("id").cloned().unwrap_or_default();
            finish(shown(flip(request, &context.env, id).await))
        })
        .on("/assets/:name", |request, context| {
            let name = context.param("name").map_or("", String::as_str);
            finish(asset(&request, name))
        })
}

/// Lets an administrator pass who is logged in, and says who; everybody else is sent to the log-in page.
async fn require_login(request: &Request, env: &Env) -> Outcome<String> {
    let cookies = request.headers().get("cookie")?.unwrap_or_default();
    let tokens = configured(env, ADMIN_TOKENS).unwrap_or_default();
    let Some(who) = SESSIONS.holder(&cookies, &tokens, now_ms()).map(str::to_owned) else {
        return Err(Refusal::Answer(see_other("/login")?));
    };
    limit::admin(env, &who).await?;
    Ok(who)
}

/// `POST /providers/{id}`: a switch is flipped.
async fn flip(mut request: Request, env: &Env, provider: String) -> Outcome<Response> {
    allow(&request, &["POST"])?;
    same_origin(&request)?;
    let who = require_login(&request, env).await?;
    let form = read_capped(&mut request, MAX_FORM).await?;
    let field = |wanted: &str| {
        form_urlencoded::parse(&form)
            .find(|(name, _)| name == wanted)
            .map(|(_, value)| value.trim().to_owned())
            .unwrap_or_default()
    };
    let reason = field("reason");
    let enabled = match field("enabled").as_str() {
        "true" => true,
        "false" if !reason.is_empty() => false,
        _ => {
            let html = layout::notice(texts::NOTHING_CHANGED, texts::REASON_NEEDED);
            return Ok(page(422, &layout::signed_out(texts::NOTHING_CHANGED, &html))?);
        }
    };
    let switch = ProviderSwitch {
        enabled,
        reason: (!reason.is_empty()).then_some(reason),
    };
    let current = current::fresh(env).await?;
    admin::flip(env, &current, provider, switch, None, who).await?;
    Ok(see_other("/")?)
}

fn asset(request: &Request, name: &str) -> Outcome<Response> {
    let (content_type, text) = match name {
        "admin.css" => ("text/css; charset=utf-8", STYLE),
        "icon.svg" => ("image/svg+xml", ICON),
        _ => return Err(Refusal::Answer(problem(&not_found(&request.path()))?)),
    };
    allow(request, &["GET", "HEAD"])?;
    let tag = entity_tag::of(text.as_bytes());
    let known = request.headers().get("if-none-match")?;
    let response = ResponseBuilder::new()
        .with_header("etag", &tag)?
        .with_header("cache-control", "no-cache")?;
    if known.is_some_and(|known| entity_tag::matches(&known, &tag)) {
        return Ok(response.with_status(304).empty());
    }
    Ok(response
        .with_header("content-type", content_type)?
        .fixed(text.as_bytes().to_vec()))
}

/// Faults as people read them. What is refused keeps its problem document: browsers show its text.
fn shown(outcome: Outcome<Response>) -> Outcome<Response> {
    match outcome {
        Err(Refusal::Fault(error)) => {
            worker::console_error!("page failed: {error}");
            let html = layout::notice(texts::FAILED, texts::FAILED_DETAIL);
            Ok(page(500, &layout::signed_out(texts::FAILED, &html))?)
        }
        other => other,
    }
}

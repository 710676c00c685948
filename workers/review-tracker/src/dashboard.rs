//! The dashboard: what people see.
//!
//! Pages are made by the Worker, work without a script, and ask nobody else for anything. Only the log-in page has a
//! small script of its own, so that a link can carry the token in its fragment.

mod answer;
mod assets;
mod chart;
mod filter;
mod format;
mod layout;
mod login;
mod overview;
mod run;
mod run_tables;
mod runs_table;
mod summary;
mod texts;

use conclave_worker_common::{Outcome, Refusal, Sessions, allow, configured, finish, html, see_other};
use worker::{Env, Request, Response, Router};

use crate::clock;
use answer::page_or_problem;

/// The secret that lists the tokens of people.
const DASHBOARD_TOKENS: &str = "DASHBOARD_TOKENS";

/// Log-in sessions of people.
const SESSIONS: Sessions = Sessions {
    cookie: "conclave_session",
    purpose: "conclave dashboard session 1",
    lifetime_seconds: 7 * 86_400,
};

/// Adds the dashboard's routes.
pub(crate) fn routes(router: Router<'static, ()>) -> Router<'static, ()> {
    router
        .on_async("/", |request, context| async move {
            finish(page_or_problem(overview::page(&request, &context.env).await))
        })
        .on_async("/runs/:id", |request, context| async move {
            let id = context.param("id").cloned().unwrap_or_default();
            finish(page_or_problem(run::page(&request, &context.env, &id).await))
        })
        .on_async("/login", |request, context| async move {
            finish(page_or_problem(login::login(request, &context.env).await))
        })
        .on("/logout", |request, _| finish(login::logout(&request)))
        .on("/assets/:name", |request, context| {
            finish(assets::handle(
                &request,
                context.param("name").map_or("", String::as_str),
            ))
        })
}

/// Lets a person pass who is logged in; everybody else is sent to the log-in page.
fn require_login(request: &Request, env: &Env) -> Outcome<()> {
    allow(request, &["GET", "HEAD"])?;
    let cookies = request.headers().get("cookie")?.unwrap_or_default();
    let tokens = configured(env, DASHBOARD_TOKENS).unwrap_or_default();
    if SESSIONS.is_open(&cookies, &tokens, clock::now_ms()) {
        Ok(())
    } else {
        Err(Refusal::Answer(see_other("/login")?))
    }
}

/// A finished page.
fn page(title: &str, body: &html::Html) -> Outcome<Response> {
    Ok(conclave_worker_common::page(200, &layout::signed_in(title, body))?)
}

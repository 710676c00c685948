//! The dashboard: what people see.
//!
//! Pages are made by the Worker, are whole without a script, and ask nobody else for anything. Scripts draw the charts of
//! what the tables beside them say, and let a link to the log-in page carry the token in its fragment; a person sends it.

mod access;
mod cells;
mod chart;
mod cross;
mod ends;
mod filter;
mod findings;
mod format;
mod health;
mod layout;
mod models;
mod overview;
mod page;
mod periods;
mod run;
mod run_tables;
mod runs;
mod summary;
mod table;
mod texts;

use conclave_worker_common::{
    Asset, BASE_STYLE, Frame, ICON, Login, LoginWords, Outcome, Refusal, Sessions, allow, asset, configured, finish,
    page as answer, see_other,
};
use worker::{Env, Request, Response, Router};

use crate::clock;

/// The secret that lists the tokens of people.
const DASHBOARD_TOKENS: &str = "DASHBOARD_TOKENS";

/// Log-in sessions of people.
const SESSIONS: Sessions = Sessions {
    cookie: "conclave_session",
    purpose: "conclave dashboard session 1",
    lifetime_seconds: 7 * 86_400,
};

/// What pages are made with. uPlot comes from npm, at the version that package.json pins.
const ASSETS: [Asset; 4] = [
    Asset::style(
        "dashboard.css",
        &[
            BASE_STYLE,
            include_str!("../assets/dashboard.css"),
            include_str!("../../../node_modules/uplot/dist/uPlot.min.css"),
        ],
    ),
    Asset::script(
        "charts.js",
        &[
            include_str!("../../../node_modules/uplot/dist/uPlot.iife.min.js"),
            include_str!("../assets/charts.js"),
        ],
    ),
    Asset::script("login.js", &[include_str!("../assets/login.js")]),
    ICON,
];

/// The frame around every page.
const FRAME: Frame = Frame {
    style: "dashboard.css",
    back: texts::BACK,
    failed: texts::FAILED_DETAIL,
};

/// How people log in.
const LOGIN: Login = Login {
    sessions: SESSIONS,
    tokens: DASHBOARD_TOKENS,
    frame: FRAME,
    scripts: &["login.js"],
    words: LoginWords {
        title: texts::LOG_IN_TITLE,
        user: "dashboard",
        token: texts::TOKEN,
        hint: texts::LOG_IN_HINT,
        by_link: Some(texts::LOG_IN_BY_LINK),
        wrong: texts::WRONG_TOKEN,
        unconfigured: (texts::NO_DASHBOARD_TOKENS, texts::NO_DASHBOARD_TOKENS_DETAIL),
    },
};

/// Adds the dashboard's routes.
pub(crate) fn routes(router: Router<'static, ()>) -> Router<'static, ()> {
    let router = router
        .on_async("/", |request, context| async move {
            finish(shown(overview::page(&request, &context.env).await))
        })
        .on_async(findings::PATH, |request, context| async move {
            finish(shown(findings::page(&request, &context.env).await))
        })
        .on_async(models::PATH, |request, context| async move {
            finish(shown(models::page(&request, &context.env).await))
        })
        .on_async(runs::PATH, |request, context| async move {
            finish(shown(runs::page(&request, &context.env).await))
        })
        .on_async("/runs/:id", |request, context| async move {
            let id = context.param("id").cloned().unwrap_or_default();
            finish(shown(run::page(&request, &context.env, &id).await))
        });
    health::routes(router)
        .on_async("/login", |request, context| async move {
            finish(shown(login(request, &context.env).await))
        })
        .on("/logout", |request, context| finish(logout(&request, &context.env)))
        .on("/assets/:name", |request, context| {
            let name = context.param("name").map_or("", String::as_str);
            finish(asset(&request, &ASSETS, name))
        })
}

async fn login(mut request: Request, env: &Env) -> Outcome<Response> {
    if access::is_on(env) && configured(env, DASHBOARD_TOKENS).is_none() {
        let html = FRAME.notice_page(texts::ACCESS_ONLY, texts::ACCESS_ONLY_DETAIL);
        return Ok(answer(403, &html)?);
    }
    LOGIN.answer(&mut request, env).await
}

/// Forgets the session; one of Cloudflare Access is ended there.
fn logout(request: &Request, env: &Env) -> Outcome<Response> {
    let response = LOGIN.logout(request)?;
    if access::is_on(env) && request.headers().has(access::HEADER)? {
        response.headers().set("location", access::LOG_OUT)?;
    }
    Ok(response)
}

/// Lets a person pass who is logged in, and says who, as far as that is known; everybody else is sent to the log-in page.
async fn require_login(request: &Request, env: &Env) -> Outcome<String> {
    let cookies = request.headers().get("cookie")?.unwrap_or_default();
    let tokens = configured(env, DASHBOARD_TOKENS).unwrap_or_default();
    if let Some(who) = SESSIONS.holder(&cookies, &tokens, clock::now_ms()) {
        return Ok(who.to_owned());
    }
    if let Some(who) = access::verify(request, env).await? {
        return Ok(who);
    }
    Err(Refusal::Answer(see_other("/login")?))
}

/// Lets a reader pass, and says who.
async fn require_reader(request: &Request, env: &Env) -> Outcome<String> {
    allow(request, &["GET", "HEAD"])?;
    require_login(request, env).await
}

/// Refusals as people read them. A redirect stays one; a missing database becomes a page that says so.
fn shown(outcome: Outcome<Response>) -> Outcome<Response> {
    match outcome {
        Err(Refusal::Answer(response)) if response.status_code() == 503 && is_problem(&response)? => {
            let html = FRAME.notice_page(texts::NOT_READY, crate::texts::NO_TABLES);
            Ok(answer(503, &html)?)
        }
        other => FRAME.shown(other),
    }
}

fn is_problem(response: &Response) -> worker::Result<bool> {
    let kind = response.headers().get("content-type")?;
    Ok(kind.is_some_and(|kind| kind.starts_with(conclave_shared::problem::CONTENT_TYPE)))
}

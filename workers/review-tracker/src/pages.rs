//! The dashboard: what people see.
//!
//! Pages are made by the Worker, are whole without a script, and load nothing from elsewhere. Scripts draw the charts of
//! what the tables beside them say, and let a link to the log-in page carry the token in its fragment; a person sends it.

mod access;
mod cells;
mod chart;
mod cross;
mod figures;
mod filter;
mod findings;
mod format;
mod health;
mod models;
mod overview;
mod page;
mod periods;
mod run;
mod run_tables;
mod runs;
mod table;

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

/// Style sheets and scripts of the pages. uPlot comes from npm, at the version that package.json pins.
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
    back: "Back to the overview",
    failed: "The page could not be made. Try again in a moment; the reason is in the Worker's log.",
};

/// The title of a page that cannot be shown before the tracker is set up.
const NOT_READY: &str = "The tracker is not set up yet";

/// The log-in of people.
const LOGIN: Login = Login {
    sessions: SESSIONS,
    tokens: DASHBOARD_TOKENS,
    frame: FRAME,
    scripts: &["login.js"],
    words: LoginWords {
        title: "Conclave reviews",
        user: "dashboard",
        token: "Access token",
        hint: "It is one of this Worker's DASHBOARD_TOKENS. A link that ends in /login#token=… fills it in; what follows the # is never \
               sent in a request's address.",
        by_link: Some(
            "The link that you have opened brings an access token. Log in with it only if you know who sent it.",
        ),
        wrong: "That token is not accepted. It may have been replaced: ask the operator of this tracker.",
        unconfigured: (
            "No token yet",
            "No token is configured. Run `wrangler secret put DASHBOARD_TOKENS -e review-tracker` and give it one or more tokens \
             separated by commas. For a local run, put the line DASHBOARD_TOKENS=… into .dev.vars beside wrangler.toml.",
        ),
    },
};

/// Adds the dashboard's routes.
pub(crate) fn routes(router: Router<'static, ()>) -> Router<'static, ()> {
    let router = router
        .on_async("/", |request, context| async move {
            finish(shown(overview::page(&request, &context.env).await))
        })
        .on_async(page::FINDINGS.path, |request, context| async move {
            finish(shown(findings::page(&request, &context.env).await))
        })
        .on_async(page::MODELS.path, |request, context| async move {
            finish(shown(models::page(&request, &context.env).await))
        })
        .on_async(page::RUNS.path, |request, context| async move {
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
        let html = FRAME.notice_page(
            "Come through Cloudflare Access",
            "This dashboard has no tokens of its own. Open it at the address that your organization's Access protects, and log in there.",
        );
        return Ok(answer(403, html)?);
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

/// Lets a person pass who is logged in, and returns the name, as far as that is known; all others are sent to the log-in page.
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

/// Lets a reader pass, and returns the name.
async fn require_reader(request: &Request, env: &Env) -> Outcome<String> {
    allow(request, &["GET", "HEAD"])?;
    require_login(request, env).await
}

/// Refusals as people read them. A redirect stays one; a missing database becomes a page that says so.
fn shown(outcome: Outcome<Response>) -> Outcome<Response> {
    match outcome {
        Err(Refusal::Answer(response)) if response.status_code() == 503 && is_problem(&response)? => {
            let html = FRAME.notice_page(NOT_READY, crate::texts::NO_TABLES);
            Ok(answer(503, html)?)
        }
        other => FRAME.shown(other),
    }
}

fn is_problem(response: &Response) -> worker::Result<bool> {
    let kind = response.headers().get("content-type")?;
    Ok(kind.is_some_and(|kind| kind.starts_with(conclave_shared::problem::CONTENT_TYPE)))
}

//! The page of administrators: what is in force, and the switches.
//!
//! Pages are made by the Worker, have no script, and load nothing from elsewhere. What can be done here goes through the
//! same code as the API, the history and the limits included.

mod format;
mod overview;
mod sections;
mod texts;

use conclave_shared::config::ProviderSwitch;
use conclave_worker_common::{
    Asset, BASE_STYLE, Frame, ICON, Login, LoginWords, Outcome, Refusal, Sessions, allow, asset, configured, finish,
    frame, html::Html, now_ms, page, read_capped, same_origin, see_other,
};
use url::form_urlencoded;
use worker::{Env, Request, Response, Router};

use crate::{
    admin::{self, ADMIN_TOKENS},
    current,
};

/// Style sheets of the pages.
const ASSETS: [Asset; 2] = [
    Asset::style("admin.css", &[BASE_STYLE, include_str!("../assets/admin.css")]),
    ICON,
];

/// The frame around every page.
const FRAME: Frame = Frame {
    style: "admin.css",
    back: texts::BACK,
    failed: texts::FAILED_DETAIL,
};

/// The largest form.
const MAX_FORM: usize = 8 * 1024;

/// Log-in sessions of administrators. Shorter than the dashboard's: more can be done with one.
const SESSIONS: Sessions = Sessions {
    cookie: "conclave_admin",
    purpose: "conclave reviewer-config administrator 1",
    lifetime_seconds: 12 * 3_600,
};

/// The log-in of administrators.
const LOGIN: Login = Login {
    sessions: SESSIONS,
    tokens: ADMIN_TOKENS,
    frame: FRAME,
    scripts: &[],
    words: LoginWords {
        title: texts::LOG_IN_TITLE,
        user: "reviewer-config",
        token: texts::TOKEN,
        hint: texts::LOG_IN_HINT,
        by_link: None,
        wrong: texts::WRONG_TOKEN,
        unconfigured: (texts::NOT_CONFIGURED, texts::NOT_CONFIGURED_DETAIL),
    },
};

/// Adds the page's routes.
pub(crate) fn routes(router: Router<'static, ()>) -> Router<'static, ()> {
    router
        .on_async("/", |request, context| async move {
            finish(FRAME.shown(overview::page(&request, &context.env).await))
        })
        .on_async("/login", |mut request, context| async move {
            finish(FRAME.shown(LOGIN.answer(&mut request, &context.env).await))
        })
        .on("/logout", |request, _| finish(LOGIN.logout(&request)))
        .on_async("/providers/:id", |request, context| async move {
            let id = context.param("id").cloned().unwrap_or_default();
            finish(FRAME.shown(flip(request, &context.env, id).await))
        })
        .on("/assets/:name", |request, context| {
            let name = context.param("name").map_or("", String::as_str);
            finish(asset(&request, &ASSETS, name))
        })
}

/// Lets an administrator pass who is logged in, and says who; everybody else is sent to the log-in page.
async fn require_login(request: &Request, env: &Env) -> Outcome<String> {
    let cookies = request.headers().get("cookie")?.unwrap_or_default();
    let tokens = configured(env, ADMIN_TOKENS).unwrap_or_default();
    let Some(who) = SESSIONS.holder(&cookies, &tokens, now_ms()).map(str::to_owned) else {
        return Err(Refusal::Answer(see_other("/login")?));
    };
    admin::count(env, &who).await?;
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
            let html = FRAME.notice_page(texts::NOTHING_CHANGED, texts::REASON_NEEDED);
            return Ok(page(422, html)?);
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

/// A page for a person who is logged in.
fn signed_in(who: &str, body: &Html) -> Html {
    let header = frame::header(&Html::default(), &texts::logged_in_as(who));
    FRAME.document(texts::TITLE, &[], &header, body)
}

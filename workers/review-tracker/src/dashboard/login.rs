//! Logging in with a token, and out.

use conclave_worker_common::{
    Access, Outcome, allow, configured,
    html::{Html, html},
    judge, page, read_capped, see_other,
};
use url::form_urlencoded;
use worker::{Env, Request, Response};

use super::{DASHBOARD_TOKENS, SESSIONS, layout, texts};
use crate::clock;

/// The largest log-in form. Tokens are short.
const MAX_FORM_BYTES: usize = 8 * 1024;

/// `GET /login` shows the form, `POST /login` takes it.
pub(crate) async fn login(mut request: Request, env: &Env) -> Outcome<Response> {
    allow(&request, &["GET", "HEAD", "POST"])?;
    let tokens = configured(env, DASHBOARD_TOKENS);
    if request.inner().method() != "POST" {
        return Ok(match judge(None, tokens.as_deref()) {
            Access::Unconfigured => unconfigured()?,
            _ => page(200, &form(None))?,
        });
    }
    let body = read_capped(&mut request, MAX_FORM_BYTES).await?;
    let presented = form_urlencoded::parse(&body)
        .find(|(name, _)| name == "token")
        .map(|(_, value)| value.trim().to_owned())
        .unwrap_or_default();
    match judge(Some(&presented), tokens.as_deref()) {
        Access::Unconfigured => Ok(unconfigured()?),
        Access::Denied => Ok(page(401, &form(Some(texts::WRONG_TOKEN)))?),
        Access::Granted => {
            let value = SESSIONS.open(&presented, clock::now_ms()).unwrap_or_default();
            let response = see_other("/")?;
            let cookie = SESSIONS.set_cookie(&value, SESSIONS.lifetime_seconds, &request.url()?);
            response.headers().set("set-cookie", &cookie)?;
            Ok(response)
        }
    }
}

/// `POST /logout` forgets the session.
pub(crate) fn logout(request: &Request) -> Outcome<Response> {
    allow(request, &["POST"])?;
    let response = see_other("/login")?;
    let forgotten = SESSIONS.set_cookie("", 0, &request.url()?);
    response.headers().set("set-cookie", &forgotten)?;
    Ok(response)
}

fn unconfigured() -> worker::Result<Response> {
    let notice = layout::notice(texts::NO_DASHBOARD_TOKENS, texts::NO_DASHBOARD_TOKENS_DETAIL);
    page(503, &layout::signed_out(texts::NO_DASHBOARD_TOKENS, &notice))
}

fn form(fault: Option<&str>) -> Html {
    let fault = fault.map(|fault| html!(r#"<p class="fault" id="fault" role="alert">{}</p>"#, fault));
    let described = if fault.is_some() { "fault hint" } else { "hint" };
    let body = html!(
        r#"<section class="card login">
{}<h1>{}</h1>
<form method="post" action="/login" id="login">
<input type="text" name="username" value="dashboard" autocomplete="username" hidden>
<label for="token">{}</label>
<input id="token" name="token" type="password" autocomplete="current-password" spellcheck="false" required autofocus
 aria-describedby="{}">
{}
<button type="submit">{}</button>
</form>
<p class="hint" id="hint">{}</p>
</section>"#,
        layout::logo(),
        texts::LOG_IN_TITLE,
        texts::TOKEN,
        described,
        fault,
        texts::LOG_IN,
        texts::LOG_IN_HINT,
    );
    layout::with_login_script(texts::LOG_IN, &body)
}

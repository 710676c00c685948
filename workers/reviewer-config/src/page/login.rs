//! Logging in with an administrator's token, and out.

use conclave_worker_common::{
    Access, Outcome, Refusal, allow, configured,
    html::{Html, html},
    judge, now_ms, page, read_capped, same_origin, see_other, unauthorized,
};
use url::form_urlencoded;
use worker::{Env, Request, Response};

use super::{MAX_FORM, SESSIONS, layout, texts};
use crate::{admin::ADMIN_TOKENS, limit};

/// `GET /login` shows the form, `POST /login` takes it.
pub(crate) async fn login(mut request: Request, env: &Env) -> Outcome<Response> {
    allow(&request, &["GET", "HEAD", "POST"])?;
    let tokens = configured(env, ADMIN_TOKENS);
    if judge(None, tokens.as_deref()) == Access::Unconfigured {
        let notice = layout::notice(texts::NOT_CONFIGURED, texts::NOT_CONFIGURED_DETAIL);
        return Ok(page(503, &layout::signed_out(texts::NOT_CONFIGURED, &notice))?);
    }
    if request.inner().method() != "POST" {
        return Ok(page(200, &form(None))?);
    }
    same_origin(&request)?;
    let body = read_capped(&mut request, MAX_FORM).await?;
    let presented = form_urlencoded::parse(&body)
        .find(|(name, _)| name == "token")
        .map(|(_, value)| value.trim().to_owned())
        .unwrap_or_default();
    if judge(Some(&presented), tokens.as_deref()) != Access::Granted {
        // Counted like a guess at the API.
        let guess: Outcome<()> = Err(Refusal::Answer(conclave_worker_common::problem(&unauthorized(true))?));
        return match limit::refused(&request, env, guess).await {
            Err(Refusal::Answer(response)) if response.status_code() == 429 => Err(Refusal::Answer(response)),
            Err(Refusal::Fault(fault)) => Err(Refusal::Fault(fault)),
            _ => Ok(page(401, &form(Some(texts::WRONG_TOKEN)))?),
        };
    }
    let value = SESSIONS.open(&presented, now_ms()).unwrap_or_default();
    let response = see_other("/")?;
    let cookie = SESSIONS.set_cookie(&value, SESSIONS.lifetime_seconds, &request.url()?);
    response.headers().set("set-cookie", &cookie)?;
    Ok(response)
}

/// `POST /logout` forgets the session.
pub(crate) fn logout(request: &Request) -> Outcome<Response> {
    allow(request, &["POST"])?;
    same_origin(request)?;
    let response = see_other("/login")?;
    let forgotten = SESSIONS.set_cookie("", 0, &request.url()?);
    response.headers().set("set-cookie", &forgotten)?;
    Ok(response)
}

fn form(fault: Option<&str>) -> Html {
    let fault = fault.map(|fault| html!(r#"<p class="fault" id="fault" role="alert">{}</p>"#, fault));
    let described = if fault.is_some() { "fault hint" } else { "hint" };
    let body = html!(
        r#"<section class="card login">
{}<h1>{}</h1>
<form method="post" action="/login" id="login">
<input type="text" name="username" value="reviewer-config" autocomplete="username" hidden>
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
    layout::signed_out(texts::LOG_IN, &body)
}

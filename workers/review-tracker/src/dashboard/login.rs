//! Logging in with a token, and out.

use conclave_worker_common::{Access, Outcome, allow, configured, judge, read_capped};
use url::{Host, form_urlencoded};
use worker::{Env, Request, Response, Url};

use super::{
    DASHBOARD_TOKENS,
    answer::{page, see_other},
    html::{Html, html},
    layout, session, texts,
};
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
            let value = session::open(&presented, clock::now_ms()).unwrap_or_default();
            let response = see_other("/")?;
            let cookie = cookie(&value, session::LIFETIME_SECONDS, &request.url()?);
            response.headers().set("set-cookie", &cookie)?;
            Ok(response)
        }
    }
}

/// `POST /logout` forgets the session.
pub(crate) fn logout(request: &Request) -> Outcome<Response> {
    allow(request, &["POST"])?;
    let response = see_other("/login")?;
    response.headers().set("set-cookie", &cookie("", 0, &request.url()?))?;
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

/// The session's cookie. Scripts never see it and other sites never send it.
fn cookie(value: &str, max_age: i64, url: &Url) -> String {
    let secure = if is_plain_loopback(url) { "" } else { "; Secure" };
    let name = session::COOKIE;
    format!("{name}={value}; Max-Age={max_age}; Path=/; HttpOnly; SameSite=Strict{secure}")
}

/// Browsers refuse `Secure` cookies over plain HTTP, and a local `wrangler dev` has nothing else.
fn is_plain_loopback(url: &Url) -> bool {
    url.scheme() == "http"
        && match url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_is_secure_everywhere_but_on_a_plain_loopback() {
        for (url, secure) in [
            ("https://tracker.example.com/login", true),
            ("https://localhost/login", true),
            ("http://tracker.example.com/login", true),
            ("http://localhost:8787/login", false),
            ("http://127.0.0.1:8787/login", false),
            ("http://[::1]:8787/login", false),
        ] {
            let cookie = cookie("v", 60, &Url::parse(url).expect("a URL"));
            assert!(
                cookie.starts_with("conclave_session=v; Max-Age=60; Path=/; HttpOnly; SameSite=Strict"),
                "{cookie}"
            );
            assert_eq!(cookie.ends_with("; Secure"), secure, "{url}");
        }
    }
}

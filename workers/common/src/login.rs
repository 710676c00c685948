//! Logging in with a token, and out.

use url::form_urlencoded;
use worker::{Env, Request, Response};

use crate::{
    Access, Frame, Outcome, Sessions, allow, configured,
    frame::logo,
    html::{Html, html},
    judge, limit, now_ms, page, read_capped, same_origin, see_other, texts,
};

/// The largest log-in form. Tokens are short.
const MAX_FORM: usize = 8 * 1024;

/// The log-in of one Worker.
#[derive(Debug, Clone, Copy)]
pub struct Login {
    /// Its sessions.
    pub sessions: Sessions,
    /// The secret that lists the tokens.
    pub tokens: &'static str,
    /// Its pages' frame.
    pub frame: Frame,
    /// Scripts of the log-in page, below `/assets/`.
    pub scripts: &'static [&'static str],
    /// Its words.
    pub words: LoginWords,
}

/// The texts of a log-in page.
#[derive(Debug, Clone, Copy)]
pub struct LoginWords {
    /// The heading.
    pub title: &'static str,
    /// The name that a password manager keeps the token under.
    pub user: &'static str,
    /// The name of the token's field.
    pub token: &'static str,
    /// Where a token comes from.
    pub hint: &'static str,
    /// The text about a token that a link has brought, where links do.
    pub by_link: Option<&'static str>,
    /// The token is none of those that are accepted.
    pub wrong: &'static str,
    /// No token is configured: what that is called, and what to do.
    pub unconfigured: (&'static str, &'static str),
}

impl Login {
    /// `GET /login` shows the form, `POST /login` takes it, so many times a minute of an address.
    ///
    /// Opening an address never logs anybody in, however it is opened: by a person, by a preview of a chat, as an image. A link may
    /// bring a token behind the `#`, where no server sees it; the page's script puts it into the form, and a person sends that.
    pub async fn answer(&self, request: &mut Request, env: &Env) -> Outcome<Response> {
        allow(request, &["GET", "HEAD", "POST"])?;
        let tokens = configured(env, self.tokens);
        if judge(None, tokens.as_deref()) == Access::Unconfigured {
            let (title, detail) = self.words.unconfigured;
            return Ok(page(503, self.frame.notice_page(title, detail))?);
        }
        if request.inner().method() != "POST" {
            // A token in an address is in logs and histories: it is not used, and the address goes.
            let has_query = request.url()?.query().is_some();
            return Ok(if has_query {
                see_other("/login")?
            } else {
                shown(200, self.form(None))?
            });
        }
        same_origin(request)?;
        if !limit::may_log_in(request, env).await? {
            let response = shown(429, self.form(Some(texts::TOO_MANY_LOG_INS)))?;
            response.headers().set("retry-after", limit::RETRY_AFTER_SECONDS)?;
            return Ok(response);
        }
        let body = read_capped(request, MAX_FORM).await?;
        let presented = form_urlencoded::parse(&body)
            .find(|(name, _)| name == "token")
            .map(|(_, value)| value.trim().to_owned())
            .unwrap_or_default();
        if judge(Some(&presented), tokens.as_deref()) != Access::Granted {
            return Ok(shown(401, self.form(Some(self.words.wrong)))?);
        }
        let value = self.sessions.open(&presented, now_ms()).unwrap_or_default();
        let response = see_other("/")?;
        let cookie = self
            .sessions
            .set_cookie(&value, self.sessions.lifetime_seconds, &request.url()?);
        response.headers().set("set-cookie", &cookie)?;
        Ok(response)
    }

    /// `POST /logout` forgets the session.
    pub fn logout(&self, request: &Request) -> Outcome<Response> {
        allow(request, &["POST"])?;
        same_origin(request)?;
        let response = see_other("/login")?;
        let forgotten = self.sessions.set_cookie("", 0, &request.url()?);
        response.headers().set("set-cookie", &forgotten)?;
        Ok(response)
    }

    fn form(&self, fault: Option<&str>) -> Html {
        let words = &self.words;
        let described = if fault.is_some() { "fault hint" } else { "hint" };
        let body = html! {
            section class="card login" {
                (logo())
                h1 { (words.title) }
                form method="post" action="/login" id="login" {
                    input type="text" name="username" value=(words.user) autocomplete="username" hidden;
                    label for="token" { (words.token) }
                    input #token name="token" type="password" autocomplete="current-password" spellcheck="false" required autofocus
                        aria-describedby=(described);
                    @if let Some(fault) = fault { p.fault #fault role="alert" { (fault) } }
                    @if let Some(by_link) = words.by_link { p.note #by-link role="status" hidden { (by_link) } }
                    button type="submit" { "Log in" }
                }
                p.hint #hint { (words.hint) }
            }
        };
        self.frame.document("Log in", self.scripts, &Html::default(), &body)
    }
}

/// The log-in page. Its address goes to no other site.
fn shown(status: u16, html: Html) -> worker::Result<Response> {
    let response = page(status, html)?;
    response.headers().set("referrer-policy", "no-referrer")?;
    Ok(response)
}

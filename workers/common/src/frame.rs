//! The frame around every page.

use worker::{Response, console_error};

use crate::{
    Outcome, Refusal,
    html::{Html, html},
    page, texts,
};

/// What the pages of a Worker have in common.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    /// The style sheet's name below `/assets/`.
    pub style: &'static str,
    /// What the way back from a page with a few words is called.
    pub back: &'static str,
    /// What is said when an answer could not be made.
    pub failed: &'static str,
}

impl Frame {
    /// A page. `scripts` are names below `/assets/`.
    pub fn document(&self, title: &str, scripts: &[&str], header: &Html, body: &Html) -> Html {
        let scripts = scripts
            .iter()
            .map(|name| html!(r#"<script src="/assets/{}" defer></script>"#, *name));
        html!(
            r##"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{} · Conclave</title>
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/{}">
{}
</head>
<body>
<a class="skip" href="#main">{}</a>
{}
<main id="main" tabindex="-1">
{}
</main>
</body>
</html>
"##,
            title,
            self.style,
            Html::join(scripts),
            texts::SKIP,
            header,
            body,
        )
    }

    /// A page for everybody, with nothing but a few words.
    pub fn notice_page(&self, title: &str, detail: &str) -> Html {
        self.document(title, &[], &Html::default(), &self.notice(title, detail))
    }

    /// An answer as people read it: a fault is logged and becomes a page. What is refused stays what it is.
    pub fn shown(&self, outcome: Outcome<Response>) -> Outcome<Response> {
        match outcome {
            Err(Refusal::Fault(error)) => {
                console_error!("page failed: {error}");
                Ok(page(500, &self.notice_page(texts::FAILED, self.failed))?)
            }
            other => other,
        }
    }

    /// A few words and the way back.
    pub fn notice(&self, title: &str, detail: &str) -> Html {
        html!(
            r#"<section class="card notice">{}<h1>{}</h1><p>{}</p><p><a href="/">{}</a></p></section>"#,
            logo(),
            title,
            detail,
            self.back,
        )
    }
}

/// The head of a page for somebody who is logged in: the product's sign, the pages, who it is, the way out.
pub fn header(navigation: &Html, who: &str) -> Html {
    html!(
        r#"<header class="top"><a class="brand" href="/">{}<span>Conclave</span></a>{}
<form method="post" action="/logout"><span class="who">{}</span> <button class="quiet" type="submit">{}</button></form></header>"#,
        logo(),
        navigation,
        who,
        texts::LOG_OUT,
    )
}

/// The sign of the product: voices around a table, one of them raised.
pub fn logo() -> Html {
    html!(
        r#"<svg class="logo" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true" focusable="false">
<circle cx="12" cy="12" r="3.2"/><circle cx="12" cy="3.6" r="2.1"/><circle cx="19.3" cy="7.8" r="2.1"/>
<circle cx="19.3" cy="16.2" r="2.1"/><circle cx="12" cy="20.4" r="2.1"/><circle cx="4.7" cy="16.2" r="2.1"/>
<circle cx="4.7" cy="7.8" r="2.1"/></svg>"#
    )
}

//! The frame around every page.

use maud::DOCTYPE;
use worker::{Response, console_error};

use crate::{
    Outcome, Refusal,
    html::{Html, html},
    page, texts,
};

/// The common parts of a Worker's pages.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    /// The style sheet's name below `/assets/`.
    pub style: &'static str,
    /// The name of the way back from a page with a few words.
    pub back: &'static str,
    /// The text for an answer that could not be made.
    pub failed: &'static str,
}

impl Frame {
    /// A page. `scripts` are names below `/assets/`.
    pub fn document(&self, title: &str, scripts: &[&str], header: &Html, body: &Html) -> Html {
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (title) " · Conclave" }
                    link rel="icon" href="/assets/icon.svg" type="image/svg+xml";
                    link rel="stylesheet" href={ "/assets/" (self.style) };
                    @for script in scripts { script src={ "/assets/" (script) } defer {} }
                }
                body {
                    a.skip href="#main" { "Skip to the content" }
                    (header)
                    main #main tabindex="-1" { (body) }
                }
            }
        }
    }

    /// A page without a log-in, with nothing but a few words.
    pub fn notice_page(&self, title: &str, detail: &str) -> Html {
        self.document(title, &[], &Html::default(), &self.notice(title, detail))
    }

    /// An answer as people read it: a fault is logged and becomes a page. What is refused stays what it is.
    pub fn shown(&self, outcome: Outcome<Response>) -> Outcome<Response> {
        match outcome {
            Err(Refusal::Fault(error)) => {
                console_error!("page failed: {error}");
                Ok(page(500, self.notice_page(texts::FAILED, self.failed))?)
            }
            other => other,
        }
    }

    /// A few words and the way back.
    pub fn notice(&self, title: &str, detail: &str) -> Html {
        html! {
            section class="card notice" {
                (logo())
                h1 { (title) }
                p { (detail) }
                p { a href="/" { (self.back) } }
            }
        }
    }
}

/// The head of a page for a person who is logged in: the product's sign, the pages, the name, the way out.
pub fn header(navigation: &Html, who: &str) -> Html {
    html! {
        header.top {
            a.brand href="/" { (logo()) span { "Conclave" } }
            (navigation)
            form method="post" action="/logout" {
                span.who { (who) } " "
                button.quiet type="submit" { "Log out" }
            }
        }
    }
}

/// The sign of the product: voices around a table, one of them raised.
pub fn logo() -> Html {
    let voices = [
        ("12", "3.6"),
        ("19.3", "7.8"),
        ("19.3", "16.2"),
        ("12", "20.4"),
        ("4.7", "16.2"),
        ("4.7", "7.8"),
    ];
    html! {
        svg.logo viewBox="0 0 24 24" width="24" height="24" aria-hidden="true" focusable="false" {
            circle cx="12" cy="12" r="3.2" {}
            @for (x, y) in voices { circle cx=(x) cy=(y) r="2.1" {} }
        }
    }
}

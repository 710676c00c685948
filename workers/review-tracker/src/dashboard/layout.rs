//! The frame around every page.

use conclave_worker_common::html::{Html, html};

use super::texts;

/// A page for somebody who is logged in.
pub(crate) fn signed_in(title: &str, body: &Html) -> Html {
    let header = html!(
        r#"<header class="top"><a class="brand" href="/">{}<span>Conclave</span></a>
<form method="post" action="/logout"><button class="quiet" type="submit">{}</button></form></header>"#,
        logo(),
        texts::LOG_OUT,
    );
    let script = Html::default();
    document(title, &header, body, &script)
}

/// A page for everybody.
pub(crate) fn signed_out(title: &str, body: &Html) -> Html {
    document(title, &Html::default(), body, &Html::default())
}

/// The log-in page, the only one with a script.
pub(crate) fn with_login_script(title: &str, body: &Html) -> Html {
    let script = html!(r#"<script src="/assets/login.js" defer></script>"#);
    document(title, &Html::default(), body, &script)
}

/// A page with nothing but a few words.
pub(crate) fn notice(title: &str, detail: &str) -> Html {
    html!(
        r#"<section class="card notice">{}<h1>{}</h1><p>{}</p><p><a href="/">{}</a></p></section>"#,
        logo(),
        title,
        detail,
        texts::BACK,
    )
}

/// The sign of the product: voices around a table, one of them raised.
pub(crate) fn logo() -> Html {
    html!(
        r#"<svg class="logo" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true" focusable="false">
<circle cx="12" cy="12" r="3.2"/><circle cx="12" cy="3.6" r="2.1"/><circle cx="19.3" cy="7.8" r="2.1"/>
<circle cx="19.3" cy="16.2" r="2.1"/><circle cx="12" cy="20.4" r="2.1"/><circle cx="4.7" cy="16.2" r="2.1"/>
<circle cx="4.7" cy="7.8" r="2.1"/></svg>"#
    )
}

fn document(title: &str, header: &Html, body: &Html, script: &Html) -> Html {
    html!(
        r##"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{} · Conclave</title>
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/dashboard.css">
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
        script,
        texts::SKIP,
        header,
        body,
    )
}

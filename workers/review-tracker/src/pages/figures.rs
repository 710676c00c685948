//! The figures at the head of a page.

use conclave_worker_common::html::{Html, html};

/// One figure: its name, its value, and a word about it.
pub(crate) fn figure(name: &str, value: impl AsRef<str>, detail: impl AsRef<str>) -> Html {
    html! {
        div.figure { dt { (name) } dd { strong { (value.as_ref()) } span { (detail.as_ref()) } } }
    }
}

/// Figures side by side, in the columns that a class of the style sheet gives them.
pub(crate) fn figures(class: &str, figures: impl IntoIterator<Item = Html>) -> Html {
    html! {
        div role="group" aria-label="Key figures" {
            dl class={ "figures " (class) } { @for figure in figures { (figure) } }
        }
    }
}

//! HTML that cannot be forgotten to escape: maud's [`html!`] escapes every value that goes into a template, and its markup is the only
//! type that is written as it is.

pub use maud::{Markup as Html, html};

/// A name or path that may be broken after a slash.
pub fn breakable(text: &str) -> Html {
    html! { @for part in text.split_inclusive('/') { (part) wbr; } }
}

#[cfg(test)]
mod tests {
    use super::{breakable, html};

    #[test]
    fn text_is_escaped_and_markup_is_not() {
        let hostile = "<script>alert('x')</script> & \"y\"";
        let inner = html! { b title=(hostile) { (hostile.to_owned()) } };
        let escaped = "&lt;script&gt;alert('x')&lt;/script&gt; &amp; &quot;y&quot;";
        assert_eq!(
            html! { p { (inner) (7) } }.0,
            format!("<p><b title=\"{escaped}\">{escaped}</b>7</p>")
        );
        assert_eq!(breakable("a/<").0, "a/<wbr>&lt;<wbr>");
    }
}

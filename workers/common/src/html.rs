//! HTML that cannot be forgotten to escape.
//!
//! [`Html`] is the only type that is written as it is, and [`html!`] the only way to make one: a template is a literal,
//! and every value that goes into it is written by [`Render`], which escapes text. Names inside a template's braces are
//! not taken from the scope (`"{name}"` does not compile), because they would get around that.

use std::fmt::{self, Display, Formatter, Write};

/// Finished markup.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Html(String);

impl Html {
    /// For [`html!`] only, whose arguments are all escaped.
    #[doc(hidden)]
    pub fn from_template(template: fmt::Arguments<'_>) -> Self {
        Self(template.to_string())
    }

    /// Pieces one after another.
    pub fn join(pieces: impl IntoIterator<Item = Self>) -> Self {
        pieces.into_iter().fold(Self::default(), |mut all, piece| {
            all.0.push_str(&piece.0);
            all
        })
    }

    /// The markup as bytes of an answer.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0.into_bytes()
    }

    /// The markup as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A value that can stand in markup, as an element's text or inside a quoted attribute.
pub trait Render {
    /// Writes the value, escaped.
    fn render(&self, formatter: &mut Formatter<'_>) -> fmt::Result;
}

impl Render for str {
    fn render(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        for character in self.chars() {
            match character {
                '&' => formatter.write_str("&amp;")?,
                '<' => formatter.write_str("&lt;")?,
                '>' => formatter.write_str("&gt;")?,
                '"' => formatter.write_str("&quot;")?,
                '\'' => formatter.write_str("&#39;")?,
                other => formatter.write_char(other)?,
            }
        }
        Ok(())
    }
}

impl Render for String {
    fn render(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.as_str().render(formatter)
    }
}

impl Render for Html {
    fn render(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl<T: Render> Render for Option<T> {
    fn render(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.as_ref().map_or(Ok(()), |value| value.render(formatter))
    }
}

impl<T: Render + ?Sized> Render for &T {
    fn render(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        (**self).render(formatter)
    }
}

macro_rules! render_numbers {
    ($($number:ty),*) => {
        $(impl Render for $number {
            fn render(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
                Display::fmt(self, formatter)
            }
        })*
    };
}
render_numbers!(i64, u64, u32, usize, f64, uuid::Uuid);

/// Shows a value by its [`Render`]; for [`html!`].
#[doc(hidden)]
#[derive(Debug)]
pub struct Escaped<'a, T: ?Sized>(pub &'a T);

impl<T: Render + ?Sized> Display for Escaped<'_, T> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.0.render(formatter)
    }
}

/// Markup from a literal template and values, in the order of its `{}`.
#[macro_export]
macro_rules! html {
    ($template:literal $(, $value:expr)* $(,)?) => {
        // `concat!` keeps `{name}` from being taken from the scope, unescaped.
        $crate::html::Html::from_template(
            format_args!(concat!($template) $(, $crate::html::Escaped(&$value))*)
        )
    };
}
pub use crate::html;

/// A name or path that may be broken after a slash.
pub fn breakable(text: &str) -> Html {
    Html::join(text.split_inclusive('/').map(|part| html!("{}<wbr>", part)))
}

#[cfg(test)]
mod tests {
    use super::Html;

    #[test]
    fn text_is_escaped_and_markup_is_not() {
        let hostile = "<script>alert('x')</script> & \"y\"";
        let inner = html!("<b title=\"{}\">{}</b>", hostile, hostile.to_owned());
        let outer = html!("<p>{}{}{}</p>", inner, 7_u64, None::<&str>);
        let escaped = "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;y&quot;";
        assert_eq!(outer.as_str(), format!("<p><b title=\"{escaped}\">{escaped}</b>7</p>"));
    }

    #[test]
    fn pieces_are_joined_in_order() {
        let pieces = ["a", "<"].map(|piece| html!("<i>{}</i>", piece));
        assert_eq!(Html::join(pieces).as_str(), "<i>a</i><i>&lt;</i>");
    }
}

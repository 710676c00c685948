//! Whom somebody asks for by name.

use std::str::FromStr;

use conclave_shared::{nearest::nearest, reviewer::ReviewerName};

/// A reviewer that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// Who.
    pub name: ReviewerName,
    /// Whether it comes to the panel, which is written with a `+`, or sits in place of it.
    pub besides: bool,
}

/// A text that asks for nobody.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WishError {
    /// A text that is nobody's name.
    #[error("`{0}` is not a reviewer's name: write it as in `security`, or `+tests` for the panel and tests")]
    NoName(String),
    /// The judge is always there.
    #[error("the coordinator is not a reviewer to ask for: it judges every review")]
    Coordinator,
}

impl FromStr for Wish {
    type Err = WishError;

    fn from_str(text: &str) -> Result<Self, WishError> {
        let trimmed = text.trim();
        let (besides, name) = match trimmed.strip_prefix('+') {
            Some(name) => (true, name),
            None => (false, trimmed),
        };
        // As people say it: `code-quality`, `AGENTS.md`.
        let name = name.to_ascii_lowercase().replace(['-', ' ', '.'], "_");
        let name = ReviewerName::new(name).map_err(|_| WishError::NoName(text.to_owned()))?;
        if name == ReviewerName::coordinator() {
            return Err(WishError::Coordinator);
        }
        Ok(Self { name, besides })
    }
}

/// All wishes of a run.
///
/// Names take the panel's place; names with a `+` come to it. A review by others than the panel of its tier is not the
/// whole review: what was left out is a gap, so it approves nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Focus(Vec<Wish>);

impl Focus {
    /// These, each once; nothing if nobody is asked for.
    pub fn new(wishes: &[Wish]) -> Option<Self> {
        (!wishes.is_empty()).then(|| Self(wishes.to_vec()))
    }

    /// Returns whether those who are asked for sit in place of the panel.
    pub(super) fn replaces_panel(&self) -> bool {
        self.0.iter().any(|wish| !wish.besides)
    }

    /// Returns whether this reviewer is asked for.
    pub(super) fn names(&self, name: &str) -> bool {
        self.0.iter().any(|wish| wish.name.as_str() == name)
    }

    /// The names that neither Conclave nor the project has, in words.
    pub fn unknown(&self, own: &[ReviewerName]) -> Option<String> {
        let known = || {
            ReviewerName::STANDING
                .into_iter()
                .chain(own.iter().map(ReviewerName::as_str))
        };
        let unknown = self
            .0
            .iter()
            .find(|wish| !known().any(|name| name == wish.name.as_str()))?;
        let hint = match nearest(unknown.name.as_str(), known()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", known().collect::<Vec<_>>().join(", ")),
        };
        Some(format!("--focus: `{}` is not a reviewer: {hint}", unknown.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(text: &str) -> Wish {
        text.parse().expect("a wish")
    }

    #[test]
    fn names_are_read_as_people_say_them() {
        assert_eq!(wish("security"), wish(" Security "));
        assert_eq!(wish("code-quality").name.as_str(), "code_quality");
        assert_eq!(wish("AGENTS.md").name.as_str(), "agents_md");
        assert!(wish("+tests").besides && !wish("tests").besides);
        assert_eq!("coordinator".parse::<Wish>(), Err(WishError::Coordinator));
        for text in ["", "+", "1st", "a/b", "++tests"] {
            assert_eq!(text.parse::<Wish>(), Err(WishError::NoName(text.to_owned())));
        }
    }

    #[test]
    fn who_is_not_known_is_named_with_who_was_perhaps_meant() {
        let focus =
            |names: &[&str]| Focus::new(&names.iter().map(|name| wish(name)).collect::<Vec<_>>()).expect("a focus");
        let own = [ReviewerName::new("screen_readers").expect("a name")];
        assert_eq!(focus(&["security", "screen_readers"]).unknown(&own), None);
        assert_eq!(
            focus(&["securty"]).unknown(&own).as_deref(),
            Some("--focus: `securty` is not a reviewer: did you mean `security`?")
        );
        let none = focus(&["xyz"]).unknown(&own).expect("nobody");
        assert!(none.ends_with("generalist, tests, types, screen_readers"), "{none}");
        assert_eq!(Focus::new(&[]), None);
    }
}

//! The tags of a reviewer's answer: a closed set, however a model spells them.

/// The tags inside a finding.
pub(super) const FIELDS: [&str; 16] = [
    "severity",
    "category",
    "file",
    "line",
    "end_line",
    "claim",
    "evidence",
    "second_file",
    "second_line",
    "second_evidence",
    "scenario",
    "checked",
    "needs_context",
    "confidence",
    "fix",
    "rule",
];

/// What a tag is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    /// The block of all findings.
    Findings,
    /// One finding.
    Finding,
    /// A part of a finding; one of [`FIELDS`].
    Field(&'static str),
}

/// Which tag it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `<name>`.
    Open,
    /// `</name>`.
    Close,
    /// `<name/>`.
    Empty,
}

/// A tag in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag {
    /// What it is about.
    pub(super) name: Name,
    /// Which one it is.
    pub(super) kind: Kind,
    /// Where its `<` stands.
    pub(super) start: usize,
    /// Behind its `>`.
    pub(super) end: usize,
}

/// The first known tag in the text.
pub(super) fn next_tag(text: &str) -> Option<Tag> {
    tags(text).next()
}

/// All known tags of the text. Everything else between `<` and `>` is text: `a < b`, `Vec<String>`, `<div>`.
pub(super) fn tags(text: &str) -> impl Iterator<Item = Tag> + '_ {
    text.match_indices('<').filter_map(|(start, _)| {
        let (name, kind, length) = tag_at(&text[start..])?;
        Some(Tag {
            name,
            kind,
            start,
            end: start + length,
        })
    })
}

/// The tag that the text begins with, and its length.
fn tag_at(text: &str) -> Option<(Name, Kind, usize)> {
    let inside = text.strip_prefix('<')?.trim_start();
    let (closes, inside) = match inside.strip_prefix('/') {
        Some(inside) => (true, inside.trim_start()),
        None => (false, inside),
    };
    let length = inside
        .find(|character: char| !character.is_ascii_alphabetic() && !matches!(character, '_' | '-'))
        .unwrap_or(inside.len());
    let name = name_of(&inside[..length])?;
    let rest = attributes(&inside[length..]).trim_start();
    let (empty, rest) = match rest.strip_prefix('/') {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let rest = rest.strip_prefix('>')?;
    let kind = match (closes, empty) {
        (true, _) => Kind::Close,
        (false, true) => Kind::Empty,
        (false, false) => Kind::Open,
    };
    Some((name, kind, text.len() - rest.len()))
}

/// What follows the attributes that some models give a tag: `<finding id="1">`.
fn attributes(text: &str) -> &str {
    let mut rest = text;
    loop {
        let next = rest.trim_start();
        if next.len() == rest.len() {
            return rest;
        }
        let name = next.trim_start_matches(|character: char| character.is_ascii_alphanumeric() || character == '_');
        let Some(value) = name.strip_prefix('=').filter(|_| name.len() < next.len()) else {
            return rest;
        };
        let Some(quote) = value.chars().next().filter(|quote| matches!(quote, '"' | '\'')) else {
            return rest;
        };
        let Some(end) = value[1..].find([quote, '<', '\n']) else {
            return rest;
        };
        if !value[1 + end..].starts_with(quote) {
            return rest;
        }
        rest = &value[end + 2..];
    }
}

/// The attributes of a tag, given as it is written: each with its name in small letters and its value.
pub(super) fn attributes_of(tag: &str) -> impl Iterator<Item = (String, &str)> {
    let name = tag.trim_start_matches(|character: char| !character.is_ascii_alphabetic());
    let is_of_name = |character: char| character.is_ascii_alphabetic() || matches!(character, '_' | '-');
    let mut rest = name.trim_start_matches(is_of_name);
    std::iter::from_fn(move || {
        let (name, value) = rest.split_once('=')?;
        let quote = value.chars().next()?;
        let (value, behind) = value[quote.len_utf8()..].split_once(quote)?;
        rest = behind;
        Some((name.trim().to_ascii_lowercase(), value.trim()))
    })
}

/// The name that is meant: `End-Line` and `endLine` are `end_line`.
pub(super) fn name_of(written: &str) -> Option<Name> {
    match plain(written).as_str() {
        "findings" => Some(Name::Findings),
        "finding" => Some(Name::Finding),
        plain => field(plain).map(Name::Field),
    }
}

/// The field of this name, written in any of the usual ways.
pub(super) fn field(written: &str) -> Option<&'static str> {
    let written = plain(written);
    FIELDS.into_iter().find(|field| plain(field) == written)
}

/// Other names that models give our fields.
const ALIASES: [(&str, &str); 18] = [
    ("path", "file"),
    ("filename", "file"),
    ("filepath", "file"),
    ("location", "file"),
    ("lines", "line"),
    ("lineno", "line"),
    ("startline", "line"),
    ("linestart", "line"),
    ("linenumber", "line"),
    ("lineend", "end_line"),
    ("message", "claim"),
    ("issue", "claim"),
    ("quote", "evidence"),
    ("snippet", "evidence"),
    ("code", "evidence"),
    ("codesnippet", "evidence"),
    ("failurescenario", "scenario"),
    ("type", "category"),
];

/// The field of this name, or of another one that models give it.
pub(super) fn field_of(name: &str) -> Option<&'static str> {
    field(name).or_else(|| {
        let plain = plain(name);
        let (_, meant) = ALIASES.iter().find(|(alias, _)| plain == *alias)?;
        Some(*meant)
    })
}

/// Returns whether a name stands for how bad something is beside its severity.
pub(super) fn is_rank(name: &str) -> bool {
    ["priority", "level", "criticality"].contains(&plain(name).as_str())
}

fn plain(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|character| character.to_ascii_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_known_in_every_spelling_and_nothing_else_is_one() {
        for (text, name, kind) in [
            ("<findings>", Name::Findings, Kind::Open),
            ("< / Finding >", Name::Finding, Kind::Close),
            ("<FINDING id=\"1\" kind='x'>", Name::Finding, Kind::Open),
            ("<end-line>", Name::Field("end_line"), Kind::Open),
            ("<endLine>", Name::Field("end_line"), Kind::Open),
            ("<fix/>", Name::Field("fix"), Kind::Empty),
            ("<rule />", Name::Field("rule"), Kind::Empty),
        ] {
            let tag = next_tag(text).unwrap_or_else(|| unreachable!("{text}"));
            assert_eq!((tag.name, tag.kind, tag.end), (name, kind, text.len()), "{text}");
        }
        for text in [
            "<findingsx>",
            "<div>",
            "a < line && b > c",
            "<line && b>",
            "<line",
            "<file path=\"a<b\">",
            "<claim x=1>",
            "<>",
            "</>",
        ] {
            assert_eq!(next_tag(text), None, "{text}");
        }
    }

    #[test]
    fn the_attributes_of_a_tag_are_read() {
        let read = |tag| attributes_of(tag).collect::<Vec<_>>();
        assert!(read("<findings>").is_empty());
        let expected = [("count".to_owned(), "3"), ("critical".to_owned(), "a > b")];
        assert_eq!(read("< / FINDINGS Count='3'\n critical=\"a > b\" >"), expected);
    }
}

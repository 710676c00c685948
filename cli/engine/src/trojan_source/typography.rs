//! Soft hyphens and word joiners where they only say how a text for people breaks into lines.
//!
//! Both are a part of ordinary writing: `Donau\u{ad}dampfschiff`, `10\u{2060}km`. In the text of markup no program compares them. In a
//! string that is only given a name they may matter later, in one that is compared or passed on they do.

use conclave_shared::path_kind::{PathKind, Role, language};

use super::surroundings::Surroundings;

/// Languages in which text for people stands between tags and on lines of its own.
const PAGES: [&str; 13] = [
    "html", "htm", "xhtml", "shtml", "vue", "svelte", "astro", "ejs", "erb", "hbs", "njk", "twig", "liquid",
];
/// Languages of code in which such text stands between tags.
const WITH_TAGS: [&str; 2] = ["jsx", "tsx"];
/// Directories of a program's texts in people's languages.
const LOCALES: [&str; 9] = [
    "i18n",
    "intl",
    "l10n",
    "lang",
    "langs",
    "locale",
    "locales",
    "translations",
    "messages",
];
/// Signs that no line of plain text for people has to have, and most lines of code do.
const SIGNS_OF_CODE: [char; 14] = ['=', ';', '{', '}', '(', ')', '[', ']', '"', '\'', '`', '$', '<', '>'];

/// The harm that an invisible character can do in a string or a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Harm {
    /// None.
    No,
    /// It may matter elsewhere.
    Perhaps,
    /// It can change what the line does.
    Likely,
}

/// The harm of the invisible character at this place of a line, which is not in a comment.
pub(super) fn harm(path: &str, line: &[char], at: usize, place: Surroundings) -> Harm {
    let is_of_test = || PathKind::of(path).role == Role::Test;
    if !matches!(line[at], '\u{ad}' | '\u{2060}') {
        // Tests of what removes such characters hold some.
        return if place == Surroundings::String && is_of_test() {
            Harm::Perhaps
        } else {
            Harm::Likely
        };
    }
    if is_text_of_page(&language(path), line, at) {
        return Harm::No;
    }
    if place != Surroundings::String || PathKind::of(path).role != Role::Source && !is_of_test() {
        return Harm::Likely;
    }
    let is_value = is_value(line, at);
    if is_value && is_of_locale(path) {
        Harm::No
    } else if is_value || is_of_test() {
        Harm::Perhaps
    } else {
        Harm::Likely
    }
}

fn is_of_locale(path: &str) -> bool {
    let mut directories = path.rsplit('/').skip(1);
    directories.any(|directory| LOCALES.contains(&directory))
}

/// Returns whether a place is in the text between two tags, or in a line that is text alone.
fn is_text_of_page(language: &str, line: &[char], at: usize) -> bool {
    let is_page = PAGES.contains(&language);
    if !is_page && !WITH_TAGS.contains(&language) {
        return false;
    }
    let opened = line[..at].iter().rposition(|character| *character == '>');
    let closed = line[at..]
        .iter()
        .position(|character| *character == '<')
        .map(|end| at + end);
    if let (Some(opened), Some(closed)) = (opened, closed) {
        let is_tag = line
            .get(closed + 1)
            .is_some_and(|next| *next == '/' || next.is_ascii_alphabetic());
        // Code can hold such a character in a text or an expression only, and what stands in braces is code.
        let may_be_code = |sign: &char| matches!(sign, '{' | '}' | '"' | '\'' | '`' | '/' | '\\');
        return ends_tag(&line[..opened]) && is_tag && !line[opened..closed].iter().any(may_be_code);
    }
    is_page && is_plain_text(line)
}

/// Returns whether a tag stands at the end of this part of a line, but for its `>`.
fn ends_tag(before: &[char]) -> bool {
    let Some(begin) = before.iter().rposition(|character| *character == '<') else {
        return false;
    };
    let name = before[begin + 1..].strip_prefix(&['/']).unwrap_or(&before[begin + 1..]);
    let goes_on = |sign: &char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | ':' | '.');
    let length = name.iter().take_while(|sign| goes_on(sign)).count();
    let is_script = name[..length].iter().collect::<String>().eq_ignore_ascii_case("script");
    let is_whole = name.get(length).is_none_or(|next| next.is_whitespace() || *next == '/');
    // `=>` and `->` end none.
    length > 0 && is_whole && !is_script && !before.ends_with(&['=']) && !before.ends_with(&['-'])
}

/// Returns whether a line is several words with nothing of code among them.
fn is_plain_text(line: &[char]) -> bool {
    let text: String = line.iter().collect();
    text.split_whitespace().count() > 1 && !text.contains(SIGNS_OF_CODE)
}

/// Returns whether the string around this place is the value of a name, and of nothing else: `a: "…"`, `a = "…"`.
fn is_value(line: &[char], at: usize) -> bool {
    let Some(open) = line[..at].iter().rposition(|sign| matches!(sign, '"' | '\'' | '`')) else {
        return false;
    };
    let before: String = line[..open].iter().collect();
    let before = before.trim_end();
    let names = |before: &str| {
        before
            .trim_end()
            .ends_with(|sign: char| sign.is_alphanumeric() || "_\"')]".contains(sign))
    };
    let compares = before.contains("==") || before.contains("!=") || before.contains('?');
    // What follows the string may still compare it.
    let rest: String = line[at..]
        .iter()
        .skip_while(|sign| **sign != line[open])
        .skip(1)
        .collect();
    let ends = rest.trim_start().starts_with([',', ';', '}', ')']) || rest.trim().is_empty();
    ends && !compares && (before.strip_suffix(':').is_some_and(names) || before.strip_suffix('=').is_some_and(names))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, line: &str) -> Harm {
        let characters: Vec<char> = line.chars().collect();
        let at = characters
            .iter()
            .position(|sign| matches!(sign, '\u{ad}' | '\u{2060}' | '\u{200b}'))
            .expect("such a character");
        let is_string = line[..line.find(characters[at]).expect("it")].matches('"').count() % 2 == 1;
        let place = if is_string {
            Surroundings::String
        } else {
            Surroundings::Code
        };
        harm(path, &characters, at, place)
    }

    #[test]
    fn a_text_of_a_page_and_a_translation_are_left_alone() {
        for (path, line) in [
            ("a.html", "<p>Donau\u{ad}dampf</p>"),
            ("a.html", "<p>10\u{2060}km</p>"),
            ("a.html", "    Die Donau\u{ad}dampffahrt ist lang."),
            ("A.tsx", "export const A = () => <p>Donau\u{ad}dampf</p>;"),
            ("A.tsx", "  <Title size=\"l\">Die (alte) Donau\u{ad}dampffahrt<br />"),
            ("src/locales/de.ts", "export default { a: \"Donau\u{ad}dampf\" };"),
        ] {
            assert_eq!(of(path, line), Harm::No, "{path}: {line}");
        }
    }

    #[test]
    fn a_value_or_a_test_may_matter_elsewhere() {
        for (path, line) in [
            ("src/a.ts", "  title: \"Donau\u{ad}dampf\","),
            ("src/a.py", "TITLE = \"Donau\u{ad}dampf\""),
            ("tests/test_s.py", "    assert clean(\"a\u{200b}b\") == \"ab\""),
        ] {
            assert_eq!(of(path, line), Harm::Perhaps, "{path}: {line}");
        }
    }

    #[test]
    fn what_can_change_what_a_line_does_is_likely_to_harm() {
        for (path, line) in [
            ("src/a.ts", "if (role == \"ad\u{ad}min\") {"),
            ("src/a.ts", "const ok = role === \"ad\u{ad}min\";"),
            ("src/a.ts", "const ok = \"ad\u{ad}min\" === role;"),
            ("src/a.ts", "allow(\"ad\u{ad}min\");"),
            ("src/a.ts", "title: \"ad\u{200b}min\","),
            ("src/a.cs", "var us\u{ad}er = 1;"),
            ("src/locales/de.ts", "if (role == \"ad\u{ad}min\") {"),
            ("A.tsx", "  <p>{role == \"ad\u{ad}min\"}</p>"),
            ("A.tsx", "const f = (a) => us\u{ad}er < /b/;"),
            ("a.html", "<script>us\u{ad}er()</script>"),
            ("a.html", "  us\u{ad}er();"),
            ("deploy/job.yml", "image: \"re\u{ad}gistry/x\""),
        ] {
            assert_eq!(of(path, line), Harm::Likely, "{path}: {line}");
        }
    }
}

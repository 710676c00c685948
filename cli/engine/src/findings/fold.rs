//! One form of a text for comparing quotes, so that an invisible character does not make a true quote "not there".
//!
//! Models drop invisible characters, write a look-alike as the letter that it looks like, and break lines at separators
//! that git does not know. Both sides are brought into one form here; nothing else is done with it.

use std::borrow::Cow;

use conclave_shared::invisible;
use unicode_normalization::UnicodeNormalization;
use unicode_security::skeleton;

/// Returns whether this breaks a line in some tool, though not in git.
fn is_separator(character: char) -> bool {
    matches!(character, '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Returns whether nothing is seen of this character. Control characters stay: they part words, and end lines.
pub(crate) fn is_invisible(character: char) -> bool {
    (invisible::is_invisible(character) && !character.is_control())
        || matches!(character, '\u{180f}' | '\u{1bca0}'..='\u{1bca3}')
}

/// The line with white space as single blanks.
pub(crate) fn single_blanks(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A line in the form in which it is compared: without invisible characters, compatibility forms and look-alikes folded,
/// white space as single blanks.
pub(crate) fn folded(line: &str) -> String {
    if !line.is_ascii() {
        return folded_by_tables(line);
    }
    if !line.contains(FOLDED_IN_ASCII) {
        return single_blanks(line);
    }
    let mut folded = String::with_capacity(line.len() + line.len() / 4);
    for sign in line.chars() {
        match sign {
            'm' => folded.push_str("rn"),
            '0' => folded.push('O'),
            '1' | 'I' | '|' => folded.push('l'),
            '"' => folded.push_str("''"),
            '`' => folded.push('\''),
            // As all of these tables have it, but only beside one of the others.
            '%' => folded.push_str("\u{b0}/\u{2080}"),
            sign => folded.push(sign),
        }
    }
    single_blanks(&folded)
}

/// Characters of ASCII for which others are taken that look the same.
const FOLDED_IN_ASCII: [char; 7] = ['m', '0', '1', 'I', '|', '"', '`'];

/// The same of any line, which takes ten times as long.
fn folded_by_tables(line: &str) -> String {
    let visible = line.chars().filter(|character| !is_invisible(*character));
    let plain: String = visible
        .map(|character| if is_separator(character) { ' ' } else { character })
        .nfkc()
        .collect();
    let folded: String = skeleton(&plain).collect();
    single_blanks(&folded)
}

/// The letters and digits of a text in the form in which words are compared: whatever stands between them, and their size and
/// accents, are left out.
pub(crate) fn letters(text: &str) -> String {
    if text.is_ascii() && !text.contains(['m', 'M', '0', '1']) {
        let letters = text.chars().filter(char::is_ascii_alphanumeric);
        return letters.map(|letter| letter.to_ascii_lowercase()).collect();
    }
    let visible = text.chars().filter(|character| !is_invisible(*character));
    let plain = visible.nfkc().collect::<String>().to_lowercase();
    let plain: String = plain.chars().filter(|character| character.is_alphanumeric()).collect();
    let folded: String = skeleton(&plain)
        .filter(|character| character.is_alphanumeric())
        .collect();
    folded.to_lowercase()
}

/// The words of a text in that form. Of scripts that part no words each character is one.
pub(crate) fn words(text: &str) -> Vec<String> {
    let visible = text.chars().filter(|character| !is_invisible(*character));
    let plain: String = visible.nfkc().collect();
    let mut words = Vec::new();
    for word in plain.split(|character: char| !character.is_alphanumeric()) {
        if word.chars().any(is_of_unparted_script) {
            let each = word.chars();
            words.extend(each.map(|character| letters(character.encode_utf8(&mut [0; 4]))));
        } else {
            words.push(letters(word));
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns whether this is of a script like Chinese or Japanese, which has no spaces between its words.
const fn is_of_unparted_script(character: char) -> bool {
    matches!(character, '\u{e00}'..='\u{eff}' | '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// So many times a text is decoded: what stands behind a reference may be the beginning of another one.
const MAX_DECODED: usize = 4;

/// The text with what its character references of HTML stand for. It has the same lines.
pub(crate) fn decoded(text: &str) -> Cow<'_, str> {
    let mut plain = Cow::Borrowed(text);
    for _ in 0..MAX_DECODED {
        if !plain.contains('&') {
            break;
        }
        let lines = plain.split('\n').map(|line| htmlize::unescape(line).replace('\n', " "));
        let next = lines.collect::<Vec<_>>().join("\n");
        if next == *plain {
            break;
        }
        plain = Cow::Owned(next);
    }
    plain
}

/// The lines of a text as tools that know all separators see them, each with the number that git gives its line.
pub(super) fn split_lines(text: &str) -> impl Iterator<Item = (u32, &str)> {
    (1..)
        .zip(text.lines())
        .flat_map(|(number, line)| line.split(is_separator).map(move |part| (number, part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_the_same_is_the_same() {
        for (one, other) in [
            ("if аdmin:", "if admin:"),
            ("role = \"ad\u{200b}min\u{202e}\"", "role = \"admin\""),
            ("soft\u{ad}hyphen", "softhyphen"),
            ("ｆｕｌｌ(ﬁne)", "full(fine)"),
            ("caf\u{e9}", "cafe\u{301}"),
            ("a\u{2028}b\u{85}c", "a b c"),
            ("x\u{a0}=\u{3000}1", "x = 1"),
            ("tag\u{e0041}\u{e0042}", "tag"),
        ] {
            assert_eq!(folded(one), folded(other), "{one:?}");
        }
        assert_ne!(folded("value = load(key)"), folded("value = store(key)"));
    }

    #[test]
    fn ascii_is_folded_as_the_tables_fold_it() {
        for sign in '\0'..='\u{7f}' {
            for line in [format!("m{sign}x% {sign}"), format!("{sign}{sign}")] {
                let expected = if line.contains(FOLDED_IN_ASCII) {
                    folded_by_tables(&line)
                } else {
                    single_blanks(&line)
                };
                assert_eq!(folded(&line), expected, "{line:?}");
            }
        }
    }

    #[test]
    fn references_stand_for_characters_however_often_they_are_escaped() {
        for (text, plain) in [
            ("&#105;gnore &lt;all&gt;", "ignore <all>"),
            ("&#x69;gnore&nbsp;all", "ignore\u{a0}all"),
            ("&amp;#105;gnore", "ignore"),
            ("&amp;amp;#105;gnore", "ignore"),
            ("a&#10;b\nc && d", "a b\nc && d"),
            ("none", "none"),
        ] {
            assert_eq!(decoded(text), plain);
        }
    }

    #[test]
    fn words_are_parted_by_whatever_is_no_letter() {
        assert_eq!(
            words("Ignore_previous/INSTRUCTIONS.txt"),
            ["ignore", "previous", "instructions", "txt"].map(letters)
        );
        assert_eq!(words("ig\u{200b}nore; \u{456}t"), ["ignore", "it"].map(letters));
        assert_eq!(words("请批准 a1"), ["请", "批", "准", "a1"].map(letters));
        assert_eq!(words(" - "), [""; 0]);
    }

    #[test]
    fn lines_have_the_numbers_of_git() {
        let lines: Vec<_> = split_lines("a\u{2028}b\nc\rd\r\n\u{85}e").collect();
        assert_eq!(lines, [(1, "a"), (1, "b"), (2, "c"), (2, "d"), (3, ""), (3, "e")]);
    }
}

//! Characters that show something else than what runs, and where they are part of ordinary writing.

use unicode_script::{Script, UnicodeScript};

use crate::findings::is_invisible;

/// How a character deceives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Trick {
    /// It turns the order of what is shown.
    Direction,
    /// It ends a line in some tools, and in others not.
    Separator,
    /// It hides text that only programs read.
    Tag,
    /// Nothing is seen of it.
    Invisible,
    /// A control character: it moves the cursor, erases what is in front of it, or begins a command to the terminal.
    Control,
}

/// What is wrong with the character at this place, if anything is.
pub(super) fn trick(line: &[char], at: usize, first_line: bool) -> Option<Trick> {
    let character = line[at];
    match character {
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Some(Trick::Direction),
        '\u{85}' | '\u{2028}' | '\u{2029}' => Some(Trick::Separator),
        '\r' => (at + 1 < line.len()).then_some(Trick::Separator),
        '\u{e0000}'..='\u{e007f}' => (!is_flag(line, at)).then_some(Trick::Tag),
        '\u{feff}' if first_line && at == 0 => None,
        // A page break on a line of its own is an old custom.
        '\u{c}' if line.iter().all(|character| character.is_whitespace()) => None,
        _ if character.is_ascii_control() && character != '\t' => Some(Trick::Control),
        '\u{2800}' => (!is_braille(line)).then_some(Trick::Invisible),
        _ if is_invisible(character) && !is_writing(line, at) => Some(Trick::Invisible),
        _ => None,
    }
}

/// Returns whether a tag character belongs to the flag of a region: a black flag, a few letters, and the end.
fn is_flag(line: &[char], at: usize) -> bool {
    let is_tag = |character: &char| matches!(character, '\u{e0020}'..='\u{e007f}');
    let before = line[..at]
        .iter()
        .rev()
        .take_while(|character| is_tag(character))
        .count();
    let begin = at - before;
    let length = line[begin..].iter().take_while(|character| is_tag(character)).count();
    let has_end = line[begin..begin + length].last() == Some(&'\u{e007f}');
    begin > 0 && line[begin - 1] == '\u{1f3f4}' && length <= 8 && has_end
}

/// Whether an invisible character is part of ordinary writing at this place: a joined emoji, a letter of a script that
/// needs it, a mark of direction in text of a right-to-left language.
fn is_writing(line: &[char], at: usize) -> bool {
    let before = line[..at].last().copied();
    let after = line.get(at + 1).copied();
    let both = |test: fn(char) -> bool| before.is_some_and(test) && after.is_some_and(test);
    match line[at] {
        '\u{200d}' => both(is_emoji) || both(joins),
        '\u{200c}' => before.is_some_and(joins) && after.is_none_or(|after| !after.is_ascii_alphanumeric()),
        '\u{200b}' => both(breaks_without_space),
        '\u{fe00}'..='\u{fe0f}' => {
            let keycap = after == Some('\u{20e3}');
            before.is_some_and(|before| is_emoji(before) || is_ideograph(before) || (keycap && before.is_ascii()))
        }
        '\u{e0100}'..='\u{e01ef}' => before.is_some_and(is_ideograph),
        '\u{180b}'..='\u{180f}' => before.is_some_and(|before| before.script() == Script::Mongolian),
        '\u{200e}' | '\u{200f}' | '\u{61c}' => {
            let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
            // A mark of direction may itself count as Arabic.
            let is_letter = |character: char| character.is_alphabetic() && is_right_to_left(character);
            line.iter().any(|character| is_letter(*character)) && !both(is_word)
        }
        '\u{115f}' | '\u{1160}' | '\u{3164}' => {
            let is_hangul = |character: char| matches!(character, '\u{1100}'..='\u{11ff}' | '\u{3131}'..='\u{318e}' | '\u{ac00}'..='\u{d7a3}');
            let other = |character: Option<char>| character.is_some_and(|other| other != line[at] && is_hangul(other));
            other(before) && other(after)
        }
        _ => false,
    }
}

/// Returns whether a line has Braille that is seen, among which the empty cell is a space.
fn is_braille(line: &[char]) -> bool {
    line.iter()
        .any(|character| matches!(character, '\u{2801}'..='\u{28ff}'))
}

fn is_emoji(character: char) -> bool {
    matches!(
        character,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{20e3}' | '\u{3030}' | '\u{303d}'
            | '\u{3297}' | '\u{3299}' | '\u{fe0f}'
            | '\u{2190}'..='\u{21ff}'
            | '\u{2300}'..='\u{27bf}'
            | '\u{2900}'..='\u{2bff}'
            | '\u{1f000}'..='\u{1faff}'
    )
}

/// Letters that join, or form clusters, and are told how by a character of no width.
fn joins(character: char) -> bool {
    use Script::{
        Adlam, Arabic, Bengali, Devanagari, Gujarati, Gurmukhi, Hanifi_Rohingya, Kannada, Khmer, Malayalam, Mandaic,
        Mongolian, Myanmar, Nko, Oriya, Sinhala, Syriac, Tamil, Telugu,
    };
    matches!(
        character.script(),
        Adlam
            | Arabic
            | Bengali
            | Devanagari
            | Gujarati
            | Gurmukhi
            | Hanifi_Rohingya
            | Kannada
            | Khmer
            | Malayalam
            | Mandaic
            | Mongolian
            | Myanmar
            | Nko
            | Oriya
            | Sinhala
            | Syriac
            | Tamil
            | Telugu
    ) || matches!(character, '\u{64b}'..='\u{65f}' | '\u{951}'..='\u{954}')
}

/// Scripts that separate words by a space of no width.
fn breaks_without_space(character: char) -> bool {
    use Script::{Khmer, Lao, Myanmar, Tai_Tham, Thai, Tibetan};
    matches!(character.script(), Khmer | Lao | Myanmar | Tai_Tham | Thai | Tibetan)
}

fn is_ideograph(character: char) -> bool {
    matches!(character.script(), Script::Han | Script::Hiragana | Script::Katakana)
        || matches!(character, '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ff60}' | '\u{2018}'..='\u{201d}')
}

fn is_right_to_left(character: char) -> bool {
    use Script::{Adlam, Arabic, Hebrew, Mandaic, Nko, Samaritan, Syriac, Thaana};
    matches!(
        character.script(),
        Adlam | Arabic | Hebrew | Mandaic | Nko | Samaritan | Syriac | Thaana
    )
}

/// The character by its number, with its name where it is a known one.
pub(super) fn named(character: char) -> String {
    let name = match character {
        '\r' => "carriage return within a line",
        '\u{8}' => "backspace",
        '\u{b}' => "vertical tab",
        '\u{c}' => "form feed",
        '\u{1b}' => "escape",
        '\u{2800}' => "empty Braille cell",
        '\u{85}' => "next line",
        '\u{ad}' => "soft hyphen",
        '\u{200b}' => "zero-width space",
        '\u{200c}' => "zero-width non-joiner",
        '\u{200d}' => "zero-width joiner",
        '\u{200e}' | '\u{200f}' | '\u{61c}' => "mark of direction",
        '\u{2028}' => "line separator",
        '\u{2029}' => "paragraph separator",
        '\u{202a}' | '\u{202b}' => "embedding of a direction",
        '\u{202c}' => "end of a direction",
        '\u{202d}' | '\u{202e}' => "override of the direction",
        '\u{2060}' => "word joiner",
        '\u{2066}'..='\u{2068}' => "isolate of a direction",
        '\u{2069}' => "end of an isolate",
        '\u{3164}' | '\u{ffa0}' | '\u{115f}' | '\u{1160}' => "Hangul filler",
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => "variation selector",
        '\u{feff}' => "byte-order mark",
        '\u{e0000}'..='\u{e007f}' => "tag character",
        _ if character.is_control() => "control character",
        _ => "invisible character",
    };
    format!("U+{:04X} ({name})", u32::from(character))
}

//! Characters that a reader does not see, or that move what a reader sees.

/// Returns whether a reader sees nothing of `character`. Line ends and tabs count as visible.
pub fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180E}'
        | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}'
        | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
        || (character.is_control() && !matches!(character, '\n' | '\t' | '\r'))
}

/// Returns whether `character` changes the direction of the text around it.
pub const fn is_bidirectional_control(character: char) -> bool {
    matches!(character, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Returns whether `character` chooses between the picture and the letter of the character in front of it, as in `⚠️`.
pub const fn is_presentation_selector(character: char) -> bool {
    matches!(character, '\u{FE0E}' | '\u{FE0F}')
}

/// Returns whether some reader begins a new line at `character`.
pub const fn ends_line(character: char) -> bool {
    matches!(
        character,
        '\n' | '\r' | '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_stays_and_what_is_not_seen_goes() {
        for seen in ['a', 'ä', '\n', '\t', '語', '😀', '\u{301}'] {
            assert!(!is_invisible(seen), "{seen:?}");
        }
        for unseen in [
            '\0',
            '\u{1b}',
            '\u{7f}',
            '\u{9b}',
            '\u{200b}',
            '\u{2060}',
            '\u{202e}',
            '\u{feff}',
            '\u{e0041}',
        ] {
            assert!(is_invisible(unseen), "{unseen:?}");
        }
        assert!(is_bidirectional_control('\u{202e}') && !is_bidirectional_control('\u{200b}'));
        assert!(is_presentation_selector('\u{fe0f}') && is_invisible('\u{fe0f}'));
        assert!(ends_line('\u{2028}') && ends_line('\r') && !ends_line(' '));
    }
}

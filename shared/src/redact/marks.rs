//! Secret marks: words that must not leave a run, however a model spells them.

use std::ops::Range;

/// So many characters between two of a mark's own do not hide it.
const MAX_BETWEEN: usize = 3;

/// Marks that are found in any case, with signs between their characters, and from behind.
#[derive(Clone, Default)]
pub struct SecretMarks(Vec<Vec<char>>);

impl SecretMarks {
    /// Adds a mark. One of fewer than six characters is ignored: it would be found in ordinary text.
    pub fn add(&mut self, mark: &str) {
        let mark: Vec<char> = mark.chars().map(|character| character.to_ascii_lowercase()).collect();
        if mark.len() >= 6 && !self.0.contains(&mark) {
            let reversed = mark.iter().rev().copied().collect();
            self.0.push(mark);
            self.0.push(reversed);
        }
    }

    /// Returns where the first mark stands in the text, if one does.
    pub fn find(&self, text: &str) -> Option<Range<usize>> {
        if self.0.is_empty() {
            return None;
        }
        text.char_indices().find_map(|(start, _)| {
            let length = self.0.iter().find_map(|mark| length(mark, &text[start..]))?;
            Some(start..start + length)
        })
    }

    /// Replaces every mark in the text.
    pub fn replace(&self, text: &str, by: &str) -> String {
        let mut replaced = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(found) = self.find(rest) {
            replaced.push_str(&rest[..found.start]);
            replaced.push_str(by);
            rest = &rest[found.end..];
        }
        replaced + rest
    }
}

/// The length of the mark that the text begins with.
fn length(mark: &[char], text: &str) -> Option<usize> {
    let mut wanted = mark.iter();
    let mut next = wanted.next()?;
    let mut between = 0;
    for (at, character) in text.char_indices() {
        if character.to_ascii_lowercase() == *next {
            between = 0;
            match wanted.next() {
                Some(following) => next = following,
                None => return Some(at + character.len_utf8()),
            }
        } else if at == 0 || character.is_alphanumeric() || matches!(character, '"' | '\\') || between == MAX_BETWEEN {
            // A quotation mark or a backslash belongs to the JSON that the text may be.
            return None;
        } else {
            between += 1;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_goes_however_it_is_spelled_and_nothing_else_does() {
        let mut marks = SecretMarks::default();
        marks.add("0a1b2c3d4e5f");
        marks.add("short");
        for (text, left) in [
            ("<mr_body_0a1b2c3d4e5f>", "<mr_body_X>"),
            ("0A1B2C3D4E5F, 0a 1b-2c.3d_4e\u{200b}5f", "X, X"),
            ("f5e4d3c2b1a0!", "X!"),
            ("00a1b2c3d4e5f", "0X"),
            ("0a1b2c3d4e5", "0a1b2c3d4e5"),
            ("0a1b2c and 3d4e5f short", "0a1b2c and 3d4e5f short"),
            ("[\"0a1b2c\",\"3d4e5f\"]", "[\"0a1b2c\",\"3d4e5f\"]"),
        ] {
            assert_eq!(marks.replace(text, "X"), left, "{text}");
        }
        assert_eq!(SecretMarks::default().find("0a1b2c3d4e5f"), None);
    }
}

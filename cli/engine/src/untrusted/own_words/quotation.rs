//! Quotation marks that stay open at the end of a paragraph.

/// The pairs of marks, an opening and a closing one. Some languages use those of others the other way round, so the one that
/// comes first opens.
const PAIRS: [(char, char); 6] = [
    ('“', '”'),
    ('„', '“'),
    ('«', '»'),
    ('‹', '›'),
    ('「', '」'),
    ('『', '』'),
];

/// The marks that open and close alike.
const ALIKE: [char; 2] = ['"', '＂'];

/// The quotation that is open where a text has been read up to.
#[derive(Debug, Default)]
pub(super) struct OpenQuotation {
    /// The marks of which each ends it; empty if none is open.
    ends: Vec<char>,
}

impl OpenQuotation {
    pub(super) const fn is_open(&self) -> bool {
        !self.ends.is_empty()
    }

    /// Reads on. Marks inside of a quotation that do not end it are a part of it.
    pub(super) fn read(&mut self, text: &str) {
        for character in text.chars() {
            if self.is_open() {
                if self.ends.contains(&character) {
                    self.ends.clear();
                }
                continue;
            }
            if ALIKE.contains(&character) {
                self.ends.push(character);
            }
            for (open, close) in PAIRS {
                if character == open {
                    self.ends.push(close);
                } else if character == close {
                    self.ends.push(open);
                }
            }
        }
    }
}

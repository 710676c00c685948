//! Lines without comments and the inside of strings.

use super::language::Language;

/// Reads a file line by line.
pub(super) struct CodeView {
    language: Language,
    hunk: usize,
    docstring: Option<&'static str>,
    comment: bool,
}

impl CodeView {
    pub(super) const fn of(language: Language) -> Self {
        Self {
            language,
            hunk: 0,
            docstring: None,
            comment: false,
        }
    }

    /// The code of the next line.
    pub(super) fn line(&mut self, hunk: usize, text: &str) -> String {
        if self.hunk != hunk {
            *self = Self {
                hunk,
                ..Self::of(self.language)
            };
        }
        let trimmed = text.trim_start();
        if self.language == Language::Python && skip_docstring(trimmed, &mut self.docstring)
            || self.language.comment() == "//" && skip_block_comment(trimmed, &mut self.comment)
        {
            return String::new();
        }
        code_view(self.language, text)
    }
}

/// Follows docstrings; whether the line is in one.
fn skip_docstring(line: &str, open: &mut Option<&'static str>) -> bool {
    if let Some(quotes) = *open {
        if line.contains(quotes) {
            *open = None;
        }
        return true;
    }
    for quotes in ["\"\"\"", "'''"] {
        if line.starts_with(quotes) {
            if line.matches(quotes).count() == 1 {
                *open = Some(quotes);
            }
            return true;
        }
    }
    false
}

/// Follows block comments; whether the line is in one.
fn skip_block_comment(line: &str, open: &mut bool) -> bool {
    let inside = *open || line.starts_with("/*");
    if inside {
        *open = !line.contains("*/");
    }
    inside || line.starts_with("* ") || line == "*"
}

fn code_view(language: Language, text: &str) -> String {
    let quotes: &[char] = match language {
        Language::Rust | Language::Sql => &['"'],
        _ => &['"', '\'', '`'],
    };
    let comment = language.comment();
    let mut code = String::new();
    let mut open: Option<char> = None;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match open {
            Some(_) if escaped => {
                escaped = false;
            }
            Some(_) if c == '\\' => escaped = true,
            Some(quote) if c == quote => {
                open = None;
                code.push(c);
            }
            Some(_) => {}
            None if text[at..].starts_with(comment) && !text[..at].ends_with(':') => break,
            None => {
                if quotes.contains(&c) {
                    open = Some(c);
                }
                code.push(c);
            }
        }
    }
    code
}

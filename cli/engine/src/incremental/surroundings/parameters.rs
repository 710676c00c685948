//! Lists of parameters: which words of them are names, and which are types and values.

use crate::findings::code_words::is_of_word;

/// The way in which a language writes its declarations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    /// The base classes stand in brackets.
    Python,
    /// `order Order`.
    Go,
    /// `Order order`, in methods without a keyword.
    TypeFirst,
    /// `order: Order` or `order`, in methods without a keyword.
    Script,
    /// The same behind a keyword.
    Other,
}

impl Syntax {
    /// The syntax of a file, by the extension of its name.
    pub(super) fn of(path: &str) -> Self {
        let extension = path.rsplit('.').next().unwrap_or_default();
        match extension.to_ascii_lowercase().as_str() {
            "py" | "pyi" | "pyx" => Self::Python,
            "go" => Self::Go,
            "java" | "cs" | "php" | "c" | "h" | "cc" | "cpp" | "cxx" | "hh" | "hpp" | "dart" | "sol" => Self::TypeFirst,
            "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" | "vue" | "svelte" => Self::Script,
            _ => Self::Other,
        }
    }
}

/// Returns whether the name between these parts of a list of parameters is that of one, and not of its type or its value.
pub(super) fn is_parameter(within: &str, behind: &str, syntax: Syntax) -> bool {
    let segment = last_segment(within);
    let bare = segment.replace("::", "").replace("[]", "");
    let is_plain = |head: &str| {
        let may_stand = |character: char| {
            is_of_word(character) || character.is_whitespace() || "@?!*&.$()<>|\"'".contains(character)
        };
        head.chars().all(may_stand)
    };
    if bare.split_once([':', '=']).is_some_and(|(head, _)| is_plain(head)) {
        return false;
    }
    match syntax {
        Syntax::Go => {
            let list = format!("{within}x{}", behind.split(')').next().unwrap_or_default());
            let has_names = list.split(',').any(|part| part.split_whitespace().nth(1).is_some());
            has_names && !segment.contains(is_of_word)
        }
        Syntax::TypeFirst => {
            let mut depth = Depth::default();
            segment.chars().for_each(|character| depth.add(character));
            depth.angles == 0 && !has_name(behind)
        }
        _ => true,
    }
}

/// Returns whether a parameter's name follows, of which the type stands before this text.
pub(super) fn has_name(behind: &str) -> bool {
    let mut depth = Depth::default();
    for character in behind.chars() {
        if depth.sum() == 0 {
            if matches!(character, ',' | ')' | '=') {
                return false;
            }
            if is_of_word(character) || character == '$' {
                return true;
            }
        }
        depth.add(character);
    }
    false
}

/// The brackets that are open in a text.
#[derive(Default)]
struct Depth {
    brackets: usize,
    angles: usize,
    last: Option<char>,
}

impl Depth {
    fn add(&mut self, character: char) {
        match character {
            '(' | '[' | '{' => self.brackets += 1,
            ')' | ']' | '}' => {
                self.brackets = self.brackets.saturating_sub(1);
                self.angles = 0;
            }
            '<' if self.last.is_none_or(|last| is_of_word(last) || last == ':') => self.angles += 1,
            '>' if !matches!(self.last, Some('-' | '=')) => self.angles = self.angles.saturating_sub(1),
            _ => {}
        }
        self.last = Some(character);
    }

    const fn sum(&self) -> usize {
        self.brackets + self.angles
    }
}

pub(super) fn is_open(text: &str) -> bool {
    let mut depth = Depth::default();
    text.chars().for_each(|character| depth.add(character));
    depth.sum() > 0
}

/// The end of the group of brackets with which a text begins.
pub(super) fn group_end(text: &str) -> Option<usize> {
    let mut depth = Depth::default();
    text.char_indices().find_map(|(at, character)| {
        depth.add(character);
        (depth.sum() == 0).then_some(at + character.len_utf8())
    })
}

/// The text from the last comma on that is in no further brackets.
pub(super) fn last_segment(within: &str) -> &str {
    let mut depth = Depth::default();
    let mut start = 0;
    for (at, character) in within.char_indices() {
        if character == ',' && depth.sum() == 0 {
            start = at + 1;
        }
        depth.add(character);
    }
    &within[start..]
}

/// The places of the round brackets that are open at the end of a text.
pub(super) fn open_brackets(text: &str) -> Vec<usize> {
    let mut open = Vec::new();
    for (at, character) in text.char_indices() {
        if character == '(' {
            open.push(at);
        } else if character == ')' {
            open.pop();
        }
    }
    open
}

/// The text behind the round bracket that closes the group that is open before this text.
pub(super) fn behind_group(text: &str) -> Option<&str> {
    let mut depth = 0_usize;
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(text[at + 1..].trim_start()),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

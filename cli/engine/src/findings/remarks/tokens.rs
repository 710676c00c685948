//! A text as tokens: words, signs, numbers, paths of files and names of code, and where a sentence may end.

use unicode_normalization::UnicodeNormalization as _;

use crate::findings::severe::{is_in, is_severe};

/// A token of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A word in lower case; in scripts that part no words, one character.
    Word(String),
    /// Anything that is not a word. Parentheses are `{` and `}`.
    Sign(char),
    /// A whole number.
    Number,
    /// The path of a file.
    Path,
    /// A name of code between backticks.
    Code,
}

/// A token, or what parts sentences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// A token, with the place where it begins and the one behind it.
    Token(Token, usize, usize),
    /// The end of a sentence.
    End,
    /// A new line, within a sentence or between two.
    Line,
    /// The end of a paragraph, a heading or an item of a list.
    Paragraph,
}

/// Signs that say no more than "done".
const APPROVING: [char; 9] = ['✅', '✔', '✓', '☑', '👍', '🎉', '🟢', '\u{fe0f}', '*'];
/// Ends of names of files that may stand in a review although the change does not have them.
const EXTENSIONS: [&str; 44] = [
    "rs", "py", "js", "ts", "tsx", "jsx", "mjs", "go", "java", "kt", "rb", "php", "c", "h", "cc", "cpp", "hpp", "cs",
    "swift", "scala", "sh", "sql", "md", "yml", "yaml", "toml", "json", "xml", "html", "css", "txt", "proto", "tf",
    "lock", "vue", "svelte", "ex", "hs", "lua", "pl", "dart", "gradle", "patch", "ini",
];
/// Maximum length of a name of code.
const MAX_CODE: usize = 60;
/// Maximum length of a path, in bytes: as long as systems take one.
const MAX_PATH: usize = 4_096;
/// Maximum length of a path that the change does not have, in bytes.
const MAX_OTHER_PATH: usize = 255;
/// Names of files and directories without an ending that may stand in a sentence without backticks. The author of a change
/// chooses its names: with a file `NACK` or a directory `regressions`, such a word would be a path.
const BARE_NAMES: &str = "src lib libs bin cmd pkg app apps cli crates packages utils assets Makefile Dockerfile \
    Containerfile Justfile Procfile Gemfile Rakefile Jenkinsfile LICENSE";
/// Words of a name that say something in a sentence.
const SAYING: &str = "not no merge rce nack xss bug leak leaks unsafe broken wrong backdoor backdoors";

/// The tokens of a rule's words.
pub(super) fn tokens_of_rule(words: &str) -> Vec<Token> {
    match words {
        "@path" => vec![Token::Path],
        "@code" => vec![Token::Code],
        "@number" => vec![Token::Number],
        "{" | "}" => words.chars().map(Token::Sign).collect(),
        _ => {
            let pieces = Reader::new(words, &[]).read();
            let tokens = pieces.into_iter().filter_map(|piece| match piece {
                Piece::Token(token, ..) => Some(token),
                _ => None,
            });
            tokens.collect()
        }
    }
}

/// The text as its places count in: compatible characters are one.
pub(super) fn normalized(text: &str) -> String {
    text.nfkc().collect()
}

/// The pieces of a normalized text. `paths` are the paths of the changed files.
pub(super) fn pieces(text: &str, paths: &[&str]) -> Vec<Piece> {
    Reader::new(text, paths).read()
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    paths: &'a [&'a str],
    found: Vec<Piece>,
    /// The line is a heading or an item: it is not joined to the next one.
    is_apart: bool,
}

impl<'a> Reader<'a> {
    const fn new(text: &'a str, paths: &'a [&'a str]) -> Self {
        Self {
            text,
            at: 0,
            paths,
            found: Vec::new(),
            is_apart: false,
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn read(mut self) -> Vec<Piece> {
        self.begin_line();
        while let Some(character) = self.rest().chars().next() {
            let start = self.at;
            match character {
                '\n' | '\r' => self.end_line(),
                _ if character.is_whitespace() || APPROVING.contains(&character) => self.at += character.len_utf8(),
                '`' => self.backtick(),
                '.' | '!' | ';' | '。' | '؛' | '۔' if self.path().is_none() => {
                    self.at += character.len_utf8();
                    self.found.push(Piece::End);
                }
                '-' | '\u{2010}' if self.is_hyphen(character) => self.at += character.len_utf8(),
                _ => {
                    let (token, length) = self.token(character);
                    self.at += length;
                    for token in token {
                        self.found.push(Piece::Token(token, start, self.at));
                    }
                }
            }
        }
        self.found
    }

    /// Takes the mark of a heading or of an item off a line, and the line of a fence.
    fn begin_line(&mut self) {
        let line = self.rest().split('\n').next().unwrap_or_default();
        let inside = line.trim_start();
        let indent = line.len() - inside.len();
        if let Some(name) = inside.strip_prefix("```") {
            if name.trim().chars().all(|character| character.is_ascii_lowercase()) {
                self.at += line.len();
            }
            return;
        }
        let number = inside.trim_start_matches(|character: char| character.is_ascii_digit());
        let mark = match inside.chars().next() {
            Some('#') => inside.len() - inside.trim_start_matches('#').len(),
            Some(mark @ ('-' | '*' | '+' | '•' | '·')) => mark.len_utf8(),
            Some(_) if number.len() < inside.len() && number.starts_with(['.', ')']) => inside.len() - number.len() + 1,
            _ => 0,
        };
        if mark > 0 && inside[mark..].starts_with(' ') {
            self.at += indent + mark;
            self.is_apart = true;
            self.found.push(Piece::Paragraph);
        }
    }

    fn end_line(&mut self) {
        let rest = self.rest();
        let blank = &rest[..rest.len() - rest.trim_start().len()];
        let is_paragraph = self.is_apart || blank.matches('\n').count() > 1;
        self.found
            .push(if is_paragraph { Piece::Paragraph } else { Piece::Line });
        self.is_apart = false;
        // Only up to the next line: its indentation is its own.
        self.at += blank.rfind(['\n', '\r']).map_or(1, |last| last + 1);
        self.begin_line();
    }

    fn is_hyphen(&self, sign: char) -> bool {
        let before = self.text[..self.at].chars().next_back();
        let behind = self.rest()[sign.len_utf8()..].chars().next();
        before.is_some_and(char::is_alphabetic) && behind.is_some_and(char::is_alphabetic)
    }

    /// A path or a name of code between backticks; backticks around anything else are signs.
    fn backtick(&mut self) {
        let start = self.at;
        let inside = &self.rest()[1..];
        let Some(end) = inside.find('`') else {
            self.at += 1;
            self.found.push(Piece::Token(Token::Sign('`'), start, self.at));
            return;
        };
        let code = inside[..end].trim();
        let token = match path_of(code, self.paths, true) {
            Some(length) if length == code.len() => Some(Token::Path),
            _ if is_name(code) => Some(Token::Code),
            _ => None,
        };
        match token {
            Some(token) => {
                self.at += end + 2;
                self.found.push(Piece::Token(token, start, self.at));
            }
            None if code.is_empty() => self.at += end + 2,
            None => {
                self.at += 1;
                self.found.push(Piece::Token(Token::Sign('`'), start, self.at));
            }
        }
    }

    /// The length of the path that begins here.
    fn path(&self) -> Option<usize> {
        let before = self.text[..self.at].chars().next_back();
        if before
            .is_some_and(|before| before.is_alphanumeric() && before.is_ascii() || matches!(before, '_' | '.' | '/'))
        {
            return None;
        }
        path_of(self.rest(), self.paths, false)
    }

    fn token(&self, first: char) -> (Vec<Token>, usize) {
        if let Some(length) = self.path() {
            return (vec![Token::Path], length);
        }
        if let Some(length) = version(self.rest()) {
            return (vec![Token::Number], length);
        }
        if is_ideograph(first) {
            return (vec![Token::Word(first.to_string())], first.len_utf8());
        }
        if first.is_alphanumeric() || first == '_' {
            let rest = self.rest();
            let is_part = |(at, character): (usize, char)| {
                let inner = matches!(character, '\'' | '’' | 'ʼ')
                    && rest[at + character.len_utf8()..].starts_with(char::is_alphabetic);
                !is_ideograph(character) && (character.is_alphanumeric() || character == '_' || inner)
            };
            let length = rest
                .char_indices()
                .find(|part| !is_part(*part))
                .map_or(rest.len(), |(at, _)| at);
            return (word(&rest[..length]), length);
        }
        let sign = match first {
            '(' => '{',
            ')' => '}',
            // These stand for parentheses in the notation.
            '{' | '}' => '\u{fffd}',
            '、' | '،' => ',',
            '–' | '—' | '−' => '-',
            other => other,
        };
        (vec![Token::Sign(sign)], first.len_utf8())
    }
}

/// The length of the number with dots that a text begins with: `4.19.2`.
fn version(text: &str) -> Option<usize> {
    let is_part = |character: char| character.is_ascii_digit() || character == '.';
    let length = text.find(|character| !is_part(character)).unwrap_or(text.len());
    let number = text[..length].trim_end_matches('.');
    let goes_on = text[number.len()..].starts_with(|next: char| next.is_alphanumeric() || next == '_');
    let mut parts = number.split('.');
    let is_version = number.contains('.') && parts.all(|part| !part.is_empty());
    (is_version && !goes_on).then_some(number.len())
}

/// A word, or the two that it is short for.
fn word(text: &str) -> Vec<Token> {
    if text.chars().all(|character| character.is_ascii_digit()) {
        return vec![if text == "0" {
            Token::Word(text.to_owned())
        } else {
            Token::Number
        }];
    }
    let lower = text.to_lowercase().replace(['’', 'ʼ'], "'");
    let lower = lower.trim_matches('_');
    let negated = |stem: &str| match stem {
        "ca" => "can".to_owned(),
        "wo" => "will".to_owned(),
        other => other.to_owned(),
    };
    let words: Vec<String> = match lower {
        "cannot" => vec!["can".into(), "not".into()],
        "i'm" => vec!["i".into(), "am".into()],
        _ => {
            if let Some(stem) = lower.strip_suffix("n't") {
                vec![negated(stem), "not".into()]
            } else if let Some(stem) = lower.strip_suffix("'ve") {
                vec![stem.into(), "have".into()]
            } else if let Some(stem) = lower.strip_suffix("'re") {
                vec![stem.into(), "are".into()]
            } else if let Some(stem) = lower
                .strip_suffix("'s")
                .filter(|stem| ["it", "that", "there", "here"].contains(stem))
            {
                vec![stem.into(), "is".into()]
            } else {
                vec![lower.to_owned()]
            }
        }
    };
    words.into_iter().map(Token::Word).collect()
}

/// Characters of scripts that part no words.
fn is_ideograph(character: char) -> bool {
    matches!(character, '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// The length of the path that a text begins with: one of the change, or one that looks like a file and names nothing severe.
/// A name without a directory and an ending is one between backticks, or if no sentence can say something with it.
fn path_of(text: &str, paths: &[&str], is_quoted: bool) -> Option<usize> {
    let is_part = |character: char| {
        (character.is_alphanumeric() && !is_ideograph(character))
            || matches!(character, '_' | '.' | '/' | '-' | '+' | '@')
    };
    // No further than a path can reach: each word of a long run looks for one that begins with it.
    let mut parts = text.char_indices().take_while(|(at, _)| *at <= MAX_PATH);
    let length = parts
        .find(|(_, character)| !is_part(*character))
        .map_or(text.len(), |(at, _)| at);
    if length > MAX_PATH {
        return None;
    }
    let run = text[..length].trim_end_matches(['.', '-', '/']);
    let inside = run.strip_prefix("./").unwrap_or(run);
    if inside.is_empty() {
        return None;
    }
    let is_bare = !inside.contains(['/', '.']);
    let says_nothing = || {
        if is_quoted {
            is_harmless_name(inside)
        } else {
            is_in(BARE_NAMES, inside)
        }
    };
    if is_bare && !says_nothing() {
        return None;
    }
    let is_of_change = paths.iter().any(|path| {
        *path == inside
            || path.strip_suffix(inside).is_some_and(|rest| rest.ends_with('/'))
            || path.strip_prefix(inside).is_some_and(|rest| rest.starts_with('/'))
    });
    let looks_like_one = || {
        let (stem, extension) = inside.rsplit_once('.')?;
        let is_known = EXTENSIONS.contains(&extension) && !stem.is_empty() && inside.len() <= MAX_OTHER_PATH;
        (is_known && is_harmless_name(stem)).then_some(())
    };
    (is_of_change || looks_like_one().is_some()).then_some(run.len())
}

/// Returns whether this is a name of code, with nothing severe in it.
pub(super) fn is_name(code: &str) -> bool {
    let bare = code.strip_suffix("()").unwrap_or(code);
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '$' | '.' | ':');
    let is_number = bare.chars().all(|character| character.is_ascii_digit());
    !bare.is_empty() && !is_number && code.len() <= MAX_CODE && bare.chars().all(is_part) && is_harmless_name(bare)
}

/// Returns whether the words of a name say nothing that a sentence could say.
fn is_harmless_name(name: &str) -> bool {
    let mut words = String::new();
    let mut was_lower = false;
    for character in name.chars() {
        if !character.is_alphanumeric() || (was_lower && character.is_uppercase()) {
            words.push(' ');
        }
        if character.is_alphanumeric() {
            words.extend(character.to_lowercase());
        }
        was_lower = character.is_lowercase();
    }
    !is_severe(&words) && !words.split_whitespace().any(|word| is_in(SAYING, word))
}

//! A line with its surroundings, as the rules see it.

use super::patch::{Line, PatchFile};
use super::rule::{found, group};

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    JavaScript,
    Rust,
    Go,
    /// Java, Kotlin, C#, C, C++, Swift, Scala: braces, `//` and double quotes.
    Braces,
    Php,
    Ruby,
    Shell,
    Sql,
    /// JSON, YAML, TOML and the like.
    Data,
    Docs,
    Other,
}

impl Language {
    /// The language of a file of this name.
    pub(super) fn of(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
        match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
            "py" | "pyi" => Self::Python,
            "js" | "jsx" | "ts" | "tsx" | "mjs" | "cjs" | "mts" | "cts" | "vue" | "svelte" => Self::JavaScript,
            "rs" => Self::Rust,
            "go" => Self::Go,
            "java" | "kt" | "kts" | "cs" | "c" | "h" | "cc" | "cpp" | "hpp" | "swift" | "scala" => Self::Braces,
            "php" => Self::Php,
            "rb" | "rake" => Self::Ruby,
            "sh" | "bash" | "zsh" => Self::Shell,
            "sql" => Self::Sql,
            "json" | "yaml" | "yml" | "toml" | "ini" | "cfg" | "env" | "properties" | "xml" => Self::Data,
            "md" | "mdx" | "rst" | "txt" | "adoc" => Self::Docs,
            _ => Self::Other,
        }
    }

    /// The language is one to run.
    pub(super) const fn is_code(self) -> bool {
        !matches!(self, Self::Data | Self::Docs | Self::Other | Self::Sql)
    }

    const fn comment(self) -> &'static str {
        match self {
            Self::Python | Self::Ruby | Self::Shell | Self::Data => "#",
            Self::Sql => "--",
            _ => "//",
        }
    }
}

/// A line, its file, and the way to its neighbours.
#[derive(Clone, Copy)]
pub(super) struct Spot<'a> {
    pub(super) file: &'a PatchFile,
    pub(super) at: usize,
}

impl<'a> Spot<'a> {
    /// The line.
    pub(super) fn line(&self) -> &'a Line {
        &self.file.lines[self.at]
    }

    /// The line as it is written.
    pub(super) fn text(&self) -> &'a str {
        &self.line().text
    }

    /// The line without comments and the inside of strings.
    pub(super) fn code(&self) -> &'a str {
        &self.line().code
    }

    /// The language of the file.
    pub(super) fn language(&self) -> Language {
        self.file.language()
    }

    /// The lines before this one in its hunk, nearest first.
    pub(super) fn before(&self, most: usize) -> impl Iterator<Item = &'a Line> + use<'a> {
        let hunk = self.line().hunk;
        self.file.lines[..self.at]
            .iter()
            .rev()
            .take_while(move |line| line.hunk == hunk)
            .take(most)
    }

    /// The lines after this one in its hunk.
    pub(super) fn after(&self, most: usize) -> impl Iterator<Item = &'a Line> + use<'a> {
        let hunk = self.line().hunk;
        self.file.lines[self.at + 1..]
            .iter()
            .take_while(move |line| line.hunk == hunk)
            .take(most)
    }

    /// This line and as many before it, in order, as one text.
    pub(super) fn with_before(&self, most: usize) -> String {
        let mut lines: Vec<&str> = self.before(most).map(|line| line.text.as_str()).collect();
        lines.reverse();
        lines.push(self.text());
        lines.join("\n")
    }

    /// The head of the innermost block that this line is in and that `wanted` takes, up to the next function.
    fn enclosing(&self, wanted: impl Fn(&str) -> bool) -> Option<&'a Line> {
        let mut indent = indentation(self.text());
        for line in self.before(60) {
            if line.text.trim().is_empty() || indentation(&line.text) >= indent {
                continue;
            }
            indent = indentation(&line.text);
            if wanted(&line.code) {
                return Some(line);
            }
            if is_function(&line.code) {
                return None;
            }
        }
        None
    }

    /// The head of the loop that this line is in, when it goes over a collection: not a retry, a poll or a batch.
    pub(super) fn item_loop(&self) -> Option<&'a Line> {
        let head = self.enclosing(is_loop)?;
        // One page, batch or chunk is a collection; only going from one to the next is something else.
        let over_one = group!(
            &head.code,
            r"(?i)^(.*(?:\b(?:in|of|range)\s|:))\s*&?(?:page|batch|chunk)(?:\.\w+(?:\(\))?)?\s*(?:[:){]|$)"
        );
        let own = over_one.unwrap_or(&head.code);
        let repeated = found!(
            own,
            r"(?i)attempt|retr(y|ies)|\btries|while\s+true|while\s*\(\s*true|\bloop\b|page|cursor|offset|batch|chunk|await\s*\(|poll|range\(\s*\d+\s*\)"
        );
        (!repeated).then_some(head)
    }

    /// The line is in a test, as far as the patch shows.
    pub(super) fn in_test(&self) -> bool {
        self.file.is_test || self.file.tests_from.is_some_and(|from| from < self.at)
    }
}

/// Whether a path is one of tests or of their data.
pub(super) fn is_test_path(path: &str) -> bool {
    found!(
        path,
        r"(?i)(^|/)(tests?|spec|specs|__tests__|__mocks__|fixtures?|testdata|e2e|benches|examples?)/|(^|/)test_|_test\.|\.test\.|\.spec\.|_spec\.|(^|/)conftest\.|Tests?\.(java|kt|cs|swift)$"
    )
}

/// Whether a path is one of vendored or generated files.
pub(super) fn is_foreign_path(path: &str) -> bool {
    found!(
        path,
        r"(^|/)(vendor|node_modules|third_party|dist|build|generated)/|\.min\.|\.lock$|-lock\.|\.snap$|_pb2\.py$|\.pb\.go$"
    )
}

/// The width of the blank beginning.
pub(super) fn indentation(text: &str) -> usize {
    text.chars()
        .take_while(|c| c.is_whitespace())
        .map(|c| if c == '\t' { 4 } else { 1 })
        .sum()
}

/// What a loop over elements calls each of them.
pub(super) fn loop_variable(head: &str) -> Option<&str> {
    group!(
        head,
        r"\bfor\s*\(?\s*(?:(?:const|let|var|mut)\s+|&)*(\w+)\s+(?:in|of)\b"
    )
    .or_else(|| group!(head, r"\bfor\s*\(\s*(?:final\s+)?[\w<>.]+\s+(\w+)\s*:"))
    .or_else(|| group!(head, r"\bfor\s+\w+\s*,\s*(\w+)\s*:=\s*range\b"))
    .or_else(|| group!(head, r"\.forEach\(\s*(?:async\s+)?\(?(\w+)"))
}

fn is_loop(code: &str) -> bool {
    found!(
        code,
        r"^\s*(async\s+)?(for|while)\b[^;]*:\s*$|\b(for|foreach|while)\s*\(|^\s*(for|while|loop)\b.*\{\s*$|\.forEach\(|\.each\s+do\b"
    )
}

fn is_function(code: &str) -> bool {
    found!(
        code,
        r"^\s*(async\s+)?def\s|\bfn\s+\w|\bfunction\b|^\s*func\b|=>\s*\{?\s*$"
    )
}

/// Fills in [`Line::code`].
pub(super) fn code_views(file: &mut PatchFile) {
    let language = file.language();
    let mut hunk = 0;
    let mut docstring = None;
    let mut comment = false;
    for line in &mut file.lines {
        if line.hunk != hunk {
            (hunk, docstring, comment) = (line.hunk, None, false);
        }
        let trimmed = line.text.trim_start();
        line.code = if language == Language::Python && skip_docstring(trimmed, &mut docstring)
            || language.comment() == "//" && skip_block_comment(trimmed, &mut comment)
        {
            String::new()
        } else {
            code_view(language, &line.text)
        };
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

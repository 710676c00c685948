//! Doubts whether code that is quoted against a finding runs, by what its file alone shows.
//!
//! What the grammars take for code may be a comment or a text all the same: in a template, in a language whose grammar is wrong about
//! some of its texts, or in a part that is never built or reached. No list of all that is complete. So what is known is the other way
//! around: the languages whose lines are read right, and in them what makes a line doubtful. Everything else is for a person.

mod apart;
mod data;
mod dead;
mod markup;

use super::code_lines::{CodeLine, code_lines};

const OF_LANGUAGE: &str = "comments and texts of such a file cannot be separated from what runs";
const OF_TEMPLATE: &str = "its file has the marks of a template";
const IN_TEXT: &str = "it may stand in a text of several lines";
const BEHIND_TEXT: &str = "a text or a comment above it may end in another place than it seems";
const OF_PAGE: &str = "its file may also hold the text of a page";
const IN_MARKUP: &str = "it stands between the tags of a page";
const OF_BUILD: &str = "it is built only under a condition";
const OF_MACRO: &str = "it is part of a macro, which runs only where it is used";
const OF_CONSTANT: &str = "a condition that never changes stands with it or above it";
const BEHIND_EXIT: &str = "a statement before it in the same block leaves that block";

/// A language whose comments and texts can be separated from what runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    C,
    CSharp,
    /// Data in which no text goes over several lines, or in quotes only: JSON, TOML.
    Data,
    Docker,
    Go,
    /// Data of lines, with others that go on: `.ini`, `.properties`.
    Ini,
    Java,
    /// JavaScript, and TypeScript in which tags may stand.
    JavaScript,
    Kotlin,
    Make,
    Php,
    Python,
    Ruby,
    Rust,
    Shell,
    Swift,
    Terraform,
    TypeScript,
    Yaml,
}

impl Language {
    fn of(path: &str, text: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
        let language = match extension.to_ascii_lowercase().as_str() {
            "c" | "h" | "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" => Self::C,
            "cs" => Self::CSharp,
            "json" | "jsonc" | "json5" | "toml" => Self::Data,
            "dockerfile" => Self::Docker,
            "go" => Self::Go,
            "ini" | "cfg" | "properties" => Self::Ini,
            "java" => Self::Java,
            "js" | "mjs" | "cjs" | "jsx" | "tsx" => Self::JavaScript,
            "kt" | "kts" => Self::Kotlin,
            "mk" => Self::Make,
            "php" if stem.rsplit('.').next() != Some("blade") => Self::Php,
            "py" | "pyi" => Self::Python,
            "rb" | "rake" | "gemspec" | "ru" => Self::Ruby,
            "rs" => Self::Rust,
            "sh" | "bash" => Self::Shell,
            "swift" => Self::Swift,
            "tf" | "tofu" | "tfvars" | "hcl" => Self::Terraform,
            "ts" | "mts" | "cts" => Self::TypeScript,
            "yml" | "yaml" => Self::Yaml,
            _ if matches!(stem, "Dockerfile" | "Containerfile") => Self::Docker,
            "" => Self::of_name(name).or_else(|| Self::of_first_line(text))?,
            _ => return None,
        };
        Some(language)
    }

    fn of_name(name: &str) -> Option<Self> {
        match name {
            "Makefile" | "GNUmakefile" | "makefile" => Some(Self::Make),
            "Gemfile" | "Rakefile" => Some(Self::Ruby),
            _ => None,
        }
    }

    /// The language of the program that the first line names.
    fn of_first_line(text: &str) -> Option<Self> {
        let command = text.lines().next()?.strip_prefix("#!")?;
        let mut words = command
            .split(['/', ' '])
            .map(|word| word.trim_end_matches(['.', '3', '2']));
        words.find_map(|word| match word {
            "bash" | "sh" => Some(Self::Shell),
            "python" => Some(Self::Python),
            "ruby" => Some(Self::Ruby),
            "node" => Some(Self::JavaScript),
            _ => None,
        })
    }

    /// One language for all whose code runs in one program; nothing for data and configuration.
    const fn family(self) -> Option<Self> {
        match self {
            Self::Data | Self::Docker | Self::Ini | Self::Make | Self::Terraform | Self::Yaml => None,
            Self::JavaScript | Self::TypeScript => Some(Self::TypeScript),
            Self::Java | Self::Kotlin => Some(Self::Java),
            Self::C
            | Self::CSharp
            | Self::Go
            | Self::Php
            | Self::Python
            | Self::Ruby
            | Self::Rust
            | Self::Shell
            | Self::Swift => Some(self),
        }
    }

    /// Returns whether its files are often made from templates, whose marks mean nothing in the language itself.
    const fn may_be_template(self) -> bool {
        matches!(self, Self::Data | Self::Docker | Self::Ini | Self::Yaml)
    }

    /// Returns whether braces hold its blocks; in others the indentation shows them.
    const fn has_braces(self) -> bool {
        !matches!(self, Self::Python | Self::Ruby | Self::Shell)
    }

    /// Returns whether it has statements, of which one can keep others from being reached.
    const fn has_statements(self) -> bool {
        !self.may_be_template() && !matches!(self, Self::Make | Self::Terraform)
    }
}

/// Quoted lines in their file.
struct Quote<'a> {
    language: Language,
    /// All lines as they are written.
    written: Vec<&'a str>,
    /// The same without comments.
    lines: &'a [CodeLine],
    /// The index of the first quoted line.
    first: usize,
    /// The index behind the last one.
    end: usize,
}

impl Quote<'_> {
    /// All lines down to the last quoted one, as they are written.
    fn down_to_it(&self) -> &[&str] {
        &self.written[..self.end]
    }

    /// The code of a line without comments and without texts that began above it.
    fn code(&self, at: usize) -> &str {
        let line = &self.lines[at];
        if line.begins_in_text { &line.runs } else { &line.code }
    }

    fn is_blank(&self, at: usize) -> bool {
        self.code(at).trim().is_empty()
    }

    /// The nearest line above this one that is not blank.
    fn before(&self, at: usize) -> Option<usize> {
        (0..at).rev().find(|at| !self.is_blank(*at))
    }

    fn holds(&self, marks: &[&str]) -> bool {
        let has_mark = |line: &&str| marks.iter().any(|mark| line.contains(mark));
        self.down_to_it().iter().any(has_mark)
    }

    /// Why it is not certain that the lines run.
    fn doubt(&self) -> Option<&'static str> {
        if self.language.may_be_template() && self.written.iter().any(|line| has_template_mark(line)) {
            return Some(OF_TEMPLATE);
        }
        if self.is_in_odd_text() {
            return Some(IN_TEXT);
        }
        if self.language == Language::Php && self.may_be_page() {
            return Some(OF_PAGE);
        }
        if self.is_behind_odd_text() {
            return Some(BEHIND_TEXT);
        }
        if self.language == Language::JavaScript && markup::is_in_markup(self) {
            return Some(IN_MARKUP);
        }
        if dead::is_in_macro(self) {
            return Some(OF_MACRO);
        }
        if dead::is_built_on_condition(self) {
            return Some(OF_BUILD);
        }
        if !self.language.has_statements() {
            return None;
        }
        if dead::has_constant_condition(self) {
            return Some(OF_CONSTANT);
        }
        dead::is_behind_exit(self).then_some(BEHIND_EXIT)
    }

    fn is_in_odd_text(&self) -> bool {
        match self.language {
            Language::Yaml => data::is_in_yaml_text(self),
            Language::Ini => data::goes_on(self),
            Language::Data => self.holds(&["\"\"\"", "'''"]),
            Language::Docker => self.holds(&["<<"]),
            _ => false,
        }
    }

    /// Returns whether what stands here may be shown instead of run: only all of a file can be in PHP, from its first line on.
    fn may_be_page(&self) -> bool {
        let mut opening = self.written.iter().skip_while(|line| line.starts_with("#!"));
        let is_code = opening.next().is_some_and(|line| line.starts_with("<?php"));
        let has_halt = |line: &&str| line.to_ascii_lowercase().contains("__halt_compiler");
        !is_code || self.holds(&["?>"]) || self.down_to_it().iter().any(has_halt)
    }

    /// Returns whether a text or a comment stands above the lines whose end the grammars get wrong, or may.
    fn is_behind_odd_text(&self) -> bool {
        match self.language {
            Language::Java => self.has_odd_blocks() || self.down_to_it().iter().any(|line| has_escaped_sign(line)),
            Language::CSharp => self.has_odd_blocks() || (self.holds(&[BLOCK]) && self.holds(&["@\"", "@$\""])),
            Language::Swift => self.has_odd_blocks() || self.holds(&["#\"", "#/"]) || self.has_nested_comment(),
            Language::Kotlin => self.holds(&["\"\"\"\""]) || self.has_nested_comment(),
            Language::C => {
                let is_spliced = |line: &&str| line.trim_end().ends_with("/\\") || line.trim_end().ends_with("*\\");
                self.holds(&["??/"]) || self.down_to_it().iter().any(is_spliced)
            }
            Language::Ruby | Language::Shell => {
                let is_shell = self.language == Language::Shell;
                self.down_to_it().iter().any(|line| has_odd_heredoc(line, is_shell))
            }
            _ => false,
        }
    }

    /// Returns whether a text in three quotes may be another one than their count says.
    fn has_odd_blocks(&self) -> bool {
        let is_odd = |line: &&str| {
            ["\"\"\"\"", "\\\"", "//", "/*", "'\"'"]
                .iter()
                .any(|mark| line.contains(mark))
        };
        self.down_to_it().iter().filter(|line| line.contains(BLOCK)).any(is_odd)
    }

    /// Returns whether a comment stands in a comment, which goes on behind the end of the inner one.
    fn has_nested_comment(&self) -> bool {
        let mut is_open = false;
        for (line, read) in self.written.iter().zip(self.lines).take(self.end) {
            if read.code == line.trim_end() {
                // Without a comment in it.
                is_open &= read.code.is_empty();
                continue;
            }
            let mut rest = *line;
            loop {
                let marks = if is_open { ["/*", "*/"] } else { ["/*", "//"] };
                let found = marks.iter().filter_map(|mark| Some((rest.find(*mark)?, *mark)));
                let Some((at, mark)) = found.min() else {
                    break;
                };
                rest = &rest[at + mark.len()..];
                match mark {
                    "/*" if is_open => return true,
                    "/*" => is_open = true,
                    "*/" => is_open = false,
                    _ => break,
                }
            }
        }
        false
    }
}

/// Opens and closes a text of several lines.
const BLOCK: &str = "\"\"\"";

/// Why it is not certain that these lines of a file, counted from 1, run as they are read, and where code of the `accused` file does; none
/// where it is.
pub(crate) fn doubt_about(accused: &str, path: &str, text: &str, line: u32, end_line: u32) -> Option<&'static str> {
    let (Some(language), Some(lines)) = (Language::of(path, text), code_lines(path, text)) else {
        return Some(OF_LANGUAGE);
    };
    if let Some(doubt) = apart::doubt(accused, path, language) {
        return Some(doubt);
    }
    let index = |line: u32| usize::try_from(line).unwrap_or(usize::MAX);
    let quote = Quote {
        language,
        written: text.lines().collect(),
        lines: &lines,
        first: index(line).saturating_sub(1),
        end: index(end_line),
    };
    let length = quote.written.len().min(lines.len());
    if quote.first >= quote.end || quote.end > length {
        return Some(OF_LANGUAGE);
    }
    quote.doubt()
}

/// Returns whether a line holds what template engines look for. `${{` is an expression of a pipeline.
fn has_template_mark(line: &str) -> bool {
    let is_opening = |at: usize| !line[..at].ends_with('$');
    ["{%", "{#", "<%"].iter().any(|mark| line.contains(mark)) || line.match_indices("{{").any(|(at, _)| is_opening(at))
}

/// Returns whether a line of Java has a sign of code or of a comment as its number, which the language reads before all else.
fn has_escaped_sign(line: &str) -> bool {
    let mut behind = line.match_indices("\\u").map(|(at, mark)| &line[at + mark.len()..]);
    behind.any(|rest| {
        let number = rest.trim_start_matches('u');
        number.starts_with("00") && number[2..].starts_with(|digit: char| ('0'..='7').contains(&digit))
    })
}

/// Returns whether a text may begin behind this line that ends with more than a word. Blanks before its end are for shells only.
fn has_odd_heredoc(line: &str, is_shell: bool) -> bool {
    const GO_ON: [char; 9] = ['-', '.', '/', '$', '"', '\'', '\\', '+', ':'];
    let is_of_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
    line.match_indices("<<").any(|(at, mark)| {
        let end = line[at + mark.len()..].trim_start_matches(['-', '~']);
        let end = if is_shell { end.trim_start() } else { end };
        if let Some(quote) = end.chars().next().filter(|quote| matches!(quote, '"' | '\'' | '`')) {
            let name = end[1..].split(quote).next().unwrap_or_default();
            return name.is_empty() || !name.chars().all(is_of_word);
        }
        let word = end.trim_start_matches('\\');
        let behind = word.trim_start_matches(is_of_word);
        is_shell && behind.len() < word.len() && behind.starts_with(GO_ON)
    })
}

#[cfg(test)]
#[path = "certain_tests.rs"]
mod tests;

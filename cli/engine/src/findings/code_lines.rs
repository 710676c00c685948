//! Lines of a file by what a machine does with them: code, as opposed to comments, data in texts, and imports.
//!
//! Which is which is for a language's grammar to say: a rule by marks alone takes a bracket in a text for the end of a function, and a
//! line of a comment for a check.

use std::{
    collections::VecDeque,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use conclave_shared::path_kind::PathKind;
use syntect::{
    parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet},
    util::LinesWithEndings,
};

/// Files from this size on are not read, in bytes: a grammar takes its time.
const MAX_FILE: usize = 512 * 1024;
/// The same for the sum of the squares of the lines' lengths: an expression is tried at each place of a line, and can read on to its end.
/// Files that people write have some millions. One that is made to cost time takes 0.6 s at this bound, in an optimized build.
const MAX_WORK: usize = 40_000_000;
/// The files that are kept read: a judge quotes the same one several times, and each is read at base and at head.
const MAX_KEPT: usize = 8;

/// One line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodeLine {
    /// The line without its comments.
    pub(crate) code: String,
    /// The part of it that runs: nothing of an import, nor of a text that began on an earlier line.
    pub(crate) runs: String,
    /// True if it begins inside of such a text, where its indentation says nothing.
    pub(crate) begins_in_text: bool,
}

impl CodeLine {
    /// A line as it stands, of a file that cannot be read.
    pub(crate) fn unread(line: &str) -> Self {
        Self {
            code: line.trim_end().to_owned(),
            runs: String::new(),
            begins_in_text: false,
        }
    }
}

type Lines = Arc<[CodeLine]>;
/// The name of a grammar, a file's text, and its lines.
type Kept = (String, String, Lines);

/// The lines of a file; none if no grammar for it is known, if people do not write it, or if it is too large to be read.
pub(crate) fn code_lines(path: &str, content: &str) -> Option<Lines> {
    static KEPT: Mutex<VecDeque<Kept>> = Mutex::new(VecDeque::new());
    let kind = PathKind::of(path);
    let work = content.lines().map(|line| line.len().saturating_mul(line.len()));
    let is_too_large = content.len() > MAX_FILE || work.fold(0, usize::saturating_add) > MAX_WORK;
    if kind.noise.is_some() || is_too_large {
        return None;
    }
    let syntax = grammar(path, content)?;
    let kept = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let known = kept()
        .iter()
        .find_map(|(name, text, lines)| (*name == syntax.name && text == content).then(|| Arc::clone(lines)));
    if known.is_some() {
        return known;
    }
    let lines: Lines = Reader::new(syntax).lines(content)?.into();
    let mut kept = kept();
    kept.truncate(MAX_KEPT - 1);
    kept.push_front((syntax.name.clone(), content.to_owned(), Arc::clone(&lines)));
    Some(lines)
}

static GRAMMARS: LazyLock<SyntaxSet> = LazyLock::new(two_face::syntax::extra_newlines);

/// Scopes of grammars, by the beginnings of their names.
struct Scopes {
    comments: Vec<Scope>,
    texts: Vec<Scope>,
    heredocs: Vec<Scope>,
    imports: Vec<Scope>,
    exports: Scope,
    blocks: Scope,
    prose: Scope,
    yaml: Scope,
}

static SCOPES: LazyLock<Scopes> = LazyLock::new(|| {
    let scope = |name: &str| Scope::new(name).unwrap_or_default();
    let scopes = |names: &str| names.split_ascii_whitespace().map(scope).collect();
    Scopes {
        comments: scopes("comment"),
        texts: scopes("string meta.string text.plain source.sql"),
        heredocs: scopes("meta.string.heredoc string.unquoted.heredoc text.plain"),
        imports: scopes("meta.import meta.statement.import meta.preprocessor.include"),
        exports: scope("meta.export"),
        blocks: scope("meta.block"),
        prose: scope("text"),
        yaml: scope("source.yaml"),
    }
});

/// The beginnings of the scopes of what steers a machine. Others are for logs, mail and the like.
const CODE: [&str; 5] = ["source.", "embedding.", "text.html.", "text.xml", "text.haml"];
/// Scopes among those that do not.
const NO_CODE: [&str; 7] = [
    "source.diff",
    "source.gosum",
    "source.passwd",
    "source.group",
    "text.html.markdown",
    "text.html.mediawiki",
    "text.html.textile",
];

/// Extensions and names that the grammars do not know, or take for another language, and those that stand for them.
const ALIASES: [(&str, &str); 31] = [
    ("mjs", "js"),
    ("cjs", "js"),
    ("jsx", "tsx"),
    ("jsonc", "json"),
    ("json5", "json"),
    ("avsc", "json"),
    ("csproj", "xml"),
    ("vbproj", "xml"),
    ("plist", "xml"),
    ("xsl", "xml"),
    ("xslt", "xml"),
    ("psql", "sql"),
    ("ksh", "sh"),
    ("cu", "cpp"),
    ("ino", "cpp"),
    ("star", "py"),
    ("BUILD", "py"),
    ("WORKSPACE", "py"),
    ("s", "asm"),
    ("S", "asm"),
    ("fs", "fsx"),
    ("rbs", "rb"),
    ("njk", "jinja"),
    ("ejs", "html"),
    ("hbs", "html"),
    ("mustache", "html"),
    ("eex", "html.eex"),
    ("heex", "html.eex"),
    ("service", "ini"),
    ("conf", "ini"),
    ("Containerfile", "Dockerfile"),
];

fn grammar(path: &str, content: &str) -> Option<&'static SyntaxReference> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let known_as = |name: &str| {
        let alias = ALIASES
            .iter()
            .find_map(|(other, known)| (*other == name).then_some(*known));
        GRAMMARS.find_syntax_by_extension(alias.unwrap_or(name))
    };
    let lower = extension.to_ascii_lowercase();
    let found = match lower.as_str() {
        // A drawing is XML too. Of the others several languages have each, and the comments of one are the code of another.
        "svg" | "cls" | "pro" => None,
        "inc" => known_as("php").filter(|_| content.contains("<?php")),
        "m" if content.contains("@implementation") || content.contains("@interface") => known_as("m"),
        "m" => known_as("matlab"),
        "v" => known_as("v").filter(|_| content.contains("endmodule")),
        _ => known_as(name)
            .or_else(|| known_as(stem).filter(|_| matches!(stem, "Dockerfile" | "Containerfile")))
            .or_else(|| {
                known_as(extension)
                    .or_else(|| known_as(&lower))
                    .filter(|_| !extension.is_empty())
            })
            .or_else(|| GRAMMARS.find_syntax_by_first_line(content.lines().next()?)),
    }?;
    let scope = found.scope.to_string();
    let is_in = |beginnings: &[&str]| beginnings.iter().any(|beginning| scope.starts_with(beginning));
    (is_in(&CODE) && !is_in(&NO_CODE)).then_some(found)
}

/// Reads a file by a grammar.
struct Reader {
    state: ParseState,
    stack: ScopeStack,
    /// True if texts of several lines are where the code stands, as in a pipeline.
    texts_run: bool,
    /// True if the language has texts in three quotes that the grammar is too old for.
    lacks_blocks: bool,
    /// True while such a text is open.
    in_block: bool,
    /// The brackets that an import has opened, and not closed.
    import_depth: usize,
}

/// Opens and closes a text of several lines.
const BLOCK: &str = "\"\"\"";

impl Reader {
    fn new(syntax: &SyntaxReference) -> Self {
        Self {
            state: ParseState::new(syntax),
            stack: ScopeStack::new(),
            texts_run: syntax.scope == SCOPES.yaml,
            lacks_blocks: ["Java", "C#", "Swift"].contains(&syntax.name.as_str()),
            in_block: false,
            import_depth: 0,
        }
    }

    fn lines(mut self, content: &str) -> Option<Vec<CodeLine>> {
        let lines = LinesWithEndings::from(content);
        lines
            .map(|line| {
                if self.lacks_blocks {
                    self.line_with_blocks(line)
                } else {
                    self.line(line)
                }
            })
            .collect()
    }

    /// A line of a language with texts that the grammar does not know: it is given what stands outside of them.
    fn line_with_blocks(&mut self, line: &str) -> Option<CodeLine> {
        let before = line.split(BLOCK).next().unwrap_or_default();
        let is_comment = before.contains("//") || self.is_in(&SCOPES.comments);
        if !self.in_block && (before.len() == line.len() || is_comment) {
            return self.line(line);
        }
        let begins_in_text = self.in_block;
        let mut outside = String::new();
        for (at, part) in line.trim_end().split(BLOCK).enumerate() {
            self.in_block ^= at > 0;
            if !self.in_block {
                outside.push_str(part);
            }
        }
        let read = self.line(&format!("{outside}\n"))?;
        Some(CodeLine {
            code: line.trim_end().to_owned(),
            runs: read.runs,
            begins_in_text,
        })
    }

    fn line(&mut self, line: &str) -> Option<CodeLine> {
        let operations = self.state.parse_line(line, &GRAMMARS).ok()?;
        let mut begins_in_text = self.is_in(&SCOPES.texts) && !self.texts_run;
        let mut still_in_text = begins_in_text;
        let mut is_beginning = true;
        let (mut code, mut runs) = (String::new(), String::new());
        let mut add = |reader: &Self, part: &str| {
            if part.is_empty() {
                return;
            }
            // Some grammars open such a text where its first line begins, not where the line before it ends.
            if is_beginning && reader.is_in(&SCOPES.heredocs) {
                (begins_in_text, still_in_text) = (true, true);
            }
            is_beginning = false;
            still_in_text &= reader.is_in(&SCOPES.texts);
            if reader.is_in(&SCOPES.comments) {
                return;
            }
            code.push_str(part);
            if !still_in_text && !reader.only_names(part) {
                runs.push_str(part);
            }
        };
        let mut from = 0;
        for (at, operation) in &operations {
            add(self, line.get(from..*at)?);
            from = *at;
            self.stack.apply(operation).ok()?;
        }
        add(self, line.get(from..)?);
        if self.is_of_import(&runs) {
            runs.clear();
        }
        Some(CodeLine {
            code: code.trim_end().to_owned(),
            runs: runs.trim_end().to_owned(),
            begins_in_text,
        })
    }

    fn is_in(&self, scopes: &[Scope]) -> bool {
        let is_one = |own: &Scope| scopes.iter().any(|scope| scope.is_prefix_of(*own));
        // The first one is the language.
        self.stack.as_slice().iter().skip(1).any(is_one)
    }

    /// Returns whether what stands here only makes names known, or is text for people in a page.
    fn only_names(&self, part: &str) -> bool {
        let scopes = self.stack.as_slice();
        let mut pairs = scopes.iter().zip(scopes.iter().skip(1));
        let is_export =
            pairs.any(|(outer, inner)| SCOPES.exports.is_prefix_of(*outer) && SCOPES.blocks.is_prefix_of(*inner));
        let is_prose = matches!(scopes, [only] if SCOPES.prose.is_prefix_of(*only));
        let holds = |marks: &[&str]| marks.iter().any(|mark| part.contains(mark));
        let is_template = holds(&["{{", "{%", "<%", "${"]) && !holds(&["{{!", "<%#"]);
        is_export || (is_prose && !is_template) || self.is_in(&SCOPES.imports)
    }

    /// Returns whether a line is an import or goes on with one.
    fn is_of_import(&mut self, code: &str) -> bool {
        let code = code.trim_start();
        let goes_on = self.import_depth > 0 || LISTS.iter().any(|beginning| code.starts_with(beginning));
        if goes_on {
            let count = |brackets: [char; 2]| code.matches(brackets).count();
            self.import_depth = (self.import_depth + count(['(', '{'])).saturating_sub(count([')', '}']));
        }
        goes_on || is_import(code)
    }
}

/// The beginnings of imports that may go on over several lines in brackets.
const LISTS: [&str; 7] = [
    "import ",
    "from ",
    "use ",
    "pub use ",
    "export {",
    "export type {",
    "alias ",
];

/// Returns whether a line only makes names of other files known: it says nothing of what happens to anything.
pub(crate) fn is_import(code: &str) -> bool {
    const BEGINNINGS: [&str; 12] = [
        "import(",
        "using ",
        "#include",
        "require ",
        "require('",
        "require(\"",
        "package ",
        "module ",
        "extern crate ",
        "source ",
        "export *",
        "__import__(",
    ];
    const ANYWHERE: [&str; 5] = [
        "= require",
        "= import(",
        "= await import(",
        "= __import__(",
        "import_module(",
    ];
    let mut beginnings = LISTS.iter().chain(&BEGINNINGS);
    ANYWHERE.iter().any(|mark| code.contains(mark)) || beginnings.any(|beginning| code.starts_with(beginning))
}

#[cfg(test)]
#[path = "code_lines_tests.rs"]
mod tests;

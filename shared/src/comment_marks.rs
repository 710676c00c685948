//! The marks of comments, by a file's path.

use crate::path_kind::language;

/// How the language of a file marks its comments.
#[derive(Debug, PartialEq, Eq)]
pub struct CommentMarks {
    /// Marks of comments that go to the end of the line.
    pub line: &'static [&'static str],
    /// Marks that begin such a comment in some places or dialects only. What is taken for code must not stand behind one,
    /// and what excuses itself as a comment cannot rest on one.
    pub perhaps: &'static [&'static str],
    /// The beginnings and ends of comments of several lines.
    pub block: &'static [(&'static str, &'static str)],
}

impl CommentMarks {
    /// The marks in files of this name.
    pub fn of(path: &str) -> &'static Self {
        match language(path).as_str() {
            "rs" | "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "m" | "mm" | "cs" | "java" | "kt" | "kts" | "js"
            | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" | "go" | "swift" | "scala" | "dart" | "groovy"
            | "gradle" | "proto" | "css" | "scss" | "less" | "sol" | "zig" => &SLASHES,
            "php" | "tf" | "tfvars" | "hcl" => &SLASHES_AND_HASHES,
            "py" | "pyi" | "pyx" | "rb" | "sh" | "bash" | "zsh" | "fish" | "yml" | "yaml" | "toml" | "pl" | "pm"
            | "r" | "conf" | "cfg" | "properties" | "env" | "nix" | "ex" | "exs" | "ps1" | "jl" | "cmake"
            | "graphql" | "gql" | "mk" | "bzl" | "txt" | "cr" | "tcl" | "dockerfile" | "makefile" | "gemfile"
            | "rakefile" | "procfile" => &HASHES,
            "sql" | "lua" | "hs" | "elm" | "ada" | "adb" | "ads" => &DASHES,
            "html" | "htm" | "vue" | "svelte" => &MARKUP_AND_CODE,
            "xml" | "svg" | "xhtml" => &MARKUP,
            "ini" | "lisp" | "cl" | "clj" | "cljs" | "el" | "scm" | "asm" | "s" => &SEMICOLONS,
            "tex" | "erl" | "hrl" => &PERCENTS,
            "json5" | "jsonc" => &LENIENT_JSON,
            "json" => &NONE,
            _ => &UNKNOWN,
        }
    }
}

const NONE: CommentMarks = CommentMarks {
    line: &[],
    perhaps: &[],
    block: &[],
};
const SLASHES: CommentMarks = CommentMarks {
    line: &["//"],
    block: &[("/*", "*/")],
    ..NONE
};
const SLASHES_AND_HASHES: CommentMarks = CommentMarks {
    line: &["//", "#"],
    ..SLASHES
};
const LENIENT_JSON: CommentMarks = CommentMarks {
    perhaps: &["#"],
    ..SLASHES
};
const HASHES: CommentMarks = CommentMarks {
    line: &["#"],
    block: &[("\"\"\"", "\"\"\""), ("'''", "'''")],
    ..NONE
};
const DASHES: CommentMarks = CommentMarks {
    line: &["--"],
    block: &[("/*", "*/"), ("--[[", "]]"), ("{-", "-}")],
    ..NONE
};
const MARKUP: CommentMarks = CommentMarks {
    block: &[("<!--", "-->")],
    ..NONE
};
/// Outside of scripts, `//` is a part of an address.
const MARKUP_AND_CODE: CommentMarks = CommentMarks {
    perhaps: &["//"],
    block: &[("<!--", "-->"), ("/*", "*/")],
    ..NONE
};
const SEMICOLONS: CommentMarks = CommentMarks {
    line: &[";"],
    perhaps: &["#"],
    ..NONE
};
const PERCENTS: CommentMarks = CommentMarks { line: &["%"], ..NONE };
const UNKNOWN: CommentMarks = CommentMarks {
    perhaps: &["//", "#", "--", ";", "%"],
    block: &[("/*", "*/"), ("<!--", "-->")],
    ..NONE
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_those_of_the_language_and_sure_only_where_they_are() {
        for (path, line, perhaps) in [
            ("src/a.rs", &["//"][..], &[][..]),
            ("deploy/Dockerfile", &["#"], &[]),
            ("a.adb", &["--"], &[]),
            ("a.lisp", &[";"], &["#"]),
            ("index.html", &[], &["//"]),
            ("a.json", &[], &[]),
            ("a.qqq", &[], &["//", "#", "--", ";", "%"]),
        ] {
            let marks = CommentMarks::of(path);
            assert_eq!((marks.line, marks.perhaps), (line, perhaps), "{path}");
        }
    }
}

//! Lines of a file without their comments: what a machine runs, as opposed to what the file says of itself.

/// File name endings of prose. Words are no proof about code.
const PROSE: [&str; 8] = ["md", "markdown", "txt", "rst", "adoc", "asciidoc", "org", "mdx"];

/// Files that end like prose and are read by tools.
const READ_BY_TOOLS: [&str; 2] = ["cmakelists.txt", "robots.txt"];

/// Names of files without an ending that hold prose.
const PROSE_NAMES: [&str; 6] = ["readme", "license", "changelog", "authors", "notice", "copying"];

/// Whether the file holds prose, by its name.
pub(super) fn is_prose(path: &str) -> bool {
    let name = file_name(path);
    let parts = name.rsplit_once('.');
    let is_requirements = parts.is_some_and(|(stem, ending)| stem.starts_with("requirements") && ending == "txt");
    if READ_BY_TOOLS.contains(&name.as_str()) || is_requirements {
        return false;
    }
    match parts {
        Some((_, ending)) => PROSE.contains(&ending),
        None => PROSE_NAMES.contains(&name.as_str()),
    }
}

fn file_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase()
}

/// How a language marks its comments.
struct Syntax {
    line: &'static [&'static str],
    block: &'static [(&'static str, &'static str)],
}

const SLASHES: Syntax = Syntax {
    line: &["//"],
    block: &[("/*", "*/")],
};
const HASHES: Syntax = Syntax {
    line: &["#"],
    block: &[("\"\"\"", "\"\"\""), ("'''", "'''")],
};
const DASHES: Syntax = Syntax {
    line: &["--"],
    block: &[("/*", "*/"), ("--[[", "]]"), ("{-", "-}")],
};
const MARKUP: Syntax = Syntax {
    line: &[],
    block: &[("<!--", "-->")],
};
const MARKUP_AND_CODE: Syntax = Syntax {
    line: &["//"],
    block: &[("<!--", "-->"), ("/*", "*/")],
};
const SLASHES_AND_HASHES: Syntax = Syntax {
    line: &["//", "#"],
    block: &[("/*", "*/")],
};
const SEMICOLONS: Syntax = Syntax {
    line: &[";", "#"],
    block: &[],
};
const PERCENTS: Syntax = Syntax {
    line: &["%"],
    block: &[],
};
/// For what is not known: what any of them marks.
const ANY: Syntax = Syntax {
    line: &["//", "#", "--", ";", "%"],
    block: &[("/*", "*/"), ("<!--", "-->")],
};

fn syntax(path: &str) -> &'static Syntax {
    let name = file_name(path);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending {
        "rs" | "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "m" | "mm" | "cs" | "java" | "kt" | "kts" | "js" | "mjs"
        | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" | "go" | "swift" | "scala" | "dart" | "groovy" | "gradle"
        | "proto" | "css" | "scss" | "less" | "sol" | "zig" => &SLASHES,
        "php" | "tf" | "tfvars" | "hcl" | "json5" | "jsonc" => &SLASHES_AND_HASHES,
        "py" | "pyi" | "pyx" | "rb" | "sh" | "bash" | "zsh" | "fish" | "yml" | "yaml" | "toml" | "pl" | "pm" | "r"
        | "conf" | "cfg" | "properties" | "env" | "nix" | "ex" | "exs" | "ps1" | "jl" | "cmake" | "graphql" | "gql"
        | "mk" | "bzl" | "txt" | "cr" | "tcl" => &HASHES,
        "sql" | "lua" | "hs" | "elm" | "ada" | "adb" => &DASHES,
        "html" | "htm" | "vue" | "svelte" => &MARKUP_AND_CODE,
        "xml" | "svg" | "xhtml" => &MARKUP,
        "ini" | "lisp" | "cl" | "clj" | "cljs" | "el" | "scm" | "asm" | "s" => &SEMICOLONS,
        "tex" | "erl" | "hrl" => &PERCENTS,
        // Has none.
        "json" => &Syntax { line: &[], block: &[] },
        _ if matches!(
            name.as_str(),
            "dockerfile" | "makefile" | "gemfile" | "rakefile" | "procfile"
        ) =>
        {
            &HASHES
        }
        _ => &ANY,
    }
}

/// The lines of the file, each without what is a comment.
pub(super) fn code_lines(path: &str, content: &str) -> Vec<String> {
    let syntax = syntax(path);
    let mut inside: Option<&str> = None;
    content.lines().map(|line| code_of(line, syntax, &mut inside)).collect()
}

/// One line without what is a comment. `inside` is the end of a comment that is still open.
fn code_of(line: &str, syntax: &Syntax, inside: &mut Option<&'static str>) -> String {
    let mut code = String::new();
    let mut rest = line;
    while !rest.is_empty() {
        if let Some(end) = *inside {
            let Some(at) = rest.find(end) else {
                return code;
            };
            rest = &rest[at + end.len()..];
            *inside = None;
            continue;
        }
        // Three quotes begin a description only where nothing stands before them; else they hold data.
        let opens = |(open, _): &&(&str, &str)| {
            rest.starts_with(open) && (open.starts_with(['"', '\'']) <= code.trim().is_empty())
        };
        if let Some((open, end)) = syntax.block.iter().find(opens) {
            *inside = Some(end);
            rest = &rest[open.len()..];
            continue;
        }
        if syntax.line.iter().any(|mark| begins_comment(rest, mark, &code)) {
            return code;
        }
        let length = text_length(rest).unwrap_or_else(|| rest.chars().next().map_or(1, char::len_utf8));
        code.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    code
}

fn begins_comment(rest: &str, mark: &str, before: &str) -> bool {
    let Some(behind) = rest.strip_prefix(mark) else {
        return false;
    };
    match mark {
        // `$#`, `a#b` and attributes are none.
        "#" => (before.is_empty() || before.ends_with(char::is_whitespace)) && !behind.starts_with('['),
        "--" | ";" | "%" => before.trim().is_empty() || (mark == "--" && before.ends_with(char::is_whitespace)),
        _ => true,
    }
}

/// How long a text in quotes is that begins here and ends on the same line.
fn text_length(rest: &str) -> Option<usize> {
    let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\'' | '`'))?;
    let mut escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(path: &str, content: &str) -> Vec<String> {
        code_lines(path, content)
            .into_iter()
            .map(|line| line.trim_end().to_owned())
            .collect()
    }

    #[test]
    fn comments_are_taken_out_in_the_language_of_the_file() {
        for (path, content, expected) in [
            ("a.py", "# a\nx = 1  # b\ny = \"# c\"", vec!["", "x = 1", "y = \"# c\""]),
            (
                "a.py",
                "\"\"\"The caller\nchecks this.\n\"\"\"\nq = \"\"\"SELECT\n\"\"\"",
                vec!["", "", "", "q = \"\"\"SELECT", ""],
            ),
            ("a.rs", "// a\n/* b\nc */ let x = 1; // d", vec!["", "", " let x = 1;"]),
            (
                "a.rs",
                "#[derive(Debug)]\nlet u = \"http://x\";",
                vec!["#[derive(Debug)]", "let u = \"http://x\";"],
            ),
            ("a.c", "#include <x.h>\n*p = 1;", vec!["#include <x.h>", "*p = 1;"]),
            ("a.sql", "-- a\nSELECT 1 -- b", vec!["", "SELECT 1"]),
            ("a.html", "<p>a</p><!-- b\nc --><p>d</p>", vec!["<p>a</p>", "<p>d</p>"]),
            ("a.sh", "echo $# # count", vec!["echo $#"]),
            ("Dockerfile", "# a\nRUN x", vec!["", "RUN x"]),
            ("a.unknown", "// a\n# b\n-- c\ncode", vec!["", "", "", "code"]),
        ] {
            assert_eq!(code(path, content), expected, "{path}: {content}");
        }
    }

    #[test]
    fn prose_is_told_from_files_that_tools_read() {
        for path in ["README.md", "docs/a.rst", "LICENSE", "notes.txt"] {
            assert!(is_prose(path), "{path}");
        }
        for path in ["requirements-dev.txt", "CMakeLists.txt", "src/readme.py", "Makefile"] {
            assert!(!is_prose(path), "{path}");
        }
    }
}

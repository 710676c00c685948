//! Code quality: what was left behind.

use crate::demo::finding::Finding;
use crate::demo::finding::Severity::Suggestion;
use crate::demo::language::{Language, is_foreign_path, is_test_path};
use crate::demo::patch::{Line, PatchFile};
use crate::demo::pattern::{found, group};
use crate::demo::rule::{Change, Rule, Scope, run};
use crate::demo::spot::Spot;

const RULES: &[Rule] = &[
    Rule {
        category: "debug-output",
        severity: Suggestion,
        confidence: 0.86,
        scope: Scope::Code,
        claim: "The debugging aid `{}` was left in.",
        scenario: "It runs in production: noise in the output, or a process that stops and waits.",
        fix: "Remove it, or use the logger.",
        check: debug_output,
    },
    Rule {
        category: "commented-out-code",
        severity: Suggestion,
        confidence: 0.82,
        scope: Scope::Code,
        claim: "Code is commented out instead of removed.",
        scenario: "The next reader has to find out whether it is still needed; version control already keeps it.",
        fix: "Remove the lines.",
        check: |spot| commented_out(spot).then(String::new),
    },
    Rule {
        category: "todo-without-issue",
        severity: Suggestion,
        confidence: 0.8,
        scope: Scope::Code,
        claim: "The {} names no issue, so nobody is going to find it.",
        scenario: "The work is forgotten as soon as this is merged.",
        fix: "Open an issue and name it here.",
        check: bare_todo,
    },
    Rule {
        category: "unfinished-code",
        severity: Suggestion,
        confidence: 0.84,
        scope: Scope::Code,
        claim: "`{}` stands for code that is not written yet.",
        scenario: "Whoever gets here gets a crash.",
        fix: "Write it, or leave the path out.",
        check: |spot| {
            let code = spot.code();
            let rust = || group!(code, r"\b(todo!|unimplemented!)\(");
            let other = || {
                group!(
                    spot.text(),
                    r#"(?i)\b(?:throw new Error|panic|raise NotImplementedError)\(\s*["'](todo|not implemented|unimplemented)"#
                )
            };
            let name = if spot.language() == Language::Rust {
                rust()
            } else {
                other()
            };
            name.map(str::to_owned)
        },
    },
    Rule {
        category: "suppressed-check",
        severity: Suggestion,
        confidence: 0.81,
        scope: Scope::Code,
        claim: "`{}` silences a check without a reason.",
        scenario: "The error that it hides, and every later one on the line, goes unseen.",
        fix: "Fix the cause, or write the reason beside it.",
        check: |spot| {
            group!(
                spot.text(),
                r"(?://|/\*)\s*(@ts-ignore|@ts-nocheck|eslint-disable)\s*(?:\*/)?\s*$"
            )
            .or_else(|| group!(spot.text(), r"#\s*(type:\s*ignore|noqa|pylint:\s*disable=all)\s*$"))
            .map(str::to_owned)
        },
    },
];

const COPY_LINES: usize = 6;

pub(super) fn findings(change: &Change) -> Vec<Finding> {
    let mut findings = run(RULES, change);
    let files = || {
        change
            .files
            .iter()
            .filter(|file| file.language().is_code() && !is_test_path(&file.path) && !is_foreign_path(&file.path))
    };
    findings.extend(files().filter_map(unused_import));
    let all: Vec<&PatchFile> = files().collect();
    findings.extend(copied_block(&all));
    findings
}

fn debug_output(spot: &Spot) -> Option<String> {
    let code = spot.code();
    let program = found!(
        &spot.file.path,
        r"(?i)(^|/)(bin|cli|scripts?|tools?|cmd|bench)(/|\.)|(^|/)(cli|main|gulpfile|setup)\.|config\."
    );
    match spot.language() {
        Language::JavaScript if program => group!(code, r"^\s*(debugger)\s*;?\s*$"),
        Language::JavaScript => group!(code, r"^\s*(console\.(?:log|debug|dir|trace))\(|^\s*debugger\s*;?\s*$"),
        Language::Rust => group!(code, r"\b(dbg!)\("),
        Language::Python => group!(code, r"\b(breakpoint|i?pdb\.set_trace)\(").or_else(|| {
            found!(spot.text(), r#"^\s*print\(\s*f?["'](?i:debug|here|xxx|>>>|\{\w+=\})"#).then_some("print")
        }),
        Language::Php => group!(code, r"\b(var_dump|print_r)\("),
        Language::Ruby => group!(code, r"\b(binding\.pry|byebug)\b"),
        Language::Go => group!(spot.text(), r#"\b(fmt\.Print(?:ln|f))\(\s*"(?i:debug|here|xxx)"#),
        _ => None,
    }
    .map(str::to_owned)
}

fn commented_out(spot: &Spot) -> bool {
    let is_code_comment = |line: &Line| line.added && is_comment_of_code(spot.language(), &line.text);
    // Two lines in a row, reported at the first.
    is_code_comment(spot.line()) && spot.after(1).any(is_code_comment) && !spot.before(1).any(is_code_comment)
}

fn is_comment_of_code(language: Language, text: &str) -> bool {
    match language {
        Language::Python | Language::Ruby => found!(
            text,
            r"^\s*#\s*(\w[\w.]*\s*(=|\+=)\s*\S|\w[\w.]*\([^)]*\)\s*$|(if|for|while|def|elif|with)\b.*:\s*$|return\b\s+[\w.(\[]+\s*$|import\s+\w+\s*$|from\s+\S+\s+import\b)"
        ),
        Language::Shell => false,
        _ => {
            found!(
                text,
                r"^\s*//\s*(\S.*[;{]\s*$|\}\s*(else\b.*)?$|(const|let|var)\s+\w+\s*=|import\s.*\bfrom\b)"
            ) && !found!(text, r"^\s*//[/!]")
        }
    }
}

fn bare_todo(spot: &Spot) -> Option<String> {
    let text = spot.text();
    let comment = found!(text, r"(#|//|/\*|--|^\s*\*)\s*.*\b(TODO|FIXME|HACK)\b");
    let named = found!(
        text,
        r"#\d+|\b[A-Z][A-Z0-9]+-\d+\b|https?://|(TODO|FIXME|HACK)\s*\([^)]+\)"
    );
    if !comment || named || spot.code().contains("TODO") {
        return None;
    }
    group!(text, r"\b(TODO|FIXME|HACK)\b").map(str::to_owned)
}

/// An import that a new file never uses: only there does the patch show the whole file.
fn unused_import(file: &PatchFile) -> Option<Finding> {
    if !file.is_new || file.path.ends_with("__init__.py") {
        return None;
    }
    let (line, name) = file.lines.iter().enumerate().find_map(|(at, line)| {
        let name = imported(file.language(), &line.text)?;
        let used = file.lines.iter().enumerate().any(|(other, line)| {
            other != at
                && line
                    .text
                    .split(|c: char| !c.is_alphanumeric() && c != '_')
                    .any(|word| word == name)
        });
        (!used).then(|| (line, name.to_owned()))
    })?;
    Some(Finding {
        claim: format!("`{name}` is imported but never used in this new file."),
        scenario: "The reader looks for a use that does not exist, and linters fail.".to_owned(),
        fix: "Remove the import.".to_owned(),
        confidence: 0.9,
        checked: format!("The whole of {}, which is new in this change.", file.path),
        ..Finding::on(file, line, Suggestion, "unused-import")
    })
}

fn imported(language: Language, text: &str) -> Option<&str> {
    if found!(text, r"noqa|__future__|eslint-disable|\bas\s+_") {
        return None;
    }
    match language {
        Language::Python => {
            group!(text, r"^import\s+(\w+)\s*$").or_else(|| group!(text, r"^from\s+\S+\s+import\s+(\w+)\s*$"))
        }
        Language::JavaScript => group!(text, r"^import\s+\{\s*(\w+)\s*\}\s+from\b").filter(|name| *name != "React"),
        _ => None,
    }
}

/// The first block that is added twice.
fn copied_block(files: &[&PatchFile]) -> Option<Finding> {
    let mut seen: std::collections::HashMap<String, (&str, usize)> = std::collections::HashMap::new();
    for file in files {
        for (at, window) in file.lines.windows(COPY_LINES).enumerate() {
            let whole = window.iter().all(|line| line.added && line.hunk == window[0].hunk);
            let telling = window.iter().filter(|line| line.code.trim().len() >= 12).count();
            if !whole || telling < COPY_LINES {
                continue;
            }
            let key: Vec<&str> = window.iter().map(|line| line.text.trim()).collect();
            let Some(&(path, number)) = seen.get(&key.join("\n")) else {
                seen.insert(key.join("\n"), (&file.path, window[0].number));
                continue;
            };
            if path == file.path && window[0].number < number + COPY_LINES {
                continue;
            }
            return Some(Finding {
                claim: format!("These lines are a copy of {path}, line {number} and following."),
                scenario: "A fix in one of the two copies leaves the other one wrong.".to_owned(),
                fix: "Move the lines into one function and call it twice.".to_owned(),
                confidence: 0.85,
                ..Finding::on(file, &file.lines[at], Suggestion, "duplicated-code")
            });
        }
    }
    None
}

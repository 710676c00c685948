//! Places in which code of a finding cannot run any more: documents, and comments of code.
//!
//! Who mends a line may keep the old one in a comment, or quote it in a decision record. What is a comment is for a language's grammar to
//! say; where none is known, what stands there counts as code. None of this holds for serious findings: what looks like a comment can be
//! run (`// \u000a eval(x);` in Java, `/*! … */` in SQL), a document can be included, and a grammar can be wrong.

use conclave_shared::path_kind::PathKind;

use super::{Lines, anchors::index};
use crate::{
    diff::{ChangeKind, FileDiff},
    findings::code_lines,
    review::{Anchor, CONTEXT_FILE, FindingRecord},
};

/// Beginnings of words for what harms wherever it stands, and for findings that are about comments themselves.
const NOT_OF_RUNNING: [&str; 21] = [
    "secret",
    "credential",
    "passw",
    "token",
    "key",
    "hardcoded",
    "hard-coded",
    "private",
    "personal",
    "pii",
    "leak",
    "licen",
    "comment",
    "doc",
    "directive",
    "annotation",
    "pragma",
    "suppress",
    "nosec",
    "noqa",
    "ignore",
];

/// Returns whether a finding is about what its code does when it runs, as far as its words tell. `own` is the file that it was in.
fn is_of_running(record: &FindingRecord, own: &str) -> bool {
    let is_of_words = record.anchor.as_ref().is_some_and(Anchor::is_of_words);
    let told = format!("{} {}", record.category, record.claim).to_lowercase();
    let mut words = told.split(|character: char| !(character.is_alphanumeric() || character == '-'));
    let names_other = words.any(|word| {
        let mut parts = std::iter::once(word).chain(word.split('-'));
        parts.any(|part| NOT_OF_RUNNING.iter().any(|begin| part.starts_with(begin)))
    });
    own != CONTEXT_FILE && !is_of_words && !is_document(own) && !names_other
}

/// Returns whether a file of this path is for people alone.
fn is_document(path: &str) -> bool {
    let kind = PathKind::of(path);
    kind.is_prose() && !kind.may_run()
}

/// A file at head in which code of a finding stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standing<'a> {
    /// The file that the code was in.
    pub(super) own: &'a str,
    /// The path of the file that it stands in.
    pub(super) path: &'a str,
    /// That file in the change.
    pub(super) file: Option<&'a FileDiff>,
    /// Its text.
    pub(super) text: &'a str,
}

/// Returns whether code of this finding that stands in this line cannot run there although it could where it was.
pub(super) fn is_inert(record: &FindingRecord, standing: Standing<'_>, line: u32) -> bool {
    let Standing { own, path, file, text } = standing;
    if record.is_serious() || !is_of_running(record, own) {
        return false;
    }
    if is_document(path) {
        // What ran under its old name may run under the new one.
        return !file.is_some_and(|file| file.kind == ChangeKind::Renamed && file.old_path == own);
    }
    let length = record.end_line.map_or(1, |end| end.saturating_sub(record.line) + 1);
    is_comment(path, text, line, length) && !was_comment(record, path, text, line, length)
}

/// Returns whether all that stands in these lines is a comment.
fn is_comment(path: &str, text: &str, line: u32, length: u32) -> bool {
    // MySQL runs such a comment.
    if text.contains("/*!") {
        return false;
    }
    let Some(lines) = code_lines(path, text) else {
        return false;
    };
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let mut own = lines.iter().skip(index(line)).take(length).peekable();
    own.peek().is_some() && own.all(|line| line.code.trim().is_empty())
}

/// Returns whether these lines are those of the finding to their whole, and are a comment by themselves: then they were one before.
fn was_comment(record: &FindingRecord, path: &str, text: &str, line: u32, length: u32) -> bool {
    let lines = Lines::new(text);
    let end_line = line.saturating_add(length - 1);
    let is_same = Anchor::of(&lines, line, Some(end_line)).is_some_and(|now| {
        let own = record.anchor.as_ref();
        own.is_some_and(|own| own.is_same_code(&now))
    });
    let alone = lines.excerpt(line, usize::try_from(length).unwrap_or(usize::MAX));
    is_same && is_comment(path, &alone, 1, length)
}

#[cfg(test)]
mod tests {
    use conclave_shared::severity::Severity;

    use super::*;
    use crate::incremental::test_support::fresh;

    /// Returns whether a warning about this line of code is inert in this line of a text.
    fn inert(code: &str, path: &str, text: &str, line: u32, claim: &str) -> bool {
        is_inert_as(Severity::Warning, code, (path, text, line), claim)
    }

    fn is_inert_as(severity: Severity, code: &str, (path, text, line): (&str, &str, u32), claim: &str) -> bool {
        let mut record = FindingRecord::new(&fresh("F1", severity, "e"), "1111111111");
        (record.file, record.line) = ("src/pay.ts".to_owned(), 1);
        claim.clone_into(&mut record.claim);
        record.anchor = Anchor::of(&Lines::new(code), 1, None);
        let standing = Standing {
            own: "src/pay.ts",
            path,
            file: None,
            text,
        };
        is_inert(&record, standing, line)
    }

    const CODE: &str = "db.run(\"DELETE FROM a WHERE id = \" + order.id);";
    const CLAIM: &str = "The order id is concatenated into the DELETE of table a.";

    #[test]
    fn code_in_a_comment_or_a_document_is_inert() {
        for (path, text, line) in [
            ("src/pay.ts", format!("// was: {CODE}\nsafe();\n"), 1),
            ("src/pay.ts", format!("/*\n{CODE}\n*/\nsafe();\n"), 2),
            ("src/pay.py", format!("# {CODE}\nsafe()\n"), 1),
            ("docs/adr.md", format!("No more:\n\n```ts\n{CODE}\n```\n"), 4),
            ("README.md", format!("{CODE}\n"), 1),
        ] {
            assert!(inert(CODE, path, &text, line, CLAIM), "{path}: {text}");
            let is_serious_one = is_inert_as(Severity::Critical, CODE, (path, &text, line), CLAIM);
            assert!(!is_serious_one, "{path}: {text}");
        }
    }

    #[test]
    fn what_may_run_or_harms_wherever_it_stands_is_not_inert() {
        for (path, text, line) in [
            ("src/pay.ts", format!("{CODE} // was\n"), 1),
            ("src/pay.ts", format!("\"/*\"\n{CODE}\n\"*/\"\n"), 2),
            ("test/fixtures/bad.ts", format!("{CODE}\n"), 1),
            ("AGENTS.md", format!("{CODE}\n"), 1),
            ("src/pay.unknown", format!("// {CODE}\n"), 1),
            ("db/a.sql", format!("/*!50000\n{CODE}\n*/\n"), 2),
        ] {
            assert!(!inert(CODE, path, &text, line, CLAIM), "{path}: {text}");
        }
        let secret = "The password of the database is written in the code.";
        assert!(!inert(CODE, "docs/adr.md", CODE, 1, secret));
        let comment = "// eslint-disable-next-line no-eval";
        assert!(!inert(comment, "src/pay.ts", &format!("x();\n{comment}\n"), 2, CLAIM));
    }
}

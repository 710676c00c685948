//! Documentation: texts that the change makes untrue.

use crate::demo::finding::Finding;
use crate::demo::finding::Severity::{Suggestion, Warning};
use crate::demo::language::{Language, is_foreign_path, is_test_path};
use crate::demo::patch::{Line, PatchFile};
use crate::demo::pattern::{compile, found, group};
use crate::demo::rule::Change;
use std::collections::BTreeSet;

pub(super) fn findings(change: &Change) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(renamed_flag(change));
    findings.extend(contradicted_default(change));
    findings.extend(dead_link(change));
    for file in change
        .files
        .iter()
        .filter(|file| !is_test_path(&file.path) && !is_foreign_path(&file.path))
    {
        findings.extend(unknown_parameter(file));
        findings.extend(undocumented_variable(change, file));
    }
    findings
}

fn code_files(change: &Change) -> impl Iterator<Item = &PatchFile> {
    change
        .files
        .iter()
        .filter(|file| file.language().is_code() && !is_test_path(&file.path) && !is_foreign_path(&file.path))
}

fn documents(change: &Change) -> impl Iterator<Item = &PatchFile> {
    change.files.iter().filter(|file| file.language() == Language::Docs)
}

/// The flags that a text declares.
fn flags(text: &str) -> BTreeSet<String> {
    static QUOTED: std::sync::LazyLock<regex::Regex> =
        std::sync::LazyLock::new(|| compile(r#"(?:["'`]--|long\s*=\s*")([a-z][a-z0-9-]+)["'`\s=]"#));
    QUOTED.captures_iter(text).map(|groups| groups[1].to_owned()).collect()
}

/// A flag that the code no longer has and that a document still names.
fn renamed_flag(change: &Change) -> Option<Finding> {
    for file in code_files(change) {
        let old: BTreeSet<String> = file.removed.iter().flat_map(|removed| flags(&removed.text)).collect();
        let now: BTreeSet<String> = file.lines.iter().flat_map(|line| flags(&line.text)).collect();
        let Some((new_line, new)) = file.added().find_map(|line| {
            flags(&line.text)
                .into_iter()
                .find(|flag| !old.contains(flag))
                .map(|flag| (line, flag))
        }) else {
            continue;
        };
        for gone in old.difference(&now) {
            let mention = documents(change).find_map(|document| {
                document
                    .lines
                    .iter()
                    .find(|line| names_flag(&line.text, gone))
                    .map(|line| (document, line))
            });
            let Some((document, line)) = mention else { continue };
            let (place, at) = if line.added { (document, line) } else { (file, new_line) };
            return Some(Finding {
                claim: format!(
                    "{} names the flag `--{gone}`, which this change renames to `--{new}`.",
                    document.path
                ),
                scenario: format!("Who follows the document gets an error for `--{gone}`."),
                fix: format!("Write `--{new}` in {}, line {}.", document.path, line.number),
                checked: format!("{} no longer has `--{gone}` in the patch.", file.path),
                ..Finding::on(place, at, Warning, "outdated-flag")
            });
        }
    }
    None
}

fn names_flag(text: &str, flag: &str) -> bool {
    text.match_indices(&format!("--{flag}"))
        .any(|(at, hit)| !text[at + hit.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '-'))
}

/// A number that a document gives as the default, and another one in the code.
fn contradicted_default(change: &Change) -> Option<Finding> {
    for document in documents(change) {
        for line in &document.lines {
            let Some((name, told)) = told_default(&line.text) else {
                continue;
            };
            for file in code_files(change) {
                let real = file
                    .lines
                    .iter()
                    .find_map(|line| coded_default(&line.text, &name).map(|value| (line, value)));
                let Some((code_line, value)) = real.filter(|(code, _)| code.added || line.added) else {
                    continue;
                };
                if value == told {
                    continue;
                }
                let (place, at): (&PatchFile, &Line) = if line.added {
                    (document, line)
                } else {
                    (file, code_line)
                };
                return Some(Finding {
                    claim: format!(
                        "{} says that the default of `{name}` is {told}; in {} it is {value}.",
                        document.path, file.path
                    ),
                    scenario: format!("Who relies on the document expects {told} and gets {value}."),
                    fix: format!("Make both say the same; the code has {value}."),
                    checked: format!(
                        "{} line {} and {} line {}.",
                        document.path, line.number, file.path, code_line.number
                    ),
                    ..Finding::on(place, at, Warning, "contradicted-default")
                });
            }
        }
    }
    None
}

fn told_default(text: &str) -> Option<(String, String)> {
    let value = group!(
        text,
        r"(?i)\bdefault(?:s)?(?:\s+value)?(?:\s+(?:is|to)|:|=)?\s*\(?[`*]*(\d+)\b"
    )?;
    let name = group!(text, r"`(?:--)?([A-Za-z_][\w-]{3,})`")?;
    Some((name.replace('-', "_"), value.to_owned()))
}

fn coded_default(text: &str, name: &str) -> Option<String> {
    let at = text.to_ascii_lowercase().find(&name.to_ascii_lowercase())?;
    let before = text[..at].chars().next_back();
    let after = &text[at + name.len()..];
    if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    group!(after, r"^(?:\s*:\s*[\w.\[\]<>]+)?\s*=\s*(\d[\d_]*)\s*(?:[,;)]|$)").map(|value| value.replace('_', ""))
}

/// A link in a document to a file that this change removes or moves.
fn dead_link(change: &Change) -> Option<Finding> {
    let gone: Vec<&str> = change
        .files
        .iter()
        .filter_map(|file| {
            if file.is_deleted {
                Some(file.path.as_str())
            } else {
                file.old_path.as_deref()
            }
        })
        .collect();
    for document in documents(change) {
        for line in document.added() {
            let Some(target) = group!(&line.text, r"\]\((?:\./)?([\w./-]+\.\w+)(?:#[\w-]*)?\)") else {
                continue;
            };
            let directory = document
                .path
                .rsplit_once('/')
                .map_or(String::new(), |(directory, _)| format!("{directory}/"));
            let path = format!("{directory}{target}");
            if gone.iter().any(|old| *old == path) {
                return Some(Finding {
                    claim: format!("The link goes to {path}, which this change removes or moves."),
                    scenario: "The reader gets a page that does not exist.".to_owned(),
                    fix: "Link the new place.".to_owned(),
                    ..Finding::on(document, line, Warning, "dead-link")
                });
            }
        }
    }
    None
}

/// A documented parameter that the function below or above does not have.
fn unknown_parameter(file: &PatchFile) -> Option<Finding> {
    let (line, name) = (0..file.lines.len()).find_map(|at| {
        let line = &file.lines[at];
        let signature = match file.language() {
            Language::Python => file.lines[..at]
                .iter()
                .rev()
                .take(25)
                .take_while(|other| other.hunk == line.hunk)
                .find(|other| found!(&other.text, r"^\s*(async\s+)?def\s")),
            Language::JavaScript => file.lines[at + 1..]
                .iter()
                .take(25)
                .take_while(|other| other.hunk == line.hunk)
                .find(|other| !found!(&other.text, r"^\s*(/?\*|\*/)")),
            _ => None,
        }?;
        // Only a signature on one line is known whole; `*args`, `**kwargs` and patterns take any name.
        let whole = found!(&signature.text, r"\(.*\)\s*(->.*)?[:{]?.*$")
            && !found!(&signature.text, r"\*|\.\.\.|\{[^}]*\}\s*[,):=]");
        let name = group!(&line.text, r"^\s*:param\s+(?:\w+\s+)?(\w+):")
            .or_else(|| group!(&line.text, r"^\s*\*\s*@param\s+(?:\{[^}]*\}\s*)?(\w+)\b"))?;
        let function = found!(&signature.text, r"\bdef\s|\bfunction\b|=>|^\s*(async\s+)?\w+\(");
        let has = signature
            .text
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|word| word == name);
        let changed = line.added || signature.added;
        let reported = if line.added { line } else { signature };
        (whole && function && !has && changed).then(|| (reported, name.to_owned()))
    })?;
    Some(Finding {
        claim: format!("The documentation describes a parameter `{name}` that the function does not have."),
        scenario: format!("Who passes `{name}` gets an error, or finds it ignored."),
        fix: "Describe the parameters that exist.".to_owned(),
        ..Finding::on(file, line, Suggestion, "unknown-parameter-documented")
    })
}

/// A variable that is now required and that no document of the change names, though it has documents.
fn undocumented_variable(change: &Change, file: &PatchFile) -> Option<Finding> {
    let variable = |text: &str| {
        group!(text, r#"os\.environ\[["']([A-Z]\w+_\w+)["']\](?:\s*$|\s*[^\s=]|\s*==)"#)
            .or_else(|| group!(text, r#"env::var\("([A-Z]\w+_\w+)"\)\s*(?:\?|\.expect|\.unwrap\(\))"#))
            .map(str::to_owned)
    };
    if !file.language().is_code() {
        return None;
    }
    let (line, name) = file
        .added()
        .find_map(|line| variable(&line.text).map(|name| (line, name)))?;
    let told = change
        .files
        .iter()
        .filter(|other| !other.language().is_code())
        .flat_map(|other| &other.lines)
        .any(|line| line.text.contains(&name));
    let old = file.removed.iter().any(|removed| removed.text.contains(&name)) || change.context.contains(&name);
    let has_documents = documents(change).next().is_some();
    (has_documents && !told && !old).then(|| Finding {
        claim: format!("`{name}` is now required, and the documents that this change touches do not say so."),
        scenario: "After the update the program stops at start, and nothing tells why.".to_owned(),
        fix: format!("Name `{name}` where the settings are described."),
        confidence: 0.82,
        ..Finding::on(file, line, Suggestion, "undocumented-variable")
    })
}

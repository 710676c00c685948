//! Release: changes that break what is already running or already built on this.

use crate::demo::finding::Finding;
use crate::demo::finding::Severity::{Critical, Suggestion, Warning};
use crate::demo::language::{is_foreign_path, is_test_path};
use crate::demo::patch::PatchFile;
use crate::demo::pattern::{found, group};
use crate::demo::rule::Change;

/// What a line of a migration says: (category, severity, confidence, claim, scenario, fix).
type Verdict = (
    &'static str,
    crate::demo::finding::Severity,
    f64,
    &'static str,
    &'static str,
    &'static str,
);

pub(super) fn findings(change: &Change) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in change
        .files
        .iter()
        .filter(|file| !is_foreign_path(&file.path) && !is_test_path(&file.path))
    {
        if found!(&file.path, r"(?i)migrat|(^|/)alembic/|(^|/)db/|schema|\.sql$") {
            findings.extend(migration(file));
        }
        findings.extend(removed_api(change, file));
        findings.extend(major_version(change, file));
    }
    findings
}

fn migration(file: &PatchFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut downward = false;
    for line in &file.lines {
        let text = &line.text;
        if found!(
            text,
            r"(?i)^\s*--\s*(\+\w+\s+)?(down|rollback|undo)\b|\bdef\s+(down|downgrade)\b|\b(exports\.)?down\s*[=(]|goose down"
        ) {
            downward = true;
        } else if found!(text, r"(?i)\bdef\s+(up|upgrade)\b|\b(exports\.)?up\s*[=(]|goose up") {
            downward = false;
        }
        if !line.added || downward || found!(text, r"^\s*(--|#|//)") {
            continue;
        }
        if let Some((category, severity, confidence, claim, scenario, fix)) = migration_line(file, text) {
            findings.push(Finding {
                claim: claim.to_owned(),
                scenario: scenario.to_owned(),
                fix: fix.to_owned(),
                confidence,
                ..Finding::on(file, line, severity, category)
            });
        }
    }
    findings.truncate(3);
    findings
}

fn migration_line(file: &PatchFile, text: &str) -> Option<Verdict> {
    if found!(
        text,
        r"(?i)\bDROP\s+COLUMN\b|\bDROP\s+TABLE\b|\bdrop_column\(|\bremove_column\b|\bdropColumn\(|\bRemoveField\(|\bdrop_table\("
    ) {
        return Some((
            "destructive-migration",
            Critical,
            0.92,
            "The migration drops data that the running version still uses.",
            "While old processes run beside the new schema they fail on every access, and a rollback cannot bring the data back.",
            "First release a version that no longer uses it, and drop it in a later release.",
        ));
    }
    if found!(
        text,
        r"(?i)\bRENAME\s+(COLUMN|TO)\b|\brename_column\b|\brenameColumn\(|\bRenameField\("
    ) {
        return Some((
            "rename-in-migration",
            Warning,
            0.86,
            "The migration renames what the running version still uses under its old name.",
            "Between the migration and the end of the roll-out every old process fails.",
            "Add the new name, write both, move the readers, and drop the old one later.",
        ));
    }
    if found!(text, r"(?i)\bADD\s+(COLUMN\s+)?\S+.*\bNOT\s+NULL\b") && !found!(text, r"(?i)\bDEFAULT\b|\bGENERATED\b") {
        return Some((
            "not-null-without-default",
            Warning,
            0.9,
            "A NOT NULL column is added without a default.",
            "On a table with rows the migration fails, and old processes cannot insert any more.",
            "Add it with a default, or nullable first.",
        ));
    }
    let table = group!(
        text,
        r"(?i)\bCREATE\s+(?:UNIQUE\s+)?INDEX\s+(?:IF\s+NOT\s+EXISTS\s+)?\S+\s+ON\s+(\w+)"
    )?;
    let made_here = file
        .lines
        .iter()
        .any(|line| found!(&line.text, r"(?i)\bCREATE\s+TABLE\b") && line.text.contains(table));
    let postgres = file.lines.iter().any(|line| {
        found!(
            &line.text,
            r"(?i)\b(CONCURRENTLY|jsonb|SERIAL|timestamptz|USING\s+gin)\b"
        )
    });
    (!made_here && postgres && !found!(text, r"(?i)\bCONCURRENTLY\b")).then_some((
        "index-locks-table",
        Warning,
        0.82,
        "The index is built while writes to the table are locked.",
        "On a large table every write waits until the index is done.",
        "Use CREATE INDEX CONCURRENTLY, outside of a transaction.",
    ))
}

/// A name that the package's entry point no longer offers.
fn removed_api(change: &Change, file: &PatchFile) -> Option<Finding> {
    if !found!(
        &file.path,
        r"(^|/)(lib\.rs|index\.(ts|js|mjs|d\.ts)|__init__\.py|mod\.ts)$"
    ) {
        return None;
    }
    let (removed, name) = file.removed.iter().find_map(|removed| {
        let text = &removed.text;
        let name = group!(
            text,
            r"^\s*pub\s+(?:async\s+|const\s+)?(?:fn|struct|enum|trait|type)\s+(\w+)"
        )
        .or_else(|| {
            group!(
                text,
                r"^export\s+(?:default\s+)?(?:async\s+)?(?:function|class|const|interface|type)\s+(\w+)"
            )
        })
        .or_else(|| group!(text, r"^def\s+([a-z]\w+)\("))?;
        let kept = change.files.iter().flat_map(PatchFile::added).any(|line| {
            line.text
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .any(|word| word == name)
        });
        (!kept).then(|| (removed, name.to_owned()))
    })?;
    // The removed line does not exist any more: the finding stands at its neighbour.
    let (above, below) = file.lines.split_at(removed.before);
    let line = below
        .iter()
        .chain(above.iter().rev())
        .find(|line| !line.text.trim().is_empty())?;
    Some(Finding {
        claim: format!("`{name}` is removed from the public API."),
        scenario: format!("Every user of the package that calls `{name}` stops compiling or running after the update."),
        fix: "Keep it as deprecated until the next major version.".to_owned(),
        confidence: 0.85,
        checked: format!("No patch of this change adds `{name}` elsewhere."),
        ..Finding::on(file, line, Warning, "public-api-removed")
    })
}

fn major_version(change: &Change, file: &PatchFile) -> Option<Finding> {
    if !found!(&file.path, r"(^|/)(package\.json|Cargo\.toml|pyproject\.toml)$") {
        return None;
    }
    let major =
        |text: &str| group!(text, r#"^\s*"?version"?\s*[:=]\s*"(\d+)\."#).and_then(|major| major.parse::<u32>().ok());
    let old = file.removed.iter().find_map(|removed| major(&removed.text))?;
    let line = file
        .added()
        .find(|line| major(&line.text).is_some_and(|new| new > old))?;
    let noted = change
        .files
        .iter()
        .any(|file| found!(&file.path, r"(?i)(^|/)(changelog|changes|history|release|migrat)"));
    (!noted).then(|| Finding {
        claim: "A new major version is released without a line in the changelog.".to_owned(),
        scenario: "Users meet the breaking changes without being told what to do.".to_owned(),
        fix: "Say in the changelog what breaks and how to move on.".to_owned(),
        confidence: 0.83,
        ..Finding::on(file, line, Suggestion, "major-version-without-changelog")
    })
}

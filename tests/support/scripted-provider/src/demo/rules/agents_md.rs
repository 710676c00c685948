//! AGENTS.md: does the change make the instructions for coding agents untrue?

use crate::demo::finding::Finding;
use crate::demo::finding::Severity::{self, Suggestion, Warning};
use crate::demo::language::{Language, is_test_path};
use crate::demo::patch::{Line, PatchFile};
use crate::demo::pattern::{found, group};
use crate::demo::rule::Change;

pub(super) fn findings(change: &Change) -> Vec<Finding> {
    let mut findings = Vec::new();
    let own = change.files.iter().find(|file| file.path == "AGENTS.md");
    findings.extend(own.into_iter().flat_map(bad_instructions));
    // Without an AGENTS.md nothing can become untrue; with a changed one, its author thought of it.
    let (Some(instructions), None) = (&change.agents_md, own) else {
        return findings;
    };
    for file in &change.files {
        findings.extend(package_manager(file));
        findings.extend(test_command(file));
        findings.extend(workflow(file, instructions));
        findings.extend(required_variable(file, instructions));
    }
    findings.extend(moved_directory(change, instructions));
    findings
}

fn outdated(file: &PatchFile, line: &Line, severity: Severity, category: &str, what: &str) -> Finding {
    Finding {
        claim: format!("{what} changes, and AGENTS.md is not changed with it."),
        scenario: "Coding agents go on with the old instructions and run commands that no longer work.".to_owned(),
        fix: "Update AGENTS.md in the same merge request.".to_owned(),
        confidence: 0.88,
        checked: "AGENTS.md exists and is not part of this change.".to_owned(),
        ..Finding::on(file, line, severity, category)
    }
}

fn package_manager(file: &PatchFile) -> Option<Finding> {
    let manager = |text: &str| {
        group!(text, r#""packageManager"\s*:\s*"(\w+)@"#)
            .or_else(|| group!(text, r#"^\s*build-backend\s*=\s*"([\w.]+)""#))
            .map(str::to_owned)
    };
    let line = file.added().find(|line| manager(&line.text).is_some())?;
    let new = manager(&line.text)?;
    let same = file
        .removed
        .iter()
        .any(|removed| manager(&removed.text).is_some_and(|old| old == new));
    (!same).then(|| {
        outdated(
            file,
            line,
            Warning,
            "package-manager-changed",
            &format!("The package manager (now {new})"),
        )
    })
}

fn test_command(file: &PatchFile) -> Option<Finding> {
    let command = |text: &str| group!(text, r#"^\s*"test(?::\w+)?"\s*:\s*"([^"]+)""#).map(str::to_owned);
    let runner = found!(
        &file.path,
        r"(^|/)(jest|vitest|playwright|karma)\.config\.|(^|/)(pytest\.ini|tox\.ini|noxfile\.py)$"
    );
    if runner && file.is_new {
        let line = file.lines.iter().find(|line| !line.text.trim().is_empty())?;
        return Some(outdated(
            file,
            line,
            Warning,
            "test-framework-changed",
            "The test framework",
        ));
    }
    if !file.path.ends_with("package.json") {
        return None;
    }
    let line = file.added().find(|line| command(&line.text).is_some())?;
    let new = command(&line.text)?;
    let changed = file
        .removed
        .iter()
        .any(|removed| command(&removed.text).is_some_and(|old| first_words(&old) != first_words(&new)));
    changed.then(|| {
        outdated(
            file,
            line,
            Warning,
            "test-command-changed",
            &format!("The test command (now `{new}`)"),
        )
    })
}

fn first_words(command: &str) -> String {
    command.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

/// A CI command that AGENTS.md repeats, and that is gone.
fn workflow(file: &PatchFile, instructions: &str) -> Option<Finding> {
    if !found!(
        &file.path,
        r"(^|/)\.github/workflows/|(^|/)\.gitlab-ci\.yml$|(^|/)\.circleci/|(^|/)azure-pipelines\.yml$|(^|/)Jenkinsfile$"
    ) {
        return None;
    }
    let command =
        |text: &str| group!(text, r"^\s*-\s*(?:run:\s*)?([a-z][\w./-]*\s+\S.*)$|^\s*run:\s*(\S.*)$").map(str::to_owned);
    let gone = file.removed.iter().find_map(|removed| {
        let old = command(&removed.text)?;
        let old = first_words(&old);
        let kept = file.lines.iter().any(|line| line.text.contains(&old));
        (!kept && instructions.contains(&old)).then_some(old)
    })?;
    let line = file.added().find(|line| !line.text.trim().is_empty())?;
    let what = format!("The CI workflow (it no longer runs `{gone}`, which AGENTS.md names)");
    Some(outdated(file, line, Warning, "ci-workflow-changed", &what))
}

fn required_variable(file: &PatchFile, instructions: &str) -> Option<Finding> {
    if is_test_path(&file.path) {
        return None;
    }
    let variable = |text: &str| match file.language() {
        Language::Python => {
            group!(text, r#"os\.environ\[["']([A-Z]\w+_\w+)["']\](?:\s*$|\s*[^\s=]|\s*==)"#).map(str::to_owned)
        }
        Language::Rust => {
            group!(text, r#"env::var\("([A-Z]\w+_\w+)"\)\s*(?:\?|\.expect|\.unwrap\(\))"#).map(str::to_owned)
        }
        _ => None,
    };
    let (line, name) = file
        .added()
        .find_map(|line| variable(&line.text).map(|name| (line, name)))?;
    let known = instructions.contains(&name) || file.removed.iter().any(|removed| removed.text.contains(&name));
    let what = format!("The set of required environment variables (`{name}` is new)");
    (!known).then(|| outdated(file, line, Suggestion, "required-variable-added", &what))
}

fn moved_directory(change: &Change, instructions: &str) -> Option<Finding> {
    const MANY: usize = 5;
    let directory = |path: &str| path.split_once('/').map(|(top, _)| format!("{top}/"));
    let moved: Vec<(&PatchFile, String)> = change
        .files
        .iter()
        .filter_map(|file| {
            let old = directory(file.old_path.as_ref()?)?;
            (directory(&file.path).as_ref() != Some(&old)).then_some((file, old))
        })
        .collect();
    let (file, old) = moved.first()?;
    let count = moved.iter().filter(|(_, other)| other == old).count();
    let line = file.lines.iter().find(|line| !line.text.trim().is_empty())?;
    let what = format!("The place of {count} files from `{old}`");
    (count >= MANY && instructions.contains(old.as_str()))
        .then(|| outdated(file, line, Warning, "directory-moved", &what))
}

/// What makes an AGENTS.md useless: filler, and length.
fn bad_instructions(file: &PatchFile) -> Vec<Finding> {
    const LONG: usize = 200;
    let mut findings = Vec::new();
    if let Some(line) = file.added().find(|line| {
        found!(
            &line.text,
            r"(?i)\b(write|produce) (clean|good|high.quality|readable) code\b|\bfollow best practices\b"
        )
    }) {
        findings.push(Finding {
            claim: "The instruction tells an agent nothing that it could check.".to_owned(),
            scenario: "It costs context in every session and changes nothing.".to_owned(),
            fix: "Name the command or the rule that decides.".to_owned(),
            confidence: 0.86,
            ..Finding::on(file, line, Suggestion, "filler-instruction")
        });
    }
    if let (true, Some(line)) = (
        file.is_new,
        file.lines.iter().skip(LONG).find(|line| !line.text.trim().is_empty()),
    ) {
        findings.push(Finding {
            claim: format!("AGENTS.md is longer than {LONG} lines."),
            scenario: "Agents read all of it in every session, and overlook what matters.".to_owned(),
            fix: "Keep what is always needed, and link the rest.".to_owned(),
            confidence: 0.84,
            ..Finding::on(file, line, Suggestion, "long-instructions")
        });
    }
    findings
}

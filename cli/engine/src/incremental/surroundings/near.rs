//! Code that has to do with a finding by its place, without a name in common: a check in front of the accused code, a mark of its function
//! or type, or a line that names the function. Whether it concerns the finding is for a person to judge.

use conclave_shared::finding::Finding;

use super::block::Code;
use crate::{
    findings::{QuotedFile, Refuting, is_configuration, is_image, single_blanks},
    incremental::anchors::index,
};

/// Returns whether quoted code that uses no name of the finding has to do with it by its place. `accused` is the text at head of the finding's
/// file.
pub(crate) fn is_near(accused: &str, finding: &Finding, file: QuotedFile<'_>, quoted: &Refuting) -> bool {
    let at = index(finding.line);
    let mut evidence = finding.evidence.lines().filter(|line| !line.trim().is_empty());
    let stands = evidence.next().zip(accused.lines().nth(at));
    // Lines that the change removes are counted at base.
    if !stands.is_some_and(|(first, line)| single_blanks(line).contains(&single_blanks(first))) {
        return false;
    }
    let is_same_file = file.path == finding.file;
    if is_image(&finding.file) {
        // In another stage it has nothing to do with it at all.
        return is_same_file && quoted.line < finding.line;
    }
    let code = Code::new(&finding.file, accused);
    let lines = index(quoted.line)..index(quoted.end_line).saturating_add(1);
    let end = index(finding.end_line.unwrap_or(finding.line)).saturating_add(1);
    if is_same_file && code.is_ahead(&lines, &(at..end)) {
        return true;
    }
    if is_configuration(&finding.file) {
        return false;
    }
    let (functions, _) = code.names(at..at.saturating_add(1));
    let quoting = Code::new(file.path, file.head);
    let mut functions = functions.iter().filter(|name| name.chars().nth(1).is_some());
    functions.any(|name| lines.clone().any(|line| quoting.uses(line, name)))
}

#[cfg(test)]
#[path = "near_tests.rs"]
mod tests;

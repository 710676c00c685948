//! Messages that ask a reviewer once more.

use std::fmt::Write;

use conclave_shared::finding::Finding;

use crate::{findings::Hallucinated, untrusted::Untrusted};

/// Findings named in one message at most.
const MAX_NAMED: usize = 12;
/// Patches named in one message at most.
const MAX_PATCHES: usize = 60;

/// The message about what could not be read, or about words beside an answer that was.
pub(super) fn about_faults(faults: &[String], was_read: bool) -> String {
    let opening = if was_read {
        "Your answer was read, and leaves a question"
    } else {
        "Your answer could not be read"
    };
    let faults: Vec<String> = faults
        .iter()
        .take(MAX_NAMED)
        .map(|fault| format!("- {}", line(fault)))
        .collect();
    format!(
        "{opening}:\n{}\nAnswer once more, with exactly one `<findings>` block and nothing behind \
         it. If a quoted line holds one of its tags, leave that line out and quote the lines beside it.",
        faults.join("\n")
    )
}

/// The patches that are still to be read.
pub(super) fn about_patches(unread: &[String]) -> String {
    let list: Vec<String> = unread
        .iter()
        .take(MAX_PATCHES)
        .map(|patch| format!("- {patch}"))
        .collect();
    let more = match unread.len().saturating_sub(MAX_PATCHES) {
        0 => String::new(),
        more => format!("\n- and {more} more of those whose numbers stand behind your role"),
    };
    format!(
        "These patches are yours; still to read:\n{}{more}\nRead them to their ends, several in one turn, and answer once \
         more, with exactly one `<findings>` block.",
        list.join("\n")
    )
}

/// The faults of these quotes, with the lines that are most like them.
pub(super) fn about_quotes(lost: &[&Hallucinated]) -> String {
    let mut text =
        "The evidence of these findings does not hold: code compares each quote with the file at head.".to_owned();
    for lost in lost.iter().take(MAX_NAMED) {
        let _ = write!(
            text,
            "\n- {}{} \"{}\": {}",
            line(&lost.file),
            lost.line.map(|line| format!(":{line}")).unwrap_or_default(),
            line(&lost.claim),
            line(&lost.reason)
        );
        if !lost.nearest.is_empty() {
            text.push_str("; the nearest lines are");
        }
        for (number, code) in &lost.nearest {
            let _ = write!(text, "\n    {number}: {}", line(code));
        }
    }
    text + "\nGive these findings again in one `<findings>` block, each with the lines that show it copied exactly."
}

/// The list of what the reviewer need not repeat.
pub(super) fn about_kept(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return "If you have no findings, answer `<findings></findings>`.".to_owned();
    }
    let kept: Vec<String> = findings
        .iter()
        .take(MAX_NAMED)
        .map(|finding| format!("- {}:{} {}", line(&finding.file), finding.line, line(&finding.claim)))
        .collect();
    format!(
        "These findings were read and are kept; do not repeat them:\n{}\nIf there is nothing else, answer \
         `<findings></findings>`.",
        kept.join("\n")
    )
}

/// A text of a model on one line.
pub(super) fn line(text: &str) -> String {
    let short: String = text.chars().take(240).collect();
    Untrusted::from(short.as_str()).sanitized_line()
}

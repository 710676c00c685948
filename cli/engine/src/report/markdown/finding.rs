//! A finding in the note: what and where at a glance, the proof behind a fold.

use std::fmt::Write;

use conclave_shared::{reviewer::ReviewerName, severity::Severity};

use crate::{
    review::{JudgedFinding, Refutation, RefutationStatus},
    untrusted::{code_span, escape, escape_with_blocks, fenced, link, one_line},
};

/// The finding; in two lines if it has a note of its own, where all of it stands.
pub(super) fn finding(entry: &JudgedFinding) -> String {
    let finding = &entry.finding;
    let (mark, severity) = match finding.severity {
        Severity::Critical => ("🔴", "Critical"),
        Severity::Warning => ("🟡", "Warning"),
        Severity::Suggestion => ("🔵", "Suggestion"),
    };
    let risk = if entry.production_risk && finding.severity != Severity::Critical {
        ", endangers production"
    } else {
        ""
    };
    let place = place(entry);
    let place = match &entry.posted {
        Some(address) => link(&place, address),
        None => place,
    };
    let mut text = format!(
        "{mark} **{}**  \n{severity}{risk} · {place} · {}",
        one_line(&finding.claim).trim(),
        found_by(&finding.found_by)
    );
    if let Some(overruled) = &entry.overruled {
        let _ = write!(text, "\n\n⚖️ {}", one_line(&overruled.describe()));
    }
    if entry.posted.is_some() {
        return text;
    }
    if !finding.scenario.trim().is_empty() {
        let _ = write!(text, "\n\n{}", escape_with_blocks(finding.scenario.trim()));
    }
    let folded = match (&finding.second, &finding.fix) {
        (_, Some(_)) => "Evidence and possible fix",
        (Some(_), None) => "Evidence, at two places",
        (None, None) if finding.evidence.trim().is_empty() => "Category",
        (None, None) => "Evidence",
    };
    let _ = write!(text, "\n\n<details><summary>{folded}</summary>");
    // What another run has found comes without its code.
    if !finding.evidence.trim().is_empty() {
        let _ = write!(text, "\n\n{}", fenced(&finding.evidence, language(&finding.file)));
    }
    if let Some(second) = &finding.second {
        let _ = write!(
            text,
            "\n\nSee also {}:\n\n{}",
            code_span(&format!("{}:{}", second.file, second.line)),
            fenced(&second.code, language(&second.file))
        );
    }
    if let Some(fix) = &finding.fix {
        let fix = match in_words(fix) {
            Some(words) => format!(" {words}"),
            None => format!("\n\n{}", fenced(fix, language(&finding.file))),
        };
        let _ = write!(text, "\n\nPossible fix:{fix}");
    }
    if let Some(rule) = &finding.rule {
        let _ = write!(text, "\n\nRule {}", link(&rule.id, &rule.link));
    }
    let _ = write!(text, "\n\n<sub>{}</sub>\n\n</details>", one_line(&finding.category));
    text
}

/// A claim and the code that the judge holds against it, side by side.
pub(super) fn refuted_by_code(entry: &JudgedFinding, refutation: &Refutation) -> String {
    let finding = &entry.finding;
    let line = |text: &str| one_line(text).trim().to_owned();
    let severity = entry.reported.unwrap_or(finding.severity);
    let mut text = format!(
        "**{}**  \n{severity} · {} · {}\n\n{}\n\nAgainst it the judge quotes {}, which {}",
        line(&finding.claim),
        place(entry),
        found_by(&finding.found_by),
        fenced(&finding.evidence, language(&finding.file)),
        code_span(&refutation.place()),
        match refutation.status {
            RefutationStatus::ThisChange if refutation.altered_use.is_some() =>
                "this change leaves as it was, and uses in another way or no longer",
            RefutationStatus::ThisChange if refutation.uncertain.is_some() =>
                "this change leaves as it was, and which may not apply",
            RefutationStatus::ThisChange if refutation.lost_by_target =>
                "the target branch no longer has as it stands here",
            RefutationStatus::ThisChange => "this change adds or alters",
            RefutationStatus::UnchangedCode | RefutationStatus::Invalid => "this change leaves as it was",
        }
    );
    if let Some(reason) = &entry.reason {
        let _ = write!(text, ": {}", line(reason));
    }
    let _ = write!(text, "\n\n{}", fenced(&refutation.quote, language(&refutation.file)));
    text
}

/// The fix as text, if it is told in words: reviewers may write code or one sentence.
pub(in crate::report) fn in_words(fix: &str) -> Option<String> {
    let fix = fix.trim();
    let sentence =
        fix.ends_with('.') && !fix.contains('\n') && fix.starts_with(char::is_uppercase) && fix.split(' ').count() > 3;
    sentence.then(|| escape(fix))
}

/// Who found it. That several did, independently of each other, is the strongest sign that it is true.
pub(in crate::report) fn found_by(reviewers: &[ReviewerName]) -> String {
    let names: Vec<String> = reviewers.iter().map(ReviewerName::display_name).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => format!("found by {}", escape(one)),
        [first @ .., last] => format!(
            "**found by {}**: {} and {}",
            names.len(),
            escape(&first.join(", ")),
            escape(last)
        ),
    }
}

fn place(entry: &JudgedFinding) -> String {
    let finding = &entry.finding;
    code_span(&match finding.end_line {
        Some(end) => format!("{}:{}-{end}", finding.file, finding.line),
        None => format!("{}:{}", finding.file, finding.line),
    })
}

pub(in crate::report) fn language(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "rs" => "rust",
        "py" => "python",
        "js" | "mjs" | "jsx" => "javascript",
        "ts" | "tsx" => "typescript",
        "go" => "go",
        "rb" => "ruby",
        "java" => "java",
        "kt" => "kotlin",
        "c" | "h" => "c",
        "cc" | "cpp" | "hpp" => "cpp",
        "cs" => "csharp",
        "php" => "php",
        "sql" => "sql",
        "sh" => "shell",
        "yml" | "yaml" => "yaml",
        "json" => "json",
        "md" => "markdown",
        _ => "",
    }
}

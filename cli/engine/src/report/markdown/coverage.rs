//! What was looked at, by whom, for how much: one quiet block at the end of the note.

use std::{collections::BTreeSet, fmt::Write};

use conclave_shared::telemetry::ReviewerOutcome;

use super::{capitalized, duration};
use crate::{
    diff::FilteredFile,
    judge::describe_removed,
    numbers::grouped,
    review::{Cost, CountedTokens, Coverage, CutFile, Review, ReviewerReport, UnprovenFinding},
    rules::CheckedRule,
    untrusted::{cell, code_cell, code_span, escape, link, one_line},
};

/// The number of files that were reviewed before, where there are any: without it, a run that needed no model reads like one that looked
/// at nothing.
fn unchanged(coverage: &Coverage) -> String {
    let files: usize = coverage.earlier.iter().map(|earlier| earlier.files.len()).sum();
    if files == 0 {
        return String::new();
    }
    format!(", {files} unchanged since an earlier review")
}

pub(super) fn coverage(review: &Review) -> String {
    let coverage = &review.coverage;
    let mut text = String::from("---\n\n<details><summary>");
    let files = coverage.reviewed.len() - coverage.not_read.len().min(coverage.reviewed.len());
    if let Some(fallback) = &review.configuration {
        let _ = write!(text, "{} · ", fallback.account());
    }
    let _ = write!(
        text,
        "{files} file{} reviewed{} · {} tier · {} · {}",
        if files == 1 { "" } else { "s" },
        unchanged(coverage),
        review.tier,
        duration(review.seconds),
        Cost::of(&review.usage()).text(2)
    );
    text.push_str("</summary>\n\n");
    let reasons = escape(&review.tier_reasons.join("; "));
    let reasons = if reasons.is_empty() {
        reasons
    } else {
        format!(" ({reasons})")
    };
    let _ = writeln!(text, "**Tier:** {}{reasons}\n", review.tier);
    let _ = writeln!(
        text,
        "| reviewer | outcome | model | tokens | cost | time |\n|---|---|---|---|---|---|"
    );
    for report in review.reviewers.iter().chain([&review.coordinator]) {
        let _ = writeln!(text, "{}", reviewer_row(report));
    }
    text.push('\n');
    let left_out = |file: &FilteredFile| format!("{}: {}", code_span(&file.path), file.reason.describe());
    text.push_str(&list("Left out", coverage.filtered.iter().map(left_out)));
    // What was left out stands in its own list.
    let cut: BTreeSet<&String> = coverage.cut.iter().map(|file| &file.path).collect();
    let not_read = coverage.not_read.iter().filter(|path| !cut.contains(path));
    text.push_str(&list("Not read", not_read.map(|path| code_span(path))));
    let cut = |file: &CutFile| {
        let path = code_span(&file.path);
        format!("{path}: {} lines of its patch", file.lines_left_out)
    };
    text.push_str(&list(
        "Left out, because the change is too large",
        coverage.cut.iter().map(cut),
    ));
    text.push_str(&list("Findings without proof", coverage.unproven.iter().map(unproven)));
    let rule = |rule: &CheckedRule| rule.describe(|_| link(&rule.rule, &rule.link), code_span);
    let rules = coverage.rules.iter().map(rule);
    text.push_str(&list("Engineering rules for the changed files", rules));
    let tokens = capitalized(&CountedTokens::of(&review.usage()).text(grouped));
    let rate = review
        .cache_hit_rate
        .map_or_else(|| "–".to_owned(), |rate| format!("{:.0} %", rate * 100.0));
    let _ = writeln!(
        text,
        "{tokens}, cache hit rate {rate}; {}; {} without evidence.\n",
        escape(&describe_removed(&review.findings)),
        coverage.hallucinated
    );
    for note in &coverage.notes {
        let _ = writeln!(text, "- {}", one_line(note));
    }
    let warnings = review.other_warnings().map(|warning| one_line(warning));
    for warning in review.model_moves(one_line, code_span).into_iter().chain(warnings) {
        let _ = writeln!(text, "- ⚠️ {warning}");
    }
    let _ = writeln!(
        text,
        "
<sub>{}{}{}run {}</sub>

</details>",
        commits(review),
        settings(review),
        runtime(review),
        code_span(&review.run_id)
    );
    text
}

/// The reviewed commits; nothing where there was no change.
fn commits(review: &Review) -> String {
    let (base, head) = (short(&review.base_sha), short(&review.head_sha));
    if base.is_empty() && head.is_empty() {
        return String::new();
    }
    format!("Reviewed {} … {} · ", code_span(base), code_span(head))
}

/// A list under a heading; nothing if it is empty.
fn list(heading: &str, items: impl Iterator<Item = String>) -> String {
    let mut items = items.peekable();
    if items.peek().is_none() {
        return String::new();
    }
    let mut text = format!("**{heading}:**\n\n");
    for item in items {
        let _ = writeln!(text, "- {item}");
    }
    text.push('\n');
    text
}

fn unproven(finding: &UnprovenFinding) -> String {
    format!(
        "{} ({}, {}): {} ({})",
        code_span(&finding.place()),
        finding.reviewer.display_name(),
        finding.severity_in_words(),
        one_line(&finding.claim),
        one_line(&finding.reason)
    )
}

/// The commit whose settings were in force.
fn settings(review: &Review) -> String {
    let sha = review.settings_sha.as_deref();
    sha.map_or_else(String::new, |sha| {
        format!("settings and rules of {} · ", code_span(short(sha)))
    })
}

/// The agent runtime.
fn runtime(review: &Review) -> String {
    review
        .runtime
        .map_or_else(String::new, |runtime| format!("on {} · ", runtime.describe()))
}

fn short(sha: &str) -> &str {
    sha.get(..8).unwrap_or(sha)
}

fn reviewer_row(report: &ReviewerReport) -> String {
    let models: Vec<&str> = report.usage.iter().map(|usage| usage.model.as_str()).collect();
    let tokens = CountedTokens::of(&report.usage).number(grouped);
    let outcome = match (report.outcome, &report.reason) {
        (ReviewerOutcome::Ok, _) => "ok".to_owned(),
        (outcome, Some(reason)) => format!("{}: {}", outcome.as_str().replace('_', " "), cell(reason)),
        (outcome, None) => outcome.as_str().replace('_', " "),
    };
    let outcome = match report.repairs.len() {
        0 => outcome,
        1 => format!("{outcome}, asked once more"),
        count => format!("{outcome}, asked {count} times more"),
    };
    let name = cell(&report.name.display_name());
    // Rules in code, and who was never asked, have neither a model nor a price.
    if models.is_empty() {
        return format!("| {name} | {outcome} |  |  |  | {} |", duration(report.seconds));
    }
    format!(
        "| {name} | {outcome} | {} | {} | {} | {} |",
        models
            .iter()
            .map(|model| code_cell(model))
            .collect::<Vec<_>>()
            .join(", "),
        tokens,
        Cost::of(&report.usage).text(3),
        duration(report.seconds)
    )
}

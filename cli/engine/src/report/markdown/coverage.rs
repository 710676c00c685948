//! What was looked at, by whom, for how much: one quiet block at the end of the note.

use std::fmt::Write;

use conclave_shared::telemetry::ReviewerOutcome;

use super::duration;
use crate::{
    judge::describe_removed,
    report::grouped,
    review::{Cost, CountedTokens, Review, ReviewerReport, UnprovenFinding},
    rules::CheckedRule,
    untrusted::{cell, code_cell, code_span, escape, link},
};

pub(super) fn coverage(review: &Review) -> String {
    let coverage = &review.coverage;
    let mut text = String::from("---\n\n<details><summary>");
    let files = coverage.reviewed.len() - coverage.not_read.len().min(coverage.reviewed.len());
    if let Some(fallback) = &review.configuration {
        let _ = write!(text, "{} · ", fallback.account());
    }
    let _ = write!(
        text,
        "{files} file{} reviewed · {} tier · {} · {}",
        if files == 1 { "" } else { "s" },
        review.tier,
        duration(review.seconds),
        Cost::of(&review.usage()).text(2)
    );
    text.push_str("</summary>\n\n");
    let _ = writeln!(
        text,
        "**Tier:** {} ({})\n",
        review.tier,
        escape(&review.tier_reasons.join("; "))
    );
    let _ = writeln!(
        text,
        "| reviewer | outcome | model | tokens | cost | time |\n|---|---|---|---|---|---|"
    );
    for report in review.reviewers.iter().chain([&review.coordinator]) {
        let _ = writeln!(text, "{}", reviewer_row(report));
    }
    text.push('\n');
    if !coverage.filtered.is_empty() {
        let _ = writeln!(text, "**Left out:**\n");
        for file in &coverage.filtered {
            let _ = writeln!(text, "- {}: {}", code_span(&file.path), file.reason.describe());
        }
        text.push('\n');
    }
    if !coverage.not_read.is_empty() {
        let _ = writeln!(text, "**Not read:**\n");
        for path in &coverage.not_read {
            let _ = writeln!(text, "- {}", code_span(path));
        }
        text.push('\n');
    }
    if !coverage.cut.is_empty() {
        let _ = writeln!(text, "**Too large to be read whole:**\n");
        for file in &coverage.cut {
            let _ = writeln!(
                text,
                "- {}: {} lines of its patch were left out",
                code_span(&file.path),
                file.lines_left_out
            );
        }
        text.push('\n');
    }
    text.push_str(&unproven(&coverage.unproven));
    text.push_str(&checked_rules(&coverage.rules));
    let tokens = tokens(review);
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
        let _ = writeln!(text, "- {}", escape(note).replace('\n', " "));
    }
    let line = |text: &str| escape(text).replace('\n', " ");
    let warnings = review.other_warnings().map(|warning| line(warning));
    for warning in review.model_moves(line, code_span).into_iter().chain(warnings) {
        let _ = writeln!(text, "- ⚠️ {warning}");
    }
    let _ = writeln!(
        text,
        "
<sub>Reviewed {} … {}{}{} · run {}</sub>

</details>",
        code_span(short(&review.base_sha)),
        code_span(short(&review.head_sha)),
        settings(review),
        runtime(review),
        code_span(&review.run_id)
    );
    text
}

/// The list of findings that nothing proved, if there are any.
fn unproven(findings: &[UnprovenFinding]) -> String {
    let mut text = String::new();
    if findings.is_empty() {
        return text;
    }
    text.push_str("**Findings without proof:**\n\n");
    for finding in findings {
        let _ = writeln!(
            text,
            "- {} ({}, {}): {} ({})",
            code_span(&finding.place()),
            finding.reviewer.display_name(),
            finding.severity_in_words(),
            escape(&finding.claim).replace('\n', " "),
            escape(&finding.reason).replace('\n', " ")
        );
    }
    text.push('\n');
    text
}

/// The tokens of the review in words.
fn tokens(review: &Review) -> String {
    let text = CountedTokens::of(&review.usage()).text(grouped);
    let mut rest = text.chars();
    rest.next()
        .map_or_else(String::new, |first| first.to_uppercase().to_string() + rest.as_str())
}

/// The engineering rules with the files that each was checked on.
fn checked_rules(rules: &[CheckedRule]) -> String {
    if rules.is_empty() {
        return String::new();
    }
    let rule = |rule: &CheckedRule| format!("- {}\n", rule.describe(|_| link(&rule.rule, &rule.link), code_span));
    let rules: String = rules.iter().map(rule).collect();
    format!("**Engineering rules for the changed files:**\n\n{rules}\n")
}

/// The commit whose settings were in force.
fn settings(review: &Review) -> String {
    let sha = review.settings_sha.as_deref();
    sha.map_or_else(String::new, |sha| {
        format!(" · settings and rules of {}", code_span(short(sha)))
    })
}

/// The agent runtime.
fn runtime(review: &Review) -> String {
    review
        .runtime
        .map_or_else(String::new, |runtime| format!(" · on {}", runtime.describe()))
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

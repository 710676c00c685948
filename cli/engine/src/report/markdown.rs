//! The review as Markdown: what is posted on the merge request.

use std::fmt::Write;

use conclave_shared::{severity::Severity, telemetry::ReviewerOutcome, verdict::Verdict};

use super::{
    Review, neutral,
    neutral::{cell, fenced, link},
};
use crate::{judge::JudgedFinding, rules::ManualReview, scheduler::ReviewerReport};

/// The whole note, without the hidden marker.
pub fn render_markdown(review: &Review) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "## {} {}\n", icon(review), headline(review));
    if !review.summary.trim().is_empty() {
        let _ = writeln!(text, "{}\n", neutral(review.summary.trim()));
    }
    for notice in notices(review) {
        let _ = writeln!(text, "> {notice}\n");
    }
    for entry in review.standing() {
        let _ = writeln!(text, "{}", finding(entry));
    }
    text.push_str(&coverage(review));
    text
}

fn icon(review: &Review) -> &'static str {
    match review.verdict {
        verdict if verdict.approves() && !review.manual_reviews.is_empty() => "👤",
        Verdict::Approved => "✅",
        Verdict::ApprovedWithComments => "🟢",
        Verdict::MinorIssues => "🟡",
        Verdict::SignificantConcerns => "🔴",
        Verdict::Inconclusive => "⚪",
    }
}

/// The verdict in words, for the note's title and for the terminal.
pub fn headline(review: &Review) -> String {
    let counts = [
        (Severity::Critical, "critical"),
        (Severity::Warning, "warning"),
        (Severity::Suggestion, "suggestion"),
    ]
    .iter()
    .filter_map(|(severity, word)| match review.count(*severity) {
        0 => None,
        1 => Some(format!("1 {word}")),
        count if *severity == Severity::Critical => Some(format!("{count} {word}")),
        count => Some(format!("{count} {word}s")),
    })
    .collect::<Vec<_>>()
    .join(", ");
    let words = match review.verdict {
        verdict if verdict.approves() && !review.manual_reviews.is_empty() => "A person has to approve this",
        Verdict::Approved => "Approved: nothing to change",
        Verdict::ApprovedWithComments => "Approved with comments",
        Verdict::MinorIssues => "Minor issues",
        Verdict::SignificantConcerns => "Significant concerns",
        Verdict::Inconclusive => "Inconclusive: not everything was reviewed",
    };
    if counts.is_empty() {
        words.to_owned()
    } else {
        format!("{words}: {counts}").replace("reviewed: ", "reviewed; ")
    }
}

fn notices(review: &Review) -> Vec<String> {
    let mut notices = Vec::new();
    if !review.coverage.gaps.is_empty() {
        notices.push(format!(
            "**Not reviewed:** {}",
            neutral(&review.coverage.gaps.join("; ")).replace('\n', " ")
        ));
    }
    if let Some(reason) = &review.partial {
        notices.push(format!("**Partial:** {}", neutral(reason).replace('\n', " ")));
    }
    if let Some(reason) = &review.degraded {
        notices.push(format!("**Degraded:** {}", neutral(reason).replace('\n', " ")));
    }
    notices.extend(review.manual_reviews.iter().map(manual_review));
    if review.from_fork && review.verdict.approves() {
        notices.push("This comes from a fork: a person has to approve it.".to_owned());
    }
    notices
}

/// Who has to look, and why. Names are shown, nobody is called.
fn manual_review(review: &ManualReview) -> String {
    const MOST_FILES: usize = 5;
    let mut files: Vec<String> = review
        .files
        .iter()
        .take(MOST_FILES)
        .map(|file| code_span(file))
        .collect();
    if review.files.len() > MOST_FILES {
        files.push(format!("{} more", review.files.len() - MOST_FILES));
    }
    let line = |text: &str| neutral(text).replace('\n', " ");
    format!(
        "**Manual review:** {} has to look, says the rule {} ({}), because of {}. The bot does not approve.",
        line(&review.who.join(", ")),
        link(&review.rule, &review.link),
        line(&review.when),
        files.join(", ")
    )
}

fn finding(entry: &JudgedFinding) -> String {
    let finding = &entry.finding;
    let mark = match finding.severity {
        Severity::Critical => "🔴 **Critical**",
        Severity::Warning => "🟡 **Warning**",
        Severity::Suggestion => "🔵 **Suggestion**",
    };
    if let Some(address) = &entry.posted {
        // Its own note says the rest.
        return format!(
            "### {mark} · {}\n\n{}\n",
            link(&place(entry), address),
            neutral(&finding.claim)
        );
    }
    let mut text = format!("### {mark} · {}\n\n{}", place(entry), neutral(&finding.claim));
    let _ = write!(text, "\n\n{}", fenced(&finding.evidence, language(&finding.file)));
    if !finding.scenario.trim().is_empty() {
        let _ = write!(text, "\n\n{}", neutral(finding.scenario.trim()));
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
        let _ = write!(
            text,
            "\n\n<details><summary>Possible fix</summary>\n\n{}\n\n</details>",
            fenced(fix, "")
        );
    }
    let found_by: Vec<String> = finding
        .found_by
        .iter()
        .map(conclave_shared::reviewer::ReviewerName::display_name)
        .collect();
    if let Some(rule) = &finding.rule {
        let _ = write!(text, "\n\nRule {}", link(&rule.id, &rule.link));
    }
    let _ = write!(
        text,
        "\n\n<sub>{} · found by {}</sub>\n",
        neutral(&finding.category),
        neutral(&found_by.join(", "))
    );
    text
}

fn place(entry: &JudgedFinding) -> String {
    let finding = &entry.finding;
    code_span(&match finding.end_line {
        Some(end) => format!("{}:{}-{end}", finding.file, finding.line),
        None => format!("{}:{}", finding.file, finding.line),
    })
}

/// A code span that its content cannot close.
pub(super) fn code_span(text: &str) -> String {
    let text: String = text.chars().filter(|character| !character.is_control()).collect();
    let longest = text
        .split(|character| character != '`')
        .map(str::len)
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{pad}{text}{pad}{fence}")
}

pub(super) fn language(path: &str) -> &'static str {
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

fn coverage(review: &Review) -> String {
    let coverage = &review.coverage;
    let tokens = review.tokens();
    let mut text = String::from("---\n\n<details><summary>");
    let _ = write!(
        text,
        "{} files reviewed · {} tier · {} · {}",
        coverage.reviewed.len() - coverage.not_read.len().min(coverage.reviewed.len()),
        review.tier,
        duration(review.seconds),
        dollars(review.cost_usd, 2)
    );
    text.push_str("</summary>\n\n");
    let _ = writeln!(
        text,
        "**Tier:** {} ({})\n",
        review.tier,
        neutral(&review.tier_reasons.join("; "))
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
        let _ = writeln!(text, "**Not reviewed by rule:**\n");
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
    let dropped = review.findings.iter().filter(|entry| !entry.stands()).count();
    let rate = review
        .cache_hit_rate
        .map_or_else(|| "–".to_owned(), |rate| format!("{:.0} %", rate * 100.0));
    let _ = writeln!(
        text,
        "{} tokens, cache hit rate {rate}; {dropped} finding{} merged or dropped by the judge, {} without \
         evidence.\n",
        tokens.total(),
        if dropped == 1 { "" } else { "s" },
        coverage.hallucinated
    );
    for note in &coverage.notes {
        let _ = writeln!(text, "- {}", neutral(note).replace('\n', " "));
    }
    for warning in &review.warnings {
        let _ = writeln!(text, "- ⚠️ {}", neutral(warning).replace('\n', " "));
    }
    let _ = writeln!(
        text,
        "\n<sub>Reviewed {} … {} · run {}</sub>\n\n</details>",
        short(&review.base_sha),
        short(&review.head_sha),
        review.run_id
    );
    text
}

fn short(sha: &str) -> &str {
    sha.get(..8).unwrap_or(sha)
}

fn reviewer_row(report: &ReviewerReport) -> String {
    let models: Vec<&str> = report.usage.iter().map(|usage| usage.model.as_str()).collect();
    let tokens: u64 = report.usage.iter().map(|usage| usage.tokens.total()).sum();
    let cost: f64 = report.usage.iter().map(|usage| usage.cost_usd).sum();
    let outcome = match (report.outcome, &report.reason) {
        (ReviewerOutcome::Ok, _) => "ok".to_owned(),
        (outcome, Some(reason)) => format!("{}: {}", outcome.as_str().replace('_', " "), cell(reason)),
        (outcome, None) => outcome.as_str().replace('_', " "),
    };
    format!(
        "| {} | {outcome} | {} | {tokens} | {} | {} |",
        report.name.display_name(),
        cell(&models.join(", ")),
        dollars(cost, 3),
        duration(report.seconds)
    )
}

/// A price. The sum of no prices is a negative zero, which the addition makes a plain one.
fn dollars(cost: f64, digits: usize) -> String {
    format!("${:.digits$}", cost + 0.0)
}

/// Seconds as a person says them.
pub fn duration(seconds: f64) -> String {
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a run's seconds, rounded for reading"
    )]
    let whole = seconds.round() as u64;
    format!("{} min {:02} s", whole / 60, whole % 60)
}

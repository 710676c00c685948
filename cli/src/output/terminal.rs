//! The review in the terminal.

use std::fmt::Write;

use camino::Utf8Path;
use conclave_engine::{
    judge::JudgedFinding,
    report::{Review, duration, headline},
    rules::ManualReview,
    scheduler::ReviewerReport,
};
use conclave_shared::{reviewer::ReviewerName, severity::Severity, telemetry::ReviewerOutcome, verdict::Verdict};
use owo_colors::{OwoColorize, Style};

use super::excerpts::{self, Excerpts};

/// The widest that text is set.
const MOST_COLUMNS: usize = 100;
/// The narrowest that still reads.
const LEAST_COLUMNS: usize = 40;

/// The whole review. `excerpts` has the lines around its findings.
pub(crate) fn review(review: &Review, excerpts: &Excerpts, directory: &Utf8Path) -> String {
    let width = columns();
    let mut text = String::new();
    let rule = "─".repeat(width);
    let _ = writeln!(text, "{}", rule.dimmed());
    let _ = writeln!(text, "{}", headline(review).style(verdict_style(review.verdict).bold()));
    if !review.summary.trim().is_empty() {
        let _ = writeln!(text, "\n{}", wrap(&clean(&review.summary), width, ""));
    }
    for gap in &review.coverage.gaps {
        let _ = writeln!(
            text,
            "\n{} {}",
            "Not reviewed:".yellow().bold(),
            wrap(&clean(gap), width, "  ").trim_start()
        );
    }
    if let Some(reason) = &review.partial {
        let _ = writeln!(
            text,
            "\n{} {}",
            "Partial:".yellow().bold(),
            wrap(&clean(reason), width, "  ").trim_start()
        );
    }
    if let Some(reason) = &review.degraded {
        let _ = writeln!(
            text,
            "\n{} {}",
            "Degraded:".yellow().bold(),
            wrap(&clean(reason), width, "  ").trim_start()
        );
    }
    for manual in &review.manual_reviews {
        let _ = writeln!(
            text,
            "\n{} {}",
            "Manual review:".yellow().bold(),
            wrap(&clean(&manual_review(manual)), width, "  ").trim_start()
        );
    }
    for entry in review.standing() {
        let _ = writeln!(text, "\n{}", finding(entry, excerpts, width));
    }
    let _ = writeln!(text, "\n{}", rule.dimmed());
    text.push_str(&account(review, directory));
    text
}

/// The width that text is set to.
pub(super) fn columns() -> usize {
    textwrap::termwidth().clamp(LEAST_COLUMNS, MOST_COLUMNS)
}

fn verdict_style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Approved | Verdict::ApprovedWithComments => Style::new().green(),
        Verdict::MinorIssues | Verdict::Inconclusive => Style::new().yellow(),
        Verdict::SignificantConcerns => Style::new().red(),
    }
}

fn severity_style(severity: Severity) -> Style {
    match severity {
        Severity::Critical => Style::new().red().bold(),
        Severity::Warning => Style::new().yellow().bold(),
        Severity::Suggestion => Style::new().blue().bold(),
    }
}

/// Model text without anything that a terminal acts on.
pub(super) fn clean(text: &str) -> String {
    text.chars()
        .filter(|character| !character.is_control() || matches!(character, '\n' | '\t'))
        .collect()
}

/// Text that begins behind an indentation of this width; its further lines begin there too.
pub(super) fn hang(text: &str, indent: usize) -> String {
    let indent = " ".repeat(indent);
    let options = textwrap::Options::new(columns())
        .initial_indent(&indent)
        .subsequent_indent(&indent);
    textwrap::fill(text, &options).trim_start().to_owned()
}

pub(super) fn wrap(text: &str, width: usize, indent: &str) -> String {
    let options = textwrap::Options::new(width)
        .initial_indent(indent)
        .subsequent_indent(indent);
    text.lines()
        .map(|line| textwrap::fill(line, &options))
        .collect::<Vec<_>>()
        .join("\n")
}

pub(super) fn finding(entry: &JudgedFinding, excerpts: &Excerpts, width: usize) -> String {
    let finding = &entry.finding;
    let mut text = format!(
        "{} {}",
        finding
            .severity
            .as_str()
            .to_uppercase()
            .style(severity_style(finding.severity)),
        format!("{}:{}", clean(&finding.file), finding.line).bold()
    );
    let _ = write!(text, "\n{}", wrap(&clean(&finding.claim), width, "  "));
    if let Some(excerpt) = excerpt(excerpts, &finding.file, finding.line, finding.end_line, width) {
        let _ = write!(text, "\n{excerpt}");
    }
    if !finding.scenario.trim().is_empty() {
        let _ = write!(text, "\n{}", wrap(&clean(&finding.scenario), width, "  "));
    }
    if let Some(second) = &finding.second {
        let _ = write!(
            text,
            "\n  {} {}:{}",
            "see also".dimmed(),
            clean(&second.file),
            second.line
        );
    }
    if let Some(fix) = &finding.fix {
        let fix = clean(fix);
        let fix = fix
            .trim_end()
            .lines()
            .map(|line| format!("    {}", clip(line, width.saturating_sub(4))))
            .collect::<Vec<_>>()
            .join("\n");
        let _ = write!(text, "\n  {}\n{}", "possible fix".dimmed(), fix.green());
    }
    if let Some(rule) = &finding.rule {
        let _ = write!(
            text,
            "\n  {}",
            clean(&format!("rule {}: {}", rule.id, rule.link)).dimmed()
        );
    }
    let names: Vec<String> = finding.found_by.iter().map(ReviewerName::display_name).collect();
    let names = names.join(", ");
    let found_by = match finding.found_by.len() {
        0 | 1 => names,
        // That several found it independently is the strongest sign that it is true.
        several => format!("found by {several}: {names}"),
    };
    let _ = write!(text, "\n  {}", format!("{} · {found_by}", finding.category).dimmed());
    text
}

/// Who has to look, and why.
fn manual_review(review: &ManualReview) -> String {
    format!(
        "{} has to look, says the rule {} ({}), because of {}: {}",
        review.who.join(", "),
        review.rule,
        review.when,
        review.files.join(", "),
        review.link
    )
}

/// The lines of the finding with one line around them.
fn excerpt(excerpts: &Excerpts, path: &str, line: u32, end: Option<u32>, width: usize) -> Option<String> {
    let (first, last) = excerpts::shown(line, end);
    excerpts.line(path, first)?;
    let rows: Vec<String> = (first.saturating_sub(1)..=last + 1)
        .filter_map(|number| {
            let code = clip(
                &clean(excerpts.line(path, number)?).replace('\t', "    "),
                width.saturating_sub(11),
            );
            let shown = format!("{number:>6}");
            Some(if (first..=last).contains(&number) {
                format!("{} {} {code}", shown.bold(), "▌".red())
            } else {
                format!("{} {} {}", shown.dimmed(), "│".dimmed(), code.dimmed())
            })
        })
        .collect();
    Some(rows.join("\n"))
}

/// As much of a line as fits, and a sign where something is missing.
fn clip(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// What was looked at, by whom, for how much.
fn account(review: &Review, directory: &Utf8Path) -> String {
    let mut text = String::new();
    let coverage = &review.coverage;
    let reviewed = coverage.reviewed.len() - coverage.not_read.len().min(coverage.reviewed.len());
    let files = if reviewed == 1 { "file" } else { "files" };
    let _ = writeln!(
        text,
        "{reviewed} {files} reviewed, {} filtered, {} not read · tier {} · {} · ${:.4}",
        coverage.filtered.len(),
        coverage.not_read.len(),
        review.tier,
        duration(review.seconds),
        review.cost_usd
    );
    for file in &coverage.filtered {
        let _ = writeln!(
            text,
            "{}",
            format!("  filtered: {} ({})", clean(&file.path), file.reason.describe()).dimmed()
        );
    }
    for file in &coverage.cut {
        let line = format!("cut: {} ({} lines left out)", clean(&file.path), file.lines_left_out);
        let _ = writeln!(text, "  {} {line}", "!".yellow());
    }
    for report in review.reviewers.iter().chain([&review.coordinator]) {
        let _ = writeln!(text, "{}", reviewer(report));
    }
    let tokens = review.tokens();
    let rate = review
        .cache_hit_rate
        .map_or_else(|| "–".to_owned(), |rate| format!("{:.0} %", rate * 100.0));
    let dropped = review.findings.iter().filter(|entry| !entry.stands()).count();
    let _ = writeln!(
        text,
        "{}",
        format!(
            "  {} tokens, cache hit rate {rate}; {dropped} finding{} merged or dropped, {} without evidence",
            tokens.total(),
            if dropped == 1 { "" } else { "s" },
            coverage.hallucinated
        )
        .dimmed()
    );
    let stages: Vec<String> = review
        .stages
        .iter()
        .map(|stage| format!("{} {:.1} s", stage.stage, stage.seconds))
        .collect();
    let _ = writeln!(text, "{}", format!("  time: {}", stages.join(", ")).dimmed());
    for note in &coverage.notes {
        let _ = writeln!(text, "  {}", clean(note).dimmed());
    }
    for warning in &review.warnings {
        let _ = writeln!(text, "  {} {}", "!".yellow(), clean(warning));
    }
    let _ = write!(text, "{}", format!("  records: {directory}").dimmed());
    text
}

fn reviewer(report: &ReviewerReport) -> String {
    let models: Vec<&str> = report.usage.iter().map(|usage| usage.model.as_str()).collect();
    let tokens: u64 = report.usage.iter().map(|usage| usage.tokens.total()).sum();
    let cost = report.usage.iter().fold(0.0, |sum, usage| sum + usage.cost_usd);
    let name = report.name.display_name();
    let line = format!(
        "{name:<14} {:>8}  {tokens:>7} tokens  ${cost:.4}  {}",
        duration(report.seconds),
        models.join(", ")
    );
    match report.outcome {
        ReviewerOutcome::Ok => format!("  {} {}", "✓".green(), line.trim_end().dimmed()),
        outcome => {
            let reason = report.reason.as_deref().map(clean).unwrap_or_default();
            format!(
                "  {} {}  {}: {reason}",
                "✗".red(),
                line.trim_end(),
                outcome.as_str().replace('_', " ")
            )
        }
    }
}

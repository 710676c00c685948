//! The review in the terminal.

use std::fmt::Write;

use camino::Utf8Path;
use conclave_engine::{
    judge::describe_removed,
    look_alike::shown_name,
    report::{duration, headline},
    review::{ApprovalHold, Cost, CountedTokens, JudgedFinding, Review, ReviewerReport},
    rules::ManualReview,
};
use conclave_shared::{model::ModelId, telemetry::ReviewerOutcome, verdict::Verdict};
use textwrap::core::display_width;

use crate::output::{
    excerpts::Excerpts,
    finding::finding,
    layout::{Page, clean, clip, prose, unbroken, wrap},
    live::fitting,
    numbers::{grouped, plural},
    paint::Paint,
};

/// From this width on a session's account stands in one line.
const WIDE: usize = 76;

/// The whole review. `excerpts` has the lines around its findings.
pub(crate) fn review(review: &Review, excerpts: &Excerpts, directory: &Utf8Path, page: &Page) -> String {
    let width = page.width;
    let mut text = String::new();
    let rule = "─".repeat(width);
    let _ = writeln!(text, "{}", rule.dimmed());
    let headline = wrap(&headline(review), width, "");
    let _ = writeln!(text, "{}", in_color(review.verdict, &headline).bold());
    if !review.summary.trim().is_empty() {
        let _ = writeln!(text, "\n{}", wrap(&prose(&review.summary), width, "  "));
    }
    for (title, notice) in notices(review) {
        // The beginning of the first line is the title's.
        let indent = " ".repeat(title.len() + 2);
        let options = textwrap::Options::new(width)
            .initial_indent(&indent)
            .subsequent_indent("  ");
        let notice = textwrap::fill(&clean(&notice), options);
        let _ = writeln!(
            text,
            "\n{} {}",
            format!("{title}:").yellow().bold(),
            notice.trim_start()
        );
    }
    for entry in review.surviving() {
        let _ = writeln!(text, "\n{}", finding(entry, excerpts, page));
    }
    for entry in &review.findings {
        if let Some(compared) = refuted_by_code(entry, page) {
            let _ = writeln!(text, "\n{compared}");
        }
    }
    let _ = writeln!(text, "\n{}", rule.dimmed());
    text.push_str(&account(review, directory, width));
    text
}

/// What has to be said before the findings, each with its title.
fn notices(review: &Review) -> Vec<(&'static str, String)> {
    let mut notices: Vec<(&str, String)> = Vec::new();
    let configuration = review.configuration.iter();
    notices.extend(configuration.map(|fallback| (fallback.title(), fallback.sentence())));
    notices.extend(review.coverage.gaps.iter().map(|gap| ("Not reviewed", gap.clone())));
    notices.extend(review.partial.iter().map(|reason| ("Partial", reason.clone())));
    notices.extend(review.degraded.iter().map(|reason| ("Degraded", reason.clone())));
    let manual = review.manual_reviews.iter();
    notices.extend(manual.map(|review| ("Manual review", manual_review(review))));
    notices.extend(
        review
            .approval_holds
            .iter()
            .map(|hold| (hold.cause.title(), approval_hold(hold, review.merge_request.is_some()))),
    );
    let accepted = review.accepted.iter();
    notices.extend(accepted.map(|entry| ("Accepted", format!("{}.", entry.describe(str::to_owned)))));
    notices
}

/// Why the bot withholds its approval, with the places. A review of one's own has no bot.
fn approval_hold(hold: &ApprovalHold, has_bot: bool) -> String {
    let mut text = hold.reason.clone();
    if has_bot {
        text.push_str(" The bot does not approve.");
    }
    if !hold.places.is_empty() {
        let places: Vec<_> = hold.places.iter().map(|place| shown_name(place)).collect();
        let _ = write!(text, " See {}.", places.join(", "));
    }
    text
}

/// A serious claim and the code that the judge holds against it, one below the other.
fn refuted_by_code(entry: &JudgedFinding, page: &Page) -> Option<String> {
    let width = page.width;
    let refutation = entry.refuted_by_code()?;
    let title = match entry.refuted_by_this_change() {
        Some(_) => "REFUTED OR FIXED BY THIS CHANGE ITSELF".yellow().bold(),
        None => "REFUTED BY CODE THAT STOOD BEFORE".dimmed(),
    };
    let code = |text: &str| {
        let lines = text
            .lines()
            .map(|line| format!("    {}", clip(&clean(line), page.code_width.saturating_sub(4))));
        lines.collect::<Vec<_>>().join("\n")
    };
    let finding = &entry.finding;
    let claim = format!("{}:{} {}", finding.file, finding.line, finding.claim);
    let reason = entry.reason.as_deref().unwrap_or_default();
    let answer = format!("against it the judge quotes {}: {reason}", refutation.place());
    Some(format!(
        "{}\n{}\n{}\n{}\n{}",
        title,
        wrap(&clean(&claim), width, "  "),
        code(&finding.evidence),
        wrap(&clean(&answer), width, "  "),
        code(&refutation.quote)
    ))
}

/// A text in the color of a verdict.
fn in_color(verdict: Verdict, text: &str) -> String {
    match verdict {
        Verdict::Approved | Verdict::ApprovedWithComments => text.green(),
        Verdict::MinorIssues | Verdict::Inconclusive => text.yellow(),
        Verdict::SignificantConcerns => text.red(),
    }
}

/// Who has to look, and why.
fn manual_review(review: &ManualReview) -> String {
    let sentence = review.describe(str::to_owned, &review.rule, &review.files.join(", "));
    format!("{sentence}: {}", review.link)
}

/// What was looked at, by whom, for how much.
fn account(review: &Review, directory: &Utf8Path, width: usize) -> String {
    let mut lines = Vec::new();
    let coverage = &review.coverage;
    let reviewed = coverage.reviewed.len() - coverage.not_read.len().min(coverage.reviewed.len());
    let configuration = review.configuration.as_ref();
    let summary = format!(
        "{}{} reviewed, {} filtered, {} not read · tier {} · {}{}{}",
        configuration.map_or_else(String::new, |fallback| format!("{} · ", fallback.account())),
        plural(reviewed, "file"),
        coverage.filtered.len(),
        coverage.not_read.len(),
        review.tier,
        unbroken(&duration(review.seconds)),
        review
            .runtime
            .map_or_else(String::new, |runtime| format!(" on {}", runtime.describe())),
        unbroken(&format!(" · {}", Cost::of(&review.usage()).text(4)))
    );
    lines.push(wrap(&summary, width, ""));
    let aside = |text: &str| wrap(&clean(text), width, "  ").dimmed();
    let marked = |text: &str| format!("  {} {}", "!".yellow(), wrap(&clean(text), width, "    ").trim_start());
    for file in &coverage.filtered {
        lines.push(aside(&format!("filtered: {} ({})", file.path, file.reason.describe())));
    }
    for file in &coverage.cut {
        lines.push(marked(&format!(
            "cut: {} ({} lines left out)",
            file.path, file.lines_left_out
        )));
    }
    for finding in &coverage.unproven {
        lines.push(marked(&format!(
            "without proof ({}): {} ({}): {} ({})",
            finding.severity_in_words(),
            finding.place(),
            finding.reviewer.display_name(),
            finding.claim,
            finding.reason
        )));
    }
    lines.extend(
        coverage
            .rules
            .iter()
            .map(|rule| aside(&rule.describe(str::to_owned, str::to_owned))),
    );
    let reports = review.reviewers.iter().chain([&review.coordinator]);
    lines.extend(reports.map(|report| reviewer(report, width)));
    let tokens = CountedTokens::of(&review.usage()).text(grouped);
    let rate = review
        .cache_hit_rate
        .map_or_else(|| "–".to_owned(), |rate| unbroken(&format!("{:.0} %", rate * 100.0)));
    lines.push(aside(&format!(
        "{tokens}, cache hit rate {rate}; {}; {} without evidence",
        describe_removed(&review.findings),
        coverage.hallucinated
    )));
    let stages: Vec<String> = review
        .stages
        .iter()
        .map(|stage| format!("{} {}", stage.stage, unbroken(&format!("{:.1} s", stage.seconds))))
        .collect();
    lines.push(aside(&format!("time: {}", stages.join(", "))));
    if let Some(sha) = &review.settings_sha {
        lines.push(aside(&format!("settings and rules: as at {sha}")));
    }
    lines.extend(coverage.notes.iter().map(|note| aside(note)));
    let moves = review.model_moves(str::to_owned, str::to_owned);
    lines.extend(moves.iter().map(|line| marked(line)));
    lines.extend(review.other_warnings().map(|warning| marked(warning)));
    // In one piece, however long: it is there to be copied.
    lines.push(format!("  records: {directory}").dimmed());
    lines.join("\n")
}

/// The model that answered last; if none did, the one that was asked last.
fn last_model(report: &ReviewerReport) -> Option<&ModelId> {
    let answered = report.usage.iter().filter(|usage| usage.tokens.total() > 0);
    let answered: Vec<&ModelId> = answered.map(|usage| &usage.model).collect();
    let last_asked = report.models.iter().rev().find(|model| answered.contains(model));
    last_asked
        .or(answered.last().copied())
        .or(report.models.last())
        .or(report.usage.last().map(|usage| &usage.model))
}

fn reviewer(report: &ReviewerReport, width: usize) -> String {
    let model = last_model(report);
    let tokens = CountedTokens::of(&report.usage).text(grouped);
    let cost = Cost::of(&report.usage).text(4);
    // What rules found, and who has not begun, has asked no model.
    let asked = !report.usage.is_empty();
    let name = report.name.display_name();
    let time = duration(report.seconds);
    let reason = match report.outcome {
        ReviewerOutcome::Ok => None,
        outcome => {
            let reason = report.reason.as_deref().map(clean).unwrap_or_default();
            Some(format!("{}: {reason}", outcome.as_str().replace('_', " ")))
        }
    };
    let mark = match report.outcome {
        ReviewerOutcome::Ok => "✓".green(),
        // It has not run, and its reason says why.
        ReviewerOutcome::Skipped => "–".dimmed(),
        _ => "✗".red(),
    };
    let mut text = if width >= WIDE {
        let mut line = format!("{name:<14} {time:>8}");
        if asked {
            let _ = write!(line, "  {tokens:>16}  {cost}");
            let room = (width - 4).saturating_sub(display_width(&line) + 2);
            if let Some(model) = model.and_then(|model| fitting(model, room)) {
                let _ = write!(line, "  {model}");
            }
        }
        format!("  {mark} {}", clip(line.trim_end(), width - 4).dimmed())
    } else {
        let mut line = format!("{name}: {time}");
        if asked {
            let _ = write!(line, ", {tokens}, {cost}");
            if let Some(model) = model {
                let _ = write!(line, ", {model}");
            }
        }
        let line = wrap(&line, width, "    ");
        format!("  {mark} {}", line.trim_start().dimmed())
    };
    if let Some(reason) = reason {
        let _ = write!(text, "\n{}", wrap(&reason, width, "    "));
    }
    match report.repairs.len() {
        0 => {}
        1 => text.push_str("\n    asked once more"),
        count => {
            let _ = write!(text, "\n    asked {count} times more");
        }
    }
    text
}

#[cfg(test)]
#[path = "terminal_tests.rs"]
mod tests;

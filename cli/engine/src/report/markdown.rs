//! The review as Markdown: what is posted on the merge request.

mod coverage;
mod finding;

use std::fmt::Write;

use conclave_shared::{reviewer::ReviewerName, severity::Severity, verdict::Verdict};

pub(super) use self::finding::{found_by, in_words, language};
use self::{
    coverage::coverage,
    finding::{finding, refuted_by_code},
};
use crate::{
    review::{AcceptedFinding, ApprovalHold, HoldCause, JudgedFinding, RefutationStatus, Review, UnprovenFinding},
    rules::ManualReview,
    untrusted::{code_span, escape, link, one_line},
};

/// The whole note, without the hidden marker. A finding that has a note of its own is told in two lines, with a link to it.
pub fn render_markdown(review: &Review) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "## {} {}\n", icon(review), headline(review));
    if !review.summary.trim().is_empty() {
        let _ = writeln!(text, "{}\n", escape(review.summary.trim()));
    }
    for notice in notices(review) {
        let _ = writeln!(text, "> {notice}\n");
    }
    for (section, entries) in sections(review) {
        let _ = writeln!(text, "### {}\n", escape(&capitalized(&section.display_name())));
        for entry in entries {
            let _ = writeln!(text, "{}\n", finding(entry));
        }
    }
    let refuted = |status: RefutationStatus| {
        let entries = review.findings.iter().filter_map(|entry| {
            let refutation = entry
                .refuted_by_code()
                .filter(|refutation| refutation.status == status)?;
            Some(refuted_by_code(entry, refutation))
        });
        entries.collect::<Vec<_>>()
    };
    let compared = refuted(RefutationStatus::ThisChange);
    if !compared.is_empty() {
        let _ = writeln!(
            text,
            "### Refuted or fixed by this change itself\n\n{}\n",
            compared.join("\n\n")
        );
    }
    let removed = refuted(RefutationStatus::UnchangedCode);
    if !removed.is_empty() {
        let title = match removed.len() {
            1 => "1 serious finding, refuted by code that stood before".to_owned(),
            count => format!("{count} serious findings, refuted by code that stood before"),
        };
        let _ = writeln!(
            text,
            "<details><summary>{title}</summary>\n\n{}\n\n</details>\n",
            removed.join("\n\n")
        );
    }
    text.push_str(&coverage(review));
    text
}

/// The findings by section. The section with the worst finding comes first; inside they keep their order.
fn sections(review: &Review) -> Vec<(&ReviewerName, Vec<&JudgedFinding>)> {
    let mut sections: Vec<(&ReviewerName, Vec<&JudgedFinding>)> = Vec::new();
    for entry in review.surviving() {
        match sections.iter_mut().find(|(section, _)| **section == entry.section) {
            Some((_, entries)) => entries.push(entry),
            None => sections.push((&entry.section, vec![entry])),
        }
    }
    sections
}

/// The text with a capital.
fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

fn icon(review: &Review) -> &'static str {
    match review.verdict {
        verdict if verdict.approves() && review.needs_person() => "👤",
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
    let without_proof = UnprovenFinding::describe_all(&review.coverage.unproven);
    let inconclusive = match without_proof.filter(|_| review.coverage.gaps.is_empty()) {
        Some(what) => format!("Inconclusive: {what}"),
        None => "Inconclusive: not everything was reviewed".to_owned(),
    };
    let words = match review.verdict {
        verdict if verdict.approves() && review.needs_person() => "A person has to approve this",
        // Somebody has to have judged that.
        Verdict::Approved if !review.is_judged() => "Approved: no findings",
        Verdict::Approved if !review.accepted.is_empty() => "Approved",
        Verdict::Approved => "Approved: nothing to change",
        Verdict::ApprovedWithComments => "Approved with comments",
        Verdict::MinorIssues => "Minor issues",
        Verdict::SignificantConcerns => "Significant concerns",
        Verdict::Inconclusive if review.is_of_nothing() => "Nothing to review",
        Verdict::Inconclusive => inconclusive.as_str(),
    };
    let mut headline = if counts.is_empty() {
        words.to_owned()
    } else {
        format!("{words}: {counts}").replace("reviewed: ", "reviewed; ")
    };
    if let Some(accepted) = AcceptedFinding::describe_all(&review.accepted) {
        let _ = write!(headline, "; {accepted}");
    }
    if review.degraded.is_some() {
        headline.push_str("; no judge took part");
    }
    headline
}

fn notices(review: &Review) -> Vec<String> {
    let mut notices = Vec::new();
    if let Some(fallback) = &review.configuration {
        notices.push(format!("**{}:** {}", fallback.title(), one_line(&fallback.sentence())));
    }
    if !review.coverage.gaps.is_empty() {
        notices.push(format!(
            "**Not reviewed:** {}",
            one_line(&review.coverage.gaps.join("; "))
        ));
    }
    if let Some(reason) = &review.partial {
        notices.push(format!("**Partial:** {}", one_line(reason)));
    }
    if let Some(reason) = &review.degraded {
        notices.push(format!("**Degraded:** {}", one_line(reason)));
    }
    notices.extend(review.manual_reviews.iter().map(manual_review));
    // That nothing was reviewed is the summary of such a report; without a bot it has no consequence.
    let is_said = |hold: &&ApprovalHold| {
        let is_local = review.merge_request.is_none() && review.is_of_nothing();
        is_local && hold.cause == HoldCause::NothingReviewed
    };
    let holds = review.approval_holds.iter().filter(|hold| !is_said(hold));
    notices.extend(holds.map(approval_hold));
    let accepted = review.accepted.iter().take(MAX_ACCEPTED);
    notices.extend(accepted.map(|entry| format!("**Accepted:** {}.", entry.describe(one_line))));
    if review.from_fork && review.verdict.approves() {
        notices.push("This comes from a fork: a person has to approve it.".to_owned());
    }
    notices
}

/// Files that a rule of the organisation is for, at most.
const MAX_FILES: usize = 5;
/// Accepted findings that are named, at most.
const MAX_ACCEPTED: usize = 20;
/// Places that hold an approval back, at most.
const MAX_PLACES: usize = 20;

/// The files of a notice as code: the first of them, and how many there are besides.
fn files(paths: &[String], max: usize) -> String {
    let mut files: Vec<String> = paths.iter().take(max).map(|file| code_span(file)).collect();
    if paths.len() > max {
        files.push(format!("{} more", paths.len() - max));
    }
    files.join(", ")
}

/// Why the bot withholds its approval.
fn approval_hold(hold: &ApprovalHold) -> String {
    let mut text = format!(
        "**{}:** {} The bot does not approve.",
        hold.cause.title(),
        one_line(&hold.reason)
    );
    if !hold.places.is_empty() {
        let _ = write!(text, " See {}.", files(&hold.places, MAX_PLACES));
    }
    text
}

/// Who has to look, and why. Names are shown, nobody is called.
fn manual_review(review: &ManualReview) -> String {
    let sentence = review.describe(
        one_line,
        &link(&review.rule, &review.link),
        &files(&review.files, MAX_FILES),
    );
    format!("**Manual review:** {sentence}. The bot does not approve.")
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

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;

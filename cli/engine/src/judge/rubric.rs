//! The verdict: one pure function from what stands to what it means.

use std::collections::HashMap;

use conclave_shared::{severity::Severity, verdict::Verdict};

use crate::{numbers::plural, repo_config::RubricSettings, review::JudgedFinding, rules::ManualReview};

/// What the verdict depends on.
#[derive(Debug, Clone, Copy)]
pub struct RubricInput<'a> {
    /// All judged findings; those that do not stand are ignored.
    pub findings: &'a [JudgedFinding],
    /// Everything that had to be reviewed or proved and was not, in words. Anything here makes the review inconclusive.
    pub gaps: &'a [String],
    /// What a person has to look at, because a rule says so. With one of them the verdict is never `approved`, and nothing
    /// approves the merge request in that person's place.
    pub manual_reviews: &'a [ManualReview],
    /// Borders.
    pub settings: RubricSettings,
}

/// Why the verdict is what it is, for the review and the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerdictReason {
    /// The verdict.
    pub verdict: Verdict,
    /// Why, in words.
    pub reason: String,
}

/// The verdict.
///
/// The order is that of the consequences: what blocks comes first, even if the review has gaps, because a critical
/// finding does not become less true by what else was not looked at. After that a gap outweighs everything: a review
/// that did not happen approves nothing.
pub fn verdict(input: RubricInput<'_>) -> VerdictReason {
    let standing: Vec<&JudgedFinding> = input.findings.iter().filter(|finding| finding.stands()).collect();
    let count = |severity| {
        standing
            .iter()
            .filter(|entry| entry.finding.severity == severity)
            .count()
    };
    let (critical, warnings, suggestions) = (
        count(Severity::Critical),
        count(Severity::Warning),
        count(Severity::Suggestion),
    );
    let answer = |verdict, reason: String| VerdictReason { verdict, reason };
    if critical > 0 {
        return answer(Verdict::SignificantConcerns, format!("{critical} critical"));
    }
    if standing
        .iter()
        .any(|entry| entry.production_risk && entry.finding.severity == Severity::Warning)
    {
        return answer(Verdict::SignificantConcerns, "a production-safety risk".into());
    }
    if !input.gaps.is_empty() {
        return answer(Verdict::Inconclusive, input.gaps.join("; "));
    }
    let mut alike: HashMap<(&str, &str), usize> = HashMap::new();
    for entry in standing
        .iter()
        .filter(|entry| entry.finding.severity == Severity::Warning)
    {
        *alike.entry((&entry.finding.file, &entry.finding.category)).or_default() += 1;
    }
    if warnings >= input.settings.warnings {
        return answer(Verdict::MinorIssues, plural(warnings, "warning"));
    }
    if alike.values().any(|count| *count >= input.settings.warnings_alike) {
        return answer(Verdict::MinorIssues, "several warnings of one kind in one file".into());
    }
    if !input.manual_reviews.is_empty() {
        let rules: Vec<&str> = input.manual_reviews.iter().map(|review| review.rule.as_str()).collect();
        return answer(
            Verdict::ApprovedWithComments,
            format!("nothing that blocks, but a person has to look ({})", rules.join(", ")),
        );
    }
    match (warnings, suggestions) {
        (0, 0) => answer(Verdict::Approved, "nothing to change".into()),
        (0, suggestions) => answer(Verdict::ApprovedWithComments, plural(suggestions, "suggestion")),
        (warnings, _) => answer(
            Verdict::ApprovedWithComments,
            format!("{}, no production risk", plural(warnings, "warning")),
        ),
    }
}

#[cfg(test)]
#[path = "rubric_tests.rs"]
mod tests;

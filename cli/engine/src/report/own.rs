//! Recognizing reports that an earlier review has written, of any version: nothing else in their places is ours to remove.

use serde_json::Value;

/// The signs that a note begins with.
const ICONS: [&str; 6] = ["👤", "✅", "🟢", "🟡", "🔴", "⚪"];

/// Returns whether the text is a `review.json`, or the beginning of one.
pub fn is_review(text: &str) -> bool {
    let version = text.strip_prefix("{\n  \"schema_version\": ");
    version
        .and_then(|rest| rest.split_once(",\n"))
        .is_some_and(|(number, rest)| number.parse::<u32>().is_ok() && rest.starts_with("  \"run_id\": \""))
}

/// Returns whether the text is a note of [`super::render_markdown`].
pub fn is_markdown(text: &str) -> bool {
    let title = text.strip_prefix("## ");
    let is_title = title.is_some_and(|title| {
        let icon = title.split(' ').next().unwrap_or_default();
        ICONS.contains(&icon)
    });
    is_title && text.contains("---\n\n<details><summary>") && text.contains(" tier · ")
}

/// Returns whether the text is a log of [`super::render_sarif`], or the beginning of one.
pub fn is_sarif(text: &str) -> bool {
    // The first tool of the first run.
    let (before, tool) = text.split_once("\"driver\":").unwrap_or((text, ""));
    let tool = tool.trim_start().strip_prefix('{').unwrap_or_default();
    before.starts_with("{\n  \"$schema\": ") && tool.trim_start().starts_with("\"name\": \"Conclave\",")
}

/// Returns whether the text is a list of [`super::render_code_quality`]. One without issues holds nothing, whatever wrote it.
pub fn is_code_quality(text: &str) -> bool {
    let issues: Result<Vec<Value>, _> = serde_json::from_str(text);
    issues.is_ok_and(|issues| issues.iter().all(is_issue))
}

/// Returns whether an issue has what ours have, and a fingerprint in our form.
fn is_issue(issue: &Value) -> bool {
    let names = ["description", "check_name", "fingerprint", "severity", "location"];
    let Some(fields) = issue.as_object() else { return false };
    let print = fields.get("fingerprint").and_then(Value::as_str).unwrap_or_default();
    fields.len() == names.len()
        && names.iter().all(|name| fields.contains_key(*name))
        && print.len() == 16
        && print.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether the text is a report of [`super::render_junit`], or the beginning of one.
pub fn is_junit(text: &str) -> bool {
    let declared = text.strip_prefix("<?xml ").and_then(|rest| rest.split_once("?>"));
    declared.is_some_and(|(_, rest)| rest.trim_start().starts_with("<testsuites name=\"conclave\" "))
}

#[cfg(test)]
mod tests {
    use conclave_shared::{severity::Severity, verdict::Verdict};

    use super::*;
    use crate::{
        judge::test_support::finding,
        report::{render_code_quality, render_junit, render_markdown, render_sarif},
        review::{JudgedFinding, Review, ReviewSubject, test_support::review},
    };

    /// A review of each kind of verdict, with and without findings, and one of nothing.
    fn reviews() -> Vec<Review> {
        let verdicts = [
            Verdict::Approved,
            Verdict::ApprovedWithComments,
            Verdict::MinorIssues,
            Verdict::SignificantConcerns,
            Verdict::Inconclusive,
        ];
        let mut reviews: Vec<Review> = verdicts
            .into_iter()
            .map(|verdict| Review { verdict, ..review() })
            .collect();
        let with_findings = ["a.py", "b.py"].map(|file| finding("F1", Severity::Critical, "sql-injection", file, 4));
        reviews[3].findings = with_findings.into_iter().map(JudgedFinding::kept).collect();
        let nothing = Review::of_nothing("1".to_owned(), &ReviewSubject::default(), "the diff is empty");
        reviews.push(nothing);
        reviews
    }

    #[test]
    fn every_report_of_ours_is_recognized() {
        for review in reviews() {
            let verdict = review.verdict.as_str();
            let json = |value: &Value| format!("{value:#}\n");
            assert!(
                is_review(&json(&serde_json::to_value(&review).expect("JSON"))),
                "{verdict}"
            );
            assert!(is_markdown(&render_markdown(&review)), "{verdict}");
            assert!(is_sarif(&json(&render_sarif(&review))), "{verdict}");
            assert!(is_code_quality(&json(&render_code_quality(&review))), "{verdict}");
            assert!(is_junit(&render_junit(&review)), "{verdict}");
        }
        let older = include_str!("../../../../tests/fixtures/runs/version-1/review.json");
        assert!(is_review(older));
    }

    #[test]
    fn what_others_write_under_these_names_is_not_ours() {
        type IsOurs = fn(&str) -> bool;
        let checks: [(IsOurs, &[&str]); 5] = [
            (
                is_review,
                &[
                    "forged\n",
                    "{}",
                    "{\n  \"schema_version\": 1,\n  \"verdict\": \"good\"\n}",
                ],
            ),
            (
                is_markdown,
                &[
                    "# Review",
                    "## ✅ Done\n\n- all of it\n",
                    "<details><summary>1 tier · 2</summary>",
                ],
            ),
            (
                is_sarif,
                &[
                    "{\n  \"$schema\": \"x\",\n  \"runs\": [{\"tool\": {\"driver\": {\"name\": \"ESLint\", \"x\": \"Conclave\"}}}]}",
                    "{\"version\": \"2.1.0\", \"runs\": []}",
                ],
            ),
            (
                is_code_quality,
                &[
                    "{}",
                    "[1]",
                    "[{\"description\": \"d\", \"check_name\": \"c\", \"fingerprint\": \"7815696ecbf1c96e6894b779456d330e\", \
                     \"severity\": \"minor\", \"location\": {\"path\": \"a\", \"lines\": {\"begin\": 1}}}]",
                ],
            ),
            (
                is_junit,
                &[
                    "<testsuites/>",
                    "<?xml version=\"1.0\"?>\n<testsuites name=\"jest tests\" tests=\"1\"></testsuites>",
                ],
            ),
        ];
        for (is_own, texts) in checks {
            for text in texts {
                assert!(!is_own(text), "{text}");
            }
        }
    }
}

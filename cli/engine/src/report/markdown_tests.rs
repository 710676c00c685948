//! The note: what it says at a glance, and what it folds away.

use conclave_shared::{
    path_globs::PathGlobs,
    pricing::TokenUsage,
    reviewer::ReviewerName,
    telemetry::{FindingFate, TokensByModel},
};

use super::*;
use crate::{
    judge::test_support::finding as sample,
    review::{ConfigurationFallback, ConfigurationInstead, EarlierFiles, ModelMove, RemovedBy, test_support::review},
};

fn named(name: &str) -> ReviewerName {
    ReviewerName::new(name).expect("a name")
}

fn two_sections() -> Review {
    let mut review = review();
    let mut first = JudgedFinding::kept(sample("F1", Severity::Critical, "sql-injection", "src/db.py", 4));
    first.finding.claim = "The name goes into the query\nas it came.".into();
    first.finding.found_by.push(named("correctness"));
    first.finding.fix = Some("query(name)".into());
    let mut second = JudgedFinding::kept(sample("F2", Severity::Warning, "n-plus-one", "src/a.py", 9));
    second.section = named("code_quality");
    let third = JudgedFinding::kept(sample("F3", Severity::Suggestion, "naming", "src/db.py", 1));
    review.findings = vec![first, second, third];
    review.verdict = Verdict::SignificantConcerns;
    review
}

#[test]
fn a_glance_says_verdict_what_must_change_and_where() {
    let text = render_markdown(&two_sections());
    let open: String = folded_away(&text);
    assert_eq!(
        open,
        "## 🔴 Significant concerns: 1 critical, 1 warning, 1 suggestion\n\nThe change is small.\n\n\
         ### Security\n\n\
         🔴 **The name goes into the query as it came.**  \n\
         Critical · `src/db.py:4` · **found by 2**: security and correctness\n\n\
         An input leads to a wrong result.\n\n\n\n\
         🔵 **Claim F3.**  \nSuggestion · `src/db.py:1` · found by security\n\n\
         An input leads to a wrong result.\n\n\n\n\
         ### Code quality\n\n\
         🟡 **Claim F2.**  \nWarning · `src/a.py:9` · found by security\n\n\
         An input leads to a wrong result.\n\n\n\n---\n\n\n"
    );
}

#[test]
fn a_run_that_needed_no_reviewer_says_that_the_files_were_reviewed_before() {
    let mut review = review();
    review.coverage.reviewed.clear();
    review.coverage.earlier = vec![EarlierFiles {
        head_sha: "1111111111".to_owned(),
        files: vec!["a.py".to_owned(), "b.py".to_owned()],
    }];
    let text = render_markdown(&review);
    assert!(
        text.contains("<summary>0 files reviewed, 2 unchanged since an earlier review · "),
        "{text}"
    );
}

#[test]
fn nothing_to_review_leaves_no_empty_places() {
    let mut review = review();
    review.tier_reasons.clear();
    review.base_sha.clear();
    review.head_sha.clear();
    review.settings_sha = None;
    let text = render_markdown(&review);
    assert!(text.contains("**Tier:** lite\n"), "{text}");
    assert!(
        text.contains("<sub>run `018f0000-0000-7000-8000-000000000000`</sub>"),
        "{text}"
    );
    let text = render_markdown(&two_sections());
    assert!(
        text.contains("<sub>Reviewed `bbbbbbbb` … `aaaaaaaa` · settings and rules of `cccccccc` · run `"),
        "{text}"
    );
}

/// The note without what is folded away.
fn folded_away(text: &str) -> String {
    let mut open = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<details>") {
        open.push_str(before);
        rest = after.split_once("</details>").map_or("", |(_, after)| after);
    }
    open + rest
}

#[test]
fn a_finding_with_a_note_of_its_own_is_two_lines_with_a_link() {
    let mut review = two_sections();
    review.findings[0].posted = Some("https://gitlab.example.com/g/p/-/merge_requests/7#note_9".to_owned());
    let text = render_markdown(&review);
    assert!(
        text.contains(
            "Critical · [`src/db.py:4`](https://gitlab.example.com/g/p/-/merge_requests/7#note_9) · **found by 2**: \
             security and correctness\n\n🔵"
        ),
        "{text}"
    );
    assert!(!text.contains("query(name)") && text.contains("code F2"), "{text}");
}

#[test]
fn evidence_fix_and_cost_are_folded() {
    let mut review = two_sections();
    review.reviewers[0].usage.push(TokensByModel {
        model: "anthropic/claude-sonnet-5".parse().expect("a model"),
        tokens: TokenUsage::default(),
        cost_usd: 0.42,
        calls: 1,
        unpriced: false,
        uncounted: 0,
        estimated_usd: 0.0,
    });
    let text = render_markdown(&review);
    for part in ["code F1", "query(name)", "$0.42", "sql-injection"] {
        assert!(text.contains(part), "{part}");
        assert!(!folded_away(&text).contains(part), "{part}");
    }
}

#[test]
fn a_fix_in_words_is_text_and_one_in_code_is_code() {
    let mut review = two_sections();
    let mut with = |fix: &str| {
        review.findings[0].finding.fix = Some(fix.to_owned());
        render_markdown(&review)
    };
    assert!(with("query(name)").contains("Possible fix:\n\n```python\nquery(name)\n```"));
    let words = with("Pass the *value* as a bound parameter.");
    assert!(
        words.contains("Possible fix: Pass the \\*value\\* as a bound parameter.\n"),
        "{words}"
    );
}

#[test]
fn words_that_steer_are_never_approved_and_the_note_says_so() {
    let mut review = review();
    assert!(review.may_approve());
    // The judge took it for harmless: it stands as a suggestion.
    let steering = sample("F1", Severity::Suggestion, "prompt-injection", "src/a.py", 1);
    review.findings = vec![JudgedFinding::kept(steering)];
    review.verdict = Verdict::ApprovedWithComments;
    review.approval_holds = crate::judge::holds(&review.findings, &PathGlobs::default());
    assert!(!review.may_approve());
    let text = render_markdown(&review);
    assert!(
        text.starts_with("## 👤 A person has to approve this: 1 suggestion"),
        "{text}"
    );
    assert!(text.contains("> **Attempt to steer this review:**"), "{text}");
    assert!(text.contains("See `src/a.py:1`"), "{text}");
    // A judge who takes it out does not take the reason away.
    review.findings[0].remove(FindingFate::Dropped, RemovedBy::Judge);
    review.approval_holds = crate::judge::holds(&review.findings, &PathGlobs::default());
    assert!(!review.may_approve());
    // Where such words are the product, it does.
    let prompts = PathGlobs::new(&["src/**"]).expect("a pattern");
    review.approval_holds = crate::judge::holds(&review.findings, &prompts);
    assert!(review.may_approve());
    review.from_fork = true;
    assert!(!review.may_approve());
}

#[test]
fn a_review_without_the_organizations_configuration_says_so_first_and_once() {
    let mut review = two_sections();
    let reason = "the configuration service at config.example.org refused the token; the built-in defaults are used";
    review.configuration = Some(ConfigurationFallback {
        is_broken: false,
        instead: ConfigurationInstead::Defaults,
        reason: reason.to_owned(),
    });
    review.degraded = Some("nobody answered".to_owned());
    review.warnings = vec![reason.to_owned(), "something else".to_owned()];
    let text = render_markdown(&review);
    let notice = text
        .find("> **Built-in defaults:** The configuration service at")
        .expect("a notice");
    assert!(notice < text.find("> **Degraded:**").expect("another notice"), "{text}");
    assert!(
        text.contains("<details><summary>on the built-in defaults · 2 files reviewed"),
        "{text}"
    );
    assert_eq!(text.matches("refused the token").count(), 1, "{text}");
    assert!(text.contains("- ⚠️ something else"), "{text}");
}

#[test]
fn the_note_names_who_stood_in_for_whom_and_why() {
    let mut review = review();
    let moved = ModelMove {
        from: "anthropic/claude-sonnet-5".parse().expect("a model"),
        to: "openai/gpt-5.3-codex".parse().expect("a model"),
        reason: "no healthy *model*\n(last: overloaded)".to_owned(),
    };
    review.reviewers[0].moves = vec![moved.clone(), moved.clone()];
    review.coordinator.moves = vec![moved];
    let text = render_markdown(&review);
    let line = "- ⚠️ security, coordinator: `openai/gpt-5.3-codex` stood in for `anthropic/claude-sonnet-5` (no healthy \\*model\\* \
                (last: overloaded))\n";
    assert!(text.contains(line), "{text}");
}

//! The report of a change that has nothing to review.

use conclave_shared::{reviewer::ReviewerName, risk::RiskTier, verdict::Verdict};

use super::{ApprovalHold, CarryOver, Coverage, HoldCause, Review, ReviewSubject, ReviewerReport, SCHEMA_VERSION};

impl Review {
    /// The report of a change that has nothing to review, for this reason. It has no findings and approves nothing, because no file was
    /// read.
    pub fn of_nothing(run_id: String, subject: &ReviewSubject, reason: &str) -> Self {
        let summary = format!("There was nothing to review: {reason}.");
        let settings = subject.settings_commit();
        Self {
            schema_version: SCHEMA_VERSION,
            run_id,
            forge: subject.forge.to_owned(),
            project: subject.project.clone(),
            merge_request: subject.merge_request,
            base_sha: subject.base_sha.clone(),
            head_sha: subject.head_sha.clone(),
            settings_sha: (!settings.is_empty()).then(|| settings.to_owned()),
            from_fork: subject.from_fork,
            tier: RiskTier::Trivial,
            tier_reasons: Vec::new(),
            verdict: Verdict::Inconclusive,
            verdict_reason: format!("nothing to review: {reason}"),
            proposed_verdict: None,
            approval_holds: vec![ApprovalHold::new(HoldCause::NothingReviewed, summary.clone())],
            summary,
            findings: Vec::new(),
            reviewers: Vec::new(),
            coordinator: ReviewerReport::skipped(ReviewerName::coordinator()),
            degraded: None,
            manual_reviews: Vec::new(),
            partial: None,
            configuration: None,
            runtime: None,
            coverage: Coverage::default(),
            warnings: Vec::new(),
            stages: Vec::new(),
            threads: Vec::new(),
            settled: Vec::new(),
            accepted: Vec::new(),
            answers: Vec::new(),
            aside: None,
            carry_over: CarryOver::default(),
            seconds: 0.0,
            cost_usd: 0.0,
            cost_incomplete: false,
            cache_hit_rate: None,
        }
    }

    /// Returns whether there was nothing to review. Then the verdict lacks nothing: there is none.
    pub fn is_of_nothing(&self) -> bool {
        let is_held = |hold: &ApprovalHold| hold.cause == HoldCause::NothingReviewed;
        let coverage = &self.coverage;
        self.verdict == Verdict::Inconclusive
            && self.approval_holds.iter().any(is_held)
            && self.reviewers.is_empty()
            && self.findings.is_empty()
            && coverage.gaps.is_empty()
            && coverage.unproven.is_empty()
            && self.partial.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        report::{headline, render_code_quality, render_junit, render_markdown, render_sarif},
        review::test_support::review,
    };

    #[test]
    fn each_report_of_nothing_is_whole_gives_the_reason_and_is_not_green() {
        let subject = ReviewSubject {
            forge: "local",
            project: "shop".to_owned(),
            ..ReviewSubject::default()
        };
        let nothing = Review::of_nothing("run".to_owned(), &subject, "main adds nothing to `feature`");
        assert!(nothing.is_of_nothing() && !nothing.may_approve() && !nothing.is_complete());
        assert_eq!(headline(&nothing), "Nothing to review");
        let markdown = render_markdown(&nothing);
        assert!(markdown.starts_with("## ⚪ Nothing to review\n"), "{markdown}");
        assert_eq!(markdown.matches("There was nothing to review").count(), 1, "{markdown}");
        assert!(
            !markdown.contains("The bot does not approve"),
            "a review of one's own has none: {markdown}"
        );
        let sarif = render_sarif(&nothing);
        let run = &sarif["runs"][0];
        assert_eq!(run["results"], serde_json::json!([]));
        assert_eq!(run["invocations"][0]["executionSuccessful"], true, "nothing has failed");
        let told = &run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"];
        assert_eq!(told, "There was nothing to review: main adds nothing to `feature`.");
        assert_eq!(render_code_quality(&nothing), serde_json::json!([]));
        let junit = render_junit(&nothing);
        assert!(
            junit.contains("tests=\"1\" skipped=\"1\" failures=\"0\" errors=\"0\""),
            "{junit}"
        );
        assert!(junit.contains("There was nothing to review"), "{junit}");
    }

    #[test]
    fn an_incomplete_review_is_not_one_of_nothing() {
        let mut stopped = review();
        stopped.verdict = Verdict::Inconclusive;
        assert!(!stopped.is_of_nothing());
        let mut gap = Review::of_nothing("run".to_owned(), &ReviewSubject::default(), "it is empty");
        gap.coverage.gaps = vec!["src/a.py: too large to be read".to_owned()];
        assert!(!gap.is_of_nothing());
    }
}

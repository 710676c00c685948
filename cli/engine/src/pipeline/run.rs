//! The run itself: the reviewers side by side, then the coordinator if there is anything to judge, then what follows from what
//! they said.

use std::sync::Arc;

use conclave_shared::{reviewer::ReviewerName, telemetry::ReviewerOutcome};
use tokio::time::Instant;

use super::{
    ReviewJob,
    by_rules::with_rules,
    conclude::{Heard, conclude},
    partial::partial,
};
use crate::{
    diff::FileDiff,
    incremental::{EarlierVerdicts, has_open, needs_judge},
    judge::{judge_without_model, nothing_changed, nothing_found, only_noise},
    memory::suppress,
    ports::{ProgressEvent, SourceTree},
    review::{ExistingFinding, Review, ReviewerReport, StageTime},
    session::{
        CoordinatorMailbox, JudgedBy, Judgement, PanelInput, PanelResult, Refuter, SessionContext, coordinate,
        run_panel,
    },
};

/// The outside.
pub struct ReviewPorts {
    /// The ports that all its sessions share.
    pub context: SessionContext,
    /// The reviewed source.
    pub source: Arc<dyn SourceTree>,
    /// Where the coordinator's tool calls arrive.
    pub mailbox: Arc<CoordinatorMailbox>,
}

/// Runs a review to its verdict. It always ends in one: what could not be reviewed makes it inconclusive.
pub async fn review(mut job: ReviewJob, ports: ReviewPorts) -> Review {
    let started = Instant::now();
    let ReviewPorts {
        context,
        source,
        mailbox,
    } = ports;
    let members = std::mem::take(&mut job.plan.members);
    let stage = ProgressEvent::Stage("The reviewers are at work");
    context.progress.report(stage);
    let input = PanelInput {
        unchanged: Arc::new(std::mem::take(&mut job.prior.unchanged)),
        files: Arc::clone(&job.files),
        patches: Arc::new(std::mem::take(&mut job.patches)),
        source: Arc::clone(&source),
        security: Arc::new(job.security.clone()),
        rules: Arc::clone(&job.plan.rules.book),
    };
    mailbox.check_with(Refuter {
        source: Arc::clone(&input.source),
        files: vec![Arc::clone(&input.files), Arc::clone(&input.unchanged)],
        prompt_paths: job.prompt_paths.clone(),
    });
    let (lock_files, trojan_source) = (job.by_rules.take(), std::mem::take(&mut job.trojan_source));
    let section_marks = std::mem::take(&mut job.section_marks);
    let earlier = &job.subject.existing_findings;
    // What people of the repository have turned down before is taken out here: the judge never sees it, so nothing of it gets
    // into the summary.
    let complete = |panel: PanelResult| {
        let mut panel = with_rules(panel, lock_files, trojan_source, section_marks);
        let recalled = suppress(&mut panel.findings, earlier, &job.memory.now());
        (panel, recalled)
    };
    let has_questions = !job.subject.questions.given.is_empty();
    let asks_models = needs_models(&job.files, earlier, has_questions);
    // Without a file there is nothing for reviewers to read; the coordinator still has earlier findings to judge, or a question
    // to answer.
    let members = if asks_models && !job.files.is_empty() {
        members
    } else {
        Vec::new()
    };
    let panel = run_panel(&context, members, &input).await;
    let is_heard = panel.reports.iter().any(|report| report.outcome == ReviewerOutcome::Ok);
    let (panel, recalled) = complete(panel);
    let asks_more = job.files.is_empty() || needs_judge(earlier) || has_questions;
    let needs_none = nothing_to_judge(&panel, is_heard || context.stop.cause().is_some()).filter(|_| !asks_more);
    let (coordinator, judged_by) = if !asks_models {
        without_judge(JudgedBy::Nobody, "no file was left for a model to read")
    } else if let Some((judged_by, reason)) = needs_none {
        without_judge(judged_by, reason)
    } else {
        mailbox.hand_over(&panel.reports, panel.findings.clone());
        let message = std::mem::take(&mut job.coordinator_message);
        coordinate(&context, job.plan.coordinator.clone(), message, &mailbox).await
    };
    context.tell_end(&coordinator, None);
    let slowest = panel.reports.iter().map(|report| report.seconds).fold(0.0, f64::max);
    let judging = (started.elapsed().as_secs_f64() - slowest).max(0.0);
    job.stages.extend([
        StageTime::new("panel", slowest),
        StageTime::new("judging after the panel", judging),
    ]);
    let heard = Heard {
        // What was submitted before the stop is a whole review.
        stopped: context
            .stop
            .cause()
            .filter(|_| !matches!(judged_by, JudgedBy::Coordinator | JudgedBy::NotNeeded)),
        partial: partial(
            &panel.reports,
            (judged_by != JudgedBy::NotNeeded).then_some(&coordinator),
            &context.ledger.budget(),
        ),
        judgement: judgement(&panel, &mailbox, (judged_by, coordinator.outcome), &job),
        seconds: started.elapsed().as_secs_f64(),
        panel,
        coordinator,
        recalled,
    };
    conclude(job, heard, &input.patches, source.as_ref()).await
}

/// Returns whether a model is asked at all: there is a file to read, an earlier finding to judge, or a person who asks something.
pub fn needs_models(files: &[FileDiff], earlier: &[ExistingFinding], asks: bool) -> bool {
    !files.is_empty() || needs_judge(earlier) || asks
}

/// Returns who takes the judge's place, and why, if what the panel said leaves a judge nothing to do: not one reviewer found
/// anything, and either all did all of their work, or not one was heard to its end.
fn nothing_to_judge(panel: &PanelResult, is_heard: bool) -> Option<(JudgedBy, &'static str)> {
    if !panel.findings.is_empty() || !panel.unproven.is_empty() {
        None
    } else if panel.reports.iter().all(ReviewerReport::is_whole) {
        let reason =
            "there was nothing to judge: no finding, no question, and nothing new about what is open from before";
        Some((JudgedBy::NotNeeded, reason))
    } else if !is_heard {
        Some((
            JudgedBy::NothingHeard,
            "there was nothing to judge: no reviewer came to its end",
        ))
    } else {
        None
    }
}

fn without_judge(judged_by: JudgedBy, reason: &str) -> (ReviewerReport, JudgedBy) {
    let mut report = ReviewerReport::skipped(ReviewerName::coordinator());
    report.reason = Some(reason.to_owned());
    (report, judged_by)
}

fn judgement(
    panel: &PanelResult,
    mailbox: &CoordinatorMailbox,
    (judged_by, outcome): (JudgedBy, ReviewerOutcome),
    job: &ReviewJob,
) -> Judgement {
    let by_rules = |summary: String, degraded: Option<String>| Judgement {
        findings: judge_without_model(panel.findings.clone()),
        verdicts: EarlierVerdicts::default(),
        summary,
        proposed: None,
        degraded,
    };
    let reason = match (judged_by, mailbox.take_judgement()) {
        (JudgedBy::Coordinator, Some(judgement)) => return judgement,
        (JudgedBy::Nobody, _) => {
            let language = job.language.as_deref();
            let summary = match job.prior.earlier.first() {
                Some(newest) => nothing_changed(language, &newest.short()),
                None => only_noise(language),
            };
            return by_rules(summary, None);
        }
        // What stands from before is said below.
        (JudgedBy::NotNeeded, _) if has_open(&job.subject.existing_findings) => return by_rules(String::new(), None),
        (JudgedBy::NotNeeded, _) => {
            let names = panel.reports.iter().map(|report| report.name.display_name());
            let names = names.collect::<Vec<_>>().join(", ");
            return by_rules(nothing_found(job.language.as_deref(), &names), None);
        }
        (JudgedBy::NothingHeard, _) => {
            let degraded = "No reviewer came to its end and nothing was found, so no judge was asked.".to_owned();
            return by_rules(String::new(), Some(degraded));
        }
        (JudgedBy::Rules(reason), _) => reason,
        (JudgedBy::Coordinator, None) => "its submission was lost".to_owned(),
    };
    by_rules(
        String::new(),
        Some(not_judged(outcome, &reason, panel.findings.is_empty())),
    )
}

/// The reason why a review that needs a judge has none: what became of the coordinator, and of the findings.
fn not_judged(outcome: ReviewerOutcome, reason: &str, is_nothing_found: bool) -> String {
    let coordinator = if outcome == ReviewerOutcome::Skipped {
        "The coordinator was not asked"
    } else {
        "The coordinator failed"
    };
    let findings = if is_nothing_found {
        "no judge has looked at what was reviewed, in which nothing was found"
    } else {
        "the findings were merged by rules, without a judge"
    };
    format!("{coordinator} ({reason}); {findings}.")
}

#[cfg(test)]
mod tests {
    use conclave_shared::severity::Severity;

    use super::*;
    use crate::judge::test_support::finding;

    fn panel(outcomes: &[ReviewerOutcome]) -> PanelResult {
        let name = ReviewerName::new("security").expect("a name");
        let report = |outcome: &ReviewerOutcome| ReviewerReport {
            outcome: *outcome,
            ..ReviewerReport::skipped(name.clone())
        };
        PanelResult {
            reports: outcomes.iter().map(report).collect(),
            ..PanelResult::default()
        }
    }

    #[test]
    fn a_judge_is_asked_where_something_was_found_or_a_part_of_the_panel_was_heard() {
        use ReviewerOutcome::{Failed, Ok, TimedOut};
        let judged_by = |panel: &PanelResult, is_heard| nothing_to_judge(panel, is_heard).map(|(by, _)| by);
        assert_eq!(judged_by(&panel(&[Ok, Ok]), true), Some(JudgedBy::NotNeeded));
        assert_eq!(judged_by(&panel(&[Ok, Failed]), true), None);
        let unheard = panel(&[Failed, TimedOut]);
        assert_eq!(judged_by(&unheard, false), Some(JudgedBy::NothingHeard));
        let found = PanelResult {
            findings: vec![finding("F1", Severity::Warning, "a", "x", 1)],
            ..unheard
        };
        assert_eq!(judged_by(&found, false), None, "what one found before it failed");
    }

    #[test]
    fn what_became_of_the_judge_and_the_findings_is_said_as_it_was() {
        assert_eq!(
            not_judged(ReviewerOutcome::Skipped, "the time is over", true),
            "The coordinator was not asked (the time is over); no judge has looked at what was reviewed, in which nothing was found."
        );
        assert_eq!(
            not_judged(ReviewerOutcome::Failed, "no healthy model", false),
            "The coordinator failed (no healthy model); the findings were merged by rules, without a judge."
        );
    }
}

//! What follows from what reviewers and judge have said: what stands, the verdict, and what the next review has to know.

use std::collections::BTreeSet;

use conclave_shared::{
    pricing::TokenUsage,
    telemetry::{ReviewerOutcome, TokensByModel},
    verdict::Verdict,
};

use super::{
    ReviewJob,
    by_rules::unproven,
    engineering_rules::{broken_rules, checked_rules},
    gaps::{Unopened, gaps, too_large},
    prior::{Prior, name_earlier, remember_anchors, texts_of},
};
use crate::{
    diff::{FileDiff, FilteredFile},
    incremental::{
        Done, ReconcileInput, answers, heard_words, joined, notes_on_questions, reconcile, remember, unlisted_hold,
    },
    judge::{RubricInput, VerdictReason, holds, no_judge, verdict},
    memory::Recalled,
    ports::{FileRead, SourceTree},
    repo_config::RubricSettings,
    review::{
        AcceptedFinding, ApprovalHold, Cost, Coverage, CutFile, GivenPatch, JudgedFinding, Review, ReviewSubject,
        ReviewerReport, SCHEMA_VERSION, StopCause, UnprovenFinding,
    },
    rules::ManualReview,
    session::{Judgement, PanelResult, Reading},
};

/// What reviewers and judge have said.
#[derive(Debug)]
pub struct Heard {
    /// The panel's result, with what rules found.
    pub panel: PanelResult,
    /// How the coordinator did.
    pub coordinator: ReviewerReport,
    /// The judged findings.
    pub judgement: Judgement,
    /// What people of the repository have turned down before.
    pub recalled: Recalled,
    /// Why the run was stopped before anything was submitted.
    pub stopped: Option<StopCause>,
    /// Why the review is only a part of one, if the budget cut it short.
    pub partial: Option<String>,
    /// Seconds from the start of the sessions to their end.
    pub seconds: f64,
}

/// Makes the review.
#[expect(clippy::too_many_lines, reason = "half of them are the fields of the review")]
pub async fn conclude(job: ReviewJob, heard: Heard, patches: &[GivenPatch], source: &dyn SourceTree) -> Review {
    let (subject, plan, mut prior, partial) = (job.subject, job.plan, job.prior, heard.partial);
    let (panel, judgement, stopped, mut recalled) = (heard.panel, heard.judgement, heard.stopped, heard.recalled);
    let mut judged = judgement.findings;
    recalled.rejoin(&mut judged, &job.memory.now());
    // Of all findings of the run: also of those that join an earlier one, or are settled with it.
    let mut reported = judged.clone();

    // The change is reviewed again after a critical finding without proof. Until its patch changes, that finding stands,
    // whatever the next review finds.
    let lacks_proof = !panel.unproven.is_empty();
    let gaps_of = |reads: &[FileRead]| Reading::new(reads).gaps(&job.files, patches, &job.security);
    let all_reads = [panel.reads.as_slice(), &panel.side_reads].concat();
    // Where none is required, any may read.
    let has_required = panel.reports.iter().any(|report| report.required);
    let (not_read, partly_read) = gaps_of(if has_required { &panel.reads } else { &all_reads });
    let unopened = Unopened {
        by_side: gaps_of(&all_reads).0,
        by_unusable: gaps_of(&panel.unused_reads).0,
    };
    let mut coverage = Coverage {
        not_read,
        hallucinated: panel.hallucinated.len(),
        unproven: joined(panel.unproven, std::mem::take(&mut prior.unproven)),
        notes: plan.rules.notes,
        ..given(&job.files, job.filtered, job.cut)
    };
    name_earlier(&mut coverage, std::mem::take(&mut prior.earlier));
    let is_left_out = |(file, patch): (&FileDiff, &GivenPatch)| patch.is_left_out.then(|| file.path.clone());
    let left_out: BTreeSet<String> = job.files.iter().zip(patches).filter_map(is_left_out).collect();
    coverage.gaps = gaps(&panel.reports, &coverage, &unopened, &left_out, stopped);
    coverage.gaps.extend(too_large(&coverage.cut, job.too_large));
    coverage.gaps.extend(partly_read);
    coverage.gaps.extend(plan.gaps.into_iter().chain(plan.rules.gaps));
    remember_anchors(&subject, &mut judged, &job.files, source).await;
    let is_judged = judgement.degraded.is_none();
    let is_cut = partial.is_some() || !coverage.gaps.is_empty();
    let degraded = !is_judged || stopped.is_some() || is_cut;
    let reconciled = reconcile(ReconcileInput {
        earlier: &subject.existing_findings,
        words: &judgement.verdicts,
        judged,
        degraded,
        head_sha: &subject.head_sha,
    });
    let findings = with_refuted(reconciled.findings, std::mem::take(&mut prior.refuted));
    reported.extend(findings.iter().filter(|entry| entry.since.is_some()).cloned());
    let unjudged = unjudged(&reported, !is_judged, &panel.reports, is_cut).filter(|_| stopped.is_none());
    let of_run = holds(&reported, &job.prompt_paths).into_iter().chain(unjudged);
    let of_change = holds_of_change(&coverage, &prior, &subject);
    let said = &judgement.verdicts.answers;
    let is_heard = is_judged && has_read(&heard.coordinator);
    let notes = reconciled.notes.into_iter().chain(recalled.notes(&findings));
    coverage.notes.extend(notes);
    let on_questions = notes_on_questions(&subject.questions, is_heard.then_some(said.as_slice()));
    coverage.notes.extend(on_questions);
    let answers = answers(&subject, said);
    let light = answers.iter().find(|answer| answer.light);
    let aside = light.map(|answer| answer.text.clone());
    let (book, by_paths) = (&plan.rules.book, plan.rules.manual_reviews);
    coverage.rules = checked_rules(
        book,
        plan.rules.unread,
        &panel.reports,
        &coverage.earlier,
        &left_out,
        &findings,
    );
    let people: Vec<ManualReview> = by_paths.into_iter().chain(broken_rules(book, &findings)).collect();
    let mut result = rate(&findings, &missing(&coverage), &people, job.rubric, is_judged, stopped);
    name_accepted(&mut result, &reconciled.accepted);
    let texts = texts_of(&coverage.unproven, &prior, source).await;
    prior.keep_unproven(&coverage.unproven, &texts, &subject);
    let mut kept = prior.kept;
    kept.heard = kept.heard.max(if is_heard { subject.questions.newest } else { 0 });
    kept.asked = kept.asked.saturating_add(asked_now(&subject, &heard.coordinator));
    let carry_over = remember(Done {
        head_sha: &subject.head_sha,
        findings: &findings,
        reviewers: &panel.reports,
        coverage: &coverage,
        is_cut: partial.is_some() || !is_judged || lacks_proof,
        settled: reconciled.remembered,
        unseen: reconciled.unseen,
        patches: prior.patches,
        under: prior.under,
        kept,
        heard_words: heard_words(
            &subject.existing_findings,
            !degraded && has_read(&heard.coordinator),
            |id| judgement.verdicts.on(id).is_some(),
        ),
    });
    let (cost, cache_hit_rate) = cost(panel.reports.iter().chain([&heard.coordinator]));
    Review {
        schema_version: SCHEMA_VERSION,
        run_id: job.run_id,
        forge: subject.forge.to_owned(),
        settings_sha: Some(subject.settings_commit().to_owned()),
        project: subject.project,
        merge_request: subject.merge_request,
        base_sha: subject.base_sha,
        head_sha: subject.head_sha,
        from_fork: subject.from_fork,
        tier: plan.assessment.tier,
        tier_reasons: plan.assessment.reasons,
        verdict: result.verdict,
        verdict_reason: result.reason,
        proposed_verdict: judgement.proposed,
        summary: judgement.summary,
        findings,
        reviewers: panel.reports,
        coordinator: heard.coordinator,
        degraded: judgement.degraded,
        manual_reviews: people,
        approval_holds: job.approval_holds.into_iter().chain(of_run).chain(of_change).collect(),
        partial,
        configuration: job.configuration,
        runtime: job.runtime,
        coverage,
        warnings: job.warnings,
        stages: job.stages,
        threads: reconciled.threads,
        settled: reconciled.settled,
        accepted: reconciled.accepted,
        answers,
        aside,
        carry_over,
        seconds: heard.seconds,
        cost_usd: cost.usd,
        cost_incomplete: cost.more,
        cache_hit_rate,
    }
}

/// The approval holds of patches with findings that nothing proves, or for which there was no room.
fn holds_of_change(coverage: &Coverage, prior: &Prior, subject: &ReviewSubject) -> Vec<ApprovalHold> {
    let unlisted = unlisted_hold(&prior.kept.unlisted, &prior.kept.patches);
    let of_request = subject.merge_request.map(|_| &prior.kept.patches);
    let unproven = unproven(&coverage.unproven, of_request);
    unproven.into_iter().chain(unlisted).collect()
}

/// Everything that the review lacks: what was not read, and proof.
fn missing(coverage: &Coverage) -> Vec<String> {
    let gaps = coverage.gaps.iter().cloned();
    gaps.chain(UnprovenFinding::describe_all(&coverage.unproven)).collect()
}

/// The number of questions that the judge of this review was given, also if it did not come to an end: that has cost something.
fn asked_now(subject: &ReviewSubject, coordinator: &ReviewerReport) -> u64 {
    let given = subject.questions.given.len();
    let was_asked = coordinator.outcome != ReviewerOutcome::Skipped;
    if was_asked {
        u64::try_from(given).unwrap_or(u64::MAX)
    } else {
        0
    }
}

/// Returns whether the coordinator was asked, and has read to the end what was given to it.
fn has_read(coordinator: &ReviewerReport) -> bool {
    coordinator.outcome == ReviewerOutcome::Ok
}

/// The findings, with those that earlier reviews have taken out by code and none of this one takes the place of.
fn with_refuted(mut findings: Vec<JudgedFinding>, earlier: Vec<JudgedFinding>) -> Vec<JudgedFinding> {
    for entry in earlier {
        if !findings.iter().any(|own| replaces(own, &entry)) {
            findings.push(entry);
        }
    }
    findings
}

/// Returns whether a finding takes the place of the same one that an earlier review took out by code: it stands and is as bad, or
/// code refutes it again. A milder report that a word took out does not make the earlier one milder.
fn replaces(own: &JudgedFinding, earlier: &JudgedFinding) -> bool {
    let rank = |entry: &JudgedFinding| (entry.finding.severity, entry.production_risk);
    let counts = (own.stands() && rank(own) >= rank(earlier)) || own.refuted_by_code().is_some();
    counts && own.finding.fingerprint == earlier.finding.fingerprint
}

/// The files that were given to the panel.
fn given(files: &[FileDiff], filtered: Vec<FilteredFile>, cut: Vec<CutFile>) -> Coverage {
    Coverage {
        filtered,
        cut,
        reviewed: files.iter().map(|file| file.path.clone()).collect(),
        changed_lines: files.iter().map(FileDiff::changed_lines).sum(),
        ..Coverage::default()
    }
}

/// The price of all sessions, and the share of their prompts that providers served from their caches.
fn cost<'r>(reports: impl Iterator<Item = &'r ReviewerReport>) -> (Cost, Option<f64>) {
    let usage: Vec<TokensByModel> = reports.flat_map(|report| report.usage.clone()).collect();
    let mut tokens = TokenUsage::default();
    for entry in &usage {
        tokens += entry.tokens;
    }
    (Cost::of(&usage), tokens.prompt_cache_rate())
}

/// The verdict. A run that was stopped is inconclusive, unless what it has in hand blocks: the code of each finding was
/// checked, and none becomes less true by a judge who had no time.
fn rate(
    findings: &[JudgedFinding],
    missing: &[String],
    manual_reviews: &[ManualReview],
    settings: RubricSettings,
    is_judged: bool,
    stopped: Option<StopCause>,
) -> VerdictReason {
    let mut result = verdict(RubricInput {
        findings,
        gaps: missing,
        manual_reviews,
        settings,
    });
    if let Some(cause) = stopped {
        let cause = cause.describe();
        result = match result.verdict {
            Verdict::SignificantConcerns => VerdictReason {
                reason: format!("{}; {cause}", result.reason),
                ..result
            },
            _ => VerdictReason {
                verdict: Verdict::Inconclusive,
                reason: missing.join("; "),
            },
        };
        return result;
    }
    if !is_judged {
        // What nobody has judged is not "nothing".
        let reason = result.reason.replace("nothing to change", "no findings");
        result.reason = format!("{reason}; no judge took part");
    }
    result
}

/// The reason to withhold the approval where a judge was asked and did not take part.
fn unjudged(
    reported: &[JudgedFinding],
    is_degraded: bool,
    reports: &[ReviewerReport],
    is_cut: bool,
) -> Option<ApprovalHold> {
    let is_complete = !is_cut && reports.iter().all(ReviewerReport::is_whole);
    let lacks_judge = is_degraded || reported.iter().any(JudgedFinding::is_unjudged);
    lacks_judge.then(|| no_judge(reported, is_complete)).flatten()
}

/// Names what people have accepted as a reason of an approval.
fn name_accepted(result: &mut VerdictReason, accepted: &[AcceptedFinding]) {
    if let (Verdict::Approved, Some(accepted)) = (result.verdict, AcceptedFinding::describe_all(accepted)) {
        result.reason = format!("nothing else to change, with {accepted}");
    }
}

#[cfg(test)]
mod tests {
    use conclave_shared::{reviewer::ReviewerName, severity::Severity, telemetry::FindingFate};

    use super::*;
    use crate::{
        judge::test_support::finding,
        review::{Refutation, RefutationStatus, RemovedBy},
    };

    fn entry(severity: Severity) -> JudgedFinding {
        JudgedFinding::kept(finding("F1", severity, "injection", "src/a.py", 3))
    }

    fn dropped(severity: Severity, refutation: Option<Refutation>) -> JudgedFinding {
        let mut entry = entry(severity);
        entry.remove(FindingFate::Dropped, RemovedBy::Judge);
        entry.refutation = refutation;
        entry
    }

    #[test]
    fn a_price_that_is_not_known_is_no_price_of_nothing() {
        let session = |unpriced| {
            let mut report = ReviewerReport::skipped(ReviewerName::coordinator());
            report.usage.push(TokensByModel {
                model: "a/one".parse().expect("a model"),
                tokens: TokenUsage {
                    output: 5,
                    ..TokenUsage::default()
                },
                cost_usd: if unpriced { 0.0 } else { 0.25 },
                calls: 1,
                unpriced,
                uncounted: 0,
                estimated_usd: 0.0,
            });
            report
        };
        let of = |reports: &[ReviewerReport]| {
            let (cost, _) = cost(reports.iter());
            (cost.usd > 0.0, cost.more)
        };
        assert_eq!(of(&[session(false)]), (true, false));
        assert_eq!(of(&[session(true)]), (false, true));
        assert_eq!(of(&[session(false), session(true)]), (true, true));
    }

    #[test]
    fn what_code_has_refuted_is_taken_out_by_no_milder_report_of_it() {
        let refutation = || Refutation {
            file: "src/guard.py".to_owned(),
            line: 3,
            end_line: None,
            quote: "name = checked(name)".to_owned(),
            status: RefutationStatus::ThisChange,
            needed: true,
            lost_by_target: false,
            altered_use: None,
            uncertain: None,
            fault: None,
            surroundings: None,
        };
        let earlier = || dropped(Severity::Critical, Some(refutation()));
        for (own, is_held) in [
            (dropped(Severity::Warning, None), true),
            (entry(Severity::Warning), true),
            (entry(Severity::Critical), false),
            (earlier(), false),
        ] {
            let all = with_refuted(vec![own.clone()], vec![earlier()]);
            assert_eq!(all.len(), if is_held { 2 } else { 1 }, "{own:?}");
        }
        assert_eq!(with_refuted(Vec::new(), vec![earlier()]).len(), 1);
    }
}

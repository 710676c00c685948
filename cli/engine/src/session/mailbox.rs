//! Where the coordinator's tool calls arrive: it hands out the panel's findings and takes the decisions.
//!
//! Both calls are idempotent, as the runtime repeats calls after a retry and a coordinator may start over: the findings
//! are the same however often they are asked for, and the last valid submission is the one that counts.

use std::{
    collections::HashMap,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use conclave_shared::finding::Finding;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{
    Refuter,
    panel_answer::answer,
    refuter::accusing,
    submissions::{completed, objections, undecided, worst_said},
    submitted_form::{in_own_form, in_text},
};
use crate::{
    incremental::{EarlierVerdicts, take_answers, take_earlier_verdicts, without_answer},
    judge::{Grounds, Submission, apply, some_of},
    ports::{CoordinatorTools, ToolError},
    review::{ExistingFinding, JudgedFinding, Question, RepairKind, ReviewerReport, Weight},
};

/// How often the findings are given out. Each time they fill the coordinator's context once more, so one that does
/// nothing but ask is told to judge.
const MAX_ANSWERS: usize = 10;
/// Maximum length of a submission in bytes: a hundred findings with a page of reasons each.
const MAX_SUBMISSION: usize = 512 << 10;
/// So many submissions may be refused or given back. A judge that goes on like this pays for every one and gets nowhere.
const MAX_REFUSED: usize = 8;
/// The same, of one submission that is repeated although the model has read what is wrong with it.
const MAX_REPEATED: usize = 3;

/// The summary of a judge that gave none.
const NO_SUMMARY: &str = "The judge gave no summary.";

#[derive(Debug, Clone)]
struct Ready {
    answer: Value,
    findings: Vec<Finding>,
}

/// The result of judging.
#[derive(Debug, Clone, Default)]
pub struct Judgement {
    /// All new findings, judged.
    pub findings: Vec<JudgedFinding>,
    /// What the judge says of earlier findings.
    pub verdicts: EarlierVerdicts,
    /// Its summary.
    pub summary: String,
    /// The verdict that it would give.
    pub proposed: Option<String>,
    /// Why the findings were judged without the coordinator, if it failed.
    pub degraded: Option<String>,
}

/// A submission that counts.
#[derive(Debug)]
struct Submitted {
    judgement: Judgement,
    /// The worst that the coordinator has said of each finding so far.
    said: HashMap<String, Weight>,
}

/// The submissions that were refused or given back.
#[derive(Debug, Default)]
struct Refused {
    count: usize,
    /// The arguments of the last one.
    last: String,
    /// The number of times that these came, one after the other.
    repeated: usize,
}

impl Refused {
    fn add(&mut self, arguments: String) {
        self.count += 1;
        self.repeated = if self.last == arguments { self.repeated + 1 } else { 1 };
        self.last = arguments;
    }

    const fn is_enough(&self) -> bool {
        self.count >= MAX_REFUSED || self.repeated >= MAX_REPEATED
    }
}

/// The mailbox of one run.
#[derive(Debug, Default)]
pub struct CoordinatorMailbox {
    ready: watch::Sender<Option<Ready>>,
    answers: AtomicUsize,
    submission: Mutex<Option<Submitted>>,
    /// Reasons why submissions were given back, each once.
    repairs: Mutex<Vec<RepairKind>>,
    /// The arguments of the submission that was given back because it left findings out.
    partial: Mutex<Option<Value>>,
    refused: Mutex<Refused>,
    refuter: OnceLock<Refuter>,
    submitted: watch::Sender<bool>,
    closed: watch::Sender<bool>,
    /// What the coordinator may speak of besides new findings.
    earlier: Vec<ExistingFinding>,
    /// The questions that it is to answer.
    questions: Vec<Question>,
}

impl CoordinatorMailbox {
    /// A mailbox in a review that knows these earlier findings and questions.
    pub fn new(earlier: Vec<ExistingFinding>, questions: Vec<Question>) -> Self {
        Self {
            earlier,
            questions,
            ..Self::default()
        }
    }

    /// From here on refutations are checked against the source. Without it none counts.
    pub fn check_with(&self, refuter: Refuter) {
        // The first one stays.
        let _ = self.refuter.set(refuter);
    }

    /// Returns whether so many submissions were refused that no other one is waited for.
    pub fn gave_up(&self) -> bool {
        self.refused.lock().is_ok_and(|refused| refused.is_enough())
    }

    /// Becomes `true` with the first valid submission, or when no other one is waited for.
    pub fn submitted(&self) -> watch::Receiver<bool> {
        self.submitted.subscribe()
    }

    /// The runtime has ended: whoever still waits for an answer gets it, and nothing hangs.
    pub fn close(&self) {
        self.closed.send_replace(true);
    }

    /// Puts the panel's result on the mailbox. Everybody who waits gets it, and everybody who asks later.
    pub fn hand_over(&self, reports: &[ReviewerReport], findings: Vec<Finding>) {
        let answer = answer(reports, &findings, &self.earlier);
        self.ready.send_replace(Some(Ready { answer, findings }));
    }

    /// The panel's result as the tool returns it, if it is there.
    pub fn findings(&self) -> Option<String> {
        self.ready.borrow().as_ref().map(|ready| ready.answer.to_string())
    }

    /// Reasons why submissions were given back.
    pub fn repairs(&self) -> Vec<RepairKind> {
        self.repairs.lock().map(|repairs| repairs.clone()).unwrap_or_default()
    }

    /// Whether the coordinator has submitted.
    pub fn has_submission(&self) -> bool {
        self.submission.lock().is_ok_and(|submission| submission.is_some())
    }

    /// The judgement by the coordinator's last valid submission.
    pub fn take_judgement(&self) -> Option<Judgement> {
        self.submission.lock().ok()?.take().map(|submitted| submitted.judgement)
    }

    /// What the coordinator's decisions rest on.
    async fn grounds(
        &self,
        submission: &Submission,
        verdicts: &EarlierVerdicts,
        findings: &[Finding],
        accusing: &[Finding],
    ) -> Grounds {
        let mut grounds = Grounds {
            into_earlier: verdicts.repeats.iter().map(|(id, _)| id.clone()).collect(),
            ..Grounds::default()
        };
        if let Ok(Some(before)) = self.submission.lock().as_deref() {
            grounds.said_before.clone_from(&before.said);
        }
        if let Some(refuter) = self.refuter.get() {
            grounds.refutations = refuter.check_all(submission, findings, accusing).await;
            grounds.prompt_paths = refuter.prompt_paths.clone();
        }
        grounds
    }

    /// Notes that a submission is given back for this reason. Returns whether it may be: each reason counts once.
    fn gives_back(&self, kind: RepairKind) -> bool {
        self.repairs.lock().is_ok_and(|mut repairs| {
            let is_first = !repairs.contains(&kind);
            if is_first {
                repairs.push(kind);
            }
            is_first
        })
    }
}

#[async_trait]
impl CoordinatorTools for CoordinatorMailbox {
    async fn spawn_reviewers(&self) -> Result<Value, ToolError> {
        let mut ready = self.ready.subscribe();
        let answer = match ready.wait_for(Option::is_some).await {
            Ok(ready) => ready.as_ref().map(|ready| ready.answer.clone()),
            Err(_) => None,
        };
        if self.answers.fetch_add(1, Ordering::SeqCst) >= MAX_ANSWERS {
            return Err(ToolError(
                "the findings were given to you many times: judge them, and call submit_review".into(),
            ));
        }
        answer.ok_or_else(|| ToolError("the review was stopped".into()))
    }

    async fn submit_review(&self, arguments: Value) -> Result<Value, ToolError> {
        let written = arguments.to_string();
        let outcome = self.take(arguments).await;
        if outcome.is_err()
            && let Ok(mut refused) = self.refused.lock()
        {
            refused.add(written);
        }
        if outcome.is_ok() || self.gave_up() {
            self.submitted.send_replace(true);
            // The session ends here, and soon the runtime. An earlier answer would only make it pay for a closing message.
            let _ = self.closed.subscribe().wait_for(|closed| *closed).await;
        }
        outcome.map(|()| json!({"accepted": true}))
    }
}

impl CoordinatorMailbox {
    /// Takes a submission that was written as text. `None` if the text is none.
    pub(super) async fn take_text(&self, text: &str) -> Option<Result<(), ToolError>> {
        let outcome = self.take(in_text(text)?).await;
        if outcome.is_ok() {
            self.submitted.send_replace(true);
        }
        Some(outcome)
    }

    /// The summary of the submission before, if there is one.
    fn summary_before(&self) -> Option<String> {
        let before = self.submission.lock().ok()?;
        before.as_ref().map(|before| before.judgement.summary.clone())
    }

    /// Takes a submission, as far as it goes. An error says what is wrong with it.
    async fn take(&self, arguments: Value) -> Result<(), ToolError> {
        let findings = match self.ready.borrow().as_ref() {
            Some(ready) => ready.findings.clone(),
            None => {
                return Err(ToolError(
                    "call spawn_reviewers first: there is nothing to judge yet".into(),
                ));
            }
        };
        let length = arguments.to_string().len();
        if length > MAX_SUBMISSION {
            return Err(ToolError(format!(
                "the submission has {length} bytes, more than {MAX_SUBMISSION}: give one short decision for each finding"
            )));
        }
        let before = self.partial.lock().ok().and_then(|partial| partial.clone());
        let new = findings.iter().map(|finding| finding.id.as_str());
        let ids: Vec<&str> = new
            .chain(self.earlier.iter().map(|finding| finding.id.as_str()))
            .chain(self.questions.iter().map(|question| question.id.as_str()))
            .collect();
        let mut arguments = completed(in_own_form(arguments, &ids), before.as_ref());
        let said = arguments.clone();
        let (mut verdicts, mut unusable) = take_earlier_verdicts(&mut arguments, &self.earlier);
        verdicts.answers = take_answers(&mut arguments, &self.questions);
        let mut submission = Submission::parse(arguments, &findings).map_err(|fault| {
            unusable.push(fault.to_string());
            ToolError(some_of(&unusable))
        })?;
        unusable.append(&mut submission.faults);
        let is_decided = |id: &str| submission.decisions.iter().any(|decision| decision.id == id);
        verdicts.repeats.retain(|(id, _)| is_decided(id));
        let accusing = accusing(&findings, &self.earlier);
        let grounds = self.grounds(&submission, &verdicts, &findings, &accusing).await;
        if let Some(refuter) = self.refuter.get() {
            refuter
                .check_earlier_verdicts(&mut verdicts, &self.earlier, &accusing)
                .await;
        }
        let missing = undecided(&submission, &verdicts, &findings).join(", ");
        let unanswered = without_answer(&self.questions, &verdicts.answers).join(", ");
        let worst = worst_said(grounds.said_before.clone(), &submission, &findings);
        let judged = apply(findings, &submission, &grounds);
        let mut objections = objections(&judged);
        objections.extend(verdicts.objections(&self.earlier));
        if submission.summary.is_empty() {
            submission.summary = self.summary_before().unwrap_or_else(|| NO_SUMMARY.to_owned());
        }
        let judgement = Judgement {
            findings: judged,
            verdicts,
            summary: submission.summary,
            proposed: submission.proposed_verdict,
            degraded: None,
        };
        match self.submission.lock() {
            // It counts, as far as it goes, also if nothing better comes.
            Ok(mut place) => *place = Some(Submitted { judgement, said: worst }),
            Err(_) => return Err(ToolError("the review was stopped".into())),
        }
        let mut faults = Vec::new();
        let is_whole = missing.is_empty() && unanswered.is_empty() && unusable.is_empty();
        if !is_whole && self.gives_back(RepairKind::Decisions) {
            if let Ok(mut partial) = self.partial.lock() {
                *partial = Some(said);
            }
            if !unusable.is_empty() {
                let unusable = some_of(&unusable);
                faults.push(format!(
                    "{unusable}: submit again, with that put right. The rest counts"
                ));
            }
            if !missing.is_empty() {
                faults.push(format!(
                    "There is no decision on {missing}: submit again, with those decisions. What you have decided on the others counts"
                ));
            }
            if !unanswered.is_empty() {
                faults.push(format!(
                    "There is no entry in `answers` on {unanswered}: submit again, with those entries. The rest counts"
                ));
            }
        }
        if !objections.is_empty() && self.gives_back(RepairKind::Refutations) {
            faults.push(format!(
                "{}. Such a finding is dropped, merged, lowered or withdrawn only with `refuted_by`: file, lines and an exact quote of \
                 the code at head that refutes it. Submit again, all of it: keep these findings, or quote that code. If you do \
                 not, they stand as reported, and your view is noted beside them",
                objections.join("; ")
            ));
        }
        if faults.is_empty() {
            Ok(())
        } else {
            Err(ToolError(faults.join(". ")))
        }
    }
}

#[cfg(test)]
#[path = "mailbox_tests.rs"]
mod tests;

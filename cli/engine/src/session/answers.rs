//! What a reviewer's answers hold: read, checked against the code, and asked for once more where something is wrong.
//!
//! An answer that cannot be read costs the reviewer one more turn that names the fault, and so do quotes that do not stand
//! in their files. What was read is kept: a later answer adds to it, and takes nothing away.

mod calls;
mod excess;
mod fetched;
mod messages;
mod sameness;

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use conclave_shared::{finding::Finding, reviewer::ReviewerName};
use tokio::task::yield_now;

use self::{
    calls::{Given, given},
    excess::{Taken, missing},
    fetched::Fetched,
    messages::{about_faults, about_kept, about_patches, about_quotes, line},
    sameness::{is_same, make_good, repeats_it, says_again},
};
use super::{
    PanelInput, SessionContext,
    conversation::FollowUp,
    reading::{HowFar, Reading, has_to_be_read},
};
use crate::{
    diff::FileDiff,
    findings::{
        Checked, Hallucinated, RawFinding, Report, asserted, check, denies_in_words, drafted, half_finding,
        holds_findings, is_about_words, is_listed, may_assert, scan, thought, whole_findings,
    },
    numbers::plural,
    ports::{FileRead, ProgressEvent, SessionAnswer, StrayCall, WORKSPACE_TOOLS},
    review::{GivenPatch, PanelMember, RepairKind, UnprovenFinding},
    rules::RuleBook,
};

/// Fault of an answer beside which, or before which, something was written that may tell a problem which is in no finding; the
/// words follow, each as a fault of its own.
const TOLD_BEFORE: &str = "what you wrote beside tool calls, beside findings or in your thinking may tell a problem that no finding \
    reports; which is it? Report it as a <finding>, or, if it is none, answer <findings></findings> alone. You wrote:";
/// Maximum number of sentences that a reviewer is asked about.
const MAX_TOLD: usize = 8;
/// Maximum number of sentences beside tool calls that are compared with the findings. The reviewer is asked about any beyond them.
const MAX_COMPARED: usize = 200;

/// All answers of one reviewer.
pub(super) struct Answers<'a> {
    context: &'a SessionContext,
    reviewer: &'a ReviewerName,
    /// Whether the review is inconclusive without this reviewer.
    required: bool,
    /// The rules that it checks, if it is the reviewer of rules.
    rules: Option<&'a RuleBook>,
    input: &'a PanelInput,
    /// The positions of the patches that it has to read.
    duty: Vec<usize>,
    files: Vec<FileDiff>,
    /// Findings as they were written.
    taken: Taken,
    /// Findings whose evidence stands.
    pub(super) findings: Vec<Finding>,
    /// Findings that were not taken and not made good since.
    open: Vec<Hallucinated>,
    /// What could not be read of the last answer.
    pub(super) faults: Vec<String>,
    /// Why it was asked once more.
    pub(super) repairs: Vec<RepairKind>,
    /// What the message is about that was last written.
    pending: Vec<RepairKind>,
    /// Messages that were read, by their ids.
    heard: BTreeSet<String>,
    /// Findings that could not be read and did not come again.
    owed: usize,
    /// The faults of those.
    owed_for: Vec<String>,
    /// Tools with words that may tell a problem and that they were given, which none takes.
    unheard: BTreeMap<String, String>,
    /// Answers that broke off and were not read yet.
    broken: Vec<String>,
    /// Words of the last answer that may report a problem, outside of any finding.
    words: Option<String>,
    /// A sentence beside an empty list that affirms a severe problem which no finding has reported and no words have denied since.
    affirmed: Option<String>,
    /// Sentences beside tool calls that assert a problem, and were not asked about.
    asserted: Vec<String>,
    /// Other sentences beside tool calls and findings, of which it is not known that they tell no problem.
    remarked: Vec<String>,
    /// The same of the thinking in front of the last answer, with the findings that reasoning apart from it drafts.
    thought: Vec<String>,
    /// True if it was asked about a problem that no finding reports: it thinks about that once more before it answers.
    is_asked_of_words: bool,
}

impl<'a> Answers<'a> {
    pub(super) fn new(context: &'a SessionContext, member: &'a PanelMember, input: &'a PanelInput) -> Self {
        let rules = member.rules.as_deref();
        Self {
            context,
            reviewer: &member.name,
            required: member.required,
            rules,
            input,
            duty: duty(member, input),
            files: input.files.iter().chain(input.unchanged.iter()).cloned().collect(),
            taken: Taken::default(),
            findings: Vec::new(),
            open: Vec::new(),
            faults: Vec::new(),
            repairs: Vec::new(),
            pending: Vec::new(),
            heard: BTreeSet::new(),
            owed: 0,
            owed_for: Vec::new(),
            unheard: BTreeMap::new(),
            broken: Vec::new(),
            words: None,
            affirmed: None,
            asserted: Vec::new(),
            remarked: Vec::new(),
            thought: Vec::new(),
            is_asked_of_words: false,
        }
    }

    /// The words that may tell a problem that is in no finding, if there are any.
    pub(super) fn may_have_told(&self) -> Option<String> {
        let words = self.words.as_ref();
        let missing = || (self.owed > 0).then(|| missing(&self.owed_for));
        words.map(|words| format!("\"{}\"", line(words))).or_else(missing)
    }

    /// Why it is asked once more, for people.
    fn why(&self) -> String {
        let reasons = self.pending.iter().map(|kind| match kind {
            RepairKind::Unreadable if self.was_read() => {
                format!(
                    "it may have told a problem that is in no finding ({})",
                    self.faults.join("; ")
                )
            }
            RepairKind::Unreadable => format!("its answer could not be read ({})", self.faults.join("; ")),
            RepairKind::Quotes => "the evidence of its findings does not hold".to_owned(),
            RepairKind::Unread => "it has not read all of its patches".to_owned(),
            // Of the session, or of the coordinator.
            _ => String::new(),
        });
        reasons.collect::<Vec<_>>().join(", and ")
    }

    /// Returns whether its answer was read, and leaves only the question what the words beside it are.
    fn was_read(&self) -> bool {
        let first = self.faults.first();
        first.is_some_and(|fault| fault == TOLD_BEFORE || is_about_words(fault))
    }

    /// Findings without evidence that are not serious, and those that were unreadable and never came again.
    pub(super) fn hallucinated(&self) -> Vec<Hallucinated> {
        let lost = self
            .open
            .iter()
            .filter(|lost| !lost.unreadable || self.faults.is_empty());
        lost.cloned().collect()
    }

    /// Serious findings without evidence.
    pub(super) fn unproven(&self) -> Vec<UnprovenFinding> {
        let serious = self.open.iter().filter(|lost| lost.is_serious());
        serious
            .map(|lost| UnprovenFinding {
                reviewer: self.reviewer.clone(),
                severity: lost.severity.clone(),
                category: lost.category.clone(),
                file: lost.file.clone(),
                line: lost.line,
                claim: lost.claim.clone(),
                reason: lost.reason.clone(),
            })
            .collect()
    }

    /// Reads the messages of a session that came before its answer and were not read yet. Models write findings beside
    /// tool calls, and an answer that is cut off or broken off holds some too; what the last message leaves out is not
    /// taken back.
    async fn read_earlier(&mut self, answer: &SessionAnswer) {
        for message in &answer.earlier {
            if self.heard.insert(message.id.clone()) {
                self.hear(&message.text).await;
            }
        }
    }

    /// Reads a message that is not an answer.
    async fn hear(&mut self, text: &str) {
        if holds_findings(text) {
            self.read(text).await;
            self.asserted.extend(self.words.take());
        } else {
            let asserted = asserted(text, &self.paths());
            self.asserted.extend(asserted);
        }
        let remarked = may_assert(text, &self.paths());
        self.remarked.extend(remarked);
    }

    /// Ends the conversation. A problem that a turn without an answer asserts is one that no finding reports, too, and it is too
    /// late to ask about it; what may be none is left alone then.
    pub(super) fn end(&mut self) {
        self.remarked.clear();
        self.miss_unheard();
        self.miss_asserted();
    }

    /// Asks about a problem that was asserted beside a tool call, or in thinking, and is in no finding. One in another notation is
    /// owed a finding, as beside an empty list; in thinking it may have been weighed. What is only not known to be harmless is asked
    /// about in the first turn: models say much beside tool calls, and who was asked says no more than an answer.
    fn miss_asserted(&mut self) {
        if self.asserted.is_empty() && self.thought.is_empty() && self.remarked.is_empty() {
            return;
        }
        let findings = self.findings.iter().map(Report::from);
        let reports: Vec<Report> = findings.chain(self.open.iter().map(Report::from)).collect();
        let (asserted, thought) = (std::mem::take(&mut self.asserted), std::mem::take(&mut self.thought));
        let mut remarked = std::mem::take(&mut self.remarked);
        if self.repairs.contains(&RepairKind::Unreadable) {
            remarked.clear();
        }
        let paths = self.paths();
        let is_reported = |words: &String| Report::any_covers(&reports, words, &paths);
        let unreported = |told: Vec<String>| -> Vec<String> {
            let told = told.into_iter().enumerate();
            let missing = told.filter(|(at, words)| *at >= MAX_COMPARED || !is_reported(words));
            missing.map(|(_, words)| words).collect()
        };
        let (asserted, thought, remarked) = (unreported(asserted), unreported(thought), unreported(remarked));
        let listed = asserted.iter().find(|words| is_listed(words, &paths));
        if let Some(words) = listed.filter(|_| self.owed == 0) {
            self.owe(1, &[format!("\"{}\"", line(words))]);
        }
        let mut told: Vec<String> = Vec::new();
        for words in asserted.into_iter().chain(thought).chain(remarked) {
            if told.len() < MAX_TOLD && !told.contains(&words) {
                told.push(words);
            }
        }
        if told.is_empty() {
            return;
        }
        self.faults.push(TOLD_BEFORE.to_owned());
        self.faults
            .extend(told.iter().map(|words| format!("\"{}\"", line(words))));
        self.words.get_or_insert_with(|| told.swap_remove(0));
    }

    fn paths(&self) -> Vec<&str> {
        self.files.iter().map(|file| file.path.as_str()).collect()
    }

    /// Asks once for findings of messages before the answer of which a part could not be read.
    fn miss_unreadable(&mut self) {
        if self.faults.is_empty() && !self.repairs.contains(&RepairKind::Unreadable) {
            let lost = self.open.iter().filter(|lost| lost.unreadable);
            let faults = lost.map(|lost| {
                let fault = lost.fault_in("that message");
                format!("a finding of an earlier message cannot be read: {fault}")
            });
            self.faults.extend(faults);
        }
    }

    /// Asks for what a tool was given that takes no findings.
    fn miss_unheard(&mut self) {
        for (tool, words) in std::mem::take(&mut self.unheard) {
            let name: String = tool.chars().take(60).collect();
            let why = if WORKSPACE_TOOLS.contains(&tool.as_str()) {
                format!("`{name}` takes no findings")
            } else {
                format!("there is no tool `{name}`")
            };
            self.faults.push(format!(
                "{why}, and what it was given was not read; give all findings in the block"
            ));
            self.words.get_or_insert(words);
        }
    }

    /// Reads an answer. What it holds joins what the answers before it held.
    async fn read(&mut self, text: &str) {
        let mut scanned = scan(text, &self.paths());
        self.taken.bound(&mut scanned);
        // Answers of many findings take their time, and meanwhile a stop has to be heard.
        yield_now().await;
        let before = self.findings.len() + self.open.len();
        let checked = self.checked(&scanned.findings).await;
        yield_now().await;
        self.join(scanned.faults.clone(), checked);
        let gained = (self.findings.len() + self.open.len()).saturating_sub(before);
        self.owed = self.owed.saturating_sub(gained);
        self.owe(scanned.lost, &scanned.faults);
        let is_denied = || scanned.faults.is_empty() && scanned.findings.is_empty() && denies_in_words(text);
        if gained > 0 || is_denied() {
            self.affirmed = None;
        }
        self.affirmed = scanned.affirmed.or_else(|| self.affirmed.take());
        self.words = scanned.words;
        self.miss_owed();
    }

    /// Checks findings against the code.
    async fn checked(&self, findings: &[RawFinding]) -> Checked {
        let mut fetched = Fetched::of(findings, &self.files, self.input.source.as_ref()).await;
        let rules = self.rules.unwrap_or(&self.input.rules);
        check(self.reviewer, findings, &self.files, Some(rules), &mut fetched)
    }

    /// Reads the answers that broke off, once the one that came in their place was read. Their whole findings count as any others
    /// do; of what is half or unreadable, what is serious and did not come again is asked for.
    async fn read_broken(&mut self) {
        for text in std::mem::take(&mut self.broken) {
            let mut checked = self.checked(&whole_findings(&text)).await;
            let whole = checked.findings.clone();
            let unreadable = std::mem::take(&mut checked.unreadable).into_iter();
            checked.hallucinated.extend(unreadable.filter(Hallucinated::is_serious));
            // A known one that this text holds as well came in its own place, and not in that of another.
            make_good(&mut checked.hallucinated, &self.findings, &whole, self.rules);
            checked.faults.clear();
            let faults = std::mem::take(&mut self.faults);
            self.join(faults, checked);
            if let Some(half) = half_finding(&text)
                && !self.came_again(&half, &whole).await
            {
                self.owe(1, &["the answer broke off in one".to_owned()]);
            }
        }
        self.miss_owed();
    }

    /// Returns whether what a broken answer was telling is among the findings that were read, beside those that it told whole. It is as
    /// severe as it ever was.
    async fn came_again(&mut self, half: &RawFinding, whole: &[Finding]) -> bool {
        let read = self.checked(std::slice::from_ref(half)).await;
        for finding in &read.findings {
            let Some(known) = self.findings.iter_mut().find(|known| repeats_it(known, finding)) else {
                return false;
            };
            known.severity = known.severity.max(finding.severity);
        }
        let mut lost: Vec<Hallucinated> = read.hallucinated.into_iter().chain(read.unreadable).collect();
        make_good(&mut lost, &self.findings, whole, self.rules);
        let is_open = |lost: &Hallucinated| self.open.iter().any(|open| is_same(open, lost).is_some());
        lost.iter().all(is_open)
    }

    /// Notes findings that could not be read, and why: they have to come again.
    fn owe(&mut self, lost: usize, faults: &[String]) {
        self.owed += lost;
        if lost > 0 {
            self.owed_for.extend_from_slice(faults);
        }
        if self.owed == 0 {
            self.owed_for.clear();
        }
    }

    /// Asks for findings that could not be read and did not come again, and for a severe problem that stands in words alone.
    fn miss_owed(&mut self) {
        if self.faults.is_empty()
            && let Some(words) = self.affirmed.clone()
        {
            self.faults.push(format!(
                "a severe problem in the words of an earlier message is in no finding, and was not denied in words: \"{}\"",
                line(&words)
            ));
            self.words.get_or_insert(words);
        }
        if self.owed > 0 && self.faults.is_empty() {
            self.faults.push(format!(
                "findings of an earlier message were not taken and did not come again: {} ({})",
                self.owed,
                self.owed_for.join("; ")
            ));
        }
    }

    fn join(&mut self, faults: Vec<String>, checked: Checked) {
        make_good(&mut self.open, &checked.findings, &self.findings, self.rules);
        // One by one: two findings of one answer are never the same.
        let mut before: Vec<bool> = vec![true; self.open.len()];
        for lost in checked.hallucinated.into_iter().chain(checked.unreadable) {
            let others = (0..before.len()).filter(|&index| before[index]);
            let same = others.filter_map(|index| Some((is_same(&lost, &self.open[index])?, index)));
            match same.min() {
                Some((_, index)) => {
                    before[index] = false;
                    if lost.is_serious() || !self.open[index].is_serious() {
                        let known = std::mem::replace(&mut self.open[index], lost);
                        self.open[index].serious_rules.extend(known.serious_rules);
                    }
                }
                None => self.open.push(lost),
            }
        }
        for finding in checked.findings {
            let known = self.findings.iter_mut().find(|known| says_again(&finding, known));
            match known {
                Some(known) => known.severity = known.severity.max(finding.severity),
                None => self.findings.push(finding),
            }
        }
        self.faults = faults.into_iter().chain(checked.faults).collect();
    }

    /// What has to be said once more, and was not said before.
    fn message(&mut self, reads: &[FileRead]) -> Option<String> {
        self.pending.clear();
        let mut parts = Vec::new();
        if !self.faults.is_empty() && !self.repairs.contains(&RepairKind::Unreadable) {
            self.pending.push(RepairKind::Unreadable);
            self.is_asked_of_words |= self.words.is_some();
            parts.push(about_faults(&self.faults, self.was_read()));
        }
        let misquoted: Vec<&Hallucinated> = self.open.iter().filter(|lost| lost.can_be_repaired()).collect();
        if !misquoted.is_empty() && !self.repairs.contains(&RepairKind::Quotes) {
            self.pending.push(RepairKind::Quotes);
            parts.push(about_quotes(&misquoted));
        }
        let unread = self.unread(reads);
        if !unread.is_empty() && !self.repairs.contains(&RepairKind::Unread) {
            self.pending.push(RepairKind::Unread);
            parts.push(about_patches(&unread));
        }
        if parts.is_empty() {
            return None;
        }
        parts.push(about_kept(&self.findings));
        Some(parts.join("\n\n"))
    }

    /// The files of rules that the reviewer of rules has not read to their ends, in words. Others may have, and know no rule.
    pub(super) fn unchecked(&self, reads: &[FileRead]) -> Option<String> {
        self.rules?;
        let reading = Reading::new(reads);
        let is_read = |position: usize| {
            let patch = self.input.patches.get(position);
            patch.is_none_or(|patch| patch.in_prompt || reading.how_far(patch) == HowFar::Fully)
        };
        let unread = self.duty.iter().filter(|position| !is_read(**position));
        let mut files = unread.filter_map(|position| self.input.files.get(*position));
        let first = &files.next()?.path;
        Some(match files.count() {
            0 => format!("it did not read {first} to its end, which rules are for"),
            more => {
                let more = plural(more, "more file");
                format!("it did not read {first} and {more} to their ends, which rules are for")
            }
        })
    }

    /// Returns whether it has patches to read, and has read nothing of any. What the reviewer of rules has not read is named by
    /// [`Self::unchecked`].
    pub(super) fn has_read_nothing(&self, reads: &[FileRead]) -> bool {
        let reading = Reading::new(reads);
        let is_untouched = |patch: &GivenPatch| !patch.in_prompt && reading.how_far(patch) == HowFar::Not;
        let mut patches = self
            .duty
            .iter()
            .filter_map(|position| self.input.patches.get(*position));
        self.rules.is_none() && !self.duty.is_empty() && patches.all(is_untouched)
    }

    /// Its patches that it has not read whole, each with what is missing.
    fn unread(&self, reads: &[FileRead]) -> Vec<String> {
        let reading = Reading::new(reads);
        let patches = self
            .duty
            .iter()
            .filter_map(|position| self.input.patches.get(*position));
        let missing = |patch: &GivenPatch| match reading.how_far(patch) {
            _ if patch.in_prompt => None,
            HowFar::Fully => None,
            HowFar::Not => Some(format!("`{}`", patch.path)),
            HowFar::Partly(missing) => Some(format!("`{}`: {missing}", patch.path)),
        };
        patches.filter_map(missing).collect()
    }
}

#[async_trait]
impl FollowUp for Answers<'_> {
    async fn hear_calls(&mut self, calls: &[StrayCall]) {
        for call in calls {
            if !self.heard.insert(format!("{} {}", call.tool, call.arguments)) {
                continue;
            }
            let given = given(call, &self.paths());
            match given {
                Some(Given::Findings(text)) => {
                    self.read(&text).await;
                    self.asserted.extend(self.words.take());
                }
                Some(Given::Words(words)) => {
                    self.unheard.insert(call.tool.clone(), words);
                }
                None => {}
            }
        }
    }

    async fn hear_broken(&mut self, answers: Vec<String>) {
        let is_new = |answer: &String| self.heard.insert(format!("broken off: {answer}"));
        self.broken = answers.into_iter().filter(is_new).collect();
    }

    async fn next(&mut self, answer: &SessionAnswer) -> Option<String> {
        self.read_earlier(answer).await;
        self.heard.extend(answer.message.clone());
        if !self.is_asked_of_words {
            self.thought = thought(&answer.text, &self.paths());
            self.thought.extend(drafted(&answer.reasoning));
        }
        self.read(&answer.text).await;
        if holds_findings(&answer.text) {
            let remarked = may_assert(&answer.text, &self.paths());
            self.remarked.extend(remarked);
        }
        self.read_broken().await;
        self.miss_unreadable();
        self.miss_unheard();
        self.miss_asserted();
        let message = self.message(&answer.reads)?;
        // Only while the budget has room for it.
        if let Some(spent) = self.context.ledger.budget().forbids(self.required) {
            self.failed(&spent);
            return None;
        }
        let line = format!("{} is asked once more: {}", self.reviewer.display_name(), self.why());
        self.context.progress.report(ProgressEvent::Warning(&line));
        self.repairs.append(&mut self.pending);
        Some(message)
    }

    async fn overhear(&mut self, answer: &SessionAnswer) {
        self.read_earlier(answer).await;
        let is_new = answer.message.as_ref().is_some_and(|id| self.heard.insert(id.clone()));
        if is_new {
            self.hear(&answer.text).await;
        }
        self.read_broken().await;
    }

    async fn ended(&mut self) {
        self.read_broken().await;
    }

    fn failed(&mut self, reason: &str) {
        if !self.faults.is_empty() {
            self.faults.push(format!("asked once more: {reason}"));
        }
    }

    fn is_given_less(&mut self) {
        self.duty.clear();
    }
}

/// The positions of the patches that a reviewer is asked for if it leaves them out: those without which the review is
/// incomplete.
fn duty(member: &PanelMember, input: &PanelInput) -> Vec<usize> {
    let counts = |position: &&usize| {
        let file = input.files.get(**position);
        file.is_some_and(|file| match member.rules.as_deref() {
            // A file that was only moved to where a rule is for it counts, too.
            Some(rules) => rules.of_file(&file.path).next().is_some(),
            None => has_to_be_read(file, &input.security),
        })
    };
    let patches = member.patches.iter().filter(|_| member.required);
    patches.filter(counts).copied().collect()
}

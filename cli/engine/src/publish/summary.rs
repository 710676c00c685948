//! The summary: one note, found again and edited, never posted twice, and left alone where it says the same already.

use serde_json::{Value, json};

use super::{
    BotIdentity, Concluded, Conversation, Note, NoteForm, SummaryState,
    length::limit,
    marker::{split, text_hash},
};
use crate::{
    report::render_markdown,
    review::{CarryOver, HoldCause, Review},
};

/// Millionths of a dollar in a dollar.
const MICROS: f64 = 1_000_000.0;

/// A summary that is to be posted.
#[derive(Debug, Clone)]
pub struct Summary {
    text: String,
    /// The state of this run.
    pub state: SummaryState,
    /// The costs of all reviews of the merge request, in millionths of a dollar.
    pub spent_micros: u64,
    /// The memory for the next review, if any.
    pub carry_over: Option<CarryOver>,
    /// Whether it has to be written even if it says the same: its costs have changed, and there is a limit for them.
    pub must_be_written: bool,
}

/// The step that brings a summary onto the merge request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryStep {
    /// The note with this number says the same.
    Keep(u64),
    /// The note with this number is edited.
    Edit(u64),
    /// There is none.
    Post,
}

impl Summary {
    /// The summary of a review.
    pub fn of(review: &Review, form: NoteForm) -> Self {
        let mut summary = Self::new(&render_markdown(review), conclusion(review), form.max_summary);
        // A marker is its JSON in Base64.
        let mut carry_over = review.carry_over.clone().within(form.max_carry_over / 4 * 3);
        carry_over.patches.clear();
        carry_over.objects.clear();
        summary.carry_over = Some(carry_over);
        summary.state.head = Some(review.head_sha.clone());
        summary.state.concluded = Some(Concluded {
            head: review.head_sha.clone(),
            verdict: review.verdict,
            may_approve: review.may_approve(),
        });
        summary
    }

    /// Any text in the summary's place. Two with the same conclusion say the same.
    pub fn new(text: &str, conclusion: String, max_bytes: usize) -> Self {
        let text = limit(text.trim_end(), max_bytes);
        let state = SummaryState {
            conclusion,
            text: text_hash(text.trim()),
            ..SummaryState::default()
        };
        Self {
            text,
            state,
            spent_micros: 0,
            carry_over: None,
            must_be_written: false,
        }
    }

    /// The same with another text, which concludes something else.
    #[must_use]
    pub fn with_text(self, text: &str, conclusion: String, max_bytes: usize) -> Self {
        let Self { text, state, .. } = Self::new(text, conclusion, max_bytes);
        Self { text, state, ..self }
    }

    /// The note as it is posted.
    pub fn body(&self, bot: &BotIdentity) -> String {
        let signer = &bot.signer;
        let mut body = format!(
            "{}\n\n{}\n{}\n{}",
            self.text,
            signer.summary(),
            signer.spent(self.spent_micros),
            signer.sign(&self.state),
        );
        if let Some(carry_over) = &self.carry_over {
            body.push('\n');
            body.push_str(&signer.sign(carry_over));
        }
        body
    }

    /// Returns the step that brings it onto the merge request.
    pub fn step(&self, bot: &BotIdentity, conversation: &Conversation) -> SummaryStep {
        match bot.summary(conversation) {
            None => SummaryStep::Post,
            Some(note) if !self.must_be_written && self.is_said_by(bot, note) => SummaryStep::Keep(note.id),
            Some(note) => SummaryStep::Edit(note.id),
        }
    }

    /// Returns whether the last summary concluded something else.
    pub fn is_news(&self, bot: &BotIdentity, conversation: &Conversation) -> bool {
        let last = bot.last_state(conversation);
        last.is_none_or(|last| last.conclusion != self.state.conclusion)
    }

    /// Returns whether the note concludes the same, and still reads as it was written.
    fn is_said_by(&self, bot: &BotIdentity, note: &Note) -> bool {
        let Some(known) = bot.signer.read::<SummaryState>(&note.text) else {
            return false;
        };
        let (shown, _) = split(&note.text);
        self.carry_over == bot.signer.read(&note.text)
            && known.conclusion == self.state.conclusion
            && known.requested_changes == self.state.requested_changes
            && known.head == self.state.head
            && known.approved_for == self.state.approved_for
            && known.dismissed == self.state.dismissed
            && known.unexplained == self.state.unexplained
            && known.text == text_hash(shown.trim())
    }
}

/// The review as Markdown of at most so many bytes, for another place than a note: without markers.
pub fn summary_within(review: &Review, max_bytes: usize) -> String {
    limit(render_markdown(review).trim_end(), max_bytes)
}

/// The costs of the reviews of the merge request with this one, by the note as it is now: another job may have paid since the
/// merge request was loaded.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float is clamped, and never negative here"
)]
pub fn spent_with(bot: &BotIdentity, conversation: &Conversation, review: &Review) -> u64 {
    let own = (review.spent_usd() * MICROS).round() as u64;
    bot.spent_micros(conversation).saturating_add(own)
}

/// The costs of earlier reviews, in US dollars.
#[expect(clippy::cast_precision_loss, reason = "amounts stay far below 2^53")]
pub fn spent_usd(bot: &BotIdentity, conversation: &Conversation) -> f64 {
    bot.spent_micros(conversation) as f64 / MICROS
}

/// A hash of what a review concludes: the same for two runs that differ in times, costs and wording only, so that the
/// second one writes nothing. What the judge would have done with a finding that stands is wording: a run without a judge does not say it.
fn conclusion(review: &Review) -> String {
    let mut findings: Vec<Value> = review
        .surviving()
        .map(|entry| {
            let finding = &entry.finding;
            json!([
                finding.fingerprint,
                finding.severity,
                finding.file,
                finding.line,
                finding.end_line,
                entry.section,
                entry.posted,
            ])
        })
        .collect();
    // Their order is not a part of the conclusion.
    findings.sort_by_cached_key(Value::to_string);
    let rules: Vec<&str> = review
        .manual_reviews
        .iter()
        .map(|manual| manual.rule.as_str())
        .collect();
    let holds: Vec<Value> = review
        .approval_holds
        .iter()
        // A person's dismissal is not a conclusion of the review.
        .filter(|hold| hold.cause != HoldCause::Dismissed)
        .map(|hold| json!([hold.cause, hold.places]))
        .collect();
    let mut said = vec![json!([
        review.base_sha,
        review.head_sha,
        review.verdict,
        review.from_fork,
        findings,
        rules,
        review.coverage.gaps,
        review.degraded,
        review.partial,
        holds,
    ])];
    // Only where there is one, so that it changes nothing of notes without.
    said.extend(review.configuration.iter().map(|fallback| json!(fallback.instead)));
    said.extend((!review.accepted.is_empty()).then(|| json!(review.accepted)));
    let said: Vec<String> = said.iter().map(Value::to_string).collect();
    text_hash(&said.join(" "))
}

#[cfg(test)]
mod tests {
    use conclave_shared::severity::Severity;

    use super::*;
    use crate::{
        incremental::test_support::fresh,
        review::{Overruled, test_support::review},
    };

    #[test]
    fn what_the_judge_would_have_done_with_a_finding_concludes_nothing_else() {
        let mut review = review();
        review.findings = vec![fresh("F1", Severity::Critical, "c")];
        let before = conclusion(&review);
        review.findings[0].overruled = Some(Overruled {
            action: "withdraw".to_owned(),
            severity: None,
            reason_code: None,
            reason: None,
            fault: "there is no code that refutes it".to_owned(),
        });
        assert_eq!(conclusion(&review), before);
        review.findings[0].finding.severity = Severity::Warning;
        assert_ne!(conclusion(&review), before);
    }
}

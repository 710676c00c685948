//! The summary: one note, found again and edited, never posted twice, and left alone where it says the same already.

use conclave_engine::{
    report::render_markdown,
    review::{Ledger, Review},
};
use serde_json::{Value, json};

use crate::{
    GitLabError,
    client::Client,
    discussions::{Conversation, Note},
    length::limit,
    marker::{self, Concluded, SummaryState, hash},
    merge_request::Ourselves,
};

/// The longest note, in bytes; GitLab takes more, but nobody reads it.
const MOST_BYTES: usize = 60_000;

/// A summary that is to be posted.
#[derive(Debug)]
pub(crate) struct Summary {
    text: String,
    pub(crate) state: SummaryState,
    spent_micros: u64,
    /// What the next review has to know, if anything.
    ledger: Option<Ledger>,
    /// Whether it has to be written even if it says the same.
    must_be_written: bool,
}

/// What the note remembers besides what it says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    /// What the reviews of the merge request have cost, in millionths of a dollar.
    pub(crate) spent_micros: u64,
    /// Whether that has changed and somebody counts on it.
    pub(crate) spent_counts: bool,
    /// Whether changes are requested.
    pub(crate) requested_changes: bool,
}

impl Summary {
    /// The summary of a review.
    pub(crate) fn of(review: &Review, memory: Memory) -> Self {
        let mut summary =
            Self::new(&render_markdown(review), conclusion(review), memory).remembering(Some(review.ledger.clone()));
        summary.state.head = Some(review.head_sha.clone());
        summary.concluding(Some(Concluded {
            head: review.head_sha.clone(),
            verdict: review.verdict,
            may_approve: review.may_approve(),
        }))
    }

    /// The same, remembering this conclusion of a review.
    pub(crate) fn concluding(mut self, concluded: Option<Concluded>) -> Self {
        self.state.concluded = concluded;
        self
    }

    /// The same, of a review that approves the merge into this branch.
    pub(crate) fn approving(mut self, branch: Option<&str>) -> Self {
        self.state.approved_for = branch.map(str::to_owned);
        self
    }

    /// The note as it is posted.
    fn body(&self, ourselves: &Ourselves) -> String {
        let mut body = format!(
            "{}\n\n{}\n{}\n{}",
            self.text,
            ourselves.marker,
            ourselves.spent_marker(self.spent_micros),
            ourselves.state_marker(&self.state),
        );
        if let Some(ledger) = &self.ledger {
            body.push('\n');
            body.push_str(&ourselves.ledger_marker(ledger));
        }
        body
    }

    /// Any text in the summary's place.
    pub(crate) fn new(text: &str, conclusion: String, memory: Memory) -> Self {
        let text = limit(text.trim_end(), MOST_BYTES);
        let state = SummaryState {
            conclusion,
            text: hash(text.trim()),
            requested_changes: memory.requested_changes,
            head: None,
            approved_for: None,
            concluded: None,
        };
        Self {
            text,
            state,
            spent_micros: memory.spent_micros,
            ledger: None,
            must_be_written: memory.spent_counts,
        }
    }

    /// With what the next review has to know.
    pub(crate) fn remembering(mut self, ledger: Option<Ledger>) -> Self {
        self.ledger = ledger;
        self
    }

    /// Posts it, or edits the note that is there, unless that says the same. Returns the note's id.
    pub(crate) async fn post(
        &self,
        client: &Client,
        ourselves: &Ourselves,
        conversation: &mut Conversation,
    ) -> Result<Option<u64>, GitLabError> {
        if let Some(note) = self.edit(client, ourselves, conversation).await? {
            return Ok(Some(note));
        }
        let (path, body) = (
            client.merge_request_path("/notes"),
            json!({ "body": self.body(ourselves) }),
        );
        let mut failed = 0;
        let own = loop {
            match client.post_once("post the review", &path, &body).await {
                Ok(note) => break note.get("id").and_then(Value::as_u64),
                Err(error) if error.may_have_happened() => {
                    // GitLab may have stored the note and failed afterwards: look before anything is posted again.
                    tracing::warn!(%error, "looking whether the review was posted all the same");
                    failed += 1;
                    let again = client.pause(failed).await;
                    conversation.read_on(client).await?;
                    if let Some(note) = self.edit(client, ourselves, conversation).await? {
                        return Ok(Some(note));
                    }
                    if !again {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        };
        self.only_one(client, ourselves, conversation, own).await
    }

    /// Another job may have posted at the same time: then its older note is edited, and ours goes.
    async fn only_one(
        &self,
        client: &Client,
        ourselves: &Ourselves,
        conversation: &mut Conversation,
        own: Option<u64>,
    ) -> Result<Option<u64>, GitLabError> {
        conversation.read_on(client).await?;
        let first = ourselves.summary(&conversation.notes()).map(|note| note.id);
        match (first, own) {
            (Some(first), Some(own)) if first != own => {
                let edited = self.edit(client, ourselves, conversation).await?;
                let path = client.merge_request_path(&format!("/notes/{own}"));
                client
                    .delete("delete a note that another job has posted too", &path)
                    .await?;
                Ok(edited)
            }
            _ => Ok(own),
        }
    }

    /// Gives our note this text. Nothing if there is none, or if somebody has deleted it meanwhile.
    async fn edit(
        &self,
        client: &Client,
        ourselves: &Ourselves,
        conversation: &Conversation,
    ) -> Result<Option<u64>, GitLabError> {
        let notes = conversation.notes();
        let Some(note) = ourselves.summary(&notes) else {
            return Ok(None);
        };
        if !self.must_be_written && self.is_said_by(ourselves, note) {
            return Ok(Some(note.id));
        }
        let path = client.merge_request_path(&format!("/notes/{}", note.id));
        match client
            .put("edit its review", &path, &json!({ "body": self.body(ourselves) }))
            .await
        {
            Ok(()) => Ok(Some(note.id)),
            Err(GitLabError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether the note concludes the same, and still reads as it was written.
    fn is_said_by(&self, ourselves: &Ourselves, note: &Note) -> bool {
        let Some(known) = ourselves.state(note) else {
            return false;
        };
        let (shown, _) = marker::split(note.text());
        self.ledger == ourselves.ledger(note)
            && known.conclusion == self.state.conclusion
            && known.requested_changes == self.state.requested_changes
            && known.head == self.state.head
            && known.approved_for == self.state.approved_for
            && known.text == hash(shown.trim())
    }
}

/// A hash of what a review concludes: the same for two runs that differ in times, costs and wording only, so that the
/// second one writes nothing.
fn conclusion(review: &Review) -> String {
    let mut findings: Vec<Value> = review
        .standing()
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
                entry.overruled.as_ref().map(|overruled| &overruled.action),
            ])
        })
        .collect();
    // In which order they are told is no conclusion.
    findings.sort_by_cached_key(Value::to_string);
    let rules: Vec<&str> = review
        .manual_reviews
        .iter()
        .map(|manual| manual.rule.as_str())
        .collect();
    let holds: Vec<Value> = review
        .approval_holds
        .iter()
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
    let said: Vec<String> = said.iter().map(Value::to_string).collect();
    hash(&said.join(" "))
}

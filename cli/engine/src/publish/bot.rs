//! Our account, and what is ours on a merge request.

use super::{Answered, Conversation, Marker, Note, Signer, SummaryState, Thread, marker};
use crate::review::FindingRecord;

/// Our account and its signature: by both together our notes are known.
#[derive(Debug, Clone)]
pub struct BotIdentity {
    /// The account's number.
    pub account: u64,
    /// Signs markers for this merge request.
    pub signer: Signer,
}

/// A thread of ours that shows a finding.
#[derive(Debug)]
pub struct OwnThread<'c> {
    /// The thread.
    pub thread: &'c Thread,
    /// The note that shows the finding.
    pub note: &'c Note,
    /// Its record of the finding.
    pub record: FindingRecord,
}

impl BotIdentity {
    /// Returns whether our account wrote the note.
    pub fn wrote(&self, note: &Note) -> bool {
        !note.by_forge && note.author.as_ref().is_some_and(|author| author.id == self.account)
    }

    /// Our summary, the oldest if there are several. A marker that was copied is not ours, and neither is a note without one, nor one
    /// that another account has edited: its marks may be of an earlier one.
    pub fn summary<'c>(&self, conversation: &'c Conversation) -> Option<&'c Note> {
        let mut summaries = self.summaries(conversation);
        summaries.find(|note| !note.may_be_anothers())
    }

    fn summaries<'c>(&self, conversation: &'c Conversation) -> impl Iterator<Item = &'c Note> {
        let marker = self.signer.summary();
        let mut notes = conversation.notes();
        notes.retain(|note| self.wrote(note) && marker::has(&note.text, &marker));
        notes.into_iter()
    }

    /// The text of our summary without markers.
    pub fn summary_text(&self, conversation: &Conversation) -> Option<String> {
        self.summary(conversation).map(Note::shown_text)
    }

    /// Returns a value that our summary remembers.
    pub fn remembered<M: Marker>(&self, conversation: &Conversation) -> Option<M> {
        self.signer.read(&self.summary(conversation)?.text)
    }

    /// The state that our summary remembers of the run that wrote it.
    pub fn last_state(&self, conversation: &Conversation) -> Option<SummaryState> {
        self.remembered(conversation)
    }

    /// The costs of our reviews so far, in millionths of a dollar, as our summary says.
    pub fn spent_micros(&self, conversation: &Conversation) -> u64 {
        let summary = self.summary(conversation);
        summary
            .and_then(|note| self.signer.read_spent(&note.text))
            .unwrap_or_default()
    }

    /// Returns whether we have answered a light-hearted question on this merge request.
    pub fn has_aside(&self, conversation: &Conversation) -> bool {
        let marker = self.signer.aside();
        let mut notes = conversation.notes().into_iter();
        notes.any(|note| self.wrote(note) && marker::has(&note.text, &marker))
    }

    /// Our answers to comments, oldest first. Each comes with the number of the comment, and with its own thread.
    pub fn answers<'c>(&self, conversation: &'c Conversation) -> Vec<(u64, &'c Thread, &'c Note)> {
        let threads = conversation.threads.iter();
        let notes = threads.flat_map(|thread| thread.notes.iter().map(move |note| (thread, note)));
        let own = notes.filter(|(_, note)| self.wrote(note));
        let answers = own.filter_map(|(thread, note)| {
            let Answered { note: comment } = self.signer.read(&note.text)?;
            Some((comment, thread, note))
        });
        let mut answers: Vec<_> = answers.collect();
        answers.sort_by_key(|(_, _, note)| note.order);
        answers
    }

    /// The finding that our note shows.
    pub fn finding(&self, note: &Note) -> Option<FindingRecord> {
        self.wrote(note).then(|| self.signer.read(&note.text))?
    }

    /// Our threads that show findings, oldest first.
    pub fn threads<'c>(&self, conversation: &'c Conversation) -> Vec<OwnThread<'c>> {
        let mut threads: Vec<OwnThread<'c>> = conversation
            .threads
            .iter()
            .filter_map(|thread| {
                let note = thread.notes.first()?;
                let record = self.finding(note)?;
                Some(OwnThread { thread, note, record })
            })
            .collect();
        threads.sort_by_key(|own| own.note.order);
        threads
    }

    /// Our summaries that another secret has signed, oldest first.
    pub fn unreadable_summaries<'c>(&self, conversation: &'c Conversation) -> Vec<&'c Note> {
        let mut notes = conversation.notes();
        notes.retain(|note| self.wrote(note) && self.signer.is_foreign_summary(&note.text));
        notes
    }

    /// Our threads that show findings which another secret has signed. Only we can have begun them: a copy in a note of another
    /// account, in a quote, in code or above a note's end counts for nothing here either.
    pub fn unreadable_threads<'c>(&self, conversation: &'c Conversation) -> Vec<&'c Thread> {
        let is_unreadable = |note: &Note| self.wrote(note) && self.signer.is_foreign::<FindingRecord>(&note.text);
        let threads = conversation.threads.iter();
        threads
            .filter(|thread| thread.notes.first().is_some_and(is_unreadable))
            .collect()
    }

    /// Our summaries that another account has edited, oldest first.
    pub fn edited_summaries<'c>(&self, conversation: &'c Conversation) -> Vec<&'c Note> {
        let summaries = self.summaries(conversation);
        summaries.filter(|note| note.may_be_anothers()).collect()
    }

    /// Our threads whose first note shows a finding and was edited by another account.
    pub fn edited_threads<'c>(&self, conversation: &'c Conversation) -> Vec<&'c Thread> {
        let own = self.threads(conversation).into_iter();
        let edited = own.filter(|own| own.note.may_be_anothers());
        edited.map(|own| own.thread).collect()
    }

    /// The finding as our newest note in the thread has it, with the worst that any of them said: waiting until a finding is
    /// reported as milder must not make it easier to settle.
    pub fn last_record(&self, own: &OwnThread<'_>) -> FindingRecord {
        let records: Vec<FindingRecord> = own.thread.notes.iter().filter_map(|note| self.finding(note)).collect();
        let mut last = records.last().unwrap_or(&own.record).clone();
        for record in &records {
            last.severity = last.severity.max(record.severity);
            last.production_risk |= record.production_risk;
        }
        if let Some(steers) = records.iter().find(|record| record.is_prompt_injection()) {
            last.category.clone_from(&steers.category);
        }
        last
    }
}

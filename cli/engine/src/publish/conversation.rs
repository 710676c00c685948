//! Everything that is written on a merge request, as every forge has it.

use conclave_shared::telemetry::FindingPlacement;

use super::marker::without_markers;

/// An account on the forge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// Its number.
    pub id: u64,
    /// Its name; empty where the forge does not say.
    pub name: String,
    /// Whether it is a program's, as far as the forge says.
    pub is_bot: Option<bool>,
    /// The address that it shows to everyone.
    pub email: Option<String>,
}

/// Changes of a note's text after it was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Edited {
    /// None.
    #[default]
    No,
    /// By its author alone.
    ByAuthor,
    /// By another account, or by one that the forge does not name: the words may not be the author's.
    ByAnother,
}

/// A note.
#[derive(Debug, Clone)]
pub struct Note {
    /// Its number, by which it is edited and linked to.
    pub id: u64,
    /// Grows with the time of writing, over all notes of the merge request.
    pub order: u64,
    /// Its author; none for a deleted account.
    pub author: Option<Account>,
    /// Its text, with our markers.
    pub text: String,
    /// Whether the forge itself wrote it, about something that its author did.
    pub by_forge: bool,
    /// Whether only members can read it.
    pub internal: bool,
    /// The last change of its text.
    pub edited: Edited,
    /// Its place, if it is on the diff.
    pub placement: FindingPlacement,
}

impl Note {
    /// Its text without our markers.
    pub fn shown_text(&self) -> String {
        without_markers(&self.text)
    }

    /// Returns whether its text may be another one than its author wrote.
    pub fn may_be_anothers(&self) -> bool {
        self.edited == Edited::ByAnother
    }

    /// Returns whether a person or program wrote it for everyone who can see the merge request.
    pub const fn is_public_comment(&self) -> bool {
        !self.by_forge && !self.internal
    }
}

/// A thread, or a note of its own.
#[derive(Debug, Clone, Default)]
pub struct Thread {
    /// Its id on the forge.
    pub id: String,
    /// Its notes, oldest first.
    pub notes: Vec<Note>,
    /// Whether everything in it that can be resolved is.
    pub resolved: bool,
    /// True if the forge did not say so: then it is taken for open, and may have been resolved all the same.
    pub is_state_unknown: bool,
    /// The account that resolved it, as far as the forge says.
    pub resolved_by: Option<Account>,
    /// True if the forge takes no answers in it: it is a note of its own, and stays one.
    pub is_single: bool,
}

impl Thread {
    /// Returns whether this account resolved it.
    pub fn is_resolved_by(&self, account: u64) -> bool {
        self.resolved && self.resolved_by.as_ref().is_some_and(|by| by.id == account)
    }

    /// The answers in it, for everyone to read.
    pub fn answers(&self) -> impl DoubleEndedIterator<Item = &Note> {
        self.notes.iter().skip(1).filter(|note| note.is_public_comment())
    }
}

/// The threads and notes of a merge request.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    /// Threads, and notes of their own.
    pub threads: Vec<Thread>,
}

impl Conversation {
    /// Adds threads that were read later, in place of what was known of them.
    pub fn update(&mut self, threads: Vec<Thread>) {
        for thread in threads {
            match self.threads.iter_mut().find(|known| known.id == thread.id) {
                Some(known) => *known = thread,
                None => self.threads.push(thread),
            }
        }
    }

    /// The thread with this id.
    pub fn find(&self, id: &str) -> Option<&Thread> {
        self.threads.iter().find(|thread| thread.id == id)
    }

    /// All notes, oldest first.
    pub fn notes(&self) -> Vec<&Note> {
        let mut notes: Vec<&Note> = self.threads.iter().flat_map(|thread| &thread.notes).collect();
        notes.sort_by_key(|note| note.order);
        notes
    }
}

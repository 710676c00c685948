//! Discussions, notes and draft notes.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::position::Position;

#[derive(Debug, Clone)]
pub(crate) struct Discussion {
    pub(crate) id: String,
    /// Never empty.
    pub(crate) notes: Vec<Note>,
}

impl Discussion {
    pub(crate) fn first(&self) -> &Note {
        self.notes.first().expect("a discussion has a note")
    }

    /// A plain or system note that nobody can reply to in a thread yet.
    pub(crate) fn is_individual(&self) -> bool {
        self.first().kind == NoteKind::Plain
    }

    pub(crate) fn is_resolvable(&self) -> bool {
        self.notes.iter().any(Note::is_resolvable)
    }

    pub(crate) fn is_resolved(&self) -> bool {
        self.is_resolvable()
            && self
                .notes
                .iter()
                .all(|note| !note.is_resolvable() || note.resolution.is_some())
    }

    /// Resolves or reopens every note.
    pub(crate) fn resolve(&mut self, resolution: Option<&Resolution>) {
        for note in self.notes.iter_mut().filter(|note| note.is_resolvable()) {
            match (&note.resolution, resolution) {
                (Some(_), Some(_)) => {}
                _ => note.resolution = resolution.cloned(),
            }
        }
    }
}

/// What the API calls the `type` of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoteKind {
    /// `null`
    Plain,
    /// A note of a resolvable thread.
    Discussion,
    /// A note on the diff.
    Diff,
}

impl NoteKind {
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Discussion => Some("DiscussionNote"),
            Self::Diff => Some("DiffNote"),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Note {
    pub(crate) id: u64,
    pub(crate) kind: NoteKind,
    pub(crate) body: String,
    pub(crate) author: u64,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) updated_at: DateTime<Utc>,
    pub(crate) system: bool,
    pub(crate) internal: bool,
    pub(crate) commit_id: Option<String>,
    pub(crate) position: Option<Position>,
    pub(crate) resolution: Option<Resolution>,
    pub(crate) commands_changes: Map<String, Value>,
    pub(crate) suggestions: Vec<Suggestion>,
}

impl Note {
    pub(crate) fn is_resolvable(&self) -> bool {
        !self.system && self.kind != NoteKind::Plain
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Resolution {
    pub(crate) by: u64,
    pub(crate) at: DateTime<Utc>,
}

/// A change that a fenced `suggestion` block proposes.
#[derive(Debug, Clone)]
pub(crate) struct Suggestion {
    pub(crate) id: u64,
    pub(crate) from_line: u64,
    pub(crate) to_line: u64,
    pub(crate) from_content: String,
    pub(crate) to_content: String,
}

#[derive(Debug, Clone)]
pub(crate) struct DraftNote {
    pub(crate) id: u64,
    pub(crate) author: u64,
    pub(crate) note: String,
    pub(crate) commit_id: Option<String>,
    pub(crate) position: Option<Position>,
    pub(crate) discussion_id: Option<String>,
    pub(crate) resolve_discussion: bool,
}

//! The notes of the merge request: discussions with their notes, as GitLab sends them.

use async_trait::async_trait;
use chrono::{DateTime, FixedOffset};
use conclave_engine::publish::{Edited, Note, Place, Thread, ThreadDraft};
use conclave_forge::{ApiError, NotesApi, Opened, Version, code_link, one_by_one};
use conclave_shared::telemetry::FindingPlacement;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{GitLab, merge_request::time_of, people::User, position};

#[derive(Debug, Deserialize)]
pub(crate) struct NoteRow {
    id: u64,
    body: Option<String>,
    author: Option<User>,
    system: Option<bool>,
    internal: Option<bool>,
    resolvable: Option<bool>,
    resolved: Option<bool>,
    resolved_by: Option<User>,
    position: Option<Position>,
    created_at: Option<String>,
    updated_at: Option<String>,
    resolved_at: Option<String>,
}

/// The place of a note on the diff. GitLab moves it along with its line as long as that is there.
#[derive(Debug, Deserialize)]
struct Position {
    old_line: Option<u64>,
    new_line: Option<u64>,
}

impl NoteRow {
    /// Returns whether GitLab notes here that this account has approved, at this time or later.
    pub(crate) fn is_approval(&self, by: u64, since: DateTime<FixedOffset>) -> bool {
        let at = self.created_at.as_deref().and_then(time_of);
        self.system == Some(true)
            && self.author.as_ref().is_some_and(|author| author.id == by)
            && self.body.as_deref() == Some("approved this merge request")
            && at.is_some_and(|at| at >= since)
    }

    /// Returns whether its text may be another one than its author wrote: maintainers can edit other people's notes, and GitLab does
    /// not say who did. Resolving a thread touches its notes as well; only where it was us is it certain that this was all.
    fn is_edited(&self, bot: u64) -> bool {
        let Some((created, updated)) = self.created_at.as_ref().zip(self.updated_at.as_ref()) else {
            return false;
        };
        let by_us = self.resolved_by.as_ref().is_some_and(|user| user.id == bot);
        created != updated && !(by_us && self.resolved_at.as_ref() == Some(updated))
    }

    fn read(self, bot: u64) -> Note {
        let is_line = |position: &Position| position.old_line.is_some() || position.new_line.is_some();
        Note {
            // Of others only maintainers edit ours, and our own edits look the same.
            edited: if self.author.as_ref().is_none_or(|author| author.id != bot) && self.is_edited(bot) {
                Edited::ByAnother
            } else {
                Edited::No
            },
            id: self.id,
            order: self.id,
            author: self.author.map(Into::into),
            text: self.body.unwrap_or_default(),
            by_forge: self.system == Some(true),
            internal: self.internal == Some(true),
            placement: if self.position.as_ref().is_none_or(is_line) {
                FindingPlacement::Line
            } else {
                FindingPlacement::File
            },
        }
    }
}

/// A thread, or a note of its own.
#[derive(Debug, Deserialize)]
struct Discussion {
    id: String,
    notes: Option<Vec<NoteRow>>,
}

impl Discussion {
    /// Returns what every forge has of it. `bot` is our account.
    fn read(self, bot: u64) -> Thread {
        let mut notes = self.notes.unwrap_or_default();
        let mut resolvable = notes.iter().filter(|note| note.resolvable == Some(true)).peekable();
        let resolved = resolvable.peek().is_some() && resolvable.all(|note| note.resolved == Some(true));
        let resolved_by = notes.iter().find_map(|note| note.resolved_by.clone());
        Thread {
            id: self.id,
            notes: notes.drain(..).map(|note| note.read(bot)).collect(),
            resolved,
            is_state_unknown: false,
            resolved_by: resolved_by.map(Into::into),
            // An answer makes a thread of a note.
            is_single: false,
        }
    }
}

#[async_trait]
impl NotesApi for GitLab {
    async fn threads(&self, bot: u64, from_page: u64) -> Result<(Vec<Thread>, u64), ApiError> {
        // One list has all of it, since a note of its own is a discussion too.
        let url = self.merge_request("/discussions");
        let (rows, last): (Vec<Discussion>, u64) = self.http.list_from("read its comments", &url, from_page).await?;
        Ok((rows.into_iter().map(|row| row.read(bot)).collect(), last))
    }

    fn link(&self, url: &str, note: u64) -> String {
        format!("{url}#note_{note}")
    }

    fn code_link(&self, url: &str, head: &str, file: &str, lines: (u32, u32)) -> Option<String> {
        code_link(url, "/-/merge_requests/", "-/blob", head, file, lines, "-")
    }

    async fn thread(&self, bot: u64, id: &str) -> Result<Thread, ApiError> {
        let row: Discussion = self.read("read a thread", &format!("/discussions/{id}")).await?;
        Ok(row.read(bot))
    }

    async fn open_thread(&self, version: &Version, draft: &ThreadDraft<'_>, place: Place) -> Result<u64, ApiError> {
        let body = json!({ "body": draft.body(place), "position": position::of(version, draft.file, place) });
        let discussion = self.create("post a finding", "/discussions", &body).await?;
        let note = discussion.pointer("/notes/0/id").and_then(Value::as_u64);
        Ok(note.unwrap_or_default())
    }

    async fn open_threads<'d>(
        &self,
        version: &Version,
        drafts: Vec<ThreadDraft<'d>>,
    ) -> Result<Vec<(ThreadDraft<'d>, Opened)>, ApiError> {
        one_by_one(self, version, drafts).await
    }

    async fn reply(&self, thread: &str, body: &str) -> Result<(), ApiError> {
        let (path, body) = (format!("/discussions/{thread}/notes"), json!({ "body": body }));
        self.create("answer in a thread", &path, &body).await.map(drop)
    }

    async fn set_resolved(&self, thread: &str, resolved: bool) -> Result<(), ApiError> {
        let what = if resolved {
            "resolve a thread"
        } else {
            "open a thread again"
        };
        let path = format!("/discussions/{thread}");
        self.put(what, &path, &json!({ "resolved": resolved })).await
    }

    async fn edit_thread_note(&self, note: u64, body: &str) -> Result<(), ApiError> {
        let path = format!("/notes/{note}");
        self.put("edit a comment of its own", &path, &json!({ "body": body }))
            .await
    }

    async fn set_minimized(&self, _thread: &str, _minimized: bool) -> Result<bool, ApiError> {
        Ok(false)
    }

    async fn delete_thread_note(&self, note: u64) -> Result<(), ApiError> {
        self.delete_summary(note).await
    }

    async fn post_note(&self, what: &'static str, body: &str) -> Result<Option<u64>, ApiError> {
        let note = self.create(what, "/notes", &json!({ "body": body })).await?;
        Ok(note.get("id").and_then(Value::as_u64))
    }

    async fn edit_summary(&self, note: u64, body: &str) -> Result<(), ApiError> {
        let path = format!("/notes/{note}");
        self.put("edit its review", &path, &json!({ "body": body })).await
    }

    async fn delete_summary(&self, note: u64) -> Result<(), ApiError> {
        let url = self.merge_request(&format!("/notes/{note}"));
        self.http
            .delete("delete a note that another job has posted too", &url)
            .await
    }
}

//! What is written on the merge request: discussions with their notes, as GitLab tells them.

use conclave_engine::review::FindingRecord;
use conclave_shared::telemetry::FindingPlacement;
use serde::Deserialize;

use crate::{GitLabError, client::Client, merge_request::Ourselves};

/// An account.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct User {
    pub(crate) id: u64,
    #[serde(default)]
    pub(crate) username: Option<String>,
    /// Only some answers tell it; those with notes do not.
    #[serde(default)]
    pub(crate) bot: Option<bool>,
    /// The address that the account shows to everybody.
    #[serde(default)]
    pub(crate) public_email: Option<String>,
}

/// A note.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Note {
    pub(crate) id: u64,
    #[serde(default)]
    pub(crate) body: Option<String>,
    #[serde(default)]
    pub(crate) author: Option<User>,
    #[serde(default)]
    pub(crate) system: Option<bool>,
    #[serde(default)]
    pub(crate) internal: Option<bool>,
    #[serde(default)]
    pub(crate) resolvable: Option<bool>,
    #[serde(default)]
    pub(crate) resolved: Option<bool>,
    #[serde(default)]
    pub(crate) resolved_by: Option<User>,
    #[serde(default)]
    pub(crate) position: Option<NotePosition>,
    #[serde(default)]
    created_at: Option<String>,
    #[serde(default)]
    updated_at: Option<String>,
    #[serde(default)]
    resolved_at: Option<String>,
}

impl Note {
    /// Whether its text may be another one than its author wrote: maintainers can edit other people's notes, and GitLab does
    /// not tell who did. Resolving a thread touches its notes as well; only where it was us is it certain that this was all.
    pub(crate) fn is_edited(&self, bot: u64) -> bool {
        let Some((created, updated)) = self.created_at.as_ref().zip(self.updated_at.as_ref()) else {
            return false;
        };
        let by_us = self.resolved_by.as_ref().is_some_and(|user| user.id == bot);
        created != updated && !(by_us && self.resolved_at.as_ref() == Some(updated))
    }

    pub(crate) fn text(&self) -> &str {
        self.body.as_deref().unwrap_or_default()
    }

    /// Whether it stands beside lines, or beside a file as a whole.
    pub(crate) fn placement(&self) -> FindingPlacement {
        let lines = |position: &NotePosition| position.old_line.is_some() || position.new_line.is_some();
        if self.position.as_ref().is_none_or(lines) {
            FindingPlacement::Line
        } else {
            FindingPlacement::File
        }
    }

    /// Whether everybody who sees the merge request can read it, and a person or bot wrote it.
    pub(crate) fn is_public_comment(&self) -> bool {
        self.system != Some(true) && self.internal != Some(true)
    }
}

/// Where a note stands on the diff. GitLab moves it along with its line as long as that is there.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct NotePosition {
    #[serde(default)]
    pub(crate) old_line: Option<u64>,
    #[serde(default)]
    pub(crate) new_line: Option<u64>,
}

/// A thread, or a note of its own.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Discussion {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) notes: Option<Vec<Note>>,
}

impl Discussion {
    /// Its notes, oldest first.
    pub(crate) fn notes(&self) -> &[Note] {
        self.notes.as_deref().unwrap_or_default()
    }

    /// Whether everything in it that can be resolved is.
    pub(crate) fn is_resolved(&self) -> bool {
        let mut resolvable = self
            .notes()
            .iter()
            .filter(|note| note.resolvable == Some(true))
            .peekable();
        resolvable.peek().is_some() && resolvable.all(|note| note.resolved == Some(true))
    }

    /// Who resolved it, as far as GitLab tells.
    pub(crate) fn resolved_by(&self) -> Option<u64> {
        self.resolved_by_user().map(|user| user.id)
    }

    /// The same with the name.
    pub(crate) fn resolved_by_user(&self) -> Option<&User> {
        self.notes().iter().find_map(|note| note.resolved_by.as_ref())
    }
}

/// A thread of ours that shows a finding.
#[derive(Debug)]
pub(crate) struct OwnThread<'d> {
    pub(crate) discussion: &'d Discussion,
    /// The note that shows the finding.
    pub(crate) note: &'d Note,
    /// What it says of it.
    pub(crate) record: FindingRecord,
}

impl OwnThread<'_> {
    /// Whether we resolved it ourselves.
    pub(crate) fn is_resolved_by(&self, user: u64) -> bool {
        self.discussion.is_resolved() && self.discussion.resolved_by() == Some(user)
    }
}

/// Everything that is written on the merge request.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    pub(crate) discussions: Vec<Discussion>,
    /// The page that the newest are on.
    last_page: u64,
}

impl Conversation {
    /// Reads all of it: one list, since a note of its own is a discussion too.
    pub(crate) async fn read(client: &Client) -> Result<Self, GitLabError> {
        let mut conversation = Self::default();
        conversation.read_from(client, 1).await?;
        Ok(conversation)
    }

    /// Reads what has been added since: discussions are told in the order in which they began.
    pub(crate) async fn read_on(&mut self, client: &Client) -> Result<(), GitLabError> {
        self.read_from(client, self.last_page.max(1)).await
    }

    async fn read_from(&mut self, client: &Client, page: u64) -> Result<(), GitLabError> {
        let path = client.merge_request_path("/discussions");
        let (rows, last): (Vec<Discussion>, u64) = client.list_from("read its comments", &path, page).await?;
        self.last_page = last;
        for row in rows {
            match self.discussions.iter_mut().find(|known| known.id == row.id) {
                Some(known) => *known = row,
                None => self.discussions.push(row),
            }
        }
        Ok(())
    }

    /// The discussion with this id.
    pub(crate) fn find(&self, id: &str) -> Option<&Discussion> {
        self.discussions.iter().find(|discussion| discussion.id == id)
    }

    /// All notes, oldest first.
    pub(crate) fn notes(&self) -> Vec<&Note> {
        let mut notes: Vec<&Note> = self.discussions.iter().flat_map(Discussion::notes).collect();
        notes.sort_by_key(|note| note.id);
        notes
    }

    /// Our threads that show findings, oldest first.
    pub(crate) fn own_threads(&self, ourselves: &Ourselves) -> Vec<OwnThread<'_>> {
        let mut threads: Vec<OwnThread<'_>> = self
            .discussions
            .iter()
            .filter_map(|discussion| {
                let note = discussion.notes().first()?;
                let record = ourselves.finding(note)?;
                Some(OwnThread {
                    discussion,
                    note,
                    record,
                })
            })
            .collect();
        threads.sort_by_key(|thread| thread.note.id);
        threads
    }
}

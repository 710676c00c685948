//! The conversation by REST, where GraphQL does not answer (its own limit is used up in busy repositories): the same notes, without
//! the state of threads, which are left as they are then.

use std::collections::BTreeMap;

use conclave_engine::publish::{Edited, Note, Thread};
use conclave_forge::ApiError;
use conclave_shared::telemetry::FindingPlacement;
use serde::Deserialize;

use crate::{
    GitHub,
    conversation::alone,
    own_reviews::{OwnReview, OwnReviews},
    wire::{NoteKind, User, order, text},
};

/// A comment, or the text of a review.
#[derive(Debug, Deserialize)]
struct Row {
    id: u64,
    user: Option<User>,
    body: Option<String>,
    created_at: Option<String>,
    updated_at: Option<String>,
    submitted_at: Option<String>,
    in_reply_to_id: Option<u64>,
    subject_type: Option<String>,
    state: Option<String>,
}

impl Row {
    fn note(self, kind: NoteKind, bot: u64) -> Note {
        let is_ours = self.user.as_ref().is_some_and(|user| user.id == bot);
        // Who edited it is not said here, and of the text of a review not even whether anybody has.
        let edited = if !is_ours && (kind == NoteKind::Review || self.updated_at != self.created_at) {
            Edited::ByAnother
        } else {
            Edited::No
        };
        let written = self.created_at.or(self.submitted_at);
        Note {
            id: kind.number(self.id),
            order: order(written.as_deref(), self.id),
            author: self.user.map(Into::into),
            text: text(self.body),
            by_forge: false,
            internal: false,
            edited,
            placement: match self.subject_type.as_deref() {
                Some("file") => FindingPlacement::File,
                _ => FindingPlacement::Line,
            },
        }
    }
}

impl GitHub {
    /// Reads everything that is written, by REST.
    pub(crate) async fn read_without_graphql(&self, bot: u64) -> Result<Vec<Thread>, ApiError> {
        const WHAT: &str = "read its comments";
        self.memory.lock().await.threads.clear();
        let comments: Vec<Row> = self.http.list(WHAT, &self.issue("/comments")).await?;
        let reviews: Vec<Row> = self.http.list(WHAT, &self.pull("/reviews")).await?;
        let lines: Vec<Row> = self.http.list(WHAT, &self.pull("/comments")).await?;
        let signer = self.signer().await?;
        let own = reviews.iter().filter_map(|row| {
            let is_ours = row.user.as_ref().is_some_and(|user| user.id == bot);
            let state = row.state.as_deref().filter(|_| is_ours)?;
            Some((row.id, OwnReview::read(&signer, state, &text(row.body.clone()), false)?))
        });
        // Who has dismissed them is not said here.
        self.memory.lock().await.own = OwnReviews {
            reviews: own.collect(),
            ..OwnReviews::default()
        };
        let reviews = reviews.into_iter().filter(|row| {
            let is_pending = row.state.as_deref() == Some("PENDING");
            !is_pending && row.body.as_ref().is_some_and(|body| !body.trim().is_empty())
        });
        let comments = comments.into_iter().map(|row| row.note(NoteKind::Issue, bot));
        let reviews = reviews.map(|row| row.note(NoteKind::Review, bot));
        let mut threads: BTreeMap<u64, Vec<Note>> = BTreeMap::new();
        for row in lines {
            let top = row.in_reply_to_id.unwrap_or(row.id);
            threads.entry(top).or_default().push(row.note(NoteKind::Line, bot));
        }
        let threads = threads.into_iter().map(|(top, notes)| Thread {
            id: top.to_string(),
            notes,
            is_state_unknown: true,
            ..Thread::default()
        });
        Ok(comments.chain(reviews).map(alone).chain(threads).collect())
    }
}

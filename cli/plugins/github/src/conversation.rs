//! Everything that is written on the pull request, read in one query: comments, texts of reviews, and threads.

use conclave_engine::publish::{Edited, Note, Signer, Thread};
use conclave_forge::{ApiError, ApiErrorKind};
use conclave_shared::telemetry::FindingPlacement;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    GitHub,
    memory::{Cursors, FirstComment, KnownThread, Memory},
    own_reviews::{Dismissal, OwnReview, OwnReviews},
    wire::{ACTOR, Actor, NoteKind, order, text},
};

const WHAT: &str = "read its comments";

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    comments: Connection<Post>,
    reviews: Option<Connection<Post>>,
    review_threads: Connection<ThreadRow>,
    timeline_items: Option<Events>,
}

/// The newest reviews that were dismissed.
#[derive(Debug, Deserialize)]
struct Events {
    nodes: Option<Vec<Option<DismissedEvent>>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DismissedEvent {
    previous_review_state: String,
    actor: Option<Actor>,
    review: Option<Dismissed>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Dismissed {
    full_database_id: Option<String>,
}

impl Events {
    /// The events, by the numbers of the reviews.
    fn rows(self) -> impl Iterator<Item = (u64, Dismissal)> {
        let events = self.nodes.into_iter().flatten().flatten();
        events.filter_map(|event| {
            let review = event.review?.full_database_id?.parse().ok()?;
            let dismissal = Dismissal {
                by: event.actor.and_then(Actor::account),
                of_request: event.previous_review_state == "CHANGES_REQUESTED",
            };
            Some((review, dismissal))
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Connection<T> {
    nodes: Option<Vec<Option<T>>>,
    page_info: PageInfo,
}

impl<T> Connection<T> {
    fn rows(self) -> impl Iterator<Item = T> {
        self.nodes.into_iter().flatten().flatten()
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    has_next_page: bool,
    end_cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Post {
    full_database_id: Option<String>,
    pub(crate) author: Option<Actor>,
    pub(crate) body: String,
    created_at: Option<String>,
    submitted_at: Option<String>,
    last_edited_at: Option<String>,
    editor: Option<Actor>,
    /// Of a review.
    pub(crate) state: Option<String>,
    /// Of a comment in a thread; of another one, only whether it is minimized.
    #[serde(flatten)]
    first: FirstComment,
}

impl Post {
    /// The number of our account's review with this text.
    fn own_review(&self, signer: &Signer, bot: u64) -> Option<(u64, OwnReview)> {
        let by = self.author.clone().and_then(Actor::account)?;
        let state = self.state.as_deref().filter(|_| by.id == bot)?;
        let is_anothers = self.edited(Some(bot)) == Edited::ByAnother;
        let own = OwnReview::read(signer, state, &text(Some(self.body.clone())), is_anothers)?;
        Some((self.full_database_id.as_ref()?.parse().ok()?, own))
    }

    /// Returns the last change of a text by this author. People with write access edit each other's texts; one's own words stay one's own.
    fn edited(&self, by: Option<u64>) -> Edited {
        let editor = self.editor.clone().and_then(Actor::account).map(|account| account.id);
        match self.last_edited_at {
            None => Edited::No,
            Some(_) if by.is_some() && editor == by => Edited::ByAuthor,
            Some(_) => Edited::ByAnother,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThreadRow {
    id: String,
    is_resolved: bool,
    resolved_by: Option<Actor>,
    subject_type: Option<String>,
    viewer_can_resolve: bool,
    viewer_can_unresolve: bool,
    comments: Connection<Post>,
}

/// The fields that all notes have.
fn fields(more: &str) -> String {
    format!(
        "pageInfo {{ hasNextPage endCursor }} nodes {{ fullDatabaseId body lastEditedAt \
         author {{ {ACTOR} }} editor {{ {ACTOR} }} {more} }}"
    )
}

fn thread_fields() -> String {
    let posts = fields("id createdAt isMinimized viewerCanMinimize");
    format!(
        "id isResolved resolvedBy {{ __typename login databaseId }} subjectType viewerCanResolve viewerCanUnresolve \
         comments(first: 100) {{ {posts} }}"
    )
}

fn query() -> String {
    let (comments, reviews) = (fields("createdAt isMinimized"), fields("submittedAt state"));
    let threads = thread_fields();
    format!(
        "query($owner: String!, $name: String!, $number: Int!, $size: Int!, $comments: String, $reviews: String, $threads: String) {{ \
           repository(owner: $owner, name: $name) {{ pullRequest(number: $number) {{ \
             comments(first: $size, after: $comments) {{ {comments} }} \
             reviews(first: $size, after: $reviews) {{ {reviews} }} \
             reviewThreads(first: $size, after: $threads) {{ pageInfo {{ hasNextPage endCursor }} nodes {{ {threads} }} }} \
             timelineItems(last: 100, itemTypes: [REVIEW_DISMISSED_EVENT]) {{ nodes {{ ... on ReviewDismissedEvent {{ \
               previousReviewState actor {{ {ACTOR} }} review {{ fullDatabaseId }} }} }} }} \
           }} }} }}"
    )
}

impl GitHub {
    /// Reads everything from a page on, and returns the number of the last page.
    pub(crate) async fn read_pages(&self, bot: u64, from_page: u64) -> Result<(Vec<Thread>, u64), ApiError> {
        let from = usize::try_from(from_page.max(1) - 1).unwrap_or(usize::MAX);
        let signer = self.signer().await?;
        let mut memory = self.memory.lock().await;
        if from == 0 {
            memory.own = OwnReviews::default();
        }
        // A page that was never reached is read from the beginning.
        let mut index = from.min(memory.cursors.len());
        memory.cursors.truncate(index);
        let mut found = Vec::new();
        loop {
            let at = index.checked_sub(1).and_then(|at| memory.cursors.get(at));
            let at = at.cloned().unwrap_or_default();
            let mut variables = self.place();
            variables["size"] = json!(self.page_size);
            variables["comments"] = json!(at.comments);
            variables["reviews"] = json!(at.reviews);
            variables["threads"] = json!(at.threads);
            let pointer = "/repository/pullRequest";
            let page: Page = self.query(WHAT, &query(), &variables, pointer).await?;
            let mut has_more = false;
            let mut behind = |info: &PageInfo, before: &Option<String>| {
                has_more |= info.has_next_page;
                info.end_cursor.clone().or_else(|| before.clone())
            };
            let next = Cursors {
                comments: behind(&page.comments.page_info, &at.comments),
                threads: behind(&page.review_threads.page_info, &at.threads),
                reviews: match &page.reviews {
                    Some(reviews) => behind(&reviews.page_info, &at.reviews),
                    None => at.reviews.clone(),
                },
            };
            let comments = page.comments.rows();
            found.extend(comments.filter_map(|post| single(post, NoteKind::Issue, bot)));
            for post in page.reviews.into_iter().flat_map(Connection::rows) {
                memory.own.reviews.extend(post.own_review(&signer, bot));
                found.extend(single(post, NoteKind::Review, bot));
            }
            let dismissed = page.timeline_items.into_iter().flat_map(Events::rows);
            memory.own.dismissals.extend(dismissed);
            for row in page.review_threads.rows() {
                found.extend(self.thread_of(row, bot, &mut memory).await?);
            }
            if !has_more || next == at {
                let last = u64::try_from(index + 1).unwrap_or(u64::MAX);
                return Ok((found, last));
            }
            memory.cursors.push(next);
            index += 1;
        }
    }

    /// Reads one thread by the number of its first comment.
    pub(crate) async fn read_thread(&self, bot: u64, id: &str) -> Result<Thread, ApiError> {
        let known = self.known_thread(id).await?;
        let threads = thread_fields();
        let query = format!("query($id: ID!) {{ node(id: $id) {{ ... on PullRequestReviewThread {{ {threads} }} }} }}");
        let variables = json!({ "id": known.node });
        let row: ThreadRow = self.query("read a thread", &query, &variables, "/node").await?;
        let mut memory = self.memory.lock().await;
        self.thread_of(row, bot, &mut memory).await?.ok_or_else(|| gone(id))
    }

    /// The thread as GraphQL knows it.
    pub(crate) async fn known_thread(&self, id: &str) -> Result<KnownThread, ApiError> {
        let memory = self.memory.lock().await;
        let known = id.parse::<u64>().ok().and_then(|top| memory.threads.get(&top));
        known.cloned().ok_or_else(|| gone(id))
    }

    async fn thread_of(&self, row: ThreadRow, bot: u64, memory: &mut Memory) -> Result<Option<Thread>, ApiError> {
        let placement = match row.subject_type.as_deref() {
            Some("FILE") => FindingPlacement::File,
            _ => FindingPlacement::Line,
        };
        let mut notes: Vec<Note> = Vec::new();
        let mut comments = row.comments;
        let first = comments.nodes.iter().flatten().flatten().next();
        let first = first.map(|post| post.first.clone());
        loop {
            let has_more = comments.page_info.has_next_page;
            let cursor = comments.page_info.end_cursor.take().filter(|_| has_more);
            let posts = comments.rows().filter_map(|post| note(post, NoteKind::Line, bot));
            notes.extend(posts.map(|note| Note { placement, ..note }));
            let Some(cursor) = cursor else { break };
            comments = self.more_comments(&row.id, &cursor).await?;
        }
        let Some(top) = notes.first().map(|note| NoteKind::of(note.id).1) else {
            return Ok(None);
        };
        let known = KnownThread {
            node: row.id,
            may_change: if row.is_resolved {
                row.viewer_can_unresolve
            } else {
                row.viewer_can_resolve
            },
            first: first.unwrap_or_default(),
        };
        memory.threads.insert(top, known);
        Ok(Some(Thread {
            id: top.to_string(),
            notes,
            resolved: row.is_resolved,
            is_state_unknown: false,
            // None where a program resolved it: the schema has no place for one.
            resolved_by: row.resolved_by.and_then(Actor::account),
            is_single: false,
        }))
    }

    /// The comments of a long thread.
    async fn more_comments(&self, thread: &str, after: &str) -> Result<Connection<Post>, ApiError> {
        let posts = fields("createdAt isMinimized");
        let query = format!(
            "query($id: ID!, $after: String) {{ node(id: $id) {{ ... on PullRequestReviewThread {{ \
             comments(first: 100, after: $after) {{ {posts} }} }} }} }}"
        );
        let variables: Value = json!({ "id": thread, "after": after });
        self.query(WHAT, &query, &variables, "/node/comments").await
    }
}

fn gone(id: &str) -> ApiError {
    let text = format!("GitHub shows no thread that begins with the comment {id}");
    ApiError::new(ApiErrorKind::NotFound, text)
}

/// A note of its own; none for a review without a text, or one that is not submitted.
fn single(post: Post, kind: NoteKind, bot: u64) -> Option<Thread> {
    if post.state.as_deref() == Some("PENDING") || post.body.trim().is_empty() {
        return None;
    }
    note(post, kind, bot).map(alone)
}

/// A note that is in no thread.
pub(crate) fn alone(note: Note) -> Thread {
    Thread {
        id: format!("note-{}", note.id),
        notes: vec![note],
        is_single: true,
        ..Thread::default()
    }
}

fn note(post: Post, kind: NoteKind, bot: u64) -> Option<Note> {
    let id: u64 = post.full_database_id.as_ref()?.parse().ok()?;
    let author = post.author.clone().and_then(Actor::account);
    let by = author.as_ref().map(|account| account.id);
    let edited = post.edited(by);
    let written = post.created_at.or(post.submitted_at);
    Some(Note {
        id: kind.number(id),
        order: order(written.as_deref(), id),
        edited,
        // What people have hidden does not count in the conversation; our own is found again all the same.
        internal: post.first.is_minimized && by != Some(bot),
        author,
        text: text(Some(post.body)),
        by_forge: false,
        placement: FindingPlacement::Line,
    })
}

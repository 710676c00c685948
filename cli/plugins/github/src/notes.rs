//! Writing on the pull request: threads beside the code, answers, and the summary.

use async_trait::async_trait;
use conclave_engine::publish::{Place, Thread, ThreadDraft};
use conclave_forge::{ApiError, ApiErrorKind, NotesApi, Opened, Version, code_link, one_by_one};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    GitHub,
    graphql::may_ask_rest,
    position::{self, ListedFile},
    wire::NoteKind,
};

/// Comments of one review. Nothing says how many it takes; twenty is what a review has unless its settings ask for more.
const MAX_COMMENTS: usize = 30;

const TWIN: &str = "delete a comment that another job has posted too";

#[derive(Debug, Deserialize)]
struct Created {
    id: u64,
    #[serde(default)]
    body: String,
}

/// A draft with the place that is tried first.
type Placed<'d> = (ThreadDraft<'d>, Place);

#[async_trait]
impl NotesApi for GitHub {
    async fn threads(&self, bot: u64, from_page: u64) -> Result<(Vec<Thread>, u64), ApiError> {
        match self.read_pages(bot, from_page).await {
            Err(error) if may_ask_rest(&error) => {
                tracing::warn!(%error, "threads are read without their state");
                Ok((self.read_without_graphql(bot).await?, 1))
            }
            read => read,
        }
    }

    fn link(&self, url: &str, note: u64) -> String {
        let (kind, id) = NoteKind::of(note);
        format!("{url}{}{id}", kind.anchor())
    }

    fn code_link(&self, url: &str, head: &str, file: &str, lines: (u32, u32)) -> Option<String> {
        code_link(url, "/pull/", "blob", head, file, lines, "-L")
    }

    async fn thread(&self, bot: u64, id: &str) -> Result<Thread, ApiError> {
        self.read_thread(bot, id).await
    }

    async fn open_thread(&self, version: &Version, draft: &ThreadDraft<'_>, place: Place) -> Result<u64, ApiError> {
        let Some(mut body) = comment(draft, place) else {
            let text = "the line is in no hunk of the diff";
            return Err(ApiError::new(ApiErrorKind::Refused, text));
        };
        body["commit_id"] = json!(version.head);
        let posted = self.create("post a finding", &self.pull("/comments"), &body).await?;
        Ok(NoteKind::Line.number(posted["id"].as_u64().unwrap_or_default()))
    }

    async fn open_threads<'d>(
        &self,
        version: &Version,
        drafts: Vec<ThreadDraft<'d>>,
    ) -> Result<Vec<(ThreadDraft<'d>, Opened)>, ApiError> {
        let (mut on_lines, mut others) = (Vec::new(), Vec::new());
        for draft in drafts {
            // A review holds comments on lines; those on a file go one by one.
            let places = draft.places.iter().copied().filter(|place| *place != Place::File);
            match { places }.find(|place| position::of(draft.file, *place).is_some()) {
                Some(place) => on_lines.push((draft, place)),
                None => others.push(draft),
            }
        }
        let mut opened = Vec::new();
        while !on_lines.is_empty() {
            let rest = on_lines.split_off(on_lines.len().min(MAX_COMMENTS));
            let batch = std::mem::replace(&mut on_lines, rest);
            match self.post_review(version, &batch).await {
                Ok(notes) => opened.extend(shown(batch, notes)),
                Err(error) if error.kind == ApiErrorKind::Refused => {
                    tracing::debug!(%error, "GitHub refuses the review as a whole");
                    opened.extend(self.isolate(version, batch, &mut others).await?);
                }
                Err(error) if error.may_have_happened() => opened.extend(unknown(batch, &error)),
                Err(error) => return Err(error),
            }
        }
        opened.extend(one_by_one(self, version, others).await?);
        Ok(opened)
    }

    async fn reply(&self, thread: &str, body: &str) -> Result<(), ApiError> {
        let url = self.pull(&format!("/comments/{thread}/replies"));
        let body = json!({ "body": body });
        self.create("answer in a thread", &url, &body).await.map(drop)
    }

    async fn set_resolved(&self, thread: &str, resolved: bool) -> Result<(), ApiError> {
        let (what, mutation, person) = if resolved {
            ("resolve a thread", "resolveReviewThread", "resolves the threads")
        } else {
            (
                "open a thread again",
                "unresolveReviewThread",
                "opens the threads again",
            )
        };
        let known = self.known_thread(thread).await?;
        if !known.may_change {
            let text = format!(
                "the token may not {what}: GitHub asks for `contents: write`, which a workflow's or an App's permissions can give. \
                 Without it a person {person}"
            );
            return Err(ApiError::new(ApiErrorKind::Forbidden, text));
        }
        let query =
            format!("mutation($id: ID!) {{ {mutation}(input: {{ threadId: $id }}) {{ thread {{ isResolved }} }} }}");
        self.mutate(what, &query, &json!({ "id": known.node })).await
    }

    async fn edit_thread_note(&self, note: u64, body: &str) -> Result<(), ApiError> {
        let (url, body) = (self.comment("pulls", NoteKind::of(note).1), json!({ "body": body }));
        let what = "edit a comment of its own";
        self.http.put(what, Method::PATCH, &url, &body).await
    }

    async fn set_minimized(&self, thread: &str, minimized: bool) -> Result<bool, ApiError> {
        let first = self.known_thread(thread).await?.first;
        if first.is_minimized == minimized {
            return Ok(true);
        }
        let (what, mutation, input) = if minimized {
            ("minimize a comment", "minimizeComment", ", classifier: RESOLVED")
        } else {
            ("show a minimized comment again", "unminimizeComment", "")
        };
        if !first.may_minimize {
            let text = format!("the token may not {what}: GitHub asks for `contents: write`");
            return Err(ApiError::new(ApiErrorKind::Forbidden, text));
        }
        let query =
            format!("mutation($id: ID!) {{ {mutation}(input: {{ subjectId: $id{input} }}) {{ clientMutationId }} }}");
        self.mutate(what, &query, &json!({ "id": first.node })).await?;
        Ok(true)
    }

    async fn delete_thread_note(&self, note: u64) -> Result<(), ApiError> {
        self.http
            .delete(TWIN, &self.comment("pulls", NoteKind::of(note).1))
            .await
    }

    async fn post_note(&self, what: &'static str, body: &str) -> Result<Option<u64>, ApiError> {
        let body = json!({ "body": body });
        let note = self.create(what, &self.issue("/comments"), &body).await?;
        Ok(note["id"].as_u64())
    }

    async fn edit_summary(&self, note: u64, body: &str) -> Result<(), ApiError> {
        let (url, body) = (self.comment("issues", note), json!({ "body": body }));
        self.http.put("edit its review", Method::PATCH, &url, &body).await
    }

    async fn delete_summary(&self, note: u64) -> Result<(), ApiError> {
        self.http.delete(TWIN, &self.comment("issues", note)).await
    }
}

impl GitHub {
    /// The address of a comment beside the code (of `pulls`), or on the pull request as a whole (of `issues`).
    fn comment(&self, of: &str, id: u64) -> String {
        self.repository(&format!("/{of}/comments/{id}"))
    }

    /// Posts a review with these comments, all or none. Returns the numbers of its comments, with their texts.
    async fn post_review(&self, version: &Version, batch: &[Placed<'_>]) -> Result<Vec<Created>, ApiError> {
        let comments = batch.iter().filter_map(|(draft, place)| comment(draft, *place));
        let comments: Vec<Value> = comments.collect();
        let body = json!({ "commit_id": version.head, "event": "COMMENT", "comments": comments });
        let post = async || self.create("post findings", &self.pull("/reviews"), &body).await;
        let review = match post().await {
            Err(error) if error.words.contains("one pending review") && self.delete_pending().await? => post().await?,
            posted => posted?,
        };
        // The answer does not have them.
        let url = self.pull(&format!("/reviews/{}/comments", review["id"]));
        Ok(self.http.list("read what was posted", &url).await.unwrap_or_default())
    }

    /// Deletes a review of ours that was never submitted: only we see it, and it blocks every other. Returns whether there was one.
    async fn delete_pending(&self) -> Result<bool, ApiError> {
        let reviews = self.reviews().await?;
        let Some(pending) = reviews.iter().find(|review| review.state == "PENDING") else {
            return Ok(false);
        };
        let url = self.pull(&format!("/reviews/{}", pending.id));
        self.http.delete("delete a review that was not submitted", &url).await?;
        Ok(true)
    }

    /// Finds the comments that GitHub does not take, by its own list of files, and posts the others together. What then is left,
    /// and what is refused once more, goes to `others`, which are posted one by one.
    async fn isolate<'d>(
        &self,
        version: &Version,
        batch: Vec<Placed<'d>>,
        others: &mut Vec<ThreadDraft<'d>>,
    ) -> Result<Vec<(ThreadDraft<'d>, Opened)>, ApiError> {
        let files = self.http.list("read its files", &self.pull("/files")).await;
        let files: Vec<ListedFile> = files.unwrap_or_default();
        let fits = |(draft, place): &Placed<'_>| {
            position::of(draft.file, *place).is_some_and(|at| position::fits(&at, &files))
        };
        let (good, bad): (Vec<_>, Vec<_>) = batch.into_iter().partition(fits);
        let is_explained = !bad.is_empty();
        others.extend(bad.into_iter().map(|(draft, _)| draft));
        if is_explained && !good.is_empty() {
            match self.post_review(version, &good).await {
                Ok(notes) => return Ok(shown(good, notes)),
                Err(error) if error.kind == ApiErrorKind::Refused => {}
                Err(error) if error.may_have_happened() => return Ok(unknown(good, &error).collect()),
                Err(error) => return Err(error),
            }
        }
        others.extend(good.into_iter().map(|(draft, _)| draft));
        Ok(Vec::new())
    }
}

/// A comment with this draft at this place; none where no line of a hunk is there.
fn comment(draft: &ThreadDraft<'_>, place: Place) -> Option<Value> {
    let mut comment = position::of(draft.file, place)?;
    comment["body"] = json!(draft.body(place));
    Some(comment)
}

/// The drafts of which it is not known whether they were posted.
fn unknown<'d>(batch: Vec<Placed<'d>>, error: &ApiError) -> impl Iterator<Item = (ThreadDraft<'d>, Opened)> {
    batch
        .into_iter()
        .map(move |(draft, _)| (draft, Opened::Unknown(error.clone())))
}

/// The drafts with the comments that show them. Where the list could not be read, or holds another text, it has to be looked for.
fn shown(batch: Vec<Placed<'_>>, mut notes: Vec<Created>) -> Vec<(ThreadDraft<'_>, Opened)> {
    batch
        .into_iter()
        .map(|(draft, place)| {
            let is_own = |note: &Created| note.body.replace("\r\n", "\n").trim() == draft.body(place).trim();
            let opened = match notes.iter().position(is_own) {
                Some(at) => Opened::new(NoteKind::Line.number(notes.swap_remove(at).id), place),
                None => Opened::Unknown(ApiError::new(
                    ApiErrorKind::Garbage,
                    "GitHub's list of what was posted does not have it",
                )),
            };
            (draft, opened)
        })
        .collect()
}

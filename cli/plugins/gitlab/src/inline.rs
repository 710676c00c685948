//! Findings beside their lines: which are posted, where, and that none is posted twice or lost.

use std::collections::{HashMap, HashSet};

use conclave_engine::{
    diff::FileDiff,
    ports::Publication,
    report::{InlinePlace, committable, render_inline},
    review::{FindingRecord, JudgedFinding, Review},
};
use conclave_shared::{finding::Fingerprint, severity::Severity, telemetry::FindingPlacement};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use crate::{
    GitLabError,
    client::Client,
    discussions::{Conversation, OwnThread},
    length::limit,
    merge_request::Ourselves,
    position::{self, DiffRefs},
};

/// The longest note beside its lines, in bytes.
const MOST_BYTES: usize = 20_000;

/// How many notes are posted at once. GitLab locks a merge request for a moment with each, so more gain nothing.
const AT_ONCE: usize = 8;

/// What stands beside its lines in the end.
#[derive(Debug, Default)]
pub(crate) struct Inline {
    /// The notes, by the finding that they show.
    pub(crate) notes: HashMap<Fingerprint, u64>,
    /// Those of them that this run has posted.
    pub(crate) created: HashMap<Fingerprint, u64>,
    /// What they stand beside.
    pub(crate) placements: HashMap<Fingerprint, FindingPlacement>,
    /// What did not work, in words.
    pub(crate) warnings: Vec<String>,
}

impl Inline {
    /// The review with the place of each finding that stands beside its lines.
    pub(crate) fn mark(&self, review: &Review, web_url: Option<&str>) -> Review {
        let mut review = review.clone();
        let Some(web_url) = web_url else { return review };
        for entry in &mut review.findings {
            if let Some(note) = self.notes.get(&entry.finding.fingerprint) {
                entry.posted = Some(format!("{web_url}#note_{note}"));
            }
        }
        review
    }
}

/// A finding that is to be posted, and the places where that is tried, best first.
struct Candidate {
    fingerprint: Fingerprint,
    attempts: Vec<Value>,
}

/// How posting one finding ended.
enum Posted {
    Note(u64, FindingPlacement),
    /// GitLab takes it nowhere.
    Refused(GitLabError),
    /// It may have been stored, or not.
    Unknown(GitLabError),
}

/// Posts what stands, is no mere suggestion, and is not there yet.
pub(crate) async fn post(
    client: &Client,
    ourselves: &Ourselves,
    refs: &DiffRefs,
    publication: &Publication<'_>,
    conversation: &mut Conversation,
) -> Result<Inline, GitLabError> {
    let mut inline = Inline::default();
    let mut wanted = choose(ourselves, refs, publication, conversation, &mut inline);
    let mut failed = 0;
    while !wanted.is_empty() {
        let unknown = post_all(client, &mut wanted, &mut inline).await?;
        let Some(error) = unknown else { break };
        // GitLab may have stored notes and failed afterwards: look before anything is posted again.
        tracing::warn!(%error, "looking which findings were posted all the same");
        failed += 1;
        let again = client.pause(failed).await;
        conversation.read_on(client).await?;
        for thread in conversation.own_threads(ourselves) {
            let print = &thread.record.fingerprint;
            if let Some(at) = wanted.iter().position(|candidate| candidate.fingerprint == *print) {
                wanted.remove(at);
                inline.notes.insert(print.clone(), thread.note.id);
                inline.placements.insert(print.clone(), thread.note.placement());
                inline.created.insert(print.clone(), thread.note.id);
            }
        }
        if !again {
            if !wanted.is_empty() {
                let warning = in_summary(wanted.len(), &error);
                inline.warnings.push(warning);
            }
            break;
        }
    }
    Ok(inline)
}

/// Takes out what another job has posted at the same time: of several notes about one finding the first one stays.
pub(crate) async fn withdraw_twins(
    client: &Client,
    ourselves: &Ourselves,
    conversation: &mut Conversation,
    inline: &mut Inline,
) -> Result<(), GitLabError> {
    if inline.created.is_empty() {
        return Ok(());
    }
    conversation.read_on(client).await?;
    let mut first: HashMap<Fingerprint, u64> = HashMap::new();
    for thread in conversation.own_threads(ourselves) {
        let print = thread.record.fingerprint.clone();
        if inline.created.contains_key(&print) && !thread.discussion.is_resolved() {
            first.entry(print).or_insert(thread.note.id);
        }
    }
    for (print, first) in first {
        let Some(own) = inline.created.get(&print).copied().filter(|own| *own != first) else {
            continue;
        };
        let path = client.merge_request_path(&format!("/notes/{own}"));
        client
            .delete("delete a note that another job has posted too", &path)
            .await?;
        inline.created.remove(&print);
        inline.notes.insert(print, first);
    }
    Ok(())
}

/// What is to be posted. What is there already goes into `inline`, and counts towards the most.
fn choose(
    ourselves: &Ourselves,
    refs: &DiffRefs,
    publication: &Publication<'_>,
    conversation: &Conversation,
    inline: &mut Inline,
) -> Vec<Candidate> {
    let threads = conversation.own_threads(ourselves);
    let files: HashMap<&str, &FileDiff> = publication
        .files
        .iter()
        .map(|file| (file.path.as_str(), file))
        .collect();
    let mut new = Vec::new();
    let mut chosen = HashSet::new();
    for entry in publication.review.standing() {
        let print = &entry.finding.fingerprint;
        if let Some(thread) = threads.iter().rev().find(|thread| shows(thread, entry, ourselves)) {
            inline.notes.insert(print.clone(), thread.note.id);
            inline.placements.insert(print.clone(), thread.note.placement());
        } else if entry.thread.is_none() && entry.finding.severity > Severity::Suggestion && chosen.insert(print) {
            new.push(entry);
        }
    }
    let room = publication.settings.most_inline.saturating_sub(inline.notes.len());
    new.into_iter()
        .filter_map(|entry| {
            let file = files.get(entry.finding.file.as_str())?;
            Some(Candidate {
                fingerprint: entry.finding.fingerprint.clone(),
                attempts: attempts(ourselves, refs, publication, entry, file),
            })
        })
        .take(room)
        .collect()
}

/// Whether the thread shows this finding, so that it is not posted again.
///
/// What we resolved ourselves was gone, and is back. What a person resolved stays so, unless it has become worse.
fn shows(thread: &OwnThread<'_>, entry: &JudgedFinding, ourselves: &Ourselves) -> bool {
    if entry.thread.as_deref() == Some(thread.discussion.id.as_str()) {
        return true;
    }
    let (finding, record) = (&entry.finding, &thread.record);
    record.fingerprint == finding.fingerprint
        && (!thread.discussion.is_resolved()
            || (!thread.is_resolved_by(ourselves.bot()) && finding.severity <= record.severity))
}

/// The requests that are tried for a finding: all its lines, the last of them, the file.
fn attempts(
    ourselves: &Ourselves,
    refs: &DiffRefs,
    publication: &Publication<'_>,
    entry: &JudgedFinding,
    file: &FileDiff,
) -> Vec<Value> {
    let finding = &entry.finding;
    let source = publication.sources.get(&finding.file);
    let suggestion = source
        .and_then(|source| committable(finding, source))
        .filter(|suggestion| position::is_on_new_side(file, suggestion.last));
    let lines = suggestion
        .as_ref()
        .map_or((finding.line, finding.end_line.unwrap_or(finding.line)), |suggestion| {
            (suggestion.first, suggestion.last)
        });
    let record = FindingRecord::new(entry, &publication.review.head_sha);
    let marker = ourselves.finding_marker(&record);
    let body = |place, suggestion| {
        let text = limit(&render_inline(entry, place, suggestion), MOST_BYTES);
        format!("{}\n\n{marker}", text.trim_end())
    };
    let on_lines = body(InlinePlace::Lines, suggestion.as_ref());
    let mut attempts = Vec::new();
    for ranged in [true, false] {
        if let Some(position) = position::on_lines(refs, file, lines, ranged) {
            let attempt = json!({ "body": on_lines, "position": position });
            if attempts.last() != Some(&attempt) {
                attempts.push(attempt);
            }
        }
    }
    attempts.push(json!({ "body": body(InlinePlace::File, None), "position": position::on_file(refs, file) }));
    attempts
}

/// Posts all, some at once. Those stay of which it is not known whether they were stored; the error is one of theirs.
async fn post_all(
    client: &Client,
    wanted: &mut Vec<Candidate>,
    inline: &mut Inline,
) -> Result<Option<GitLabError>, GitLabError> {
    let candidates = std::mem::take(wanted);
    let mut posting = stream::iter(candidates)
        .map(|candidate| async {
            let posted = post_one(client, &candidate.attempts).await;
            (candidate, posted)
        })
        .buffered(AT_ONCE);
    let (mut unknown, mut refused, mut broken) = (None, Vec::new(), None);
    while let Some((candidate, posted)) = posting.next().await {
        match posted {
            Ok(Posted::Note(note, placement)) => {
                inline.notes.insert(candidate.fingerprint.clone(), note);
                inline.placements.insert(candidate.fingerprint.clone(), placement);
                inline.created.insert(candidate.fingerprint, note);
            }
            Ok(Posted::Refused(error)) => refused.push(error),
            Ok(Posted::Unknown(error)) => {
                unknown = Some(error);
                wanted.push(candidate);
            }
            Err(error) => {
                broken = Some(error);
                break;
            }
        }
    }
    if let Some(error) = broken {
        return Err(error);
    }
    if let Some(error) = refused.first() {
        inline.warnings.push(in_summary(refused.len(), error));
    }
    Ok(unknown)
}

/// Tries one place after the other. An error is one that all others would meet too.
async fn post_one(client: &Client, attempts: &[Value]) -> Result<Posted, GitLabError> {
    let path = client.merge_request_path("/discussions");
    let mut refusal = None;
    for attempt in attempts {
        match client.post_once("post a finding", &path, attempt).await {
            Ok(discussion) => {
                let note = discussion.pointer("/notes/0/id").and_then(Value::as_u64);
                let on_file = attempt.pointer("/position/position_type").and_then(Value::as_str) == Some("file");
                let placement = if on_file {
                    FindingPlacement::File
                } else {
                    FindingPlacement::Line
                };
                return Ok(Posted::Note(note.unwrap_or_default(), placement));
            }
            Err(error) if error.is_full() => return Ok(Posted::Refused(error)),
            Err(error) if error.is_refused_note() => {
                tracing::debug!(%error, "GitLab does not take a finding at this place");
                refusal = Some(error);
            }
            Err(error) if error.may_have_happened() => return Ok(Posted::Unknown(error)),
            Err(error) => return Err(error),
        }
    }
    match refusal {
        Some(error) => Ok(Posted::Refused(error)),
        None => Ok(Posted::Refused(GitLabError::Status {
            what: "post a finding".to_owned(),
            status: 400,
            message: "there is no place for it on the diff".to_owned(),
        })),
    }
}

fn in_summary(count: usize, error: &GitLabError) -> String {
    let findings = if count == 1 {
        "1 finding".to_owned()
    } else {
        format!("{count} findings")
    };
    format!("{findings} could not be posted beside the code and stand in the summary: {error}")
}

//! What earlier reviews of the merge request have to do with this one: read from git and from what the forge told.

use std::sync::Arc;

use conclave_engine::{
    diff::{ChangeKind, Content, FileDiff, FilterReason, FilteredDiff, FilteredFile, text_of},
    incremental::{
        Identities, Instructions, MovedCode, Texts, UsedAs, WhoseWords, assess, judge_anew, narrow, objects,
        open_questions, refuting_files, still_refuted, still_unlisted, still_unproven, text_identity, touched,
        uses_are_altered, wanted, written_texts,
    },
    pipeline::Prior,
    prompt::written_by_people,
    review::{CONTEXT_FILE, CarryOver, ExistingFinding, PatchId, Plan, Remembered, RememberedUnproven, ReviewSubject},
    rules::RuleBook,
    session::{CoordinatorMailbox, altered_uses},
};
use conclave_git::{Blob, Repository};
use conclave_shared::{path_globs::PathGlobs, reviewer::ReviewerName};

use crate::{
    diff::Spool,
    exit::Failure,
    run::prepare::{change::Job, source::RepositoryTree},
};

/// Maximum length of a file that is searched for code that was moved, in bytes.
const MAX_SEARCHED: usize = 8 << 20;
/// Number of files whose contents are held at once for that search.
const SEARCHED_AT_ONCE: usize = 16;

/// Takes out of the diff what was reviewed as it is, and finds the earlier findings again. The plan is made before, of the
/// whole diff: how risky a merge request is does not depend on how often somebody pushed to it.
pub(crate) async fn prepare(
    job: &mut Job,
    diff: &mut FilteredDiff,
    plan: &Plan,
    instructions: &Instructions,
    (words, prompt_paths): (WhoseWords, &PathGlobs),
    spool: &Spool,
) -> Result<Prior, Failure> {
    if job.subject.merge_request.is_none() {
        return Ok(Prior::default());
    }
    // Who cannot run does not make a review of what others have reviewed.
    let panel = plan.members.iter().filter(|member| member.route.is_ok());
    let panel: Vec<ReviewerName> = panel.map(|member| member.name.clone()).collect();
    let rules = &plan.rules.book;
    narrow_down(job, diff, &panel, instructions, (words, rules, prompt_paths), spool).await
}

/// The same for this panel.
async fn narrow_down(
    job: &mut Job,
    diff: &mut FilteredDiff,
    panel: &[ReviewerName],
    instructions: &Instructions,
    (words, rules, prompt_paths): (WhoseWords, &RuleBook, &PathGlobs),
    spool: &Spool,
) -> Result<Prior, Failure> {
    let existing = std::mem::take(&mut job.subject.existing_findings);
    forget_what_nobody_shows(&mut job.carry_over, &existing);
    let refuting = refuting_files(&job.carry_over.refuted, &diff.files);
    let at_base = texts_at(&job.repository, &job.subject.base_sha, &refuting).await?;
    let at_target = match job.subject.moved_target() {
        Some(tip) => Some(texts_at(&job.repository, tip, &refuting).await?),
        None => None,
    };
    let mut texts = texts(job, &wanted(&existing, &job.carry_over, &diff.files)).await?;
    let written = written_by_people(&job.subject, &existing);
    texts.insert(CONTEXT_FILE.to_owned(), written.clone());
    let refuted = &mut job.carry_over.refuted;
    let standing = judge_anew(refuted, &diff.files, &texts, &at_base, at_target.as_ref(), prompt_paths);
    if !standing.is_empty() {
        let source = RepositoryTree::new(job, &diff.files, written.clone());
        let used: Vec<&UsedAs> = standing.iter().map(|code| &code.used_as).collect();
        let places = altered_uses(&source, diff.files.iter(), &used).await;
        uses_are_altered(&mut job.carry_over.refuted, &standing, places);
    }
    job.subject.existing_findings = assess(existing, &job.carry_over, &diff.files, &texts, words, rules);
    follow(&job.repository, &mut job.subject, diff, &written).await?;

    let patches = identities(&job.repository, &diff.files, instructions, spool).await?;
    let paths = diff.files.iter().map(|file| file.path.clone());
    let identities: Identities = paths.zip(patches.iter().cloned()).collect();
    let remembered = &job.carry_over.unproven;
    let about_words = written_texts(&job.subject);
    let at_head = texts_at_head(job, &diff.files, remembered).await?;
    let (files, left_out) = (&diff.files, &diff.filtered);
    let unproven = still_unproven(remembered, &identities, files, &at_head, left_out, &about_words);
    let unlisted = still_unlisted(&job.carry_over.unlisted, &identities, &diff.files);
    let objects = objects(&diff.files);
    let all = diff.files.clone();
    let touched = touched(diff);
    let reviewed = |(file, patch): (&FileDiff, &PatchId)| {
        let was = job
            .carry_over
            .reviewed
            .iter()
            .any(|review| review.patches.contains(patch));
        was.then(|| file.clone())
    };
    // Also where they are reviewed again: a person has not decided more by that.
    let as_before: Vec<FileDiff> = diff.files.iter().zip(&patches).filter_map(reviewed).collect();
    let narrowed = narrow(
        std::mem::take(&mut diff.files),
        patches,
        &touched,
        (panel, instructions.under()),
        &job.carry_over,
    );
    diff.files = narrowed.files;
    let unchanged = narrowed.unchanged.iter();
    diff.filtered
        .extend(unchanged.map(|file| FilteredFile::of(file, FilterReason::ReviewedBefore)));
    let earlier = &job.subject.existing_findings;
    let refuted = still_refuted(&job.carry_over.refuted, &as_before, earlier, &all, &texts);
    job.subject.questions = open_questions(&job.subject.comments, &job.carry_over);
    Ok(Prior {
        refuted,
        patches: narrowed.patches,
        under: instructions.under().cloned(),
        unchanged: narrowed.unchanged,
        earlier: narrowed.earlier,
        unproven,
        kept: CarryOver {
            reviewed: narrowed.reviewed,
            touched: touched.into_iter().collect(),
            unlisted,
            patches: identities,
            objects,
            ..job.carry_over.clone()
        },
    })
}

/// Lets everything be reviewed again where a finding is remembered without its content and no thread shows it any more: the thread was
/// deleted, and what a review without memory would find must not be milder than one with it.
fn forget_what_nobody_shows(carry_over: &mut CarryOver, existing: &[ExistingFinding]) {
    let is_shown = |entry: &Remembered| {
        let same = |finding: &ExistingFinding| finding.record.fingerprint == entry.fingerprint;
        entry.record.is_some() || existing.iter().any(same)
    };
    if !carry_over.findings.iter().all(is_shown) {
        carry_over.reviewed.clear();
    }
}

/// The changed files about which something can be said: also those that are not reviewed again, and those that rules check.
pub(crate) fn all_files(diff: &FilteredDiff, prior: &Prior) -> Vec<FileDiff> {
    let reviewed = diff.files.iter().chain(&prior.unchanged);
    reviewed.chain(&diff.lock_files).cloned().collect()
}

/// Where the coordinator's tool calls arrive: it knows the earlier findings, and what people ask.
pub(crate) fn mailbox(job: &Job) -> Arc<CoordinatorMailbox> {
    let subject = &job.subject;
    let (earlier, questions) = (subject.existing_findings.clone(), subject.questions.given.clone());
    Arc::new(CoordinatorMailbox::new(earlier, questions))
}

async fn identities(
    repository: &Repository,
    files: &[FileDiff],
    instructions: &Instructions,
    spool: &Spool,
) -> Result<Vec<PatchId>, Failure> {
    let mut patch = Vec::new();
    let mut identity = |file: &FileDiff, base: Option<&[u8]>| {
        spool.patch(file, &mut patch)?;
        let placed = PatchId::new(file, &patch).placed(file, &patch, base);
        Ok::<_, Failure>(placed.under(&instructions.of(file)))
    };
    let has_base = |(_, file): &(usize, &FileDiff)| file.content == Content::Text && file.kind != ChangeKind::Added;
    let (indices, objects): (Vec<usize>, Vec<&str>) = files
        .iter()
        .enumerate()
        .filter(has_base)
        .map(|(at, file)| (at, file.objects.0.as_str()))
        .unzip();
    let mut identities: Vec<Option<Result<PatchId, Failure>>> = files.iter().map(|_| None).collect();
    let take = |at: usize, blob: Option<Blob>| {
        let at = indices[at];
        let base = blob.filter(|blob| !blob.is_cut());
        identities[at] = base.map(|base| identity(&files[at], Some(&base.content)));
    };
    if !objects.is_empty() {
        repository.read_blobs(&objects, MAX_SEARCHED, take).await?;
    }
    // Those without a text at base that could be read.
    let all = files.iter().zip(identities);
    all.map(|(file, known)| known.unwrap_or_else(|| identity(file, None)))
        .collect()
}

/// Takes findings whose code has left its lines to where it stands now. `written` is what people wrote about the change.
async fn follow(
    repository: &Repository,
    subject: &mut ReviewSubject,
    diff: &FilteredDiff,
    written: &str,
) -> Result<(), Failure> {
    let described = written_by_people(subject, &[]);
    let existing = std::mem::take(&mut subject.existing_findings);
    let mut moved = MovedCode::new(&existing, diff);
    // Names are separated by line feeds.
    let (odd, paths): (Vec<String>, Vec<String>) =
        moved.files(&existing).into_iter().partition(|path| path.contains('\n'));
    let mut search = Search { moved, existing };
    for paths in paths.chunks(SEARCHED_AT_ONCE) {
        let names: Vec<String> = paths
            .iter()
            .map(|path| format!("{}:{path}", subject.head_sha))
            .collect();
        let mut texts = Vec::new();
        let take = |at: usize, blob: Option<Blob>| {
            if let Some(blob) = blob {
                let is_whole = !blob.is_cut();
                texts.push((paths[at].clone(), blob.content, is_whole));
            }
        };
        repository.read_blobs(&names, MAX_SEARCHED, take).await?;
        search = search.through(texts).await?;
    }
    for path in odd {
        if let Some(bytes) = repository.file(&subject.head_sha, &path).await? {
            search = search.through(vec![(path, bytes, true)]).await?;
        }
    }
    let Search {
        mut moved,
        mut existing,
    } = search;
    moved.search(&existing, CONTEXT_FILE, written, true);
    moved.search_description(&existing, &described);
    moved.search_names(&existing);
    moved.settle(&mut existing);
    subject.existing_findings = existing;
    Ok(())
}

/// Earlier findings, and the search for the code of those whose lines have lost it.
struct Search {
    moved: MovedCode,
    existing: Vec<ExistingFinding>,
}

impl Search {
    /// Searches these files, each with its content and whether that is all of it. One can take seconds, during which a stop has to be
    /// heard.
    async fn through(mut self, texts: Vec<(String, Vec<u8>, bool)>) -> Result<Self, Failure> {
        let searching = tokio::task::spawn_blocking(move || {
            for (path, bytes, is_whole) in texts {
                self.moved
                    .search(&self.existing, &path, &text_or_lossy(&bytes), is_whole);
            }
            self
        });
        let failed = Failure::io("look for the code of earlier findings");
        searching.await.map_err(|error| failed(error.into()))
    }
}

/// The identities of the changed files' texts, if any of these findings can be known by one.
async fn texts_at_head(
    job: &Job,
    files: &[FileDiff],
    remembered: &[RememberedUnproven],
) -> Result<Identities, Failure> {
    let mut texts = Identities::new();
    if remembered.iter().all(|entry| entry.text.is_none()) {
        return Ok(texts);
    }
    // Names are separated by line feeds.
    let is_read = |file: &&FileDiff| file.kind != ChangeKind::Deleted && !file.path.contains('\n');
    let paths: Vec<&String> = files.iter().filter(is_read).map(|file| &file.path).collect();
    let head = &job.subject.head_sha;
    let names: Vec<String> = paths.iter().map(|path| format!("{head}:{path}")).collect();
    let take = |at: usize, blob: Option<Blob>| {
        let whole = blob.filter(|blob| !blob.is_cut());
        if let Some(text) = whole.and_then(|blob| text_identity(&text_or_lossy(&blob.content))) {
            texts.insert(paths[at].clone(), text);
        }
    };
    if !names.is_empty() {
        job.repository.read_blobs(&names, MAX_SEARCHED, take).await?;
    }
    Ok(texts)
}

fn text_or_lossy(bytes: &[u8]) -> String {
    text_of(bytes).unwrap_or_else(|| String::from_utf8_lossy(bytes).into_owned())
}

/// The texts of these files; what is not there is missing.
async fn texts(job: &Job, wanted: &[(String, bool)]) -> Result<Texts, Failure> {
    let (repository, subject): (&Repository, _) = (&job.repository, &job.subject);
    let mut texts = Texts::new();
    for (path, at_base) in wanted {
        let commit = if *at_base { &subject.base_sha } else { &subject.head_sha };
        if let Some(bytes) = repository.file(commit, path).await? {
            texts.insert(path.clone(), text_or_lossy(&bytes));
        }
    }
    Ok(texts)
}

/// The same at one commit.
async fn texts_at(repository: &Repository, commit: &str, paths: &[String]) -> Result<Texts, Failure> {
    let mut texts = Texts::new();
    for path in paths {
        if let Some(bytes) = repository.file(commit, path).await? {
            texts.insert(path.clone(), text_or_lossy(&bytes));
        }
    }
    Ok(texts)
}

#[cfg(test)]
#[path = "incremental_tests.rs"]
mod tests;

//! Noise, taken out by names and, where these decide nothing, by the beginnings of files.

use std::collections::HashMap;

use conclave_engine::diff::{
    ByName, ChangeKind, Content, Diff, FileDiff, FilterRules, FilteredDiff, Peek, filter, is_map, is_new_to_readers,
    peek,
};
use conclave_git::{GitError, Repository};

use super::{Spool, links, whole::show_whole};
use crate::exit::Failure;

/// The largest file that is looked at whole, in bytes: a larger source map counts as code, and of a larger archive the beginning counts.
const MAX_WHOLE: usize = 32 << 20;

/// Takes the noise out of the diff up to the commit `head`. Of the files whose names decide nothing, the beginnings are read. A file that
/// was noise before gets a patch of its whole text.
pub async fn without_noise(
    repository: &Repository,
    head: &str,
    diff: Diff,
    rules: FilterRules<'_>,
    spool: &Spool,
) -> Result<FilteredDiff, Failure> {
    let peeks = beginnings(repository, &diff, rules).await?;
    let of = |object: Option<&str>| object.and_then(|object| peeks.get(object).copied());
    let mut filtered = filter(diff, rules, |file| (of(file.base_object()), of(file.head_object())));
    let links = links::to_unread(repository, head, &filtered, rules).await?;
    filtered.read_by_nobody.extend(links);
    let is_new = |file: &FileDiff| is_new_to_readers(file, rules, of(file.base_object()));
    show_whole(repository, &mut filtered, is_new, spool).await?;
    Ok(filtered)
}

/// What the beginnings of the files say, by object.
async fn beginnings(
    repository: &Repository,
    diff: &Diff,
    rules: FilterRules<'_>,
) -> Result<HashMap<String, Peek>, GitError> {
    let asked: Vec<(&FileDiff, ByName)> = diff
        .files
        .iter()
        .map(|file| (file, ByName::of(file, rules)))
        .filter(|(file, by_name)| by_name.depends_on_content(file, rules))
        .collect();
    let mut peeks = HashMap::new();
    let base: Vec<&str> = asked.iter().filter_map(|(file, _)| file.base_object()).collect();
    repository
        .read_blobs(&base, Peek::BYTES, |at, blob| note(&mut peeks, base[at], blob))
        .await?;
    // Of a text, hardly anything depends on the head unless the base is marked.
    let head: Vec<&str> = asked
        .iter()
        .filter(|(file, by_name)| {
            let marked = |object: &str| peeks.get(object).is_some_and(Peek::is_generated);
            let is_plain = file.content == Content::Text && file.kind != ChangeKind::Added && !file.maybe_pointer;
            !is_plain || by_name.is_left_out() || file.base_object().is_some_and(marked)
        })
        .filter_map(|(file, _)| file.head_object())
        .collect();
    repository
        .read_blobs(&head, Peek::BYTES, |at, blob| note(&mut peeks, head[at], blob))
        .await?;
    // What is called a source map is one only if the whole of it is, and what is in an archive is said at its end.
    let objects = |file: &FileDiff| {
        let objects = [file.base_object(), file.head_object()].map(|object| object.map(ToOwned::to_owned));
        objects.into_iter().flatten()
    };
    let mut wholes: Vec<String> = Vec::new();
    for &(file, _) in &asked {
        let is_zip = |object: &String| peeks.get(object).is_some_and(Peek::is_zip);
        wholes.extend(objects(file).filter(|object| is_map(file) || is_zip(object)));
    }
    let whole = |at: usize, blob: Option<conclave_git::Blob>| {
        if let Some(blob) = blob.filter(|blob| !blob.is_cut()) {
            peeks.insert(wholes[at].clone(), Peek::of_whole(&blob.content));
        }
    };
    repository.read_blobs(&wholes, MAX_WHOLE, whole).await?;
    Ok(peeks)
}

fn note(peeks: &mut HashMap<String, Peek>, object: &str, blob: Option<conclave_git::Blob>) {
    if let Some(blob) = blob {
        peeks.insert(object.to_owned(), peek(&blob.content));
    }
}

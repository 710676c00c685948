//! Files of which no reviewer has read what they held before: git's patch shows what changes in them, and here it becomes all of them.

use conclave_engine::diff::{
    Content, DiffLimits, FileDiff, FilteredDiff, FilteredFile, Unread, peek, text_of, whole_patch,
};
use conclave_git::{Blob, Repository};

use super::Spool;
use crate::exit::Failure;

/// Gives these files of a diff patches in which all of their lines are added. What is too large for one is listed as not reviewed.
pub(super) async fn show_whole(
    repository: &Repository,
    diff: &mut FilteredDiff,
    is_new: impl Fn(&FileDiff) -> bool,
    spool: &Spool,
) -> Result<(), Failure> {
    let files = diff.files.iter().enumerate().filter(|(_, file)| is_new(file));
    let (places, objects): (Vec<usize>, Vec<String>) = files
        .filter_map(|(at, file)| Some((at, file.head_object()?.to_owned())))
        .unzip();
    if places.is_empty() {
        return Ok(());
    }
    let mut written = Ok(());
    let take = |at: usize, blob: Option<Blob>| {
        if written.is_ok() {
            written = replace(&mut diff.files[places[at]], blob, spool);
        }
    };
    repository
        .read_blobs(&objects, DiffLimits::default().patch_bytes, take)
        .await?;
    written?;
    let files = std::mem::take(&mut diff.files).into_iter();
    let (unread, files): (Vec<FileDiff>, Vec<FileDiff>) = files.partition(|file| file.unread.is_some());
    diff.files = files;
    let left_out = |file: &FileDiff| Some(FilteredFile::of(file, file.unread?.into()));
    diff.filtered.extend(unread.iter().filter_map(left_out));
    Ok(())
}

/// Puts the patch of the whole text in the place of git's.
fn replace(file: &mut FileDiff, blob: Option<Blob>, spool: &Spool) -> Result<(), Failure> {
    let Some(Blob { content, .. }) = blob.filter(|blob| !blob.is_cut()) else {
        file.unread = Some(Unread::TooLarge);
        return Ok(());
    };
    let decoded = if file.is_decoded() { text_of(&content) } else { None };
    let text = decoded.as_deref().map_or(content.as_slice(), str::as_bytes);
    // An empty file has nothing to show, and what git takes for binary was judged by its form.
    if !peek(text).text {
        return Ok(());
    }
    let Some(patch) = whole_patch(file, text) else {
        file.unread = Some(Unread::TooLarge);
        return Ok(());
    };
    file.patch = spool.append(&patch.text)?;
    file.content = Content::Text;
    (file.added, file.removed) = (patch.added, patch.removed);
    file.forge_lines = Some(std::mem::replace(&mut file.lines, patch.lines));
    Ok(())
}

//! Files in wide characters, which git shows as binary: their patches are made of the decoded text.

use std::collections::HashMap;

use conclave_engine::diff::{ChangeKind, Content, Diff, Encoding, FileDiff, decoded_patch, may_be_encoded, text_of};
use conclave_git::{Blob, Repository};

use crate::{diff::Spool, exit::Failure};

/// The largest file that is decoded, in bytes; a larger one stays binary.
const MAX_DECODED: usize = 8 << 20;
/// The length of the longest byte-order mark.
const MARK: usize = 4;

/// Gives the files with a byte-order mark a patch of their text.
pub(crate) async fn decode(repository: &Repository, diff: &mut Diff, spool: &Spool) -> Result<(), Failure> {
    let is_candidate =
        |file: &FileDiff| file.content == Content::Binary && file.unread.is_none() && may_be_encoded(file);
    let candidates = diff.files.iter().filter(|file| is_candidate(file));
    let objects: Vec<String> = candidates
        .flat_map(|file| [file.head_object(), file.base_object()])
        .flatten()
        .map(str::to_owned)
        .collect();
    let mut encodings = HashMap::new();
    let take = |at: usize, blob: Option<Blob>| {
        if let Some(encoding) = blob.and_then(|blob| Encoding::of(&blob.content)) {
            encodings.insert(objects[at].as_str(), encoding);
        }
    };
    repository.read_blobs(&objects, MARK, take).await?;
    for file in diff.files.iter_mut().filter(|file| is_candidate(file)) {
        let of = |object: Option<&str>| object.and_then(|object| encodings.get(object).copied());
        let found = (of(file.base_object()), of(file.head_object()));
        if found == (None, None) {
            continue;
        }
        let base = side(repository, file.base_object(), file.kind == ChangeKind::Added).await?;
        let head = side(repository, file.head_object(), file.kind == ChangeKind::Deleted).await?;
        if let (Some(base), Some(head)) = (base, head) {
            replace(file, found, (&base, &head), spool)?;
        }
    }
    Ok(())
}

/// Puts the patch of the text in the place of the binary one.
fn replace(
    file: &mut FileDiff,
    encodings: (Option<Encoding>, Option<Encoding>),
    (base, head): (&str, &str),
    spool: &Spool,
) -> Result<(), Failure> {
    let Some(patch) = decoded_patch(file, encodings, base, head, 2 * MAX_DECODED) else {
        return Ok(());
    };
    file.patch = spool.append(&patch.text)?;
    file.content = Content::Text;
    file.decoded = encodings;
    (file.added, file.removed, file.lines) = (patch.added, patch.removed, patch.lines);
    Ok(())
}

/// The text of one side, which is empty where there is no file; `None` if it is no text.
async fn side(repository: &Repository, object: Option<&str>, is_absent: bool) -> Result<Option<String>, Failure> {
    let Some(object) = object.filter(|_| !is_absent) else {
        return Ok(is_absent.then(String::new));
    };
    let blob = repository.read_blob(object, MAX_DECODED).await?;
    Ok(blob
        .filter(|blob| !blob.is_cut())
        .and_then(|blob| text_of(&blob.content)))
}

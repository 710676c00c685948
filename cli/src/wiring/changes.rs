//! The diff, read once: patches into a spool on disk, everything else into memory, noise taken out.

use std::{collections::HashMap, fs::File, io::BufWriter, os::unix::fs::FileExt};

use camino::Utf8Path;
use conclave_engine::diff::{
    ChangeKind, Content, Diff, DiffLimits, DiffReader, FileDiff, FilterRules, FilteredDiff, PatchRange, Peek,
    depends_on_content, filter, is_left_out_by_name, is_map, peek,
};
use conclave_git::{GitError, Repository};

use super::decode::decode;
use crate::exit::Failure;

/// The largest source map that is looked at whole, in bytes; a larger one counts as code.
const MAX_MAP: usize = 32 << 20;

/// The patches of a diff, in one file without a name.
#[derive(Debug)]
pub(crate) struct Spool(File);

impl Spool {
    /// The patch of a file, as git wrote it.
    pub(crate) fn patch(&self, file: &FileDiff, into: &mut Vec<u8>) -> Result<(), Failure> {
        into.resize(usize::try_from(file.patch.length).unwrap_or(usize::MAX), 0);
        self.0
            .read_exact_at(into, file.patch.offset)
            .map_err(Failure::io("read a patch back"))
    }

    /// Adds a patch at the end.
    pub(super) fn append(&self, patch: &[u8]) -> Result<PatchRange, Failure> {
        let io = Failure::io("write a patch");
        let written = self.0.metadata().and_then(|metadata| {
            self.0.write_all_at(patch, metadata.len())?;
            Ok(metadata.len())
        });
        let length = u64::try_from(patch.len()).unwrap_or(u64::MAX);
        written.map(|offset| PatchRange { offset, length }).map_err(io)
    }
}

/// Takes git's output in, chunk by chunk.
pub(crate) struct Intake(DiffReader<BufWriter<File>>);

impl Intake {
    /// With its spool in this directory.
    pub(crate) fn new(scratch: &Utf8Path) -> Result<Self, Failure> {
        let spool = tempfile::tempfile_in(scratch).map_err(Failure::io(format!("make a file in {scratch}")))?;
        let spool = BufWriter::with_capacity(128 << 10, spool);
        Ok(Self(DiffReader::new(DiffLimits::default(), spool)))
    }

    /// Takes the next chunk.
    pub(crate) fn push(&mut self, chunk: &[u8]) -> Result<(), Failure> {
        Ok(self.0.push(chunk)?)
    }

    /// After the last chunk.
    pub(crate) fn finish(self) -> Result<(Diff, Spool), Failure> {
        let (diff, spool) = self.0.finish()?;
        match spool.into_inner() {
            Ok(file) => Ok((diff, Spool(file))),
            Err(error) => Err(Failure::io("write the patches")(error.into_error())),
        }
    }
}

/// Streams the diff of two commits from git.
pub(crate) async fn read(
    repository: &Repository,
    base: &str,
    head: &str,
    scratch: &Utf8Path,
) -> Result<(Diff, Spool), Failure> {
    let mut intake = Intake::new(scratch)?;
    let mut output = repository.diff(base, head)?;
    while let Some(chunk) = output.chunk().await? {
        intake.push(chunk)?;
    }
    let (mut diff, spool) = intake.finish()?;
    decode(repository, &mut diff, &spool).await?;
    Ok((diff, spool))
}

/// Takes the noise out. Of the files whose names decide nothing, the beginnings are read.
pub(crate) async fn without_noise(
    repository: &Repository,
    diff: Diff,
    rules: FilterRules<'_>,
) -> Result<FilteredDiff, Failure> {
    let peeks = beginnings(repository, &diff, rules).await?;
    Ok(filter(diff, rules, |file| {
        let of = |object: Option<&str>| object.and_then(|object| peeks.get(object).copied());
        (of(file.base_object()), of(file.head_object()))
    }))
}

/// What the beginnings of the files say, by object.
async fn beginnings(
    repository: &Repository,
    diff: &Diff,
    rules: FilterRules<'_>,
) -> Result<HashMap<String, Peek>, GitError> {
    let asked: Vec<&FileDiff> = diff
        .files
        .iter()
        .filter(|file| depends_on_content(file, rules))
        .collect();
    let mut blobs = repository.blobs();
    let mut peeks = HashMap::new();
    let base: Vec<&str> = asked.iter().filter_map(|file| file.base_object()).collect();
    blobs
        .read_each(&base, Peek::BYTES, |at, blob| note(&mut peeks, base[at], blob))
        .await?;
    // Of a text, hardly anything depends on the head unless the base is marked.
    let head: Vec<&str> = asked
        .iter()
        .filter(|file| {
            let marked = |object: &str| peeks.get(object).is_some_and(Peek::is_generated);
            let is_plain = file.content == Content::Text && file.kind != ChangeKind::Added && !file.maybe_pointer;
            !is_plain || is_left_out_by_name(file, rules) || file.base_object().is_some_and(marked)
        })
        .filter_map(|file| file.head_object())
        .collect();
    blobs
        .read_each(&head, Peek::BYTES, |at, blob| note(&mut peeks, head[at], blob))
        .await?;
    // What is called a source map is one only if the whole of it is.
    let maps = asked.iter().filter(|file| is_map(file));
    let maps: Vec<&str> = maps
        .flat_map(|file| [file.base_object(), file.head_object()])
        .flatten()
        .collect();
    let whole = |at: usize, blob: Option<conclave_git::Blob>| {
        if let Some(blob) = blob.filter(|blob| !blob.is_cut()) {
            peeks.insert(maps[at].to_owned(), Peek::of_map(&blob.content));
        }
    };
    blobs.read_each(&maps, MAX_MAP, whole).await?;
    Ok(peeks)
}

fn note(peeks: &mut HashMap<String, Peek>, object: &str, blob: Option<conclave_git::Blob>) {
    if let Some(blob) = blob {
        peeks.insert(object.to_owned(), peek(&blob.content));
    }
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;

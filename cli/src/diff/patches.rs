//! The files that reviewers read: once in the run directory, once in the workspace.

use camino::Utf8Path;
use conclave_engine::{
    diff::FileDiff,
    prompt::{PatchSize, Share, cut, fold},
    review::{CONTEXT_FILE, INDEX_FILE, REVIEW_DIRECTORY},
};

use super::Spool;
use crate::{exit::Failure, private_files::write_file};

/// How large the patches are. A header's length is estimated from the paths in it, so that no patch has to be read.
pub(crate) fn sizes(files: &[FileDiff]) -> Vec<PatchSize> {
    let size = |file: &FileDiff| {
        let paths = u64::try_from(file.path.len() + file.old_path.len()).unwrap_or(u64::MAX);
        PatchSize {
            changed_lines: file.changed_lines(),
            bytes: file.patch.length,
            header: (200 + 2 * paths).min(file.patch.length),
        }
    };
    files.iter().map(size).collect()
}

/// A patch as it was written.
#[derive(Debug, Clone, Copy, Default)]
pub struct Written {
    /// Number of lines of its file.
    pub lines: u64,
    /// Lines that were left out of it.
    pub left_out: u64,
    /// True if nothing but its header is left of it.
    pub is_left_out: bool,
}

/// Reads a patch as reviewers are given it.
pub(crate) fn read(spool: &Spool, file: &FileDiff, share: Share, text: &mut Vec<u8>) -> Result<Written, Failure> {
    spool.patch(file, text)?;
    let mut written = Written::default();
    let hunks = match share {
        Share::Whole => None,
        Share::Cut(hunks) => Some(hunks),
        Share::Header => Some(0),
    };
    if let Some(hunks) = hunks {
        let cut = cut(text.as_slice(), hunks).map_err(Failure::io(format!("cut the patch of {}", file.path)))?;
        (written.left_out, written.is_left_out) = (cut.lines_left_out, cut.is_header());
        *text = cut.bytes;
    }
    *text = fold(std::mem::take(text));
    let lines = text.split_inclusive(|byte| *byte == b'\n').count();
    written.lines = u64::try_from(lines).unwrap_or(u64::MAX);
    Ok(written)
}

/// Counts the lines that are left out of the patches, without writing them.
pub(crate) fn left_out(files: &[(&FileDiff, &str)], spool: &Spool, shares: &[Share]) -> Result<Vec<Written>, Failure> {
    let mut text = Vec::new();
    let of_file = |((file, _), share): (&(&FileDiff, &str), &Share)| match share {
        Share::Whole => Ok(Written::default()),
        Share::Cut(_) | Share::Header => read(spool, file, *share, &mut text),
    };
    files.iter().zip(shares).map(of_file).collect()
}

/// How many patches are written at once. Making small files is work for a processor, and each writer holds a patch in
/// memory.
const WRITERS: usize = 2;

/// Writes the patches, as much of each as its share allows. The workspace's copies are links where the file system allows it, so a large diff is stored once.
pub fn write(
    records: &Utf8Path,
    workspace: &Utf8Path,
    files: &[(&FileDiff, &str)],
    spool: &Spool,
    shares: &[Share],
) -> Result<Vec<Written>, Failure> {
    let patches = workspace.join(REVIEW_DIRECTORY).join("patches");
    std::fs::create_dir_all(&patches).map_err(Failure::io(format!("make {patches}")))?;
    let portion = files.len().div_ceil(WRITERS).max(1);
    let work = files.chunks(portion).zip(shares.chunks(portion));
    let writer = Writer {
        records,
        workspace,
        spool,
    };
    std::thread::scope(|scope| {
        let writers: Vec<_> = work
            .map(|(files, shares)| scope.spawn(|| writer.write(files, shares)))
            .collect();
        let mut all = Vec::with_capacity(files.len());
        for writer in writers {
            let written = writer
                .join()
                .unwrap_or_else(|_| Err(Failure::io("write the patches")(std::io::Error::other("it panicked"))));
            all.append(&mut written?);
        }
        Ok(all)
    })
}

/// Writes one patch after the other.
#[derive(Clone, Copy)]
struct Writer<'a> {
    records: &'a Utf8Path,
    workspace: &'a Utf8Path,
    spool: &'a Spool,
}

impl Writer<'_> {
    fn write(&self, files: &[(&FileDiff, &str)], shares: &[Share]) -> Result<Vec<Written>, Failure> {
        let mut text = Vec::new();
        let mut all = Vec::with_capacity(files.len());
        for ((file, patch), share) in files.iter().zip(shares) {
            let name = Utf8Path::new(patch).file_name().unwrap_or_default();
            all.push(read(self.spool, file, *share, &mut text)?);
            store(
                &self.records.join("patches").join(name),
                &text,
                &self.workspace.join(patch),
            )?;
        }
        Ok(all)
    }
}

/// Writes the context file and the whole index.
pub(crate) fn write_context(
    records: &Utf8Path,
    workspace: &Utf8Path,
    context: &str,
    index: &str,
) -> Result<(), Failure> {
    let (record, target) = (records.join("shared-mr-context.txt"), workspace.join(CONTEXT_FILE));
    store(&record, context.as_bytes(), &target)?;
    store(
        &records.join("patches/INDEX.txt"),
        index.as_bytes(),
        &workspace.join(INDEX_FILE),
    )
}

/// Writes a record, and gives the workspace a copy.
fn store(record: &Utf8Path, content: &[u8], target: &Utf8Path) -> Result<(), Failure> {
    write_file(record, content)?;
    if std::fs::hard_link(record, target).is_ok() {
        return Ok(());
    }
    std::fs::copy(record, target)
        .map(drop)
        .map_err(Failure::io(format!("write {target}")))
}

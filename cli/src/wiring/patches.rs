//! The files that reviewers read: once in the run directory, once in the workspace.

use camino::Utf8Path;
use conclave_engine::{
    diff::FileDiff,
    prompt::{
        CONTEXT_FILE, INDEX_FILE, PatchEntry, PatchSize, REVIEW_DIRECTORY, Share, cut, header_length, render_index,
    },
};

use crate::{exit::Failure, rundir::RunDirectory};

/// How large the patches are.
pub(super) fn sizes(files: &[FileDiff]) -> Vec<PatchSize> {
    let size = |file: &FileDiff| PatchSize {
        changed_lines: file.changed_lines(),
        bytes: u64::try_from(file.patch.len()).unwrap_or(u64::MAX),
        header: header_length(&file.patch),
    };
    files.iter().map(size).collect()
}

/// Writes the patches, as much of each as its share allows; of each the lines that are left out. The workspace's copies
/// are links where the file system allows it, so a large diff is stored once.
pub(super) fn write(
    directory: &RunDirectory,
    workspace: &Utf8Path,
    files: &[(&FileDiff, &str)],
    shares: &[Share],
) -> Result<Vec<u64>, Failure> {
    let patches = workspace.join(REVIEW_DIRECTORY).join("patches");
    std::fs::create_dir_all(&patches).map_err(Failure::io(format!("make {patches}")))?;
    let mut left_out = Vec::with_capacity(files.len());
    for ((file, patch), share) in files.iter().zip(shares) {
        let name = Utf8Path::new(patch).file_name().unwrap_or_default();
        let path = format!("patches/{name}");
        let record = match share {
            Share::Whole => {
                left_out.push(0);
                directory.write(&path, &file.patch)?
            }
            Share::Cut(hunks) => {
                let cut = cut(file.patch.as_slice(), *hunks).map_err(Failure::io(format!("cut the patch {name}")))?;
                left_out.push(cut.lines_left_out);
                directory.write(&path, &cut.bytes)?
            }
        };
        link_or_copy(&record, &workspace.join(patch))?;
    }
    Ok(left_out)
}

/// Writes the context file and the whole index.
pub(super) fn write_context(
    directory: &RunDirectory,
    workspace: &Utf8Path,
    context: &str,
    entries: &[PatchEntry],
) -> Result<(), Failure> {
    let record = directory.write("shared-mr-context.txt", context.as_bytes())?;
    link_or_copy(&record, &workspace.join(CONTEXT_FILE))?;
    let record = directory.write("patches/INDEX.txt", render_index(entries).as_bytes())?;
    link_or_copy(&record, &workspace.join(INDEX_FILE))
}

fn link_or_copy(record: &Utf8Path, target: &Utf8Path) -> Result<(), Failure> {
    if std::fs::hard_link(record, target).is_ok() {
        return Ok(());
    }
    std::fs::copy(record, target)
        .map(drop)
        .map_err(Failure::io(format!("write {target}")))
}

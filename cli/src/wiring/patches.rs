//! The files that reviewers read: once in the run directory, once in the workspace.

use camino::Utf8Path;
use conclave_engine::{
    diff::FileDiff,
    prompt::{CONTEXT_FILE, REVIEW_DIRECTORY},
};

use super::changes::Spool;
use crate::{exit::Failure, rundir::RunDirectory};

/// Writes them. The workspace's copies are links where the file system allows it, so a large diff is stored once.
pub(crate) fn write(
    directory: &RunDirectory,
    workspace: &Utf8Path,
    files: &[(&FileDiff, &str)],
    spool: &Spool,
    context: &str,
) -> Result<(), Failure> {
    let patches = workspace.join(REVIEW_DIRECTORY).join("patches");
    std::fs::create_dir_all(&patches).map_err(Failure::io(format!("make {patches}")))?;
    let mut text = Vec::new();
    for (file, patch) in files {
        let name = Utf8Path::new(patch).file_name().unwrap_or_default();
        spool.patch(file, &mut text)?;
        let record = directory.write(&format!("patches/{name}"), &text)?;
        link_or_copy(&record, &workspace.join(patch))?;
    }
    let record = directory.write("shared-mr-context.txt", context.as_bytes())?;
    link_or_copy(&record, &workspace.join(CONTEXT_FILE))
}

fn link_or_copy(record: &Utf8Path, target: &Utf8Path) -> Result<(), Failure> {
    if std::fs::hard_link(record, target).is_ok() {
        return Ok(());
    }
    std::fs::copy(record, target)
        .map(drop)
        .map_err(Failure::io(format!("write {target}")))
}

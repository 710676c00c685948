//! The files that Conclave itself has put into a directory: only those are ever removed.
//!
//! Files are recognized by what they hold, because earlier versions kept no list of them, and because a list would still name a
//! file that the user has since put in its place. What has no mark of its own counts only beside a record of our progress, which
//! every directory of records has.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Read},
};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use crate::{
    output::{Excerpts, PROGRESS_FILE, RecordedLine},
    run::reports,
};

/// Directories of a run's records.
pub(super) const DIRECTORIES: [&str; 2] = [PATCHES, PROMPTS];
const PATCHES: &str = "patches";
const PROMPTS: &str = "prompts";
/// The coordinator's first message, which is written before the prompts.
const MESSAGE: &str = "coordinator-message.md";
/// Everything that a run writes into [`PROMPTS`].
const PROMPT_FILES: [&str; 3] = [MESSAGE, "coordinator.md", "REVIEWER_SHARED.md"];
/// Files of a run's records besides the reports and the progress, which is the last to be removed: the others are recognized by it.
const RECORDS: [&str; 4] = ["events.jsonl", "opencode.json", "shared-mr-context.txt", Excerpts::FILE];

/// Maximum number of bytes of a file that are looked at, and of one whose first bytes are enough.
const MAX_READ: u64 = 8 << 20;
const FIRST_BYTES: u64 = 64;

/// The use of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The records of a run, with the reports.
    Records,
    /// Reports alone.
    Reports,
}

impl Purpose {
    /// All names that a run writes into such a directory.
    pub(super) fn names(self) -> Vec<&'static str> {
        let of_records = DIRECTORIES.into_iter().chain(RECORDS).chain([PROGRESS_FILE]);
        let of_records = of_records.filter(|_| self == Self::Records);
        reports::NAMES.into_iter().chain(of_records).collect()
    }
}

/// The content of a directory in the places of a run's files.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// Everything that may be removed, in this order.
    own: Vec<Entry>,
    /// Something that Conclave did not write.
    foreign: Option<Utf8PathBuf>,
}

#[derive(Debug)]
enum Entry {
    File(Utf8PathBuf),
    Directory(Utf8PathBuf),
}

impl Survey {
    /// Looks at the places; what is `committed` there, each with its path from the directory, may go as well.
    pub(super) fn new(directory: &Utf8Path, purpose: Purpose, committed: &BTreeSet<Utf8PathBuf>) -> io::Result<Self> {
        let look = Look { directory, committed };
        let mut survey = Self::default();
        let mut progress = Self::default();
        let mut has_progress = false;
        if purpose == Purpose::Records {
            let is_own = |text: &str| {
                has_progress = is_progress(text);
                has_progress
            };
            progress.add(&look, Utf8Path::new(PROGRESS_FILE), MAX_READ, is_own)?;
            // Without it nothing else is known to be ours.
            survey.foreign = progress.foreign.take();
            for name in DIRECTORIES {
                survey.add_directory(&look, Utf8Path::new(name), has_progress)?;
            }
            for name in RECORDS {
                let is_own = |text: &str| is_record(name, text, has_progress);
                survey.add(&look, Utf8Path::new(name), MAX_READ, is_own)?;
            }
        }
        for name in reports::NAMES {
            survey.add(&look, Utf8Path::new(name), MAX_READ, |text| reports::is_own(name, text))?;
        }
        survey.own.append(&mut progress.own);
        Ok(survey)
    }

    /// Returns what is in the way, if anything is.
    pub(super) fn foreign(&self) -> Option<&Utf8Path> {
        self.foreign.as_deref()
    }

    /// Removes what may be removed.
    pub(super) fn remove(&self) -> io::Result<()> {
        for entry in &self.own {
            let (path, removed) = match entry {
                Entry::File(path) => (path, std::fs::remove_file(path)),
                Entry::Directory(path) => (path, std::fs::remove_dir(path)),
            };
            match removed {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(io::Error::new(error.kind(), format!("{path} is in the way: {error}")));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Looks at the place of a file, and returns whether it is free or can be made so. An empty one holds nothing that could be lost.
    fn add(
        &mut self,
        look: &Look<'_>,
        name: &Utf8Path,
        looked_at: u64,
        is_own: impl FnOnce(&str) -> bool,
    ) -> io::Result<bool> {
        let path = look.directory.join(name);
        let found = match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            found => found?,
        };
        let is_committed = !found.is_dir() && look.committed.contains(name);
        let may_go = is_committed || (found.is_file() && (found.len() == 0 || is_own(&beginning(&path, looked_at)?)));
        if may_go {
            self.own.push(Entry::File(path));
        } else {
            self.foreign.get_or_insert(path);
        }
        Ok(may_go)
    }

    /// Looks at the place of a directory and at everything in it.
    fn add_directory(&mut self, look: &Look<'_>, name: &Utf8Path, has_progress: bool) -> io::Result<()> {
        let path = look.directory.join(name);
        if !path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            return self.add(look, name, 0, |_| false).map(drop);
        }
        let mut files = Vec::new();
        for entry in path.read_dir()? {
            let Ok(file) = entry?.file_name().into_string() else {
                // We make no such names.
                self.foreign.get_or_insert(path);
                return Ok(());
            };
            files.push(file);
        }
        let may_be_own = has_progress && (name.as_str() != PROMPTS || files.iter().any(|file| file == MESSAGE));
        let mut is_emptied = true;
        for file in &files {
            let is_own = |text: &str| may_be_own && is_in_directory(name.as_str(), file, text);
            is_emptied &= self.add(look, &name.join(file), FIRST_BYTES, is_own)?;
        }
        if is_emptied {
            self.own.push(Entry::Directory(path));
        }
        Ok(())
    }
}

/// Where a survey looks, and what is committed there.
struct Look<'a> {
    directory: &'a Utf8Path,
    committed: &'a BTreeSet<Utf8PathBuf>,
}

/// Returns whether a file in a directory of records is what a run writes there.
fn is_in_directory(directory: &str, file: &str, text: &str) -> bool {
    if directory == PROMPTS {
        return PROMPT_FILES.contains(&file);
    }
    let slug = file.trim_start_matches(|character: char| character.is_ascii_digit());
    // What `git format-patch` makes has the same names, and begins otherwise.
    let is_patch =
        file.len() - slug.len() >= 4 && slug.strip_suffix(".patch").is_some_and(|slug| slug.starts_with('-'));
    file == "INDEX.txt" || (is_patch && text.starts_with("diff --git "))
}

/// Returns whether a file of this name is what a run records.
fn is_record(name: &str, text: &str, has_progress: bool) -> bool {
    match name {
        Excerpts::FILE => serde_json::from_str::<Excerpts>(text).is_ok(),
        "events.jsonl" => has_progress && is_event(text),
        // A project may have one of its own, without our variables.
        "opencode.json" => text.contains("{env:CONCLAVE_"),
        _ => has_progress,
    }
}

/// Returns whether the first line is one of a run's progress.
fn is_progress(text: &str) -> bool {
    serde_json::from_str::<RecordedLine>(first_line(text)).is_ok()
}

/// Returns whether the first line is an event of a runtime.
fn is_event(text: &str) -> bool {
    let event: Value = serde_json::from_str(first_line(text)).unwrap_or_default();
    event["type"].is_string() && event["properties"].is_object()
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// The text that a file begins with.
fn beginning(path: &Utf8Path, looked_at: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(looked_at).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

//! The stages before any model is asked, one by one and timed: the code that a review runs.

use std::{
    io::Read,
    path::Path,
    time::{Duration, Instant},
};

use camino::Utf8Path;
use conclave::{
    diff::{self, Intake, patches},
    exit::Failure,
};
use conclave_engine::{
    diff::FilterRules,
    prompt::{PatchEntry, Share},
    review::REVIEW_DIRECTORY,
};
use conclave_git::Repository;
use conclave_shared::risk::{FileChange, RiskRules, SecurityPaths, classify};
use globset::GlobSet;

/// Where the diff comes from.
#[derive(Debug)]
pub(crate) enum Source<'a> {
    /// From git, as in a review.
    Git,
    /// From a file that holds git's output, so that git's own time is not part of it.
    File(&'a Path),
}

/// How long each stage took, and what came out.
#[derive(Debug)]
pub(crate) struct Stages {
    /// Reading and parsing the diff; with [`Source::Git`] git's own work is part of it.
    pub(crate) parse: Duration,
    /// Taking the noise out.
    pub(crate) filter: Duration,
    /// Deciding the tier.
    pub(crate) tier: Duration,
    /// Writing the patches where reviewers read them.
    pub(crate) write: Duration,
    /// Files that are reviewed.
    pub(crate) files: usize,
    /// Their changed lines.
    pub(crate) changed_lines: u64,
    /// The largest patch in bytes.
    pub(crate) largest_patch: u64,
}

impl Stages {
    /// What every round is quicker than.
    pub(crate) fn slowest() -> Self {
        Self {
            parse: Duration::MAX,
            filter: Duration::MAX,
            tier: Duration::MAX,
            write: Duration::MAX,
            files: 0,
            changed_lines: 0,
            largest_patch: 0,
        }
    }

    /// The least time of each stage in two rounds.
    #[must_use]
    pub(crate) fn quicker(&self, other: &Self) -> Self {
        Self {
            parse: self.parse.min(other.parse),
            filter: self.filter.min(other.filter),
            tier: self.tier.min(other.tier),
            write: self.write.min(other.write),
            ..*other
        }
    }
}

/// Runs the stages for the diff of two commits; everything is written below `directory`.
pub(crate) async fn pipeline(
    repository: &Path,
    (base, head): (&str, &str),
    source: Source<'_>,
    directory: &Path,
) -> Result<Stages, Failure> {
    let (repository, directory) = (utf8(repository), utf8(directory));
    let workspace = directory.join("workspace");
    std::fs::create_dir_all(workspace.join(REVIEW_DIRECTORY)).map_err(Failure::io("make the workspace"))?;
    let repository = Repository::open(repository).await?;
    let mut lap = Instant::now();
    let mut timed = || {
        let now = Instant::now();
        now - std::mem::replace(&mut lap, now)
    };
    let (diff, spool) = match source {
        Source::Git => diff::read(&repository, base, head, directory).await?,
        Source::File(path) => {
            let mut file = std::fs::File::open(path).map_err(Failure::io("open git's output"))?;
            let mut intake = Intake::new(directory)?;
            let mut chunk = vec![0; 128 << 10];
            loop {
                match file.read(&mut chunk).map_err(Failure::io("read git's output"))? {
                    0 => break intake.finish()?,
                    read => intake.push(&chunk[..read])?,
                }
            }
        }
    };
    let parse = timed();
    let largest_patch = diff.files.iter().map(|file| file.patch.length).max().unwrap_or(0);
    let rules = FilterRules {
        security: &SecurityPaths::default(),
        ignore: &GlobSet::empty(),
        trusted: &GlobSet::empty(),
    };
    let diff = diff::without_noise(&repository, head, diff, rules, &spool).await?;
    let filter = timed();
    let files: Vec<FileChange<'_>> = diff
        .files
        .iter()
        .map(|file| FileChange {
            path: &file.path,
            old_path: &file.old_path,
            changed_lines: file.changed_lines(),
        })
        .collect();
    let assessment = classify(&files, RiskRules::default(), &SecurityPaths::default());
    std::hint::black_box(assessment);
    let tier = timed();
    let records = directory.join("run");
    std::fs::create_dir_all(records.join("patches")).map_err(Failure::io("make the records"))?;
    let entries: Vec<PatchEntry> = diff
        .files
        .iter()
        .enumerate()
        .map(|(at, file)| PatchEntry::new(at, file))
        .collect();
    let patches: Vec<_> = diff
        .files
        .iter()
        .zip(entries.iter().map(|entry| entry.patch.as_str()))
        .collect();
    let shares = vec![Share::Whole; patches.len()];
    patches::write(&records, &workspace, &patches, &spool, &shares)?;
    let write = timed();
    Ok(Stages {
        parse,
        filter,
        tier,
        write,
        files: files.len(),
        changed_lines: files.iter().map(|file| file.changed_lines).sum(),
        largest_patch,
    })
}

fn utf8(path: &Path) -> &Utf8Path {
    Utf8Path::from_path(path).expect("a path in UTF-8")
}

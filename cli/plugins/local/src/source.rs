//! From a range to a review's subject.

use std::collections::BTreeMap;

use camino::Utf8Path;
use conclave_engine::{review::ReviewSubject, untrusted::Untrusted};
use conclave_git::{GitError, Parting, Repository, Snapshot, Uncommitted};

use crate::Range;

/// Why a local review cannot start. The text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// Git.
    #[error(transparent)]
    Git(#[from] GitError),
    /// There is nothing to compare the working tree with.
    #[error(
        "nothing is uncommitted, and no default branch was found to compare with (a remote's HEAD, main, master or trunk): name one, as in `conclave local develop`"
    )]
    NoDefaultBranch,
    /// There is nothing to review.
    #[error("nothing to review: {0}")]
    Empty(String),
}

/// A subject and where its commits are.
#[derive(Debug)]
pub struct LocalReview {
    /// What is reviewed.
    pub subject: ReviewSubject,
    /// A repository that can read both commits.
    pub repository: Repository,
    /// At how many commits the work and what it is compared with parted.
    pub parting: Parting,
    /// What the person should know.
    pub notes: Vec<String>,
}

/// What a range comes down to.
struct Resolved {
    repository: Repository,
    /// Where the work begins, as a person calls it, and its commit.
    base: (String, String),
    head: (String, String),
    /// Whose settings count, where that is not the base.
    settings: Option<String>,
    notes: Vec<String>,
}

/// Resolves the range. `scratch` takes a snapshot of what is not committed, if one is needed.
pub async fn load(directory: &Utf8Path, range: &Range, scratch: &Utf8Path) -> Result<LocalReview, LocalError> {
    let repository = Repository::open(directory).await?;
    let resolved = match range {
        Range::Commits { base, head } => commits(repository, base, head).await?,
        Range::WorkingTree => working_tree(repository, scratch).await?,
        Range::Staged => staged(repository, scratch).await?,
    };
    let Resolved {
        repository,
        base: (base_name, base),
        head: (head_name, head),
        settings,
        notes,
    } = resolved;
    let merge_base = repository.merge_base(&base, &head).await;
    let merge_base = merge_base.map_err(|error| match error {
        // By the names that the person knows.
        GitError::NoMergeBase { hint, .. } => GitError::NoMergeBase {
            base: base_name.clone(),
            head: head_name.clone(),
            hint,
        },
        other => other,
    })?;
    if merge_base == head {
        return Err(LocalError::Empty(format!("{head_name} adds nothing to {base_name}")));
    }
    let mut needed = vec![merge_base.as_str(), head.as_str()];
    needed.extend(settings.as_deref());
    repository.ensure_whole(&needed).await?;
    let parting = repository.parting(&merge_base, &base, &head).await?;
    let subjects = repository.subjects(&merge_base, &head).await?;
    let project = repository.root().file_name().unwrap_or("repository").to_owned();
    let subject = ReviewSubject {
        forge: "local",
        project,
        base_sha: merge_base,
        head_sha: head,
        settings_sha: settings,
        title: Untrusted::from(subjects.last().cloned().unwrap_or_else(|| head_name.clone())),
        source_branch: Untrusted::from(head_name),
        target_branch: Untrusted::from(base_name),
        commit_subjects: subjects.into_iter().map(Untrusted::from).collect(),
        ..ReviewSubject::default()
    };
    Ok(LocalReview {
        subject,
        repository,
        parting,
        notes,
    })
}

async fn commits(repository: Repository, base: &str, head: &str) -> Result<Resolved, LocalError> {
    let (base_sha, head_sha) = (repository.commit(base).await?, repository.commit(head).await?);
    Ok(Resolved {
        repository,
        base: (base.to_owned(), base_sha.clone()),
        head: (head.to_owned(), head_sha),
        settings: Some(base_sha),
        notes: Vec::new(),
    })
}

async fn working_tree(repository: Repository, scratch: &Utf8Path) -> Result<Resolved, LocalError> {
    let head = repository.commit("HEAD").await?;
    let branch = checked_out(&repository, &head).await;
    let default = repository.default_branch().await;
    let mut notes = submodules(&repository).await;
    let Snapshot { taken, left_out } = repository.snapshot(scratch, Uncommitted::WorkingTree).await?;
    notes.extend(left_out.iter().map(|path| {
        format!("{path} is a repository without a commit, which git cannot take in: it is not part of this review")
    }));
    let Some((snapshot, with_snapshot)) = taken else {
        let base_name = default.ok_or(LocalError::NoDefaultBranch)?;
        let base = repository.commit(&base_name).await?;
        return Ok(Resolved {
            repository,
            settings: Some(base.clone()),
            base: (base_name, base),
            head: (branch, head),
            notes,
        });
    };
    notes.push("uncommitted changes are part of this review".to_owned());
    notes.extend(crowd(&with_snapshot.new_files(&head, &snapshot).await?));
    let base = if let Some(name) = default {
        let commit = repository.commit(&name).await?;
        (name, commit)
    } else {
        notes.push(
            "no default branch was found, so only what is not committed is reviewed; to review more, name what to compare with, \
             as in `conclave local develop`"
                .to_owned(),
        );
        (branch.clone(), head)
    };
    Ok(Resolved {
        repository: with_snapshot,
        settings: Some(base.1.clone()),
        base,
        head: (format!("{branch} (working tree)"), snapshot),
        notes,
    })
}

async fn staged(repository: Repository, scratch: &Utf8Path) -> Result<Resolved, LocalError> {
    let head = repository.commit("HEAD").await?;
    let branch = checked_out(&repository, &head).await;
    let Some((snapshot, with_snapshot)) = repository.snapshot(scratch, Uncommitted::Staged).await?.taken else {
        return Err(LocalError::Empty(
            "nothing is staged; `git add` stages, and `conclave local` without --staged reviews everything".to_owned(),
        ));
    };
    // What is compared with is the branch itself, but whose work is reviewed does not decide how.
    let settings = match repository.default_branch().await {
        Some(name) => Some(repository.commit(&name).await?),
        None => None,
    };
    Ok(Resolved {
        notes: submodules(&repository).await,
        repository: with_snapshot,
        base: (branch.clone(), head),
        head: (format!("{branch} (staged)"), snapshot),
        settings,
    })
}

/// What is checked out, as a person calls it.
async fn checked_out(repository: &Repository, head: &str) -> String {
    match repository.branch().await {
        Some(branch) => branch,
        None => format!("detached HEAD at {}", head.get(..8).unwrap_or(head)),
    }
}

/// So many files that no commit has yet are rather an oversight than somebody's work.
const CROWD: usize = 500;

/// What to say of files that nobody may have meant to be reviewed.
fn crowd(new: &[String]) -> Option<String> {
    if new.len() < CROWD {
        return None;
    }
    let mut directories: BTreeMap<&str, usize> = BTreeMap::new();
    for (directory, _) in new.iter().filter_map(|path| path.split_once('/')) {
        *directories.entry(directory).or_default() += 1;
    }
    let largest = directories.into_iter().max_by_key(|(_, files)| *files);
    let most = largest.map_or_else(String::new, |(directory, files)| {
        format!(", {files} of them below {directory}/")
    });
    Some(format!(
        "{} files are new and in no commit{most}: what is not to be reviewed belongs into .gitignore",
        new.len()
    ))
}

/// What no snapshot can hold. That it cannot be found out is no reason not to review the rest.
async fn submodules(repository: &Repository) -> Vec<String> {
    let changed = repository.changed_submodules().await.unwrap_or_default();
    let note = |path: &String| {
        format!(
            "the submodule {path} has uncommitted changes, which are not part of this review: `conclave local --repo {path}` \
             reviews them"
        )
    };
    changed.iter().map(note).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_of_new_files_is_told_with_where_most_of_them_are() {
        let files = |count: usize, directory: &'static str| (0..count).map(move |file| format!("{directory}f{file}"));
        let few: Vec<String> = files(CROWD - 1, "out/").collect();
        assert_eq!(crowd(&few), None);
        let many: Vec<String> = files(40, "src/")
            .chain(files(CROWD, "out/x/"))
            .chain(files(3, ""))
            .collect();
        assert_eq!(
            crowd(&many).expect("told"),
            "543 files are new and in no commit, 500 of them below out/: what is not to be reviewed belongs into .gitignore"
        );
        let flat: Vec<String> = files(CROWD, "").collect();
        assert!(
            crowd(&flat)
                .expect("told")
                .starts_with("500 files are new and in no commit: what")
        );
    }
}

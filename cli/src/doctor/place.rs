//! Where a review would run: the repository, its settings, the disk, the job.

use camino::{Utf8Path, Utf8PathBuf};
use conclave_engine::repo_config::RuntimeChoice;
use conclave_git::{GitError, Repository};
use conclave_opencode::unfit_place;

use super::{Check, Found, Request, Status, settings, tools::runtime_of_review};
use crate::run::directory::{default_root, temporary};

/// What a review of a large repository writes, with some to spare.
const ENOUGH_BYTES: u64 = 1024 * 1024 * 1024;
/// A review of a large change can take so long.
const ENOUGH_SECONDS: u64 = 15 * 60;

/// The name of the check of the repository.
const NAME: &str = "repository";

pub(super) async fn examine(request: &Request<'_>) -> Found {
    let mut found = Found::default();
    found.checks.extend(repository(request).await);
    found.checks.extend(job(request));
    found.checks.push(disk("records", &default_root(request.env)));
    found
        .checks
        .push(scratch(&temporary(), runtime_of_review(request).await));
    found
}

async fn repository(request: &Request<'_>) -> Vec<Check> {
    let in_job = request.env.is_gitlab_job();
    let directory = request.directory();
    let repository = match Repository::open(directory).await {
        Ok(repository) => repository,
        Err(GitError::NotARepository(_) | GitError::Unreadable(..)) if in_job => {
            let detail = format!("{directory} is not a checkout: the commits are fetched, which takes longer");
            return vec![Check::warning(NAME, detail).next("set `GIT_STRATEGY: fetch` for the job")];
        }
        Err(GitError::NotARepository(_)) => {
            let detail = format!("{directory} is in no git repository");
            let step = "change to your project's directory, or name it with --repo PATH";
            return vec![Check::warning(NAME, detail).next(step)];
        }
        // The check of git says it.
        Err(GitError::TooOld(_) | GitError::NoVersion(_)) => return Vec::new(),
        Err(error) => return vec![Check::of_error(NAME, &error)],
    };
    if let Err(error) = repository.commit("HEAD").await {
        return vec![Check::failure(NAME, error.to_string()).next("make a first commit")];
    }
    // A commit that is not there is fetched in a job of either forge.
    let in_job = in_job || request.env.is_github_job();
    let settings = settings::examine(request, &repository).await;
    let rules = settings::rules(request, &repository).await;
    [history(&repository, in_job).await]
        .into_iter()
        .chain(settings)
        .chain(rules)
        .collect()
}

/// The check of how much of the history and its files is here.
async fn history(repository: &Repository, in_job: bool) -> Check {
    let root = repository.root();
    let default = repository.default_branch().await;
    let fork = match &default {
        Some(default) => repository.merge_base(default, "HEAD").await.ok(),
        None => None,
    };
    let others = default.as_deref().into_iter().chain(fork.as_deref());
    let compared: Vec<&str> = ["HEAD"].into_iter().chain(others).collect();
    match repository.lacks_objects(&compared).await {
        Err(error) => return Check::of_error(NAME, &error),
        Ok(true) if in_job => {
            return Check::ok(NAME, format!("{root}, a partial clone: what is missing is fetched"));
        }
        Ok(true) => {
            let detail =
                format!("{root} is a partial clone: where files of a change are missing, it cannot be reviewed");
            return Check::warning(NAME, detail).next(repository.refetch().await);
        }
        Ok(false) => {}
    }
    match repository.is_shallow().await {
        Err(error) => Check::of_error(NAME, &error),
        Ok(true) if in_job => Check::ok(NAME, format!("{root}, a shallow clone: what is missing is fetched")),
        Ok(true) => Check::warning(
            NAME,
            format!("{root} is a shallow clone: a range that reaches back further cannot be reviewed"),
        )
        .next("git fetch --unshallow"),
        Ok(false) if !in_job && default.is_none() => {
            let detail = format!("{root} has neither origin/HEAD nor a branch main or master to compare with");
            Check::warning(NAME, detail)
                .next("git remote set-head origin --auto, or name a range: conclave local BASE..HEAD")
        }
        Ok(false) if repository.is_partial() => Check::ok(
            NAME,
            format!("{root}, a partial clone: what is compared by default is here"),
        ),
        Ok(false) => Check::ok(NAME, format!("{root}, with its whole history")),
    }
}

/// What GitLab says about the job.
fn job(request: &Request<'_>) -> Option<Check> {
    if !request.env.is_gitlab_job() {
        return None;
    }
    Some(match request.env.time_left() {
        Some(left) if left.as_secs() < ENOUGH_SECONDS => Check::warning(
            "job",
            format!(
                "only {} minutes are left of the job's time; a large change needs more",
                left.as_secs() / 60
            ),
        )
        .next("set `timeout: 45 minutes` for the job"),
        Some(left) => Check::ok(
            "job",
            format!("{} minutes are left of the job's time", left.as_secs() / 60),
        ),
        None => Check::ok("job", "GitLab does not say how much time the job has"),
    })
}

/// Returns whether a run can keep its scratch space there, and OpenCode find its way in it.
fn scratch(directory: &Utf8Path, runtime: RuntimeChoice) -> Check {
    const NAME: &str = "scratch";
    match (unfit_place(directory), runtime) {
        (Some(problem), RuntimeChoice::OpenCode) => Check::of_error(NAME, &problem),
        (Some(problem), RuntimeChoice::Auto) => Check {
            status: Status::Warning,
            ..Check::of_error(NAME, &problem)
        },
        (Some(_), RuntimeChoice::Native) | (None, _) => disk(NAME, directory),
    }
}

/// Returns whether files can be written there, and enough of them.
fn disk(name: &str, directory: &Utf8Path) -> Check {
    if name == "scratch" && !directory.is_absolute() {
        let detail = format!("TMPDIR is `{directory}`, which depends on the directory that a program runs in");
        return Check::failure(name, detail).next("set TMPDIR to an absolute path, or unset it");
    }
    // A review makes the directory of its records, and no other.
    let place = match name {
        "records" => existing(directory),
        _ => directory.to_owned(),
    };
    if let Err(error) = writable(&place) {
        let step = match name {
            "records" => "make it writable, or name another directory with --output (CONCLAVE_OUTPUT)",
            _ => "make it a directory that can be written, or set TMPDIR to one",
        };
        let detail = format!("{directory} cannot be written: {error}");
        // A review puts its records elsewhere then; without scratch space there is none.
        return match name {
            "records" => Check::warning(name, detail),
            _ => Check::failure(name, detail),
        }
        .next(step);
    }
    match nix::sys::statvfs::statvfs(place.as_std_path()) {
        Ok(disk) => {
            #[cfg_attr(
                target_os = "linux",
                expect(clippy::useless_conversion, reason = "other systems count in 32 bits")
            )]
            let free = u64::from(disk.blocks_available()) * u64::from(disk.fragment_size());
            let detail = format!("{directory}, {} MB free", free / 1_000_000);
            if free < ENOUGH_BYTES {
                Check::warning(name, detail).next("free some space: a checkout of the repository has to fit")
            } else {
                Check::ok(name, detail)
            }
        }
        Err(error) => Check::ok(name, format!("{directory}; the free space cannot be read: {error}")),
    }
}

/// Writes a file where a directory is or would be made, and takes it away again.
pub(super) fn can_be_made(directory: &Utf8Path) -> std::io::Result<()> {
    let absolute = camino::absolute_utf8(directory)?;
    writable(&existing(&absolute))
}

/// Writes a file there, and takes it away again.
fn writable(directory: &Utf8Path) -> std::io::Result<()> {
    tempfile::Builder::new()
        .prefix(".conclave-doctor-")
        .tempfile_in(directory)
        .map(drop)
}

/// The nearest place that is there, whatever it is: making directories below it needs a directory, and the right to write.
fn existing(directory: &Utf8Path) -> Utf8PathBuf {
    let there = directory
        .ancestors()
        .find(|ancestor| ancestor.symlink_metadata().is_ok());
    there.unwrap_or(Utf8Path::new("/")).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_missing_is_made_for_records_alone_and_below_a_file_for_nothing() {
        let scratch = tempfile::tempdir().expect("a directory");
        let scratch = Utf8Path::from_path(scratch.path()).expect("UTF-8");
        let (missing, file) = (scratch.join("no/such"), scratch.join("file"));
        let (missing, file, below) = (missing.as_path(), file.as_path(), file.join("below"));
        let below = below.as_path();
        std::fs::write(file, "").expect("a file");
        for (name, place, is_usable) in [
            ("records", missing, true),
            ("records", file, false),
            ("records", below, false),
            ("records", Utf8Path::new("/proc/self"), false),
            ("scratch", scratch, true),
            ("scratch", missing, false),
            ("scratch", file, false),
            ("scratch", below, false),
            ("scratch", Utf8Path::new("/proc/self"), false),
            ("scratch", Utf8Path::new("tmp"), false),
        ] {
            let check = disk(name, place);
            // Room on the disk of the test is not the question.
            assert_eq!(check.detail.contains("MB free"), is_usable, "{check:?}");
            let status = match name {
                "records" => Status::Warning,
                _ => Status::Failure,
            };
            assert!(is_usable || check.status == status, "{check:?}");
        }
    }

    #[test]
    fn scratch_space_where_opencode_does_not_find_its_way_is_told_by_the_runtime() {
        let directory = tempfile::tempdir().expect("a directory");
        let directory = Utf8Path::from_path(directory.path()).expect("UTF-8");
        let (fit, unfit) = (directory.join("ümlaut 漢字 100% 5%x"), directory.join("back\\slash"));
        let encoded = directory.join("100%20");
        for place in [&fit, &unfit, &encoded] {
            std::fs::create_dir(place).expect("a directory");
        }
        for (place, runtime, status) in [
            (&fit, RuntimeChoice::OpenCode, Status::Ok),
            (&unfit, RuntimeChoice::OpenCode, Status::Failure),
            (&unfit, RuntimeChoice::Auto, Status::Warning),
            (&unfit, RuntimeChoice::Native, Status::Ok),
            (&encoded, RuntimeChoice::OpenCode, Status::Failure),
            (&encoded, RuntimeChoice::Auto, Status::Warning),
            (&encoded, RuntimeChoice::Native, Status::Ok),
        ] {
            let check = scratch(place, runtime);
            // Room on the disk of the test is not the question.
            let is_full = check.detail.contains("MB free") && check.status == Status::Warning;
            assert!(check.status == status || is_full, "{check:?}");
        }
    }
}

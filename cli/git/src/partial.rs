//! Partial clones: what a clone's filter has left out. Git would fetch it at the moment that it needs it, from wherever the
//! repository's configuration says; no git process of ours may.

use crate::{command::GitError, places::object_stores, repository::Repository};

impl Repository {
    /// Returns whether the objects of these commits, which are here, may be missing: whatever comes from the remote of a partial
    /// clone is marked.
    pub fn is_partial(&self) -> bool {
        object_stores(self.own_objects()).iter().any(|store| {
            let packs = store.join("pack").read_dir_utf8();
            packs
                .is_ok_and(|mut packs| packs.any(|pack| pack.is_ok_and(|pack| pack.file_name().ends_with(".promisor"))))
        })
    }

    /// Returns whether directories or files of these commits are missing.
    pub async fn lacks_objects(&self, commits: &[&str]) -> Result<bool, GitError> {
        if !self.is_partial() {
            return Ok(false);
        }
        let mut arguments = vec![
            "rev-list",
            "--objects",
            "--no-object-names",
            "--no-walk",
            "--missing=print",
            "--end-of-options",
        ];
        arguments.extend(commits);
        let listing = self.run(&arguments).await?;
        Ok(listing.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"?")))
    }

    /// The command that fetches what the filter has left out.
    pub async fn refetch(&self) -> String {
        let arguments = ["config", "--local", "--get-regexp", r"^remote\..*\.promisor$"];
        let lines = self.text(&arguments).await.unwrap_or_default();
        let name = |line: &str| {
            let key = line.split_once(' ').map_or(line, |(key, _)| key);
            let name = key.strip_prefix("remote.")?.strip_suffix(".promisor")?;
            // People copy the command; a name that comes with a directory could be another one.
            let plain = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '.' | '/');
            name.chars()
                .all(|sign| plain(sign) || sign == '-')
                .then(|| name.to_owned())
                .filter(|name| name.starts_with(plain))
        };
        let remote = lines.lines().find_map(name).unwrap_or_else(|| "origin".to_owned());
        format!("git fetch --refetch --no-filter {remote}")
    }

    /// An error that says what to do, unless all files of these commits are here.
    pub async fn ensure_whole(&self, commits: &[&str]) -> Result<(), GitError> {
        if !self.lacks_objects(commits).await? {
            return Ok(());
        }
        Err(GitError::PartialClone {
            root: self.root().to_owned(),
            hint: format!(". Fetch them with `{}`", self.refetch().await),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Uncommitted,
        test_support::{Scratch, commit, git, scratch, write},
    };

    /// A clone with this filter of a repository whose file differs in two commits.
    async fn clone(scratch: &Scratch, filter: &str) -> Repository {
        let server = scratch.path.join("server");
        if !server.exists() {
            std::fs::create_dir(&server).expect("a directory");
            git(&server, &["init", "--quiet"]);
            git(&server, &["config", "uploadpack.allowFilter", "true"]);
            write(&server, "sub/a.txt", "one\n");
            commit(&server, "One");
            write(&server, "sub/a.txt", "two\n");
            commit(&server, "Two");
        }
        let target = scratch.path.join(filter.replace(':', "-"));
        let (filter, url) = (format!("--filter={filter}"), format!("file://{server}"));
        let arguments = ["clone", "--quiet", "--origin=company", &filter, &url, target.as_str()];
        git(&scratch.path, &arguments);
        Repository::open(&target).await.expect("a repository")
    }

    #[tokio::test]
    async fn what_a_filter_left_out_is_found_and_its_command_brings_it() {
        let scratch = scratch();
        for filter in ["blob:none", "tree:0"] {
            let repository = clone(&scratch, filter).await;
            assert!(
                !repository.lacks_objects(&["HEAD"]).await.expect("an answer"),
                "it is checked out"
            );
            repository.ensure_whole(&["HEAD"]).await.expect("whole");
            assert!(repository.lacks_objects(&["HEAD~1", "HEAD"]).await.expect("an answer"));
            let text = repository
                .ensure_whole(&["HEAD~1"])
                .await
                .expect_err("a part")
                .to_string();
            assert!(text.contains("is a partial clone") && !text.contains("lazy"), "{text}");
            let command = text.split('`').nth(1).expect("a command");
            let words: Vec<&str> = command.split(' ').skip(1).collect();
            assert_eq!(words, ["fetch", "--refetch", "--no-filter", "company"]);
            git(repository.root(), &words);
            repository.ensure_whole(&["HEAD~1", "HEAD"]).await.expect("whole");
        }
    }

    #[tokio::test]
    async fn what_is_not_committed_is_taken_on_top_of_a_commit_that_is_whole() {
        let scratch = scratch();
        let repository = clone(&scratch, "blob:none").await;
        write(repository.root(), "new.txt", "new\n");
        let own = scratch.path.join("snapshot");
        let taken = repository.snapshot(&own, Uncommitted::WorkingTree).await;
        taken.expect("taken");
        git(repository.root(), &["update-ref", "HEAD", "HEAD~1"]);
        let refused = repository.snapshot(&own, Uncommitted::WorkingTree).await;
        let text = refused.expect_err("a part").to_string();
        assert!(text.contains("git fetch --refetch"), "{text}");
    }

    #[tokio::test]
    async fn only_a_plain_name_of_a_remote_is_put_into_a_command() {
        let scratch = scratch();
        git(&scratch.path, &["init", "--quiet"]);
        let repository = Repository::open(&scratch.path).await.expect("a repository");
        assert_eq!(repository.refetch().await, "git fetch --refetch --no-filter origin");
        for name in ["x; touch y", "--upload-pack=z", "$(id)"] {
            git(&scratch.path, &["config", &format!("remote.{name}.promisor"), "true"]);
            assert_eq!(
                repository.refetch().await,
                "git fetch --refetch --no-filter origin",
                "{name}"
            );
        }
        git(&scratch.path, &["config", "remote.my-fork.promisor", "true"]);
        assert_eq!(repository.refetch().await, "git fetch --refetch --no-filter my-fork");
    }
}

//! A bare repository on disk, driven through the `git` program.

pub(crate) mod diff;
pub(crate) mod hunks;
pub(crate) mod serve;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, PoisonError};

/// One bare repository.
#[derive(Debug, Clone)]
pub(crate) struct GitRepository {
    path: PathBuf,
    /// Answers of git about commits that are named in full, which are the same for ever. Every request asks about the same ones.
    answers: Arc<Mutex<HashMap<Vec<String>, Output>>>,
}

/// A commit as the API shows it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Commit {
    pub(crate) sha: String,
    pub(crate) parents: Vec<String>,
    pub(crate) tree: String,
    pub(crate) author: Signature,
    pub(crate) committer: Signature,
    pub(crate) message: String,
}

/// Who made a commit, and when.
#[derive(Debug, Clone, Default)]
pub(crate) struct Signature {
    pub(crate) name: String,
    pub(crate) email: String,
    pub(crate) date: String,
}

impl GitRepository {
    /// Creates a bare repository with every branch of the repository at `source`.
    pub(crate) fn create_from(path: PathBuf, source: &Path) -> Self {
        let repository = Self {
            path,
            answers: Arc::default(),
        };
        std::fs::create_dir_all(&repository.path).expect("the directory of the repository can be created");
        repository.run(&["init", "--quiet", "--bare"]);
        // Heads of before a force-push can still be fetched, as from GitHub for a while.
        repository.run(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
        repository.fetch(source, "+refs/heads/*:refs/heads/*");
        let head = Self::at(source).try_run(&["symbolic-ref", "HEAD"]);
        if let Some(head) = head {
            repository.run(&["symbolic-ref", "HEAD", text(&head).trim()]);
        }
        repository
    }

    /// The repository at a path, bare or not.
    fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            answers: Arc::default(),
        }
    }

    /// The directory of the repository.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The branch that a clone checks out.
    pub(crate) fn default_branch(&self) -> String {
        text(&self.run(&["symbolic-ref", "--short", "HEAD"])).trim().to_owned()
    }

    /// Fetches `refspec` from the repository at `source`.
    pub(crate) fn fetch(&self, source: &Path, refspec: &str) {
        let source = std::path::absolute(source).expect("the current directory exists");
        let source = source.to_str().expect("the path of a fixture repository is UTF-8");
        self.run(&["fetch", "--quiet", "--no-tags", "--force", source, refspec]);
    }

    /// Points a reference at a commit.
    pub(crate) fn set_reference(&self, name: &str, sha: &str) {
        self.run(&["update-ref", name, sha]);
    }

    /// Returns the commit that a revision names.
    pub(crate) fn resolve(&self, revision: &str) -> Option<String> {
        if revision.starts_with('-') {
            return None;
        }
        let output = self.try_run(&["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}")])?;
        Some(text(&output).trim().to_owned())
    }

    /// Returns the head of a branch.
    pub(crate) fn branch_head(&self, branch: &str) -> Option<String> {
        // Every request looks at the branches, so their files are read, which needs no process.
        let loose = std::fs::read_to_string(self.path.join("refs/heads").join(branch));
        match loose.map(|text| text.trim().to_owned()) {
            Ok(sha) if is_named_in_full(&sha) => Some(sha),
            Err(_) if !self.path.join("packed-refs").exists() => None,
            _ => self.resolve(&format!("refs/heads/{branch}")),
        }
    }

    /// The best common ancestor of two commits.
    pub(crate) fn merge_base(&self, left: &str, right: &str) -> Option<String> {
        let output = self.try_run(&["merge-base", left, right])?;
        Some(text(&output).trim().to_owned())
    }

    /// Whether one commit is in the history of another.
    pub(crate) fn is_ancestor(&self, ancestor: &str, descendant: &str) -> bool {
        self.try_run(&["merge-base", "--is-ancestor", ancestor, descendant])
            .is_some()
    }

    /// Merges `head` into `base` as GitHub does for its test merges; nothing when they conflict.
    pub(crate) fn merge(&self, base: &str, head: &str) -> Option<String> {
        let tree = self.try_run(&["merge-tree", "--write-tree", base, head])?;
        let message = format!("Merge {head} into {base}");
        let arguments = [
            "commit-tree",
            text(&tree).trim(),
            "-p",
            base,
            "-p",
            head,
            "-m",
            &message,
        ]
        .map(str::to_owned);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Some(text(&self.run(&arguments)).trim().to_owned())
    }

    /// The bytes of a file at a revision.
    pub(crate) fn file(&self, revision: &str, path: &str) -> Option<Vec<u8>> {
        let commit = self.resolve(revision)?;
        self.try_run(&["cat-file", "blob", &format!("{commit}:{path}")])
    }

    /// The id of a file or directory at a revision.
    pub(crate) fn object(&self, revision: &str, path: &str) -> Option<String> {
        let output = self.try_run(&["rev-parse", "--verify", "--quiet", &format!("{revision}:{path}")])?;
        Some(text(&output).trim().to_owned())
    }

    /// The entries of a directory: type, id, size and path.
    pub(crate) fn directory(&self, revision: &str, path: &str) -> Option<Vec<[String; 4]>> {
        let path = if path.is_empty() {
            String::new()
        } else {
            format!("{path}/")
        };
        let mut arguments = vec!["ls-tree", "-z", "--long", revision];
        arguments.extend((!path.is_empty()).then_some(path.as_str()));
        let output = self.try_run(&arguments)?;
        let text = text(&output);
        let entries = text.split('\0').filter_map(|entry| {
            let (facts, path) = entry.split_once('\t')?;
            let mut facts = facts.split_whitespace().skip(1).map(str::to_owned);
            Some([facts.next()?, facts.next()?, facts.next()?, path.to_owned()])
        });
        Some(entries.collect())
    }

    /// The commits of a range such as `base..head`, oldest first.
    pub(crate) fn commits(&self, range: &str) -> Vec<Commit> {
        self.log(&["--reverse", range])
    }

    /// One commit.
    pub(crate) fn commit(&self, revision: &str) -> Option<Commit> {
        let sha = self.resolve(revision)?;
        self.log(&["-1", &sha]).into_iter().next()
    }

    fn log(&self, selection: &[&str]) -> Vec<Commit> {
        const FORMAT: &str = "--format=%H%x00%P%x00%T%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B%x01";
        let arguments: Vec<&str> = ["log", FORMAT].iter().chain(selection).copied().chain(["--"]).collect();
        let log = text(&self.run(&arguments));
        let records = log.split('\u{1}').map(str::trim_start);
        records.filter(|record| !record.is_empty()).map(parse_commit).collect()
    }

    /// Runs git and stops the test when it fails.
    pub(crate) fn run(&self, arguments: &[&str]) -> Vec<u8> {
        let output = self.output(arguments);
        assert!(
            output.status.success(),
            "git {arguments:?} failed: {}",
            text(&output.stderr)
        );
        output.stdout
    }

    fn try_run(&self, arguments: &[&str]) -> Option<Vec<u8>> {
        let output = self.output(arguments);
        output.status.success().then_some(output.stdout)
    }

    fn output(&self, arguments: &[&str]) -> Output {
        if !is_fixed(arguments) {
            return self.ask(arguments);
        }
        let answers = || self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let key: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        if let Some(known) = answers().get(&key) {
            return known.clone();
        }
        let output = self.ask(arguments);
        // What is not there yet may come with a push.
        if output.status.success() {
            answers().insert(key, output.clone());
        }
        output
    }

    fn ask(&self, arguments: &[&str]) -> Output {
        let mut command = command();
        command.arg("-C").arg(&self.path);
        command.args([
            "-c",
            "core.quotePath=false",
            "-c",
            "safe.directory=*",
            "-c",
            "diff.renameLimit=0",
        ]);
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "GitHub");
            command.env(format!("GIT_{role}_EMAIL"), "noreply@github.com");
            command.env(format!("GIT_{role}_DATE"), "2026-01-01T00:00:00Z");
        }
        command.args(arguments).output().expect("git is installed")
    }
}

/// The `git` program without anybody's configuration.
fn command() -> Command {
    let mut command = Command::new("git");
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("LC_ALL", "C")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE");
    command
}

/// Returns whether git gives the same answer whenever it is asked: it is asked about commits by their full names, and nothing else.
fn is_fixed(arguments: &[&str]) -> bool {
    let [command, rest @ ..] = arguments else { return false };
    let reads = matches!(*command, "cat-file" | "diff" | "log" | "merge-base" | "rev-parse");
    let mut asked = rest
        .iter()
        .filter(|argument| !argument.starts_with('-') && **argument != "blob")
        .peekable();
    // `SHA`, `SHA..SHA`, `SHA^{commit}`, `SHA:PATH`.
    let is_full = |argument: &&str| {
        let (revision, _) = argument.split_once([':', '^']).unwrap_or((argument, ""));
        revision.split("..").all(is_named_in_full)
    };
    reads && asked.peek().is_some() && asked.all(is_full)
}

fn is_named_in_full(name: &str) -> bool {
    matches!(name.len(), 40 | 64) && name.bytes().all(|digit| digit.is_ascii_hexdigit())
}

fn parse_commit(record: &str) -> Commit {
    let mut fields = record.split('\0').map(str::to_owned);
    let mut next = || fields.next().unwrap_or_default();
    let mut commit = Commit {
        sha: next(),
        parents: next().split_whitespace().map(str::to_owned).collect(),
        tree: next(),
        ..Commit::default()
    };
    for signature in [&mut commit.author, &mut commit.committer] {
        signature.name = next();
        signature.email = next();
        signature.date = next();
    }
    next().trim_end().clone_into(&mut commit.message);
    commit
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

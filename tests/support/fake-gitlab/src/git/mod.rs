//! A bare repository on disk, driven through the `git` program.

pub(crate) mod diff;
pub(crate) mod lines;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, PoisonError};

/// One bare repository.
#[derive(Debug, Clone)]
pub(crate) struct Repository {
    path: PathBuf,
    /// Answers of git about commits that are named in full, which are the same for ever. Every request asks about the same ones.
    answers: Arc<Mutex<HashMap<Vec<String>, Output>>>,
}

/// A commit as the API shows it.
#[derive(Debug, Clone)]
pub(crate) struct Commit {
    pub(crate) sha: String,
    pub(crate) parents: Vec<String>,
    pub(crate) author_name: String,
    pub(crate) author_email: String,
    pub(crate) authored_date: String,
    pub(crate) committer_name: String,
    pub(crate) committer_email: String,
    pub(crate) committed_date: String,
    pub(crate) title: String,
    pub(crate) message: String,
}

impl Repository {
    /// Creates a bare repository with every branch of the repository at `source`.
    pub(crate) fn create_from(path: PathBuf, source: &Path) -> Self {
        let repository = Self {
            path,
            answers: Arc::default(),
        };
        std::fs::create_dir_all(&repository.path).expect("the directory of the repository can be created");
        repository.run(&["init", "--quiet", "--bare"]);
        repository.fetch(source, "+refs/heads/*:refs/heads/*");
        repository
    }

    /// The repository at a path, bare or not.
    pub(crate) fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            answers: Arc::default(),
        }
    }

    /// The branch that is checked out.
    pub(crate) fn current_branch(&self) -> String {
        text(&self.run(&["symbolic-ref", "--short", "HEAD"])).trim().to_owned()
    }

    /// Makes a branch the one that a clone checks out.
    pub(crate) fn set_head(&self, branch: &str) {
        self.run(&["symbolic-ref", "HEAD", &format!("refs/heads/{branch}")]);
    }

    /// The directory of the repository.
    pub(crate) fn path(&self) -> &Path {
        &self.path
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

    /// The commit that a revision names, or nothing.
    pub(crate) fn resolve(&self, revision: &str) -> Option<String> {
        if revision.starts_with('-') {
            return None;
        }
        let output = self.try_run(&["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}")])?;
        Some(text(&output).trim().to_owned())
    }

    /// The head of a branch, or nothing.
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
        self.try_run(&["merge-base", left, right])
            .map(|output| text(&output).trim().to_owned())
    }

    /// The bytes of a file at a revision, or nothing when the file or the revision does not exist.
    pub(crate) fn file(&self, revision: &str, path: &str) -> Option<Vec<u8>> {
        let commit = self.resolve(revision)?;
        self.try_run(&["cat-file", "blob", &format!("{commit}:{path}")])
    }

    /// The number of lines of a file at a revision; none when there is no such file.
    pub(crate) fn line_count(&self, revision: &str, path: &str) -> u64 {
        self.file(revision, path)
            .map_or(0, |bytes| text(&bytes).lines().count() as u64)
    }

    /// The commits of a range such as `base..head`, newest first.
    pub(crate) fn commits(&self, range: &str) -> Vec<Commit> {
        self.log(&[range])
    }

    /// One commit.
    pub(crate) fn commit(&self, sha: &str) -> Option<Commit> {
        self.log(&["-1", sha]).into_iter().next()
    }

    fn log(&self, selection: &[&str]) -> Vec<Commit> {
        const FORMAT: &str = "--format=%H%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%s%x00%B%x01";
        let arguments: Vec<&str> = ["log", FORMAT].iter().chain(selection).copied().chain(["--"]).collect();
        text(&self.run(&arguments))
            .split('\u{1}')
            .map(str::trim_start)
            .filter(|record| !record.is_empty())
            .map(parse_commit)
            .collect()
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

    /// Runs git; nothing when it fails.
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
        Command::new("git")
            .arg("-C")
            .arg(&self.path)
            .args([
                "-c",
                "core.quotePath=false",
                "-c",
                "safe.directory=*",
                "-c",
                "diff.renameLimit=0",
            ])
            .args(arguments)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("LC_ALL", "C")
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE")
            .env_remove("GIT_INDEX_FILE")
            .output()
            .expect("git is installed")
    }
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
    Commit {
        sha: next(),
        parents: next().split_whitespace().map(str::to_owned).collect(),
        author_name: next(),
        author_email: next(),
        authored_date: next(),
        committer_name: next(),
        committer_email: next(),
        committed_date: next(),
        title: next(),
        message: next(),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

//! The diff of two commits, as git writes it, in pieces.

use std::time::Duration;

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, ChildStdout},
    task::JoinHandle,
};

use crate::{
    command::{self, GitError},
    repository::Repository,
};

/// Options that make the output the same whatever any configuration says.
const OPTIONS: [&str; 18] = [
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "-M",
    "-z",
    "--raw",
    "--no-abbrev",
    "--patch",
    "--unified=3",
    "--inter-hunk-context=0",
    "--full-index",
    "--diff-algorithm=myers",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--no-relative",
    "-O/dev/null",
    "--submodule=short",
    "--ignore-submodules=none",
];

/// Settings that have no option of their own.
const SETTINGS: [&str; 6] = [
    "-c",
    "diff.suppressBlankEmpty=false",
    "-c",
    "diff.renameLimit=1000",
    "-c",
    "core.bigFileThreshold=512m",
];

/// The tree without files: the attributes of the reviewed source come from it, so that the author of a merge request
/// cannot have git show a file as binary.
const EMPTY_TREE: [(usize, &str); 2] = [
    (40, "4b825dc642cb6eb9a060e54bf8d69288fbee4904"),
    (64, "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"),
];

const CHUNK: usize = 128 << 10;

/// The output of a running `git diff --raw --patch -z`. It is never held as a whole.
#[derive(Debug)]
pub struct DiffStream {
    child: Child,
    output: ChildStdout,
    errors: JoinHandle<Vec<u8>>,
    buffer: Vec<u8>,
}

impl Repository {
    /// The diff from `base` to `head`, both commits.
    pub fn diff(&self, base: &str, head: &str) -> Result<DiffStream, GitError> {
        let mut arguments = SETTINGS.to_vec();
        arguments.push("diff");
        arguments.extend(OPTIONS);
        arguments.extend(["--end-of-options", base, head]);
        let mut command = command::git(self.root(), &self.stores, &arguments);
        if let Some((_, tree)) = EMPTY_TREE.iter().find(|(length, _)| *length == base.len()) {
            command.env("GIT_ATTR_SOURCE", tree);
        }
        let mut child = command.spawn().map_err(GitError::Start)?;
        let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(GitError::Pipe(std::io::ErrorKind::BrokenPipe.into()));
        };
        Ok(DiffStream {
            child,
            output,
            errors: tokio::spawn(last_words(errors)),
            buffer: vec![0; CHUNK],
        })
    }
}

impl DiffStream {
    /// The next bytes; `None` once git has ended well.
    pub async fn chunk(&mut self) -> Result<Option<&[u8]>, GitError> {
        let read = self.output.read(&mut self.buffer).await.map_err(GitError::Pipe)?;
        if read > 0 {
            return Ok(Some(&self.buffer[..read]));
        }
        let status = self.child.wait().await.map_err(GitError::Pipe)?;
        if status.success() {
            return Ok(None);
        }
        let errors = tokio::time::timeout(Duration::from_secs(5), &mut self.errors).await;
        let errors = errors.ok().and_then(Result::ok).unwrap_or_default();
        Err(command::failure(&["diff"], &errors, status))
    }
}

/// The end of what a process writes on standard error; the beginning of a flood is let go.
async fn last_words(mut errors: impl AsyncRead + Unpin) -> Vec<u8> {
    const KEPT: usize = 4096;
    let mut words = Vec::new();
    let mut buffer = [0; KEPT];
    while let Ok(read @ 1..) = errors.read(&mut buffer).await {
        words.extend_from_slice(&buffer[..read]);
        let excess = words.len().saturating_sub(KEPT);
        words.drain(..excess);
    }
    words
}

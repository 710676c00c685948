//! Making a repository of a text that this program brings.

use std::process::Stdio;

use camino::Utf8Path;
use tokio::io::AsyncWriteExt;

use crate::command::{self, GitError, ObjectStores};

/// Makes a repository in this directory, which is not there yet, of a stream of `git fast-export`, and checks this branch out.
///
/// # Errors
/// [`GitError`]: git cannot be used, the directory cannot be made, or git does not take the stream.
pub async fn import(directory: &Utf8Path, stream: &'static [u8], branch: &str) -> Result<(), GitError> {
    // Of all calls this one has a limit of time: a git that hangs is found out here.
    command::version().await?;
    let stores = ObjectStores::default();
    std::fs::create_dir(directory).map_err(|error| GitError::Scratch(directory.to_owned(), error))?;
    let init = ["init", "--quiet", "--template=", "--initial-branch", branch];
    command::run(directory, &stores, &init).await?;
    let arguments = ["fast-import", "--quiet"];
    let mut git = command::git(directory, &stores, &arguments)
        .stdin(Stdio::piped())
        .spawn()
        .map_err(GitError::Start)?;
    let mut input = git
        .stdin
        .take()
        .ok_or_else(|| GitError::Pipe(std::io::ErrorKind::BrokenPipe.into()))?;
    // Beside the reading, or both sides would wait for each other. If git ends early, that is seen in its exit code.
    let writing = tokio::spawn(async move {
        let _ = input.write_all(stream).await;
    });
    let output = git.wait_with_output().await.map_err(GitError::Pipe)?;
    writing.abort();
    if !output.status.success() {
        return Err(command::failure(&arguments, &output.stderr, output.status));
    }
    command::run(directory, &stores, &["reset", "--quiet", "--hard"]).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Repository;

    const STREAM: &[u8] = b"commit refs/heads/topic\nmark :1\ncommitter A <a@example.com> 1700000000 +0000\ndata 5\nFirst\nM 100644 inline a.txt\ndata 3\nhi\n\n";

    #[tokio::test]
    async fn a_stream_becomes_a_repository_with_its_files() {
        let scratch = tempfile::tempdir().expect("a directory");
        let directory = Utf8Path::from_path(scratch.path()).expect("UTF-8").join("shop");
        import(&directory, STREAM, "topic").await.expect("imported");
        assert_eq!(
            std::fs::read_to_string(directory.join("a.txt")).expect("checked out"),
            "hi\n"
        );
        let repository = Repository::open(&directory).await.expect("a repository");
        assert_eq!(repository.branch().await.as_deref(), Some("topic"));

        let error = import(&directory, STREAM, "topic").await.expect_err("it is there");
        assert!(matches!(error, GitError::Scratch(..)), "{error}");
        let other = directory.join("other");
        let error = import(&other, b"nonsense\n", "topic").await.expect_err("no stream");
        assert!(
            error
                .to_string()
                .contains("`git fast-import` failed: fatal: Unsupported command: nonsense"),
            "{error}"
        );
    }
}

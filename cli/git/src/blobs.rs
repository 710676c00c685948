//! Reading many objects with one git process: `git cat-file --batch`.

use std::borrow::Borrow;

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdout},
};

use crate::{
    command::{self, GitError},
    repository::Repository,
};

/// Maximum rest of an object that is read although only its beginning is wanted; beyond that a new process is cheaper.
const MAX_SKIPPED: u64 = 8 << 20;

/// An object's content, as far as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// Its size in bytes.
    pub size: u64,
    /// Its content, or the beginning of it.
    pub content: Vec<u8>,
}

impl Blob {
    /// Returns whether there is more than `content` holds.
    pub fn is_cut(&self) -> bool {
        u64::try_from(self.content.len()).is_ok_and(|length| length < self.size)
    }
}

impl Repository {
    /// The first `limit` bytes of an object, by its name; `None` if there is no such file content.
    pub async fn read_blob(&self, name: &str, limit: usize) -> Result<Option<Blob>, GitError> {
        let mut found = None;
        self.read_blobs(&[name], limit, |_, blob| found = blob).await?;
        Ok(found)
    }

    /// The first `limit` bytes of each of these objects, in order.
    pub async fn read_blobs<Name: Borrow<str>>(
        &self,
        names: &[Name],
        limit: usize,
        mut take: impl FnMut(usize, Option<Blob>),
    ) -> Result<(), GitError> {
        let mut answered = 0;
        while answered < names.len() {
            let mut answers = self.ask_blobs(&names[answered..])?;
            let mut ready = true;
            while ready && answered < names.len() {
                let (blob, is_ready) = answers.next(limit).await?;
                take(answered, blob);
                answered += 1;
                ready = is_ready;
            }
        }
        Ok(())
    }

    /// Asks for all of them at once: git answers as fast as it is read, without a turn for each object.
    fn ask_blobs<Name: Borrow<str>>(&self, names: &[Name]) -> Result<Answers, GitError> {
        let arguments = ["cat-file", "--batch", "--buffer"];
        let mut command = command::git(self.root(), &self.stores, &arguments);
        command
            .stdin(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null());
        let mut child = command.spawn().map_err(GitError::Start)?;
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(GitError::Pipe(std::io::ErrorKind::BrokenPipe.into()));
        };
        let mut request = names.join("\n");
        request.push('\n');
        // Beside the reading, or both sides would wait for each other. If git ends early, that is seen in its answers.
        tokio::spawn(async move {
            let _ = input.write_all(request.as_bytes()).await;
        });
        Ok(Answers {
            _child: child,
            output: BufReader::with_capacity(64 << 10, output),
        })
    }
}

/// The answers of a running `git cat-file`. It ends with this.
struct Answers {
    _child: Child,
    output: BufReader<ChildStdout>,
}

impl Answers {
    /// The next answer, and whether the process is ready for another one.
    async fn next(&mut self, limit: usize) -> Result<(Option<Blob>, bool), GitError> {
        let mut header = String::new();
        self.output.read_line(&mut header).await.map_err(GitError::Pipe)?;
        let mut words = header.split_ascii_whitespace();
        let (Some(hash), Some(kind)) = (words.next(), words.next()) else {
            return Err(GitError::Failed {
                command: "cat-file".to_owned(),
                message: "it ended without an answer".to_owned(),
            });
        };
        let size = words.next().and_then(|size| size.parse::<u64>().ok());
        // `NAME missing`, where the name may hold spaces and numbers, too.
        let Some(size) = size.filter(|_| hash.bytes().all(|byte| byte.is_ascii_hexdigit())) else {
            return Ok((None, true));
        };
        let is_blob = kind == "blob";
        let wanted = if is_blob { size.min(limit as u64) } else { 0 };
        let mut content = vec![0; usize::try_from(wanted).unwrap_or_default()];
        self.output.read_exact(&mut content).await.map_err(GitError::Pipe)?;
        // With the line feed after the content.
        let rest = size - wanted + 1;
        let ready = rest <= MAX_SKIPPED;
        if ready {
            let mut ignored = (&mut self.output).take(rest);
            tokio::io::copy_buf(&mut ignored, &mut tokio::io::sink())
                .await
                .map_err(GitError::Pipe)?;
        }
        Ok((is_blob.then_some(Blob { size, content }), ready))
    }
}

#[cfg(test)]
#[path = "blobs_tests.rs"]
mod tests;

//! Reading many objects with one git process: `git cat-file --batch`.

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout},
};

use crate::{
    command::{self, GitError},
    repository::Repository,
};

/// Objects that are read at most to their end although only their beginning is wanted; beyond that a new process is
/// cheaper than the rest of the object.
const SKIPPED_AT_MOST: u64 = 8 << 20;
/// Names that are asked for before the first answer is read. They and their answers' headers fit into any pipe, so
/// neither side waits for the other for ever.
const ASKED_AHEAD: usize = 64;

/// What is known of an object's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// Its size in bytes.
    pub size: u64,
    /// Its content, or the beginning of it.
    pub content: Vec<u8>,
}

impl Blob {
    /// Whether there is more than `content` holds.
    pub fn is_cut(&self) -> bool {
        u64::try_from(self.content.len()).is_ok_and(|length| length < self.size)
    }
}

#[derive(Debug)]
struct Process {
    _child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// Reads objects by their names.
#[derive(Debug)]
pub struct BlobReader {
    repository: Repository,
    process: Option<Process>,
}

impl Repository {
    /// A reader of this repository's objects. It starts git when it is first asked.
    pub fn blobs(&self) -> BlobReader {
        BlobReader {
            repository: self.clone(),
            process: None,
        }
    }
}

impl BlobReader {
    /// The first `limit` bytes of an object; `None` if there is no such file content.
    pub async fn read(&mut self, name: &str, limit: usize) -> Result<Option<Blob>, GitError> {
        let mut found = None;
        self.read_each(&[name], limit, |_, blob| found = blob).await?;
        Ok(found)
    }

    /// The first `limit` bytes of each of these objects, in order.
    pub async fn read_each(
        &mut self,
        names: &[&str],
        limit: usize,
        mut take: impl FnMut(usize, Option<Blob>),
    ) -> Result<(), GitError> {
        let (mut asked, mut answered) = (0, 0);
        while answered < names.len() {
            if self.process.is_none() {
                self.process = Some(self.start()?);
                asked = answered;
            }
            let Some(process) = &mut self.process else { continue };
            if asked < names.len() && asked - answered < ASKED_AHEAD / 2 {
                let until = names.len().min(answered + ASKED_AHEAD);
                let mut request = names[asked..until].join("\n");
                request.push('\n');
                process
                    .input
                    .write_all(request.as_bytes())
                    .await
                    .map_err(GitError::Pipe)?;
                asked = until;
            }
            let (blob, skipped) = process.answer(limit).await?;
            take(answered, blob);
            answered += 1;
            if !skipped {
                self.process = None;
            }
        }
        Ok(())
    }

    fn start(&self) -> Result<Process, GitError> {
        let arguments = ["cat-file", "--batch"];
        let mut command = command::git(self.repository.root(), &self.repository.stores, &arguments);
        command
            .stdin(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null());
        let mut child = command.spawn().map_err(GitError::Start)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(GitError::Pipe(std::io::ErrorKind::BrokenPipe.into()));
        };
        Ok(Process {
            _child: child,
            input,
            output: BufReader::with_capacity(64 << 10, output),
        })
    }
}

impl Process {
    /// The next answer, and whether the process is ready for another one.
    async fn answer(&mut self, limit: usize) -> Result<(Option<Blob>, bool), GitError> {
        let mut header = String::new();
        self.output.read_line(&mut header).await.map_err(GitError::Pipe)?;
        let mut words = header.split_ascii_whitespace();
        let (Some(_), Some(kind)) = (words.next(), words.next()) else {
            return Err(command::failure(&["cat-file"], b"it ended without an answer"));
        };
        // `NAME missing`
        let Some(size) = words.next().and_then(|size| size.parse::<u64>().ok()) else {
            return Ok((None, true));
        };
        let is_blob = kind == "blob";
        let wanted = if is_blob {
            size.min(u64::try_from(limit).unwrap_or(u64::MAX))
        } else {
            0
        };
        let mut content = vec![0; usize::try_from(wanted).unwrap_or_default()];
        self.output.read_exact(&mut content).await.map_err(GitError::Pipe)?;
        // With the line feed after the content.
        let rest = size - wanted + 1;
        let ready = rest <= SKIPPED_AT_MOST;
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

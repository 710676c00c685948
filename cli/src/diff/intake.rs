//! Git's output, streamed: patches go to the spool, everything else into memory.

use std::{fs::File, io::BufWriter};

use camino::Utf8Path;
use conclave_engine::diff::{Diff, DiffLimits, DiffReader};
use conclave_git::Repository;

use super::{Spool, decode::decode};
use crate::exit::Failure;

/// Takes git's output in, chunk by chunk.
pub struct Intake(DiffReader<BufWriter<File>>);

impl Intake {
    /// With its spool in this directory.
    pub fn new(scratch: &Utf8Path) -> Result<Self, Failure> {
        let spool = tempfile::tempfile_in(scratch).map_err(Failure::io(format!("make a file in {scratch}")))?;
        let spool = BufWriter::with_capacity(128 << 10, spool);
        Ok(Self(DiffReader::new(DiffLimits::default(), spool)))
    }

    /// Takes the next chunk.
    pub fn push(&mut self, chunk: &[u8]) -> Result<(), Failure> {
        Ok(self.0.push(chunk)?)
    }

    /// After the last chunk.
    pub fn finish(self) -> Result<(Diff, Spool), Failure> {
        let (diff, spool) = self.0.finish()?;
        match spool.into_inner() {
            Ok(file) => Ok((diff, Spool(file))),
            Err(error) => Err(Failure::io("write the patches")(error.into_error())),
        }
    }
}

/// Streams the diff of two commits from git.
pub async fn read(
    repository: &Repository,
    base: &str,
    head: &str,
    scratch: &Utf8Path,
) -> Result<(Diff, Spool), Failure> {
    let mut intake = Intake::new(scratch)?;
    let mut output = repository.diff(base, head)?;
    while let Some(chunk) = output.chunk().await? {
        intake.push(chunk)?;
    }
    let (mut diff, spool) = intake.finish()?;
    decode(repository, &mut diff, &spool).await?;
    Ok((diff, spool))
}

//! Patches on disk.

use std::{fs::File, os::unix::fs::FileExt};

use conclave_engine::diff::{FileDiff, PatchRange};

use crate::exit::Failure;

/// The patches of a diff, in one file without a name.
#[derive(Debug)]
pub struct Spool(pub(super) File);

impl Spool {
    /// The patch of a file, as git wrote it.
    pub fn patch(&self, file: &FileDiff, into: &mut Vec<u8>) -> Result<(), Failure> {
        into.resize(usize::try_from(file.patch.length).unwrap_or(usize::MAX), 0);
        self.0
            .read_exact_at(into, file.patch.offset)
            .map_err(Failure::io("read a patch back"))
    }

    /// Adds a patch at the end.
    pub(crate) fn append(&self, patch: &[u8]) -> Result<PatchRange, Failure> {
        let io = Failure::io("write a patch");
        let written = self.0.metadata().and_then(|metadata| {
            self.0.write_all_at(patch, metadata.len())?;
            Ok(metadata.len())
        });
        let length = u64::try_from(patch.len()).unwrap_or(u64::MAX);
        written.map(|offset| PatchRange { offset, length }).map_err(io)
    }
}

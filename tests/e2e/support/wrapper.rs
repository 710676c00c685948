//! The real OpenCode with something wrong around it: a script in its place that misbehaves and runs it.

use std::{os::unix::fs::PermissionsExt, path::PathBuf};

use tempfile::TempDir;

/// A script in OpenCode's place. It tells the real one's version.
pub(crate) struct Wrapper {
    directory: TempDir,
}

impl Wrapper {
    /// A script with this shell body for `serve`. `$OPENCODE` is the real binary, `$DIR` a directory that the test can
    /// look into and write to.
    pub(crate) fn new(serve: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let script = format!(
            "#!/bin/sh\nOPENCODE='{}'\nDIR='{}'\nif [ \"$1\" = --version ]; then exec \"$OPENCODE\" --version; \
             fi\n{serve}\n",
            super::program::opencode().display(),
            directory.path().display(),
        );
        let path = directory.path().join("opencode");
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { directory }
    }

    /// One that runs the real OpenCode and kills it once [`Wrapper::strike`] was called.
    pub(crate) fn crashing() -> Self {
        Self::new(
            "\"$OPENCODE\" \"$@\" &\nchild=$!\nwhile [ ! -e \"$DIR/strike\" ]; do sleep 0.05; done\nkill -KILL $child\n\
             exit 1",
        )
    }

    /// Lets it happen.
    pub(crate) fn strike(&self) {
        std::fs::write(self.directory.path().join("strike"), "").unwrap();
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("opencode")
    }
}

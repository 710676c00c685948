//! The real OpenCode with something wrong around it: a script in its place that misbehaves and runs it.

use std::path::PathBuf;

use tempfile::TempDir;

use super::program::{BRIEF, executable, opencode};

/// A script in OpenCode's place. It tells the real one's version.
pub(crate) struct Wrapper {
    directory: TempDir,
}

impl Wrapper {
    /// A script with this shell body for `serve`. `$OPENCODE` is the real binary, which the script has to become (`exec`): the
    /// sandbox is for that process. `$DIR` is a directory that the test can write to, and the script can see.
    pub(crate) fn new(serve: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let settings = BRIEF.map(|(name, value)| format!("export {name}={value}\n")).concat();
        let script = format!(
            "#!/bin/sh\n{settings}OPENCODE='{}'\nDIR='{}'\nif [ \"$1\" = --version ]; then exec \"$OPENCODE\" --version; \
             fi\n{serve}\n",
            opencode().display(),
            directory.path().display(),
        );
        executable(&directory.path().join("opencode"), &script);
        Self { directory }
    }

    /// One that runs the real OpenCode and kills it once [`Wrapper::strike`] was called.
    pub(crate) fn crashing() -> Self {
        Self::new("(while [ ! -e \"$DIR/strike\" ]; do sleep 0.05; done; kill -KILL $$) &\nexec \"$OPENCODE\" \"$@\"")
    }

    /// Lets it happen.
    pub(crate) fn strike(&self) {
        std::fs::write(self.directory.path().join("strike"), "").unwrap();
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("opencode")
    }
}

//! Walking the workspace.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use camino::{Utf8Path, Utf8PathBuf};
use ignore::{WalkBuilder, overrides::OverrideBuilder};
use tokio::time::Instant;

use super::workspace::{Place, Workspace, is_closed};

/// Time limit of one search. What was found until then is shown.
const MAX_TIME: Duration = Duration::from_secs(20);

/// The files below a directory, relative to the workspace, in the order of their names.
pub(super) struct Files<'a> {
    walk: ignore::Walk,
    root: &'a Utf8Path,
    stop: &'a AtomicBool,
    began: Instant,
}

impl<'a> Files<'a> {
    /// The files below this place that match the glob, if there is one.
    ///
    /// No ignore file counts: its author would decide what a reviewer finds.
    pub(super) fn below(
        workspace: &'a Workspace,
        place: &Place,
        glob: Option<&str>,
        stop: &'a AtomicBool,
    ) -> Result<Self, String> {
        let base = workspace.root().join(place.path());
        let mut overrides = OverrideBuilder::new(&base);
        if let Some(glob) = glob {
            let pattern = glob.trim_start_matches("./");
            overrides
                .add(pattern)
                .map_err(|error| format!("`{glob}` is not a glob pattern: {error}."))?;
        }
        let overrides = overrides
            .build()
            .map_err(|error| format!("the glob pattern cannot be used: {error}."))?;
        let root = workspace.root().to_owned();
        let walk = WalkBuilder::new(&base)
            .standard_filters(false)
            .follow_links(false)
            .overrides(overrides)
            .sort_by_file_name(Ord::cmp)
            .filter_entry(move |entry| {
                let path = Utf8Path::from_path(entry.path()).and_then(|path| path.strip_prefix(&root).ok());
                path.is_some_and(|path| !is_closed(path))
            })
            .build();
        Ok(Self {
            walk,
            root: workspace.root(),
            stop,
            began: Instant::now(),
        })
    }

    /// Returns whether the search took too long.
    pub(super) fn is_late(&self) -> bool {
        self.began.elapsed() > MAX_TIME
    }
}

impl Iterator for Files<'_> {
    type Item = Utf8PathBuf;

    fn next(&mut self) -> Option<Utf8PathBuf> {
        loop {
            if self.stop.load(Ordering::Relaxed) || self.is_late() {
                return None;
            }
            // What cannot be looked at is not there.
            let Ok(entry) = self.walk.next()? else { continue };
            if matches!(entry.file_type(), Some(kind) if kind.is_file())
                && let Some(path) = Utf8Path::from_path(entry.path())
                && let Ok(path) = path.strip_prefix(self.root)
            {
                return Some(path.to_owned());
            }
        }
    }
}

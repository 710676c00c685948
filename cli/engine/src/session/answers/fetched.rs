//! Files that findings are about, read for the check of their evidence.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    diff::{ChangeKind, FileDiff},
    findings::{RawFinding, SourceReader, also_meant, path_of},
    ports::SourceTree,
};

/// Texts at head and at base.
#[derive(Default)]
pub(super) struct Fetched(BTreeMap<(String, bool), Option<String>>);

impl SourceReader for Fetched {
    fn read(&mut self, path: &str, at_base: bool) -> Option<String> {
        self.0.get(&(path.to_owned(), at_base)).cloned().flatten()
    }
}

impl Fetched {
    /// Reads the files that findings name, and those that they may be about besides.
    pub(super) async fn of(findings: &[RawFinding], files: &[FileDiff], source: &dyn SourceTree) -> Self {
        let mut fetched = Self::default();
        // Hundreds of findings can be about one file.
        let mut named = BTreeSet::new();
        for finding in findings {
            for field in ["file", "second_file"] {
                let Some(written) = finding.code(field) else { continue };
                let path = path_of(written, files);
                for at_base in [false, true] {
                    fetched.fetch(&path, at_base, source).await;
                }
                if field == "file" {
                    named.insert(path);
                }
            }
        }
        for path in named {
            let is_there = files.iter().any(|file| file.path == path) || fetched.read(&path, false).is_some();
            for file in also_meant(&path, is_there, files.iter()) {
                fetched
                    .fetch(&file.path, file.kind == ChangeKind::Deleted, source)
                    .await;
            }
        }
        fetched
    }

    async fn fetch(&mut self, path: &str, at_base: bool, source: &dyn SourceTree) {
        let place = (path.to_owned(), at_base);
        if self.0.contains_key(&place) {
            return;
        }
        let text = source.text(path, at_base).await;
        self.0.insert(place, text);
    }
}

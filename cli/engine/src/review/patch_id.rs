//! The identity of a file's patch over a rebase: what it does, and where if its own lines do not say that.
//!
//! Not `git patch-id`, which leaves white space out: in Python, a moved indentation is another program, and its author
//! would have it unread.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::patch_place::places;
use crate::diff::{Content, Encoding, FileDiff};

/// 128 bits of SHA-256 in hexadecimal: two patches of an attacker's own making must not have the same one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PatchId(String);

/// The identity of a path that a change touches: 96 bits of SHA-256 in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PathId(String);

impl PathId {
    /// The identity of this path.
    pub fn new(path: &str) -> Self {
        Self(hex::encode(&Sha256::digest(path)[..12]))
    }
}

impl PatchId {
    /// The identity of all these patches together, in any order.
    pub fn of_all<'p>(patches: impl IntoIterator<Item = &'p Self>) -> Self {
        let mut all: Vec<&str> = patches.into_iter().map(|patch| patch.0.as_str()).collect();
        all.sort_unstable();
        Self(hex::encode(&Sha256::digest(all.concat())[..16]))
    }

    /// Returns it as it is written.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The identity of a text that is not a patch, as a title.
    pub(crate) fn of_text(text: &str) -> Self {
        Self(hex::encode(&Sha256::digest(text)[..16]))
    }

    /// The identity of this patch: paths, modes, and every line of every hunk with its context. Line numbers and object
    /// names take no part, so a rebase leaves it as it is, unless it changes a line next to the patch. Of decoded text the
    /// encodings of both sides count too: the same lines in another one are other bytes. Of what has no hunks the objects
    /// are all there is.
    pub fn new(file: &FileDiff, patch: &[u8]) -> Self {
        let mut hash = Sha256::new();
        let mut part = |bytes: &[u8]| {
            hash.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(bytes);
        };
        for text in [
            file.kind.as_str(),
            &file.old_path,
            &file.path,
            &file.modes.0,
            &file.modes.1,
        ] {
            part(text.as_bytes());
        }
        if file.is_decoded() {
            for side in [file.decoded.0, file.decoded.1] {
                part(side.map_or("", Encoding::name).as_bytes());
            }
        }
        if file.content == Content::Text {
            let mut hunks = false;
            for line in patch.split_inclusive(|byte| *byte == b'\n') {
                if line.starts_with(b"diff --git ") {
                    // The second part of a file whose type changed.
                    hunks = false;
                } else if let Some(heading) = heading(line) {
                    hunks = true;
                    part(heading);
                } else if hunks {
                    part(line);
                }
            }
        } else {
            part(file.objects.0.as_bytes());
            part(file.objects.1.as_bytes());
        }
        Self(hex::encode(&hash.finalize()[..16]))
    }

    /// The identity of the same patch at its place in this text of the file at base. It stays as it is where its lines are in the file
    /// only once.
    #[must_use]
    pub fn placed(self, file: &FileDiff, patch: &[u8], base: Option<&[u8]>) -> Self {
        self.with(&places(file, patch, base))
    }

    /// The identity of the same patch as it is reviewed under these instructions. Without any it stays as it is.
    #[must_use]
    pub fn under(self, instructions: &[&str]) -> Self {
        self.with(instructions)
    }

    fn with(self, parts: &[impl AsRef<[u8]>]) -> Self {
        if parts.is_empty() {
            return self;
        }
        let mut hash = Sha256::new();
        for part in std::iter::once(self.0.as_bytes()).chain(parts.iter().map(AsRef::as_ref)) {
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(part);
        }
        Self(hex::encode(&hash.finalize()[..16]))
    }
}

/// What stands behind the numbers of a hunk's first line: the function that it is in.
fn heading(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"@@ ")?;
    let end = rest.windows(3).position(|window| window == b" @@")?;
    Some(&rest[end..])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const PATCH: &str = "diff --git a/a.py b/a.py\nindex 1..2 100644\n--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,4 @@ def f\n \
                         one\n+    two\n three\n";

    fn file() -> FileDiff {
        FileDiff {
            old_path: "a.py".into(),
            path: "a.py".into(),
            modes: ("100644".into(), "100644".into()),
            objects: ("1".into(), "2".into()),
            ..FileDiff::default()
        }
    }

    fn of(patch: &str) -> PatchId {
        PatchId::new(&file(), patch.as_bytes())
    }

    #[test]
    fn a_rebase_leaves_it_and_everything_else_does_not() {
        let rebased = PATCH
            .replace("@@ -1,3 +1,4 @@", "@@ -101,3 +101,4 @@")
            .replace("index 1..2", "index 3..4");
        assert_eq!(of(PATCH), of(&rebased));
        for (what, other) in [
            ("a line", PATCH.replace("two", "2")),
            ("its indentation", PATCH.replace("+    two", "+  two")),
            ("a neighbour", PATCH.replace(" three", " four")),
            ("the function around it", PATCH.replace("def f", "def g")),
            ("the end of the file", format!("{PATCH}\\ No newline at end of file\n")),
        ] {
            assert_ne!(of(PATCH), of(&other), "{what}");
        }
        let renamed = FileDiff {
            old_path: "b.py".into(),
            ..file()
        };
        assert_ne!(of(PATCH), PatchId::new(&renamed, PATCH.as_bytes()));
    }

    #[test]
    fn the_same_lines_in_another_encoding_are_another_patch() {
        let (utf_16, utf_32) = (Some(Encoding::Utf16Le), Some(Encoding::Utf32Le));
        let of_encodings = |decoded| PatchId::new(&FileDiff { decoded, ..file() }, PATCH.as_bytes());
        let all = [
            (None, None),
            (None, utf_16),
            (utf_16, None),
            (utf_16, utf_16),
            (utf_16, utf_32),
            (utf_32, utf_16),
            (None, utf_32),
            (None, Some(Encoding::Utf16Be)),
        ];
        let identities: BTreeSet<PatchId> = all.into_iter().map(of_encodings).collect();
        assert_eq!(identities.len(), all.len());
        assert_eq!(
            of(PATCH).0,
            "3776799325214066ebc59892665b7852",
            "what earlier reviews have stored of UTF-8 still counts"
        );
    }

    #[test]
    fn without_hunks_the_objects_count() {
        let image = |object: &str| FileDiff {
            content: Content::Binary,
            objects: ("1".into(), object.into()),
            ..file()
        };
        let patch = b"Binary files differ\n";
        assert_eq!(PatchId::new(&image("2"), patch), PatchId::new(&image("2"), patch));
        assert_ne!(PatchId::new(&image("2"), patch), PatchId::new(&image("3"), patch));
    }

    #[test]
    fn content_that_looks_like_a_header_is_content() {
        let with = |line: &str| PATCH.replace("+    two", line);
        assert_ne!(of(&with("+@@ -1 +1 @@ x")), of(&with("+@@ -2 +2 @@ x")));
    }
}

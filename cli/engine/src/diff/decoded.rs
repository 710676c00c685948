//! Patches that git does not write: that of a file in wide characters, made of its decoded text as git would make it of UTF-8, and
//! that of a file whose lines are all new to reviewers.

use std::fmt::Write;

use super::{ChangeKind, DiffLimits, Encoding, FileDiff, LineMap, section::Section};

/// Texts with more lines than this are shown as replaced whole: comparing them costs the square of their difference.
const MAX_COMPARED_LINES: usize = 4_000;

/// A patch that was made of texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextPatch {
    /// The patch, headers included.
    pub text: Vec<u8>,
    /// Added lines.
    pub added: u64,
    /// Removed lines.
    pub removed: u64,
    /// Which lines the hunks hold.
    pub lines: LineMap,
}

/// The patch from one text to another one, which were decoded from these encodings; `None` if it cannot be made, or would be
/// larger than `limit` bytes.
pub fn decoded_patch(
    file: &FileDiff,
    encodings: (Option<Encoding>, Option<Encoding>),
    base: &str,
    head: &str,
    limit: usize,
) -> Option<TextPatch> {
    if base.len() + head.len() > limit {
        return None;
    }
    let hunks = if base == head {
        Vec::new()
    } else if base.lines().count() + head.lines().count() > MAX_COMPARED_LINES || base.is_empty() || head.is_empty() {
        replaced(base.as_bytes(), head.as_bytes())
    } else {
        let patch = diffy::create_patch(base, head).to_string();
        let start = patch.find("@@ ")?;
        patch.get(start..)?.as_bytes().to_vec()
    };
    let note = format!("decoded from {}", names(file.kind, encodings));
    made(file, &note, file.kind != ChangeKind::Added, &hunks)
}

/// The patch that shows all of this content at head as added, for a file of which no reviewer has read what the base holds. `None` if
/// that is beyond the limits of a diff.
pub fn whole_patch(file: &FileDiff, head: &[u8]) -> Option<TextPatch> {
    let limits = DiffLimits::default();
    let mut lines = head.split(|byte| *byte == b'\n');
    if head.len() > limits.patch_bytes
        || memchr::memchr_iter(b'\n', head).count() > limits.lines
        || lines.any(|line| line.len() > limits.line_bytes)
    {
        return None;
    }
    let note = "shown whole: no reviewer has read these lines as what they are now";
    made(file, note, false, &replaced(&[], head))
}

/// The patch of these hunks, with this note among its headers.
fn made(file: &FileDiff, note: &str, has_base: bool, hunks: &[u8]) -> Option<TextPatch> {
    let mut text = String::new();
    let (old, new) = (shown(&file.old_path), shown(&file.path));
    let _ = writeln!(text, "diff --git a/{old} b/{new}");
    match file.kind {
        ChangeKind::Added => drop(writeln!(text, "new file mode {}", file.modes.1)),
        ChangeKind::Deleted => drop(writeln!(text, "deleted file mode {}", file.modes.0)),
        ChangeKind::Renamed => drop(writeln!(text, "rename from {old}\nrename to {new}")),
        ChangeKind::Copied => drop(writeln!(text, "copy from {old}\ncopy to {new}")),
        ChangeKind::Modified => {}
    }
    if file.modes.0 != file.modes.1 && !matches!(file.kind, ChangeKind::Added | ChangeKind::Deleted) {
        let _ = writeln!(text, "old mode {}\nnew mode {}", file.modes.0, file.modes.1);
    }
    let _ = writeln!(text, "index {}..{}", file.objects.0, file.objects.1);
    let _ = writeln!(text, "{note}");
    if !hunks.is_empty() {
        let side = |exists: bool, prefix: &str, path: &str| {
            if exists {
                format!("{prefix}/{path}")
            } else {
                "/dev/null".to_owned()
            }
        };
        let _ = writeln!(text, "--- {}", side(has_base, "a", &old));
        let _ = writeln!(text, "+++ {}", side(file.kind != ChangeKind::Deleted, "b", &new));
    }
    let count = |mark: u8| {
        let lines = hunks.split(|byte| *byte == b'\n');
        u64::try_from(lines.filter(|line| line.first() == Some(&mark)).count()).unwrap_or(u64::MAX)
    };
    let (added, removed) = (count(b'+'), count(b'-'));
    let lines = Section::of_hunks(hunks, added, removed).line_map()?;
    Some(TextPatch {
        text: [text.as_bytes(), hunks].concat(),
        added,
        removed,
        lines,
    })
}

/// The encodings of the sides that there are: one name if they are the same.
fn names(kind: ChangeKind, (base, head): (Option<Encoding>, Option<Encoding>)) -> String {
    let name = |side: Option<Encoding>| side.map_or("UTF-8", Encoding::name);
    match kind {
        ChangeKind::Added => name(head).to_owned(),
        ChangeKind::Deleted => name(base).to_owned(),
        _ if base == head => name(head).to_owned(),
        _ => format!(
            "{} at base and {} at head; the whole file changes",
            name(base),
            name(head)
        ),
    }
}

/// A path on one line, whatever its name holds.
fn shown(path: &str) -> String {
    path.chars()
        .map(|character| if character.is_control() { '?' } else { character })
        .collect()
}

/// One hunk that takes all of the base away and adds all of the head.
fn replaced(base: &[u8], head: &[u8]) -> Vec<u8> {
    let range = |text: &[u8]| {
        let lines = text.split_inclusive(|byte| *byte == b'\n').count();
        format!("{},{lines}", usize::from(lines > 0))
    };
    let mut hunk = format!("@@ -{} +{} @@\n", range(base), range(head)).into_bytes();
    for (mark, text) in [(b'-', base), (b'+', head)] {
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            hunk.push(mark);
            hunk.extend_from_slice(line);
        }
        if !text.is_empty() && !text.ends_with(b"\n") {
            hunk.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
    hunk
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_encoding_is_named_where_no_line_differs() {
        let wide = Some(Encoding::Utf16Le);
        let header = |kind, encodings| {
            let file = FileDiff {
                kind,
                old_path: "run.sh".into(),
                path: "run.sh".into(),
                ..FileDiff::default()
            };
            let patch = decoded_patch(&file, encodings, "echo\n", "echo\n", 1_000).expect("a patch");
            let text = String::from_utf8(patch.text).expect("text");
            let line = text.lines().find(|line| line.starts_with("decoded from"));
            line.expect("the line of encodings").to_owned()
        };
        for (kind, encodings, expected) in [
            (
                ChangeKind::Modified,
                (None, wide),
                "decoded from UTF-8 at base and UTF-16LE at head; the whole file changes",
            ),
            (ChangeKind::Modified, (wide, wide), "decoded from UTF-16LE"),
            (ChangeKind::Added, (None, wide), "decoded from UTF-16LE"),
            (ChangeKind::Deleted, (wide, None), "decoded from UTF-16LE"),
        ] {
            assert_eq!(header(kind, encodings), expected);
        }
    }

    #[test]
    fn a_whole_patch_adds_every_line_and_the_forge_keeps_its_own_rows() {
        let mut file = FileDiff {
            kind: ChangeKind::Renamed,
            old_path: "vendor/x.txt".into(),
            path: "src/x.py".into(),
            objects: ("1".into(), "2".into()),
            lines: LineMap::of_added([2]).with_removed([2]),
            ..FileDiff::default()
        };
        let patch = whole_patch(&file, b"a\nb\xff\nc").expect("a patch");
        assert_eq!((patch.added, patch.removed), (3, 0));
        let text = String::from_utf8_lossy(&patch.text).into_owned();
        assert!(
            text.contains("rename from vendor/x.txt\nrename to src/x.py\n"),
            "{text}"
        );
        assert!(
            text.ends_with(
                "--- /dev/null\n+++ b/src/x.py\n@@ -0,0 +1,3 @@\n+a\n+b\u{fffd}\n+c\n\\ No newline at end of file\n"
            ),
            "{text}"
        );
        let own = file.row(3);
        file.forge_lines = Some(std::mem::replace(&mut file.lines, patch.lines));
        assert!((1..=3).all(|line| file.lines.is_added(line)));
        assert_eq!(file.row(3), own, "an unchanged line of the forge's diff");
        file.objects.1.clone_from(&file.objects.0);
        assert_eq!(file.row(3), None, "the forge shows no line of what is only moved");
        let long = vec![b'x'; DiffLimits::default().line_bytes + 1];
        assert_eq!(whole_patch(&file, &long), None);
    }
}

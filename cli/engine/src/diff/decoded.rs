//! The patch of a file in wide characters, made of its decoded text as git would make it of UTF-8.

use std::fmt::Write;

use super::{ChangeKind, Encoding, FileDiff, LineMap, section::Section};

/// Texts with more lines than this are shown as replaced whole: comparing them costs the square of their difference.
const MAX_COMPARED_LINES: usize = 4_000;

/// A patch of decoded text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodedPatch {
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
) -> Option<DecodedPatch> {
    if base.len() + head.len() > limit {
        return None;
    }
    let hunks = if base == head {
        String::new()
    } else if base.lines().count() + head.lines().count() > MAX_COMPARED_LINES || base.is_empty() || head.is_empty() {
        replaced(base, head)
    } else {
        let patch = diffy::create_patch(base, head).to_string();
        let start = patch.find("@@ ")?;
        patch.get(start..)?.to_owned()
    };
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
    let _ = writeln!(text, "decoded from {}", names(file.kind, encodings));
    if !hunks.is_empty() {
        let side = |exists: bool, prefix: &str, path: &str| {
            if exists {
                format!("{prefix}/{path}")
            } else {
                "/dev/null".to_owned()
            }
        };
        let _ = writeln!(text, "--- {}", side(file.kind != ChangeKind::Added, "a", &old));
        let _ = writeln!(text, "+++ {}", side(file.kind != ChangeKind::Deleted, "b", &new));
    }
    text.push_str(&hunks);
    let count = |mark: char| {
        let lines = hunks.split('\n').filter(|line| line.starts_with(mark)).count();
        u64::try_from(lines).unwrap_or(u64::MAX)
    };
    let (added, removed) = (count('+'), count('-'));
    let lines = Section::of_hunks(hunks.as_bytes(), added, removed).line_map()?;
    Some(DecodedPatch {
        text: text.into_bytes(),
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
fn replaced(base: &str, head: &str) -> String {
    let range = |text: &str| {
        let lines = text.split_inclusive('\n').count();
        format!("{},{lines}", usize::from(lines > 0))
    };
    let mut hunk = format!("@@ -{} +{} @@\n", range(base), range(head));
    for (mark, text) in [('-', base), ('+', head)] {
        for line in text.split_inclusive('\n') {
            hunk.push(mark);
            hunk.push_str(line);
        }
        if !text.is_empty() && !text.ends_with('\n') {
            hunk.push_str("\n\\ No newline at end of file\n");
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
}

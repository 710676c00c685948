//! Where a patch stands, in a file that has the lines around it more than once.
//!
//! The lines of a hunk say where it applies only if they stand nowhere else in the file: what was harmless in one block can be moved to
//! another one that looks the same. Then as many of the lines above it belong to its place as distinguish it from the others, so that it still
//! is the same place when a rebase moves all of them.

use crate::diff::{ChangeKind, Content, FileDiff};

/// So much of one file is compared at the most, in bytes, which takes some tenths of a second. Beyond that the place is one of that very
/// file.
const MAX_COMPARED: usize = 200_000_000;

/// Returns what distinguishes the places of a patch's hunks from others in its file at base; empty where the hunks do that themselves. A file whose text
/// at base is not known is the same one only as the same object.
pub(super) fn places(file: &FileDiff, patch: &[u8], base: Option<&[u8]>) -> Vec<Vec<u8>> {
    places_within(MAX_COMPARED, file, patch, base)
}

fn places_within(mut left: usize, file: &FileDiff, patch: &[u8], base: Option<&[u8]>) -> Vec<Vec<u8>> {
    if file.content != Content::Text || file.kind == ChangeKind::Added {
        return Vec::new();
    }
    let hunks = || patch.split(|byte| *byte == b'\n').filter_map(Hunk::read);
    let base = base.filter(|_| !file.is_decoded());
    let told = base.and_then(|base| {
        let lines: Vec<&[u8]> = base.split_inclusive(|byte| *byte == b'\n').collect();
        hunks()
            .map(|hunk| hunk.lines_above(&lines, &mut left))
            .collect::<Option<Vec<_>>>()
    });
    match told {
        Some(above) if above.iter().all(Vec::is_empty) => Vec::new(),
        Some(above) => above,
        None => {
            let numbers = hunks().map(|hunk| format!("{}+{}", hunk.start, hunk.length).into_bytes());
            std::iter::once(file.objects.0.clone().into_bytes())
                .chain(numbers)
                .collect()
        }
    }
}

/// The lines of a hunk at base.
struct Hunk {
    /// The index of the first one.
    start: usize,
    length: usize,
}

impl Hunk {
    /// Reads `@@ -3,7 +3,8 @@`.
    fn read(line: &[u8]) -> Option<Self> {
        let numbers = std::str::from_utf8(line.strip_prefix(b"@@ -")?.split(|byte| *byte == b' ').next()?).ok()?;
        let (start, length) = numbers.split_once(',').unwrap_or((numbers, "1"));
        let (start, length): (usize, usize) = (start.parse().ok()?, length.parse().ok()?);
        // Without lines it stands behind that one.
        let start = if length == 0 { start } else { start.checked_sub(1)? };
        Some(Self { start, length })
    }

    /// The lines above it that distinguish it from all other places with its lines, and a mark where these go up to the first one; empty if
    /// there is no other place. `None` if that would take too long, or if the file is another one.
    fn lines_above(&self, lines: &[&[u8]], left: &mut usize) -> Option<Vec<u8>> {
        let own = lines.get(self.start..self.start.checked_add(self.length)?)?;
        let mut take = |count: usize| {
            *left = left.checked_sub(count)?;
            Some(())
        };
        take(lines.len())?;
        let mut others = Vec::new();
        for (at, window) in lines.windows(self.length.max(1)).enumerate() {
            let same = window.iter().zip(own).take_while(|(one, other)| one == other).count();
            take(own[..same].iter().map(|line| line.len()).sum())?;
            if same == self.length && at != self.start {
                others.push(at);
            }
        }
        let mut first = self.start;
        while !others.is_empty() {
            let Some(above) = first.checked_sub(1) else {
                return Some([b"\0".as_slice(), &lines[..self.start].concat()].concat());
            };
            take(others.len().saturating_mul(lines[above].len()))?;
            let up = self.start - above;
            others.retain(|at| at.checked_sub(up).is_some_and(|at| lines[at] == lines[above]));
            first = above;
        }
        Some(lines[first..self.start].concat())
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;
    use crate::diff::decoded_patch;

    fn block(name: &str) -> String {
        format!("[{name}]\neffect = check\nscope = org\nlog = full\naudit = full\nowner = ops\nretry = 3\n")
    }

    /// The places of the change that adds a line behind each of these lines, from 1.
    fn added_behind(base: &str, numbers: &[usize]) -> Vec<Vec<u8>> {
        let mut head = String::new();
        for (number, line) in (1..).zip(base.lines()) {
            let _ = writeln!(head, "{line}");
            if numbers.contains(&number) {
                head.push_str("skip_login = true\n");
            }
        }
        of(base, &head, &FileDiff::default())
    }

    fn of(base: &str, head: &str, file: &FileDiff) -> Vec<Vec<u8>> {
        let patch = decoded_patch(file, (None, None), base, head, 1 << 24).expect("a patch");
        places(file, &patch.text, Some(base.as_bytes()))
    }

    #[test]
    fn the_same_lines_in_two_blocks_are_two_places_and_stay_so_wherever_the_blocks_are() {
        let (sandbox, payments) = (block("sandbox"), block("payments"));
        let base = format!("{sandbox}{payments}");
        let (one, other) = (added_behind(&base, &[4]), added_behind(&base, &[11]));
        assert!(!one.is_empty() && !other.is_empty());
        assert_ne!(one, other);
        let turned = format!("{payments}\n{sandbox}");
        assert_eq!(added_behind(&turned, &[12]), one);
        assert_eq!(added_behind(&turned, &[4]), other);
        assert_ne!(added_behind(&base, &[4, 11]), one);
        // A copy that is alike up to the file's first line.
        let twice = format!("{sandbox}{sandbox}");
        assert_ne!(added_behind(&twice, &[4]), added_behind(&twice, &[11]));
    }

    #[test]
    fn lines_that_stand_once_say_themselves_where_they_are() {
        let base = format!("{}{}", block("sandbox"), block("payments").replace("scope", "reach"));
        assert_eq!(added_behind(&base, &[4]), added_behind(&format!("\n\n{base}"), &[6]));
        assert!(added_behind(&base, &[4]).is_empty());
        assert!(of("", "one\n", &FileDiff::default()).is_empty());
        let file = FileDiff {
            kind: ChangeKind::Deleted,
            ..FileDiff::default()
        };
        assert!(of(&base, "", &file).is_empty());
    }

    #[test]
    fn what_is_not_known_or_takes_too_long_is_the_same_only_in_the_same_file() {
        let base = "same\n".repeat(500);
        let of_object = |object: &str, number: usize| {
            let file = FileDiff {
                objects: (object.to_owned(), "2".to_owned()),
                ..FileDiff::default()
            };
            let patch = format!("@@ -{number},9 +{number},10 @@\n");
            places_within(10_000, &file, patch.as_bytes(), Some(base.as_bytes()))
        };
        let one = of_object("1", 20);
        assert_eq!(one, [b"1".to_vec(), b"19+9".to_vec()]);
        assert_ne!(one, of_object("1", 21));
        assert_ne!(one, of_object("3", 20));
        let unknown = places(&FileDiff::default(), b"@@ -1 +1 @@\n", None);
        assert_eq!(unknown, [Vec::new(), b"0+1".to_vec()]);
        // Numbers beyond the file are of another one.
        assert_eq!(places(&FileDiff::default(), b"@@ -9 +9 @@\n", Some(b"one\n")).len(), 2);
    }
}

//! The lines of a patch.

/// An added line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Added {
    /// Its number at head, from 1.
    pub(crate) number: u32,
    pub(crate) text: String,
}

/// What a patch adds and removes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Lines {
    pub(crate) added: Vec<Added>,
    pub(crate) removed: Vec<String>,
}

impl Lines {
    /// Reads a patch in git's form. Lines before the first hunk are git's own; inside of one every line tells by its first
    /// character what it is, so nothing in a file can look like a header.
    pub(crate) fn of(patch: &str) -> Self {
        let mut lines = Self::default();
        let mut number = 0;
        let mut in_hunk = false;
        for line in patch.lines() {
            if let Some(header) = line.strip_prefix("@@ ") {
                let start = header.split_once('+').map(|(_, rest)| rest);
                let digits = start.and_then(|rest| rest.split([',', ' ']).next());
                number = digits.and_then(|digits| digits.parse().ok()).unwrap_or(0);
                in_hunk = true;
                continue;
            }
            if !in_hunk {
                continue;
            }
            match line.as_bytes().first() {
                Some(b'+') => {
                    lines.added.push(Added {
                        number,
                        text: line[1..].to_owned(),
                    });
                    number += 1;
                }
                Some(b'-') => lines.removed.push(line[1..].to_owned()),
                Some(b'\\') => {}
                Some(b'd') => in_hunk = false,
                _ => number += 1,
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_their_number_at_head_and_headers_are_no_lines() {
        let patch = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n--- c\n+B\n+++ C\n d\n\
                     \\ No newline at end of file\n@@ -10 +20,2 @@ fn x() {\n-y\n+Y\n+Z\n";
        let lines = Lines::of(patch);
        let added: Vec<(u32, &str)> = lines
            .added
            .iter()
            .map(|line| (line.number, line.text.as_str()))
            .collect();
        assert_eq!(added, [(2, "B"), (3, "++ C"), (20, "Y"), (21, "Z")]);
        assert_eq!(lines.removed, ["b", "-- c", "y"]);
    }
}

//! Long lines of a patch, so that a reviewer sees all of them: `OpenCode` shows 2000 characters of a line and no more.

use crate::review::LINE_GOES_ON;

/// The beginning of the rest of a line.
const GOES_ON: &[u8] = LINE_GOES_ON.as_bytes();

/// The most bytes of a line, with what stands in front. Fewer than the 2000 that are shown: characters have at least a byte.
const MAX_LINE: usize = 1800;

/// The patch with its long lines folded; nothing is left out.
pub fn fold(patch: Vec<u8>) -> Vec<u8> {
    if patch.split(|byte| *byte == b'\n').all(|line| line.len() <= MAX_LINE) {
        return patch;
    }
    let mut folded = Vec::with_capacity(patch.len() + patch.len() / 50);
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        let mut rest = line;
        let mut most = MAX_LINE;
        while rest.strip_suffix(b"\n").unwrap_or(rest).len() > most {
            let (piece, after) = rest.split_at(boundary(rest, most));
            folded.extend_from_slice(piece);
            folded.push(b'\n');
            folded.extend_from_slice(GOES_ON);
            rest = after;
            most = MAX_LINE - GOES_ON.len();
        }
        folded.extend_from_slice(rest);
    }
    folded
}

/// The last place up to `most` where no character of UTF-8 is torn apart.
fn boundary(text: &[u8], most: usize) -> usize {
    let begins = |at: &usize| text.get(*at).is_some_and(|byte| byte & 0b1100_0000 != 0b1000_0000);
    (most.saturating_sub(3)..=most).rev().find(begins).unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn unfolded(text: &[u8]) -> Vec<u8> {
        let mark = [b"\n", GOES_ON].concat();
        let text = String::from_utf8(text.to_vec()).expect("UTF-8");
        text.replace(std::str::from_utf8(&mark).expect("UTF-8"), "")
            .into_bytes()
    }

    #[test]
    fn short_lines_stay_as_they_are() {
        let patch = format!("@@ -1 +1 @@\n-old\n+{}\n", "x".repeat(MAX_LINE - 1)).into_bytes();
        assert_eq!(fold(patch.clone()), patch);
    }

    #[test]
    fn a_long_line_is_shown_to_its_end() {
        let patch = format!("@@ -1 +1 @@\n+{}END\n context\n", "x".repeat(50_000)).into_bytes();
        let folded = fold(patch.clone());
        let lines: Vec<&[u8]> = folded.split(|byte| *byte == b'\n').collect();
        assert!(lines.len() > 50_000 / MAX_LINE && lines.iter().all(|line| line.len() <= MAX_LINE));
        assert!(lines[2].starts_with(GOES_ON));
        assert!(folded.ends_with(b"END\n context\n"));
        assert_eq!(unfolded(&folded), patch);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_no_character_is_torn(line in "[a-zß☃🎉]{0,3000}", last in "\\PC{0,20}") {
            let patch = format!("@@ -1 +1 @@\n+{line}\n {last}").into_bytes();
            let folded = fold(patch.clone());
            prop_assert!(folded.split(|byte| *byte == b'\n').all(|line| line.len() <= MAX_LINE));
            prop_assert_eq!(unfolded(&folded), patch);
        }

        #[test]
        fn any_bytes_can_be_folded(bytes in prop::collection::vec(any::<u8>(), 0..5000)) {
            prop_assert!(fold(bytes).split(|byte| *byte == b'\n').all(|line| line.len() <= MAX_LINE));
        }
    }
}

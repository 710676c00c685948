//! The length of a note.

/// The text, cut between two lines if it has more bytes than allowed. A code block or fold that is open there is closed:
/// what was shown must not begin to act.
pub(crate) fn limit(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut fence: Option<&str> = None;
    let mut folds: usize = 0;
    for line in text.split_inclusive('\n') {
        if kept.len() + line.len() > most {
            break;
        }
        kept.push_str(line);
        let line = line.trim_end();
        let (ticks, rest) = line.split_at(line.len() - line.trim_start_matches('`').len());
        match fence {
            Some(open) if line == open => fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 && !rest.contains('`') => fence = Some(ticks),
            None => {
                folds += line.matches("<details>").count();
                folds = folds.saturating_sub(line.matches("</details>").count());
            }
        }
    }
    if !kept.ends_with('\n') {
        kept.push('\n');
    }
    if let Some(open) = fence {
        kept.push_str(open);
        kept.push('\n');
    }
    for _ in 0..folds {
        kept.push_str("\n</details>\n");
    }
    kept.push_str("\n> The review is longer than a comment can be; the whole of it is in the run's reports.");
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTICE: &str = "\n> The review is longer than a comment can be; the whole of it is in the run's reports.";

    #[test]
    fn a_short_text_stays() {
        assert_eq!(limit("a\nb", 3), "a\nb");
    }

    #[test]
    fn a_long_one_is_cut_between_lines() {
        for (text, most, kept) in [
            ("one\ntwo\nthree", 10, "one\ntwo\n"),
            // A code span is not cut in two: half of one shows nothing and acts.
            ("one\n`@all and more`\n", 12, "one\n"),
            ("ä\n", 1, "\n"),
        ] {
            assert_eq!(limit(text, most), format!("{kept}{NOTICE}"), "{text:?}");
        }
    }

    #[test]
    fn what_is_open_is_closed() {
        for (text, kept) in [
            ("a\n`````py\n```\n/approve\n#", "a\n`````py\n```\n/approve\n`````\n"),
            ("a\n```\nb\n```\n/x\n#", "a\n```\nb\n```\n/x\n"),
            ("a\n```b```\n#", "a\n```b```\n"),
            (
                "<details><summary>x</summary>\n\n```\nb\n#",
                "<details><summary>x</summary>\n\n```\nb\n```\n\n</details>\n",
            ),
            ("<details>\n</details>\n#", "<details>\n</details>\n"),
        ] {
            let text = text.replace('#', &"#".repeat(100));
            assert_eq!(limit(&text, 90), format!("{kept}{NOTICE}"), "{text:?}");
        }
    }
}

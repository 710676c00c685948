//! The first message of a reviewer: what all reviewers share first, the role last, so that prompt caches hold.

use std::fmt::Write;

use super::{PromptLibrary, UnknownPrompt};

use crate::review::CONTEXT_FILE;

/// The message of a reviewer as far as the plan knows it: its role. [`brief`] makes it whole.
pub fn reviewer_parts(library: &PromptLibrary, reviewer: &str) -> Result<Vec<String>, UnknownPrompt> {
    Ok(vec![library.get(reviewer)?.to_owned()])
}

/// What stands in every reviewer's message before its role.
#[derive(Debug, Clone, Copy)]
pub struct SharedText<'a> {
    /// The text of the context file.
    pub context: &'a str,
    /// The section with the patches that need not be opened; none of a large change.
    pub patches: Option<&'a str>,
}

/// Completes a reviewer's message: in front what all reviewers of a run share, byte for byte, behind the role the
/// patches that are this reviewer's.
///
/// The text of the context file stands in the shared part. A reviewer that fetched it with a tool would get it behind its
/// role, where no other reviewer's cache reaches, and seven would pay for it seven times.
pub fn brief(parts: &mut Vec<String>, shared: SharedText<'_>, field: &Field<'_>) {
    let SharedText { context, patches } = shared;
    let (how, patches) = match patches {
        Some(patches) => (
            "Its index numbers the patches. Those whose text follows in the last section need not be opened, the others \
             that are yours do.",
            format!("\n{patches}\n"),
        ),
        None => (
            "Its index numbers the patches: read those that are yours.",
            String::new(),
        ),
    };
    parts.insert(
        0,
        format!(
            "Review one change. This is the text of `{CONTEXT_FILE}`, whole. {how} Your role comes last.\n\n{context}{patches}"
        ),
    );
    if let Some(role) = parts.last_mut() {
        role.truncate(role.trim_end().len());
        role.push_str("\n\n");
        role.push_str(&render_field(field));
        role.push('\n');
    }
}

/// More ranges of numbers than this say less than they cost.
const MAX_RANGES: usize = 100;

/// The patches of one reviewer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Field<'a> {
    /// Their positions in the index, in order.
    pub patches: &'a [usize],
    /// How many patches the index has.
    pub files: usize,
    /// How many more are in the reviewer's field, but too much for it.
    pub left_out: usize,
}

/// What a reviewer is told about its patches, at the end of its message: short, as every reviewer is told something else.
fn render_field(field: &Field<'_>) -> String {
    let Field {
        patches: positions,
        files,
        ..
    } = *field;
    let mut text = String::from("## Your patches\n\n");
    if positions.is_empty() {
        text.push_str(
            "By their paths no changed file falls into your field. Look through the index once; if nothing in it is yours, \
             answer with an empty block.",
        );
    } else if positions.len() == files {
        let _ = write!(text, "All in the index ({files}).");
    } else {
        let ranges = ranges(positions);
        let _ = write!(text, "By number: {}", ranges[..ranges.len().min(MAX_RANGES)].join(", "));
        if ranges.len() > MAX_RANGES {
            text.push_str(", and of the rest whatever belongs to your field");
        }
        text.push('.');
    }
    if field.left_out > 0 {
        let _ = write!(
            text,
            " {} more are in your field, but do not fit into your context: others read them.",
            field.left_out
        );
    }
    text
}

/// `0003-0007, 0009`: the numbers that patch names begin with.
fn ranges(positions: &[usize]) -> Vec<String> {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for position in positions {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *position => *last = *position,
            _ => ranges.push((*position, *position)),
        }
    }
    ranges
        .into_iter()
        .map(|(first, last)| {
            if first == last {
                format!("{:04}", first + 1)
            } else {
                format!("{:04}-{:04}", first + 1, last + 1)
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reviewers_share_everything_but_the_last_part() {
        let library = PromptLibrary::default();
        let message = |reviewer: &str| {
            let mut parts = reviewer_parts(&library, reviewer).expect("a prompt");
            let shared = SharedText {
                context: "<mr_body_0>\ntext\n</mr_body_0>\n",
                patches: None,
            };
            brief(&mut parts, shared, &Field::default());
            parts
        };
        let (security, release) = (message("security"), message("release"));
        assert_eq!(security.len(), 2);
        assert_eq!(security[0], release[0]);
        assert!(security[0].starts_with("Review one change. "), "{}", security[0]);
        assert!(security[0].ends_with("Your role comes last.\n\n<mr_body_0>\ntext\n</mr_body_0>\n"));
        assert!(security[1].starts_with("# Reviewer: security\n") && release[1].starts_with("# Reviewer: release\n"));
        assert!(security[1].contains("## Your patches"), "{}", security[1]);
        assert_eq!(reviewer_parts(&library, "nobody"), Err(UnknownPrompt("nobody".into())));
    }

    #[test]
    fn the_list_is_short_however_many_files_there_are() {
        let told = |patches: &[usize], left_out| {
            render_field(&Field {
                patches,
                files: 3000,
                left_out,
            })
        };
        assert!(told(&[], 0).contains("no changed file falls into your field"));
        assert!(told(&(0..3000).collect::<Vec<_>>(), 0).ends_with("All in the index (3000)."));
        let few = told(&[1, 4], 0);
        assert!(few.ends_with("\nBy number: 0002, 0005."), "{few}");
        let many = told(&(0..40).chain(50..60).chain([99]).collect::<Vec<_>>(), 0);
        assert!(many.ends_with("By number: 0001-0040, 0051-0060, 0100."), "{many}");
        let scattered = told(&(0..3000).step_by(2).collect::<Vec<_>>(), 0);
        assert!(scattered.len() < 1000, "{}", scattered.len());
        assert!(scattered.contains("0199, and of the rest"), "{scattered}");
        assert!(
            told(&[1], 7)
                .ends_with("0002. 7 more are in your field, but do not fit into your context: others read them.")
        );
    }
}

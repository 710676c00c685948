//! The first message of a reviewer: what all reviewers share first, the role last, so that prompt caches hold.

use super::{Field, PromptLibrary, UnknownPrompt, domain::render_field};

/// Where the agent finds what Conclave wrote for it, relative to its workspace.
pub const REVIEW_DIRECTORY: &str = ".conclave-review";

/// The context file that every reviewer reads, relative to the workspace.
pub const CONTEXT_FILE: &str = ".conclave-review/shared-mr-context.txt";

/// The message of a reviewer as far as the plan knows it: its role. [`brief`] makes it whole.
pub fn reviewer_parts(library: &PromptLibrary, reviewer: &str) -> Result<Vec<String>, UnknownPrompt> {
    Ok(vec![library.get(reviewer)?.to_owned()])
}

/// Completes a reviewer's message: in front what all reviewers of a run share, byte for byte, behind the role the
/// patches that are this reviewer's.
///
/// The text of the context file stands in the shared part. A reviewer that fetched it with a tool would get it behind its
/// role, where no other reviewer's cache reaches, and seven would pay for it seven times.
pub fn brief(parts: &mut Vec<String>, context: &str, field: &Field<'_>) {
    parts.insert(
        0,
        format!(
            "Review one merge request. The working directory holds the source as it is after the merge request; paths are \
             relative to it. What follows is the text of `{CONTEXT_FILE}`, whole: do not read that file again. Its index \
             names the patches, each with a number; read those that are yours. Your role comes last.\n\n{context}"
        ),
    );
    if let Some(role) = parts.last_mut() {
        role.truncate(role.trim_end().len());
        role.push_str("\n\n");
        role.push_str(&render_field(field));
        role.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reviewers_share_everything_but_the_last_part() {
        let library = PromptLibrary::default();
        let message = |reviewer: &str| {
            let mut parts = reviewer_parts(&library, reviewer).expect("a prompt");
            brief(&mut parts, "<mr_body_0>\ntext\n</mr_body_0>\n", &Field::default());
            parts
        };
        let (security, release) = (message("security"), message("release"));
        assert_eq!(security.len(), 2);
        assert_eq!(security[0], release[0]);
        assert!(security[0].ends_with("Your role comes last.\n\n<mr_body_0>\ntext\n</mr_body_0>\n"));
        assert!(security[1].starts_with("# Reviewer: security\n") && release[1].starts_with("# Reviewer: release\n"));
        assert!(security[1].contains("## Your patches"), "{}", security[1]);
        assert_eq!(reviewer_parts(&library, "nobody"), Err(UnknownPrompt("nobody".into())));
    }
}

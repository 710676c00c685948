//! The first message of a reviewer: what all reviewers share first, the role last, so that prompt caches hold.

use super::{PromptLibrary, UnknownPrompt};

/// Where the agent finds what Conclave wrote for it, relative to its workspace.
pub const REVIEW_DIRECTORY: &str = ".conclave-review";

/// The context file that every reviewer reads, relative to the workspace.
pub const CONTEXT_FILE: &str = ".conclave-review/shared-mr-context.txt";

/// The parts of a reviewer's message: byte-identical for all reviewers but the last one.
pub fn reviewer_parts(library: &PromptLibrary, reviewer: &str) -> Result<Vec<String>, UnknownPrompt> {
    let shared = format!(
        "Review one merge request. Its context and the index of its patches are in \
         `{CONTEXT_FILE}`: read that file first, then the patches that are yours. The working \
         directory holds the source as it is after the merge request; paths are relative to it. Your role follows."
    );
    Ok(vec![shared, library.get(reviewer)?.to_owned()])
}

//! The files that Conclave writes for the agents, relative to their workspace.

/// Where the agent finds what Conclave wrote for it, relative to its workspace.
pub const REVIEW_DIRECTORY: &str = ".conclave-review";

/// The context file that every reviewer reads, relative to the workspace.
pub const CONTEXT_FILE: &str = ".conclave-review/shared-mr-context.txt";

/// The beginning of the rest of a long line of a patch, which is shown in pieces. Every line of a patch's content begins with `+`, `-` or
/// a space, so no author can write this; like git's `\ No newline at end of file` it is about the line above.
pub const LINE_GOES_ON: &str = "\\ the line above goes on: ";

/// Where the whole index is, relative to the workspace.
pub const INDEX_FILE: &str = ".conclave-review/patches/INDEX.txt";

//! The files that Conclave writes for the agents, relative to their workspace.

/// Where the agent finds what Conclave wrote for it, relative to its workspace.
pub const REVIEW_DIRECTORY: &str = ".conclave-review";

/// The context file that every reviewer reads, relative to the workspace.
pub const CONTEXT_FILE: &str = ".conclave-review/shared-mr-context.txt";

/// Where the whole index is, relative to the workspace.
pub const INDEX_FILE: &str = ".conclave-review/patches/INDEX.txt";

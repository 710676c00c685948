//! What the models read.

mod context;
mod coordinator;
mod fewer;
mod library;
mod reviewer;
mod untrusted;

pub use context::{ContextFile, PatchEntry, patch_file_name, render_context};
pub use coordinator::render_coordinator;
pub use fewer::{FewerPatches, fewer_patches};
pub use library::{PromptLibrary, UnknownPrompt};
pub use reviewer::{CONTEXT_FILE, REVIEW_DIRECTORY, reviewer_parts};
pub use untrusted::{Nonce, SECTIONS, Untrusted};

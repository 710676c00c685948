//! What the models read.

mod boundary;
mod context;
mod coordinator;
mod library;
mod reviewer;
mod untrusted;

pub use context::{ContextFile, PatchEntry, patch_file_name, render_context};
pub use coordinator::render_coordinator;
pub use library::{PromptLibrary, UnknownPrompt};
pub use reviewer::{CONTEXT_FILE, REVIEW_DIRECTORY, reviewer_parts};
pub use untrusted::{Nonce, SECTIONS, Untrusted};

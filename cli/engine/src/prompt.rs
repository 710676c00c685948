//! What the models read.

mod boundary;
mod budget;
mod context;
mod coordinator;
mod domain;
mod fewer;
mod fold;
mod index;
mod instructions;
mod known_marks;
mod library;
mod reviewer;
mod sections;
mod untrusted;

pub use budget::{
    CutPatch, PatchSize, Share, cut, estimated_tokens, fitting, given, header_length, patch_budget, share_out,
    window_warning,
};
pub use context::{ContextFile, Rendered, render_context};
pub use coordinator::render_coordinator;
pub use domain::{Field, assign};
pub use fewer::{FewerPatches, fewer_patches};
pub use fold::fold;
pub use index::{INDEX_FILE, PatchEntry, patch_file_name, render_index};
pub(crate) use instructions::concerns;
pub use known_marks::KnownMarks;
pub use library::{PromptLibrary, ReplacesNothing, UnknownPrompt, WrongFirstLine};
pub use reviewer::{CONTEXT_FILE, REVIEW_DIRECTORY, brief, reviewer_parts};
pub use sections::{add_to_reviewer, for_agent, for_everyone};
pub use untrusted::{Nonce, SECTIONS, Untrusted};

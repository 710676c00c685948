//! What the models read.

mod budget;
mod context;
mod coordinator;
mod fewer;
mod fold;
mod index;
mod instructions;
mod library;
mod patch_texts;
mod reviewer;
mod sections;
mod too_large;

pub use budget::{
    CutPatch, PatchSize, Share, cut, estimated_tokens, fitting, given, patch_budget, share_out, window_warning,
};
pub use context::{ContextFile, Rendered, render_context, shown_to_all, written_by_people};
pub use coordinator::render_coordinator;
pub use fewer::{FewerPatches, fewer_patches};
pub use fold::fold;
pub use index::{PatchEntry, patch_file_name, render_index};
pub(crate) use instructions::concerns;
pub use library::{PromptLibrary, ReplacesNothing, UnknownPrompt, WrongFirstLine};
pub use patch_texts::{MAX_PATCH_TEXTS, choose_patch_texts, may_stand_in_prompt, patch_text, render_patch_texts};
pub use reviewer::{Field, SharedText, brief, reviewer_parts};
pub use sections::add_to_reviewer;
pub use too_large::NarrowestWindow;

//! What outsiders wrote: texts that a user of the forge can write, on their way into prompts and back onto the forge.

mod boundary;
mod escape;
mod known_marks;
mod own_words;
mod section;
mod text;

pub(crate) use escape::{cell, code_cell, escape_with_blocks, fenced, link, one_line};
pub use escape::{code_span, escape};
pub use known_marks::KnownMarks;
pub(crate) use own_words::LEFT_OUT;
pub use own_words::{OwnBlock, OwnLine, OwnWords, begins_html};
pub use section::{Nonce, SECTIONS};
pub use text::Untrusted;

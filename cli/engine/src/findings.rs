//! From a reviewer's text to typed findings that rest on code, and to what several of them have in common.

mod certain;
mod claim_words;
mod code_lines;
pub(crate) mod code_words;
mod configuration;
mod doubts;
mod evidence;
mod fold;
mod holder;
mod locate;
mod matching;
mod refutation;
mod relation;
mod remarks;
mod removed;
mod reserved;
mod scan;
mod schema;
mod severe;
mod tags;
mod written;

pub(crate) use certain::doubt_about;
pub use claim_words::claim_words;
pub(crate) use code_lines::{CodeLine, code_lines, is_import};
pub use conclave_shared::finding::Doubt;
pub(crate) use configuration::{is_configuration, is_image};
pub use doubts::doubts_of_text;
pub use evidence::{Checked, Hallucinated, SourceReader, also_meant, check, poor_instructions};
pub(crate) use evidence::{category_in, claim_as_written, removed_by_claim};
pub(crate) use fold::{decoded, folded, is_invisible, letters, single_blanks, words};
pub(crate) use holder::is_guard;
pub(crate) use matching::lines_overlap;
pub use matching::{claim_overlap, claims_agree, record_agreement, repeats, same_claims};
pub(crate) use refutation::{Fault, MAX_LINES, QuotedFile, Refuting, base_line, check_refutation, too_long};
pub(crate) use relation::{opens_holder, text_length, without_texts};
pub use scan::{
    RawFinding, Report, ScanOutcome, asserted, denies_in_words, drafted, half_finding, holds_findings, is_about_words,
    is_listed, may_assert, may_tell, scan, thought, whole_findings,
};
pub use written::path_of;

//! From a reviewer's text to typed findings that rest on code, and to what several of them have in common.

mod claim_words;
mod code_lines;
mod doubts;
mod evidence;
mod fold;
mod locate;
mod matching;
mod refutation;
mod relation;
mod remarks;
mod scan;
mod severe;
mod tags;
mod written;

pub use claim_words::claim_words;
pub use conclave_shared::finding::Doubt;
pub use doubts::doubts_of_text;
pub use evidence::{Checked, Hallucinated, SourceReader, check, poor_instructions};
pub(crate) use fold::{folded, is_invisible, letters};
pub use matching::{claim_overlap, claims_agree, record_agreement, repeats, same_claims};
pub(crate) use refutation::{MAX_LINES, QuotedFile, base_line, check_refutation, too_long};
pub use scan::{
    RawFinding, Report, ScanOutcome, asserted, half_finding, holds_findings, is_listed, may_tell, scan, thought,
    whole_findings,
};
pub use written::path_of;

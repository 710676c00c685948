//! From a reviewer's text to typed findings that rest on code.

mod evidence;
mod scan;

pub use evidence::{Checked, Hallucinated, SourceReader, check};
pub use scan::{RawFinding, ScanOutcome, scan};

//! The second quote of a finding, from another place.

use std::collections::HashMap;

use conclave_shared::finding::Quote;

use super::{SourceReader, named_file};
use crate::{
    diff::FileDiff,
    findings::{
        RawFinding,
        locate::{Place, locate, locate_adorned, with_or_without_heading},
        written::parse_line,
    },
    review::CONTEXT_FILE,
};

/// The second quote, if it stands where it says; a wrong one is left out, the finding then has to stand alone. So is one
/// that repeats the first.
pub(super) fn second_quote(
    raw: &RawFinding,
    path: &str,
    first: Place,
    files: &HashMap<&str, &FileDiff>,
    source: &mut impl SourceReader,
) -> Option<Quote> {
    let file = named_file(raw, "second_file", files)?;
    let code = raw.code("second_evidence").filter(|code| !code.trim().is_empty())?;
    let near = raw
        .get("second_line")
        .and_then(|text| parse_line(text).ok())
        .unwrap_or(1);
    let content = source.read(&file, false)?;
    let (place, quote) = with_or_without_heading(code, &file, |code| {
        locate(&content, code, near, |_| false).or_else(|| locate_adorned(&content, code))
    })?;
    if file == path && place.lines().any(|line| first.lines().contains(&line)) {
        return None;
    }
    Some(Quote {
        line: place.line,
        code: if file == CONTEXT_FILE {
            quote
        } else {
            place.code(&content)
        },
        file,
    })
}

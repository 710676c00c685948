//! Where a quote stands: at head, or in the patch, for code that is gone.

use super::SourceReader;
use crate::{
    diff::FileDiff,
    findings::{
        RawFinding,
        locate::{Place, locate, locate_adorned, with_or_without_heading, without_heading},
        removed::Sides,
    },
};

/// A finding whose quote stands.
pub(super) struct Standing {
    /// The finding, its texts unescaped where the model escaped them.
    pub(super) raw: RawFinding,
    pub(super) place: Place,
    /// The quote as it stands there.
    pub(super) quote: String,
    /// The quoted code that is gone, where the finding is about that.
    pub(super) removed: Option<String>,
}

/// Returns the finding whose quote stands at head in the form of a patch, or among the lines that the change removes.
pub(super) fn stands_in_patch(
    raw: &RawFinding,
    file: &FileDiff,
    head: &str,
    line: u32,
    source: &mut impl SourceReader,
) -> Option<Standing> {
    let base = source.read(&file.path, true)?;
    let sides = Sides {
        base: &base,
        head,
        lines: &file.lines,
    };
    let written = raw.code("evidence")?;
    let written = without_heading(written, &file.path).unwrap_or(written);
    let standing = |(place, quote, removed)| Standing {
        raw: raw.clone(),
        place,
        quote,
        removed,
    };
    let in_patch = sides.locate_patch(written, line);
    let found = in_patch.map(|(place, quote)| (place, quote, None)).or_else(|| {
        let (place, code) = sides.locate_removed(written, line)?;
        Some((place, code.clone(), Some(code)))
    });
    found.map(standing)
}

/// Returns the finding with the place of its quote, and the quote as it stands there. A reviewer that escaped the code escaped its
/// other texts, too. The quote may name the file at `path`, whose text this is, in front.
pub(super) fn stands(
    raw: &RawFinding,
    path: &str,
    content: &str,
    line: u32,
    changed: impl Fn(u32) -> bool,
) -> Option<Standing> {
    let standing = |raw: &RawFinding, place, quote| Standing {
        raw: raw.clone(),
        place,
        quote,
        removed: None,
    };
    let place_of = |raw: &RawFinding| {
        let quote = raw.code("evidence").unwrap_or_default();
        with_or_without_heading(quote, path, |quote| locate(content, quote, line, &changed))
    };
    if let Some((place, quote)) = place_of(raw) {
        return Some(standing(raw, place, quote));
    }
    let plain = raw.map(|text| htmlize::unescape(text).into_owned());
    if let Some((place, quote)) = place_of(&plain) {
        return Some(standing(&plain, place, quote));
    }
    let written = raw.code("evidence").unwrap_or_default();
    let (place, quote) = with_or_without_heading(written, path, |quote| locate_adorned(content, quote))?;
    let is_escaped = plain.code("evidence") != Some(written);
    Some(standing(if is_escaped { &plain } else { raw }, place, quote))
}

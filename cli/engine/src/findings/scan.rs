//! Reading a reviewer's answer.
//!
//! Models write broken XML: `a < b && c` unescaped, fences around it, prose before it, a tag left open, JSON where XML was
//! asked for, an end in the middle of a word. An XML parser in its most lenient mode loses text on such input without a
//! word. This scanner knows a closed set of tags, takes everything else as text, and never fails: what cannot be read
//! becomes a fault that the review shows.

use super::{
    json,
    tags::{Kind, Name, Tag, next_tag, tags},
};

/// A finding as it was written: fields in the order in which they came, as text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RawFinding {
    fields: Vec<(&'static str, String)>,
}

impl RawFinding {
    /// A field's text without surrounding white space; the first one if it came twice.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.text(name).map(str::trim)
    }

    /// A field's text with its indentation, without the line breaks that the tags brought.
    pub fn code(&self, name: &str) -> Option<&str> {
        let text = strip_fence(self.text(name)?.trim_matches(['\n', '\r']));
        Some(text.trim_matches(['\n', '\r']))
    }

    /// Notes a field.
    pub(super) fn push(&mut self, name: &'static str, text: impl Into<String>) {
        self.fields.push((name, text.into()));
    }

    /// Whether a field of this name was written.
    pub(super) fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|(field, _)| *field == name)
    }

    /// The same with each text changed.
    pub(super) fn map(&self, change: impl Fn(&str) -> String) -> Self {
        let fields = self.fields.iter().map(|(name, text)| (*name, change(text)));
        Self {
            fields: fields.collect(),
        }
    }

    fn text(&self, name: &str) -> Option<&str> {
        let (_, text) = self.fields.iter().find(|(field, _)| *field == name)?;
        Some(text)
    }
}

/// What an answer held.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScanOutcome {
    /// The findings, in order.
    pub findings: Vec<RawFinding>,
    /// What could not be read, in words. With a fault the reviewer did not answer properly, whatever else was found.
    pub faults: Vec<String>,
}

impl ScanOutcome {
    /// Nothing but a fault.
    pub(super) fn fault(fault: &str) -> Self {
        Self {
            findings: Vec::new(),
            faults: vec![fault.to_owned()],
        }
    }
}

/// A block of findings that was opened and never closed.
const BLOCK_CUT: &str = "the <findings> block is cut off";
/// Fields that hold code.
const CODE: [&str; 3] = ["evidence", "second_evidence", "fix"];
/// A finding of which the end is missing.
const FINDING_CUT: &str = "a <finding> is cut off";

/// Reads the findings out of a reviewer's last message.
///
/// No findings in any form is a fault: silence is not "no findings". If there are several blocks the last one counts,
/// because models think aloud before they answer; a mere mention of the tag behind a whole block is none.
pub fn scan(answer: &str) -> ScanOutcome {
    if answer.trim().is_empty() {
        return ScanOutcome::fault("the answer is empty");
    }
    if let Some(outcome) = scan_blocks(answer) {
        return outcome;
    }
    if answer.contains("&lt;findings") {
        // Somebody escaped the whole of it.
        if let Some(outcome) = scan_blocks(&unescape(answer)) {
            return outcome;
        }
    }
    if let Some(mut outcome) = scan_bare(answer) {
        // What is there counts, and nobody knows whether it is all of it.
        outcome
            .faults
            .insert(0, "the findings have no <findings> block around them".to_owned());
        return outcome;
    }
    json::scan(answer).unwrap_or_else(|| ScanOutcome::fault("the answer has no <findings> block"))
}

/// The five entities of XML as the characters that they stand for.
pub(super) fn unescape(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&amp;", "&")
}

struct Block {
    outcome: ScanOutcome,
    closed: bool,
}

impl Block {
    fn is_mere_mention(&self) -> bool {
        !self.closed && self.outcome.findings.is_empty() && self.outcome.faults.len() == 1
    }
}

fn scan_blocks(answer: &str) -> Option<ScanOutcome> {
    let mut last: Option<Block> = None;
    let mut position = 0;
    while let Some(open) = tags(&answer[position..]).find(|tag| tag.name == Name::Findings && tag.kind != Kind::Close) {
        let begin = position + open.end;
        let (block, length) = if open.kind == Kind::Empty {
            let outcome = ScanOutcome::default();
            (Block { outcome, closed: true }, 0)
        } else {
            read_block(&answer[begin..])
        };
        position = begin + length;
        if last.as_ref().is_none_or(|last| !last.closed) || !block.is_mere_mention() {
            last = Some(block);
        }
    }
    last.map(|block| block.outcome)
}

/// Findings without a block around them.
fn scan_bare(answer: &str) -> Option<ScanOutcome> {
    let first = tags(answer).find(|tag| tag.name == Name::Finding && tag.kind == Kind::Open)?;
    let (block, _) = read_block(&answer[first.start..]);
    let mut outcome = block.outcome;
    outcome.faults.retain(|fault| fault != BLOCK_CUT);
    Some(outcome)
}

/// Reads what follows `<findings>`; returns what it held and how long it was, with its end.
fn read_block(text: &str) -> (Block, usize) {
    let mut outcome = ScanOutcome::default();
    let mut position = 0;
    let mut seen_any = false;
    loop {
        let Some(tag) = next_tag(&text[position..]) else {
            outcome.faults.push(BLOCK_CUT.to_owned());
            return (Block { outcome, closed: false }, text.len());
        };
        let (start, end) = (position + tag.start, position + tag.end);
        match (tag.name, tag.kind) {
            (Name::Findings, Kind::Close) => {
                if !seen_any {
                    outcome = without_tags(text[..start].trim());
                }
                return (Block { outcome, closed: true }, end);
            }
            (Name::Finding | Name::Field(_), Kind::Open) => {
                seen_any = true;
                // A field outside of a finding begins one that nobody opened.
                let opened = tag.name == Name::Finding;
                let begin = if opened { end } else { start };
                let (finding, length, complete) = read_finding(&text[begin..], opened);
                if complete {
                    outcome.findings.push(finding);
                } else {
                    outcome.faults.push(FINDING_CUT.to_owned());
                }
                position = begin + length;
            }
            _ => position = end,
        }
    }
}

/// A block in which there is no tag of a finding: JSON, the word "none", or something that nobody can read.
fn without_tags(text: &str) -> ScanOutcome {
    if text.is_empty() || is_none(text) {
        return ScanOutcome::default();
    }
    json::scan(text).unwrap_or_else(|| ScanOutcome::fault("the <findings> block holds text that is no finding"))
}

fn is_none(text: &str) -> bool {
    const WORDS: [&str; 8] = [
        "none",
        "nothing",
        "no findings",
        "no issues",
        "no problems",
        "no issues found",
        "no findings found",
        "nothing to report",
    ];
    let text = text.trim_matches(|character: char| !character.is_alphanumeric());
    WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Reads one finding; returns it, how much text it took, and whether all of it is there.
fn read_finding(text: &str, opened: bool) -> (RawFinding, usize, bool) {
    let mut finding = RawFinding::default();
    let mut position = 0;
    loop {
        let Some(tag) = next_tag(&text[position..]) else {
            return (finding, text.len(), false);
        };
        let (start, end) = (position + tag.start, position + tag.end);
        match (tag.name, tag.kind) {
            (Name::Finding, Kind::Close) => return (finding, end, true),
            // The next finding (or the end) comes although this one was not closed: it is whole as far as it goes.
            (Name::Finding, Kind::Open) | (Name::Findings, Kind::Close) => return (finding, start, true),
            (Name::Field(field), Kind::Open) => {
                if !opened && finding.has(field) {
                    return (finding, start, true);
                }
                let Some((content, length)) = read_field(&text[end..], field) else {
                    return (finding, text.len(), false);
                };
                finding.push(field, strip_cdata(content));
                position = end + length;
            }
            _ => position = end,
        }
    }
}

/// The text of a field that has just been opened, and how long it is with its end. `None` if nothing ends it.
///
/// Its own closing tag ends it, whatever else the text looks like: code may hold `</finding>`. Where the same tag closes
/// several times, the one that another tag or the end follows is meant. A field that is never closed ends where the next
/// tag begins.
fn read_field<'a>(text: &'a str, field: &'static str) -> Option<(&'a str, usize)> {
    let name = Name::Field(field);
    let mut first: Option<Tag> = None;
    for tag in tags(text).filter(|tag| tag.name == name) {
        match tag.kind {
            // The next finding's: this one was never closed.
            Kind::Open if begins_line(&text[..tag.start]) => break,
            Kind::Close => {
                if is_followed_by_tag(&text[tag.end..]) {
                    return Some((&text[..tag.start], tag.end));
                }
                first = first.or(Some(tag));
            }
            _ => {}
        }
    }
    if let Some(tag) = first {
        return Some((&text[..tag.start], tag.end));
    }
    let ends = |tag: &Tag| {
        // Code may hold any tag; only one that stands where tags stand ends it.
        !CODE.contains(&field)
            || begins_line(&text[..tag.start])
            || (tag.kind == Kind::Close && is_followed_by_tag(&text[tag.end..]))
    };
    let next = tags(text).find(ends)?;
    // The end of something that is not open was meant for this.
    let mismatched = next.kind == Kind::Close && matches!(next.name, Name::Field(_));
    let length = if mismatched { next.end } else { next.start };
    Some((&text[..next.start], length))
}

/// Whether what follows is where a tag of an answer usually stands: at the beginning of a line, or right behind another.
fn begins_line(before: &str) -> bool {
    let before = before.trim_end_matches([' ', '\t']);
    before.is_empty() || before.ends_with(['\n', '\r', '>'])
}

fn is_followed_by_tag(text: &str) -> bool {
    let text = text.trim_start();
    text.is_empty() || (text.starts_with('<') && next_tag(text).is_some_and(|tag| tag.start == 0))
}

fn strip_cdata(text: &str) -> &str {
    text.trim()
        .strip_prefix("<![CDATA[")
        .and_then(|inside| inside.strip_suffix("]]>"))
        .unwrap_or(text)
}

/// The inside of a Markdown fence, if the text is one.
fn strip_fence(text: &str) -> &str {
    let trimmed = text.trim();
    let ticks = trimmed.len() - trimmed.trim_start_matches('`').len();
    if ticks < 3 {
        return text;
    }
    let (fence, inside) = trimmed.split_at(ticks);
    let Some(inside) = inside.strip_suffix(fence) else {
        return text;
    };
    inside.split_once('\n').map_or(text, |(_, code)| code)
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;

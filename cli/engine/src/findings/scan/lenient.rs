//! Reading an answer whose tags do not fit together: one is left open, or ends with another's tag, or the end is missing.
//!
//! It takes what can be taken. A tag that finds no place in that is a fault: it may be what is left of a finding.

use super::{
    BLOCK_CUT, CODE, FINDING_CUT, Lines, RawFinding, ScanOutcome, begins_line, block_cut, is_followed_by_tag,
    raw_finding::OWN_TAG, traces, without_tags,
};
use crate::findings::tags::{Kind, Name, Tag, next_tag, tags};

/// What the answer holds as far as it can be read; `None` without any block.
pub(super) fn read(answer: &str) -> Option<ScanOutcome> {
    let mut reader = Reader::new(answer);
    let mut blocks: Vec<Block> = Vec::new();
    let mut position = 0;
    while let Some(open) = reader.next(position, |tag| tag.name == Name::Findings && tag.kind != Kind::Close) {
        reader.used.push(open.start);
        let block = if open.kind == Kind::Empty {
            Block {
                outcome: ScanOutcome::default(),
                closed: true,
                begin: open.start,
                end: open.end,
            }
        } else {
            reader.block(open.end)
        };
        position = block.end;
        let closed_before = blocks.last().is_some_and(|last| last.closed);
        if closed_before && block.is_mere_mention() {
            continue;
        }
        // A mention, or a beginning that was begun anew.
        if blocks.last().is_some_and(Block::is_mere_mention) {
            blocks.pop();
        }
        blocks.push(block);
    }
    if blocks.is_empty() {
        return None;
    }
    let (mut faults, mut lost) = (Vec::new(), 0);
    let mut findings = Vec::new();
    let (mut outside, mut outside_from) = (String::new(), 0);
    let last_line = blocks.last().map_or(1, |last| reader.lines.at(last.begin));
    for block in blocks {
        outside.push_str(&answer[outside_from..block.begin]);
        outside_from = block.end;
        faults.extend(block.outcome.faults);
        lost += block.outcome.lost;
        findings.push(block.outcome.findings);
    }
    outside.push_str(&answer[outside_from..]);
    let mut outcome = super::join(findings, last_line);
    outcome.lost = lost + traces::count(&outside) + cut_findings(&faults);
    outcome.faults.splice(0..0, faults);
    outcome.faults.extend(reader.left_over());
    Some(outcome)
}

/// Findings without a block around them.
pub(super) fn read_bare(answer: &str) -> Option<ScanOutcome> {
    let first = tags(answer).find(|tag| tag.name == Name::Finding && tag.kind == Kind::Open)?;
    let mut reader = Reader::new(answer);
    let mut outcome = reader.block(first.start).outcome;
    outcome.lost = cut_findings(&outcome.faults);
    outcome.faults.retain(|fault| !fault.starts_with(BLOCK_CUT));
    // The findings count, but the list may be incomplete.
    let line = reader.lines.at(first.start);
    let fault = "the findings have no <findings> block around them";
    outcome.faults.insert(
        0,
        format!("{fault} (the first <finding> is in line {line} of the answer)"),
    );
    outcome.faults.extend(reader.left_over());
    Some(outcome)
}

struct Block {
    outcome: ScanOutcome,
    closed: bool,
    /// Where it begins; its opening tag may count as outside.
    begin: usize,
    /// Where the text behind it begins.
    end: usize,
}

impl Block {
    fn is_mere_mention(&self) -> bool {
        !self.closed && self.outcome.findings.is_empty() && self.outcome.faults.len() == 1
    }
}

struct Reader<'a> {
    text: &'a str,
    lines: Lines,
    /// Where the tags stand that have found their place.
    used: Vec<usize>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            lines: Lines::of(text),
            used: Vec::new(),
        }
    }

    /// The next such tag from this position on.
    fn next(&self, position: usize, wanted: impl Fn(&Tag) -> bool) -> Option<Tag> {
        let tag = tags(&self.text[position..]).find(wanted)?;
        Some(shifted(tag, position))
    }

    fn next_any(&self, position: usize) -> Option<Tag> {
        next_tag(&self.text[position..]).map(|tag| shifted(tag, position))
    }

    /// Reads what follows `<findings>`.
    fn block(&mut self, begin: usize) -> Block {
        let mut outcome = ScanOutcome::default();
        let mut position = begin;
        let mut seen_any = false;
        loop {
            let Some(tag) = self.next_any(position) else {
                outcome.faults.push(block_cut(self.lines.at(begin)));
                return Block {
                    outcome,
                    closed: false,
                    begin,
                    end: self.text.len(),
                };
            };
            match (tag.name, tag.kind) {
                (Name::Findings, Kind::Close) => {
                    self.used.push(tag.start);
                    if !seen_any {
                        outcome = without_tags(&self.text[begin..tag.start], self.lines.at(begin));
                    }
                    return Block {
                        outcome,
                        closed: true,
                        begin,
                        end: tag.end,
                    };
                }
                (Name::Finding | Name::Field(_), Kind::Open) => {
                    seen_any = true;
                    // A field outside of a finding begins one that nobody opened.
                    let mut finding = RawFinding::default();
                    let opened = tag.name == Name::Finding;
                    if opened {
                        self.used.push(tag.start);
                        finding.stands_in(OWN_TAG, self.lines.at(tag.start));
                    }
                    let from = if opened { tag.end } else { tag.start };
                    let (end, complete) = self.read_finding(from, opened, &mut finding);
                    finding.read_tag(&self.text[tag.start..from]);
                    if complete {
                        outcome.findings.push(finding);
                    } else {
                        outcome.faults.push(finding_cut(&finding));
                    }
                    position = end;
                }
                // The block was mentioned, and begins only here.
                (Name::Findings, Kind::Open) if !seen_any && outcome.findings.is_empty() => {
                    outcome.faults.push(block_cut(self.lines.at(begin)));
                    return Block {
                        outcome,
                        closed: false,
                        begin,
                        end: tag.start,
                    };
                }
                _ => position = tag.end,
            }
        }
    }

    /// Reads one finding; returns where it ends, and whether all of it is there.
    fn read_finding(&mut self, begin: usize, opened: bool, finding: &mut RawFinding) -> (usize, bool) {
        let mut position = begin;
        loop {
            let Some(tag) = self.next_any(position) else {
                return (self.text.len(), false);
            };
            finding.read_others(&self.text[position..tag.start]);
            match (tag.name, tag.kind) {
                (Name::Finding, Kind::Close) => {
                    self.used.push(tag.start);
                    return (tag.end, true);
                }
                // The next finding (or the end) comes although this one was not closed: it is whole as far as it goes.
                (Name::Finding, Kind::Open) | (Name::Findings, Kind::Close) => return (tag.start, true),
                (Name::Field(field), Kind::Open) => {
                    if !opened && finding.has(field) {
                        return (tag.start, true);
                    }
                    self.used.push(tag.start);
                    finding.stands_in(field, self.lines.at(tag.start));
                    let Some((end, next)) = self.field(tag.end, field) else {
                        return (self.text.len(), false);
                    };
                    finding.push_with_tail(field, &self.text[tag.end..end], &[&self.text[end..next]]);
                    position = next;
                }
                (Name::Field(_), Kind::Empty) => {
                    self.used.push(tag.start);
                    position = tag.end;
                }
                _ => position = tag.end,
            }
        }
    }

    /// Where the text of a field ends that has just been opened, and where what follows begins. `None` if nothing ends
    /// it.
    ///
    /// Its own closing tag ends it, whatever else the text looks like. Where the same tag closes several times, the one
    /// that another tag or the end follows is meant. A field that is never closed ends where the next tag begins.
    fn field(&mut self, begin: usize, field: &'static str) -> Option<(usize, usize)> {
        let text = &self.text[begin..];
        let name = Name::Field(field);
        let mut first: Option<Tag> = None;
        for tag in tags(text).filter(|tag| tag.name == name) {
            match tag.kind {
                // The next finding's: this one was never closed.
                Kind::Open if begins_line(&text[..tag.start]) => break,
                Kind::Close => {
                    if is_followed_by_tag(&text[tag.end..]) {
                        self.used.push(begin + tag.start);
                        return Some((begin + tag.start, begin + tag.end));
                    }
                    first = first.or(Some(tag));
                }
                _ => {}
            }
        }
        if let Some(tag) = first {
            self.used.push(begin + tag.start);
            return Some((begin + tag.start, begin + tag.end));
        }
        let ends = |tag: &Tag| {
            // Code may hold any tag; only one that stands where tags stand ends it.
            !CODE.contains(&field)
                || begins_line(&text[..tag.start])
                || (tag.kind == Kind::Close && is_followed_by_tag(&text[tag.end..]))
        };
        let next = tags(text).find(ends)?;
        // The end of something that is not open was meant for this.
        if next.kind == Kind::Close && matches!(next.name, Name::Field(_)) {
            self.used.push(begin + next.start);
            return Some((begin + next.start, begin + next.end));
        }
        Some((begin + next.start, begin + next.start))
    }

    /// The first tag that has found no place, as a fault. The mere mention of a block is none.
    fn left_over(&self) -> Option<String> {
        let left = tags(self.text)
            .find(|tag| !self.used.contains(&tag.start) && (tag.name, tag.kind) != (Name::Findings, Kind::Open))?;
        let line = self.lines.at(left.start);
        let tag = &self.text[left.start..left.end];
        Some(format!(
            "{tag} in line {line} of the answer belongs to no finding that could be read"
        ))
    }
}

/// The fault of a finding that is cut off in, or behind, the tag that was read last.
fn finding_cut(finding: &RawFinding) -> String {
    let last = finding.last_tag();
    let place = last.map(|(tag, line)| format!(" (its last tag is <{tag}>, in line {line} of the answer)"));
    format!("{FINDING_CUT}{}", place.unwrap_or_default())
}

/// How many findings were cut off.
fn cut_findings(faults: &[String]) -> usize {
    faults.iter().filter(|fault| fault.starts_with(FINDING_CUT)).count()
}

fn shifted(tag: Tag, by: usize) -> Tag {
    Tag {
        start: tag.start + by,
        end: tag.end + by,
        ..tag
    }
}

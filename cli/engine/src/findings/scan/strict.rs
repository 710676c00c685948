//! Reading an answer whose tags all fit together.
//!
//! Code that a reviewer quotes may hold any of our own tags, also those that end its quote. So a closing tag counts as
//! the end of its field only if every tag behind it, to the end of the answer, has its place as well: a field inside of a
//! finding, a finding inside of a block, nothing left over. The shortest such reading is taken. Where a second one exists
//! within the same finding, or a text holds the beginning of another finding, nobody can tell which one was meant: that
//! is a fault.

use super::{Lines, RawFinding, json, raw_finding::OWN_TAG, without_tags};
use crate::findings::tags::{Kind, Name, Tag, tags};

/// What the consistent reading of an answer holds.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// The findings, block by block.
    pub(super) blocks: Vec<Vec<RawFinding>>,
    /// What cannot be relied on, in words.
    pub(super) faults: Vec<String>,
    /// Number of findings that the blocks seem to hold beyond those.
    pub(super) lost: usize,
    /// Where the blocks are.
    pub(super) spans: Vec<(usize, usize)>,
}

/// Reads the answer if all of its tags fit together. With `swallowing`, a field may hold the beginning of another
/// finding; that is a fault, but better than no reading.
pub(super) fn read(answer: &str, swallowing: bool) -> Option<Reading> {
    let table = Table::new(answer, swallowing);
    if !table.outside[0] || !table.tags.iter().any(|tag| tag.name == Name::Findings) {
        return None;
    }
    Some(table.reading())
}

/// For each tag, whether the answer fits together from there on, by where that tag would stand.
struct Table<'a> {
    text: &'a str,
    lines: Lines,
    tags: Vec<Tag>,
    swallowing: bool,
    outside: Vec<bool>,
    block: Vec<bool>,
    finding: Vec<bool>,
    /// Where a field that opens here ends.
    ends: Vec<Option<usize>>,
    /// Beginnings of findings: a tag that opens one, with a field right behind it.
    beginnings: Vec<usize>,
}

impl<'a> Table<'a> {
    fn new(text: &'a str, swallowing: bool) -> Self {
        let tags: Vec<Tag> = tags(text).collect();
        let count = tags.len();
        let opens_field = |tag: &Tag| tag.kind == Kind::Open && matches!(tag.name, Name::Field(_));
        let beginnings = (0..count.saturating_sub(1))
            .filter(|&index| {
                let (tag, next) = (&tags[index], &tags[index + 1]);
                let opens = tag.name == Name::Finding && tag.kind == Kind::Open;
                opens && opens_field(next) && text[tag.end..next.start].trim().is_empty()
            })
            .collect();
        let mut table = Self {
            text,
            lines: Lines::of(text),
            tags,
            swallowing,
            outside: vec![false; count + 1],
            block: vec![false; count + 1],
            finding: vec![false; count + 1],
            ends: vec![None; count],
            beginnings,
        };
        table.outside[count] = true;
        for index in (0..count).rev() {
            table.outside[index] = table.fits_outside(index);
            table.block[index] = table.fits_in_block(index);
            table.finding[index] = table.fits_in_finding(index);
        }
        table
    }

    fn fits_outside(&self, index: usize) -> bool {
        match (self.tags[index].name, self.tags[index].kind) {
            // A block, or the mere mention of its tag.
            (Name::Findings, Kind::Open) => self.block_end(index).is_some() || self.outside[index + 1],
            (Name::Findings, Kind::Empty) => self.outside[index + 1],
            _ => false,
        }
    }

    /// The tag behind the opening tag of a block from which on the inside of the block fits; for a block without tags,
    /// its end.
    fn block_end(&self, open: usize) -> Option<usize> {
        if let Some(close) = self.json_block(open) {
            return self.outside[close + 1].then_some(close);
        }
        let next = self.tags.get(open + 1)?;
        let closes = next.name == Name::Findings && next.kind == Kind::Close;
        let fits = if closes {
            self.outside[open + 2]
        } else {
            self.block[open + 1]
        };
        fits.then_some(open + 1)
    }

    /// The end of a block that holds JSON, whatever tags its texts hold.
    fn json_block(&self, open: usize) -> Option<usize> {
        let begin = self.tags[open].end;
        let end = begin + json::length(&self.text[begin..])?;
        let close = (open + 1..self.tags.len()).find(|&index| self.tags[index].start >= end)?;
        let tag = &self.tags[close];
        let closes = tag.name == Name::Findings && tag.kind == Kind::Close;
        (closes && self.text[end..tag.start].trim().is_empty()).then_some(close)
    }

    fn fits_in_block(&self, index: usize) -> bool {
        let fits = match (self.tags[index].name, self.tags[index].kind) {
            (Name::Findings, Kind::Close) => self.outside[index + 1],
            (Name::Finding, Kind::Open) => self.finding[index + 1],
            _ => false,
        };
        fits && self.gap(index).trim().is_empty()
    }

    fn fits_in_finding(&mut self, index: usize) -> bool {
        let fits = match (self.tags[index].name, self.tags[index].kind) {
            (Name::Finding, Kind::Close) => self.block[index + 1],
            (Name::Field(_), Kind::Empty) => self.finding[index + 1],
            (Name::Field(_), Kind::Open) => {
                let end = self.ends_of(index).next();
                self.ends[index] = end;
                self.ends[index].is_some()
            }
            _ => false,
        };
        fits && is_gap_of_finding(self.gap(index))
    }

    /// The text in front of a tag, from the tag before it.
    fn gap(&self, index: usize) -> &'a str {
        let begin = index.checked_sub(1).map_or(0, |before| self.tags[before].end);
        &self.text[begin..self.tags[index].start]
    }

    /// All tags with which the field that opens here can end so that everything behind it fits.
    fn ends_of(&self, open: usize) -> impl Iterator<Item = usize> + '_ {
        let name = self.tags[open].name;
        let begin = self.tags[open].end;
        let inside = self.text[begin..].trim_start();
        let is_cdata = inside.starts_with("<![CDATA[");
        let swallowed = self.beginnings.iter().find(|&&index| index > open).copied();
        let limit = swallowed.filter(|_| !self.swallowing).unwrap_or(self.tags.len());
        (open + 1..limit).filter(move |&index| {
            let tag = &self.tags[index];
            tag.kind == Kind::Close
                && tag.name == name
                && self.finding[index + 1]
                && (!is_cdata || self.text[begin..tag.start].trim_end().ends_with("]]>"))
        })
    }

    fn reading(&self) -> Reading {
        let mut reading = Reading::default();
        let mut index = 0;
        while index < self.tags.len() {
            let tag = &self.tags[index];
            if tag.kind == Kind::Empty {
                reading.blocks.push(Vec::new());
                reading.spans.push((tag.start, tag.end));
                index += 1;
                continue;
            }
            let Some(first) = self.block_end(index) else {
                index += 1;
                continue;
            };
            let begin = tag.start;
            let next = &self.tags[first];
            if next.name == Name::Findings {
                let inside = without_tags(&self.text[tag.end..next.start], self.lines.at(tag.end));
                reading.blocks.push(inside.findings);
                reading.faults.extend(inside.faults);
                reading.lost += inside.lost;
                index = first + 1;
            } else {
                index = self.read_block(first, &mut reading);
            }
            reading.spans.push((begin, self.tags[index - 1].end));
        }
        reading
    }

    /// Reads the findings of a block; returns what follows its end.
    fn read_block(&self, mut index: usize, reading: &mut Reading) -> usize {
        let mut findings = Vec::new();
        while let Some(tag) = self.tags.get(index) {
            index += 1;
            if tag.name == Name::Findings {
                break;
            }
            index = self.read_finding(index, findings.len() + 1, &mut findings, &mut reading.faults);
        }
        reading.blocks.push(findings);
        index
    }

    fn read_finding(
        &self,
        mut index: usize,
        number: usize,
        findings: &mut Vec<RawFinding>,
        faults: &mut Vec<String>,
    ) -> usize {
        let mut finding = RawFinding::default();
        let mut fields = Vec::new();
        let opening = index.checked_sub(1).map(|open| &self.tags[open]);
        if let Some(open) = opening {
            finding.stands_in(OWN_TAG, self.lines.at(open.start));
        }
        let mut others = String::new();
        while let Some(tag) = self.tags.get(index) {
            others.push_str(self.gap(index));
            let Name::Field(name) = tag.name else { break };
            let Some(end) = self.ends[index].filter(|_| tag.kind == Kind::Open) else {
                index += 1;
                continue;
            };
            fields.push((index, end));
            finding.stands_in(name, self.lines.at(tag.start));
            let close = &self.tags[end];
            let next = self
                .tags
                .get(end + 1)
                .map_or("", |next| &self.text[next.start..next.end]);
            let tail = &self.text[close.start..close.end];
            finding.push_with_tail(name, &self.text[tag.end..close.start], &[tail, next]);
            index = end + 1;
        }
        for (open, end) in fields {
            faults.extend(self.doubt(open, end, index).map(|doubt| {
                let (tag, line) = (&self.tags[open], self.lines.at(self.tags[open].start));
                let name = &self.text[tag.start..tag.end];
                format!("the {name} of finding {number} (line {line} of the answer) {doubt}")
            }));
        }
        finding.read_others(&others);
        finding.read_tag(opening.map_or("", |open| &self.text[open.start..open.end]));
        findings.push(finding);
        index + 1
    }

    /// Why nobody can tell where this field ends, if so. The finding's end is the tag `last`.
    fn doubt(&self, open: usize, end: usize, last: usize) -> Option<&'static str> {
        if self.beginnings.iter().any(|&index| index > open && index < end) {
            return Some("holds the beginning of another finding");
        }
        if self.ends_of(open).any(|other| other != end && other < last) {
            return Some("can end at several places, because it holds its own closing tag");
        }
        None
    }
}

/// Returns whether this may stand between the fields of a finding: nothing, or elements that we do not know.
fn is_gap_of_finding(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || (text.starts_with('<') && text.ends_with('>'))
}

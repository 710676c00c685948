//! Reading a reviewer's answer.
//!
//! Models write broken XML: `a < b && c` unescaped, fences around it, prose before it, a tag left open, JSON where XML was
//! asked for, an end in the middle of a word. And code that they quote may hold any of our tags. An XML parser in its most
//! lenient mode loses text on such input without a word. This scanner knows a closed set of tags, takes everything else
//! as text, and never fails. The text of a field is opaque up to the closing tag that makes all tags of the answer fit
//! together. What can be read in several ways, or not at all, becomes a fault: no finding is lost in silence.

mod affirmed;
mod asserting;
mod beside;
mod broken;
mod json;
mod lenient;
mod narration;
mod raw_finding;
mod report;
mod strict;
mod traces;
mod visible;

use super::{
    remarks::not_harmless,
    tags::{Name, next_tag, tags},
};

pub use affirmed::denies_in_words;
pub use beside::{asserted, drafted, is_listed, may_tell, thought};
pub use broken::{half_finding, whole_findings};
pub use narration::may_assert;
pub use raw_finding::RawFinding;
pub use report::Report;
pub use traces::holds_findings;

/// What an answer held.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScanOutcome {
    /// The findings, in order.
    pub findings: Vec<RawFinding>,
    /// What could not be read, in words. With a fault the reviewer did not answer properly, whatever else was found.
    pub faults: Vec<String>,
    /// How many findings the answer seems to hold beyond those. None without a fault.
    pub lost: usize,
    /// Words beside a list, or in place of one, that may tell a problem which is not in it. None without a fault.
    pub words: Option<String>,
    /// The sentence of them that affirms a severe problem, if it names no place. It stands until a finding reports it or words deny it.
    pub affirmed: Option<String>,
}

impl ScanOutcome {
    /// Nothing but a fault.
    pub(super) fn fault(fault: &str) -> Self {
        Self {
            faults: vec![fault.to_owned()],
            ..Self::default()
        }
    }
}

/// Nothing but an empty answer approves, so it has to be one beyond doubt: among words it may be a quotation of the task, or
/// what the words behind it take back. What is empty, and its line, stand in front.
const AMONG_WORDS: &str =
    "of the answer stands among other words; it has to stand on lines of its own, as the last thing of the message";
/// Fault of an empty answer beside which a problem may stand; the words follow.
const TOLD_BESIDE: &str = "the list is empty, but the text may describe a problem; which is it? Report it as a <finding>, or answer \
    <findings></findings> alone: ";
/// The same of a sentence that affirms a severe problem: an empty list alone denies none.
const AFFIRMED_BESIDE: &str = "the list is empty, but the text says that there is a severe problem; which is it? Report it as a <finding>, or \
    say in a sentence in front of an empty <findings></findings> that it is none: ";
/// Fault of a problem in words beside the findings that is none of them; the words follow.
const TOLD_AMONG: &str = "the text beside the findings describes a problem that none of them reports; move it into a <finding>, or \
    leave it out: ";
/// Returns whether a fault is a question about words beside an answer that was read.
pub fn is_about_words(fault: &str) -> bool {
    [TOLD_BESIDE, AFFIRMED_BESIDE, TOLD_AMONG]
        .iter()
        .any(|question| fault.starts_with(question))
}

/// A block of findings that was opened and never closed.
const BLOCK_CUT: &str = "the <findings> block is cut off";
/// Fields that hold code.
const CODE: [&str; 3] = ["evidence", "second_evidence", "fix"];
/// A finding of which the end is missing.
const FINDING_CUT: &str = "a <finding> is cut off";

/// Maximum length of words that are quoted.
const MAX_QUOTED: usize = 200;

/// Maximum length of an answer, in bytes: several times what the output limit of 32,000 tokens lets a model say.
const MAX_ANSWER: usize = 300_000;

/// Reads the findings out of a reviewer's last message.
///
/// No findings in any form is a fault: silence is not "no findings". Of several blocks the last counts if it repeats what
/// those before it hold, because models think aloud before they answer; what it leaves out is kept, and a fault. A mere
/// mention of the tag does not count as a block. Words beside an empty block are a fault, unless each sentence is known to be
/// harmless; beside findings, a sentence that asserts a problem which none of them reports. `paths` are the paths of the changed
/// files.
pub fn scan(answer: &str, paths: &[&str]) -> ScanOutcome {
    if answer.len() > MAX_ANSWER {
        let fault = format!("the answer has {} bytes, more than {MAX_ANSWER}", answer.len());
        return ScanOutcome {
            lost: usize::from(holds_findings(answer)),
            ..ScanOutcome::fault(&fault)
        };
    }
    let seen = visible::visible(answer);
    let answer = seen.text.as_str();
    if answer.trim().is_empty() {
        return ScanOutcome::fault("the answer is empty");
    }
    let mut outcome = scan_forms(answer);
    let contradictions = outcome.findings.iter().enumerate().filter_map(|(index, finding)| {
        let field = finding.contradiction()?;
        let place = finding.place_of(field).map(|place| format!(" ({place} of the answer)"));
        Some(format!(
            "finding {} has <{field}> twice, with different texts{}",
            index + 1,
            place.unwrap_or_default()
        ))
    });
    let contradictions: Vec<String> = contradictions.collect();
    outcome.faults.extend(contradictions);
    if outcome.faults.is_empty() && outcome.findings.is_empty() {
        // What is left open there is thinking, and a fault of its own.
        outcome.words = not_harmless(answer, paths).filter(|_| seen.unclosed.is_none());
        let is_owed = traces::is_structured(answer) || affirmed::affirms_at_place(answer, paths);
        outcome.lost = usize::from(is_owed);
        if outcome.words.is_some() && !is_owed {
            outcome.affirmed = affirmed::affirmed(answer, paths);
        }
        let question = if let Some(sentence) = &outcome.affirmed {
            outcome.words = Some(sentence.chars().take(MAX_QUOTED).collect());
            AFFIRMED_BESIDE
        } else {
            TOLD_BESIDE
        };
        let asks = |words: &String| format!("{question}\"{words}\"");
        outcome.faults.extend(outcome.words.as_ref().map(asks));
        // It may be a part of its own thinking.
        let unclosed = seen.unclosed.as_ref().map(|tag| {
            format!("{tag} of the answer begins thinking that nothing ends; the findings have to stand behind its end")
        });
        outcome.faults.extend(unclosed);
    } else if outcome.faults.is_empty() {
        outcome.lost = 0;
        outcome.words = beside::unreported(answer, &outcome.findings, paths);
        let asks = |words: &String| format!("{TOLD_AMONG}\"{words}\"");
        outcome.faults.extend(outcome.words.as_ref().map(asks));
    } else if outcome.findings.is_empty() {
        let reported = usize::from(traces::is_report(answer, paths));
        outcome.lost = outcome.lost.max(traces::count(answer)).max(reported);
        outcome.words = if reported > 0 {
            Some(answer.chars().take(MAX_QUOTED).collect())
        } else {
            // Behind an empty list, or in place of one.
            let is_list = outcome.faults.iter().any(|fault| fault.ends_with(AMONG_WORDS));
            let tells = is_list || beside::claims(answer, paths);
            not_harmless(answer, paths).filter(|_| tells && seen.unclosed.is_none())
        };
    }
    outcome
}

fn scan_forms(answer: &str) -> ScanOutcome {
    // Tags inside of JSON's texts are quoted code.
    if json::is_around(answer, next_tag(answer).map(|tag| tag.start)) {
        return json::scan(answer, 1).unwrap_or_else(|| {
            let line = answer.find(['{', '[']).map_or(1, |at| Lines::of(answer).at(at));
            ScanOutcome::fault(&format!("the JSON in line {line} of the answer holds no findings"))
        });
    }
    if let Some(outcome) = scan_blocks(answer) {
        return outcome;
    }
    if answer.contains("&lt;findings") {
        // The whole of it is escaped.
        if let Some(outcome) = scan_blocks(&unescape(answer)) {
            return outcome;
        }
    }
    if let Some(outcome) = lenient::read_bare(answer) {
        return outcome;
    }
    json::scan(answer, 1).unwrap_or_else(|| ScanOutcome::fault("the answer has no <findings> block"))
}

/// The five entities of XML as the characters that they stand for.
pub(super) fn unescape(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&amp;", "&")
}

fn scan_blocks(answer: &str) -> Option<ScanOutcome> {
    let fitting = |swallowing| strict::read(answer, swallowing).filter(|reading| !reading.blocks.is_empty());
    let Some(reading) = fitting(false).or_else(|| fitting(true)) else {
        return lenient::read(answer);
    };
    let lines = Lines::of(answer);
    let last = reading.spans.last().map_or(1, |(start, _)| lines.at(*start));
    let mut outcome = join(reading.blocks, last);
    if !reading.faults.is_empty()
        && let Some(other) = lenient::read(answer).filter(|other| other.findings.len() > outcome.findings.len())
    {
        // Nobody can tell which reading is right: the one that holds more loses less.
        outcome.findings = other.findings;
    }
    outcome.faults.splice(0..0, reading.faults);
    let mut outside = String::new();
    let mut position = 0;
    let mut is_last = true;
    for (start, end) in reading.spans {
        outside.push_str(&answer[position..start]);
        // What stands behind it keeps its line.
        outside.extend(answer[start..end].matches('\n'));
        position = end;
        is_last = stands_alone_at_the_end(answer, start, end);
    }
    let rest = &answer[position..];
    outside.push_str(rest);
    outcome.lost = traces::count(&outside) + reading.lost;
    if !is_last && outcome.findings.is_empty() {
        outcome
            .faults
            .push(format!("the empty <findings> in line {last} {AMONG_WORDS}"));
    }
    if let Some(begun) = begun_anew(rest) {
        outcome.faults.push(block_cut(lines.at(position + begun)));
    } else if let Some(line) = trace(&outside) {
        let fault = "what looks like a finding stands outside of the <findings> block";
        outcome.faults.push(format!("{fault} (line {line} of the answer)"));
    }
    Some(outcome)
}

/// Returns whether a part of an answer has lines of its own, or stands behind whole sentences that are harmless, and nothing behind
/// it could take it back. Backticks are a fence around it.
fn stands_alone_at_the_end(answer: &str, start: usize, end: usize) -> bool {
    let is_blank = |text: &str| {
        text.chars()
            .all(|character| character.is_whitespace() || character == '`')
    };
    let line = answer[..start].rsplit(['\n', '\r']).next().unwrap_or_default();
    let rest = &answer[end..];
    let said = line.trim_end_matches(|character: char| character.is_whitespace() || character == '`');
    let is_said = || said.ends_with(['.', '!', '。']) && not_harmless(said, &[]).is_none();
    (is_blank(line) || is_said())
        && (is_blank(rest) || (is_blank(rest.lines().next().unwrap_or_default()) && not_harmless(rest, &[]).is_none()))
}

/// The place of the beginning of one more block right behind which the answer breaks off.
fn begun_anew(rest: &str) -> Option<usize> {
    let last = tags(rest).last()?;
    rest[last.end..].trim().is_empty().then_some(last.start)
}

/// The line of what looks like a part of a finding in a text outside of all blocks: escaped, or as JSON.
fn trace(outside: &str) -> Option<usize> {
    let unescaped = outside.contains("&lt;").then(|| unescape(outside));
    let escaped = unescaped.as_deref().and_then(|text| {
        let tag = tags(text).find(|tag| tag.name != Name::Findings)?;
        Some(Lines::of(text).at(tag.start))
    });
    let key = |name: &str| outside.find(&format!("\"{name}\""));
    let is_finding = || {
        ["claim", "evidence", "line"]
            .into_iter()
            .any(|name| key(name).is_some())
    };
    let json = || key("severity").filter(|_| is_finding());
    escaped.or_else(|| json().map(|at| Lines::of(outside).at(at)))
}

/// The fault of a block that was opened in this line and never closed.
fn block_cut(line: usize) -> String {
    format!("{BLOCK_CUT} (it begins in line {line} of the answer)")
}

/// The findings of all blocks. The last block, which begins in this line, counts alone if it repeats the others.
pub(super) fn join(mut blocks: Vec<Vec<RawFinding>>, line: usize) -> ScanOutcome {
    let count = blocks.len();
    let last = blocks.pop().unwrap_or_default();
    let key = |finding: &RawFinding| {
        ["file", "severity", "evidence"].map(|field| squeezed(finding.code(field).unwrap_or_default()).to_lowercase())
    };
    let known: Vec<[String; 3]> = last.iter().map(key).collect();
    let mut findings: Vec<RawFinding> = Vec::new();
    for finding in blocks.into_iter().flatten() {
        let kept = findings.iter().any(|other| key(other) == key(&finding));
        if !kept && !known.contains(&key(&finding)) {
            findings.push(finding);
        }
    }
    let mut outcome = ScanOutcome::default();
    if !findings.is_empty() {
        outcome.faults.push(format!(
            "the answer has {count} <findings> blocks, and the last one (line {line} of the answer) leaves out what those \
             before it hold"
        ));
    }
    findings.extend(last);
    outcome.findings = findings;
    outcome
}

/// Reads the content of a block that has no finding tag: JSON, the word "none", or something unreadable. `line` is where it begins.
fn without_tags(inside: &str, line: usize) -> ScanOutcome {
    let text = inside.trim();
    if text.is_empty() || is_none(text) {
        return ScanOutcome::default();
    }
    json::scan(inside, line).unwrap_or_else(|| {
        let fault = format!("the <findings> block in line {line} of the answer holds text that is not a finding");
        ScanOutcome::fault(&fault)
    })
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

/// Whether what follows is where a tag of an answer usually stands: at the beginning of a line, or right behind another.
fn begins_line(before: &str) -> bool {
    let before = before.trim_end_matches([' ', '\t']);
    before.is_empty() || before.ends_with(['\n', '\r', '>'])
}

fn is_followed_by_tag(text: &str) -> bool {
    let text = text.trim_start();
    text.is_empty() || (text.starts_with('<') && next_tag(text).is_some_and(|tag| tag.start == 0))
}

/// The places at which the lines of a text end.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// The number of the line in which this place is, from 1.
    fn at(&self, place: usize) -> usize {
        self.0.partition_point(|end| *end < place) + 1
    }
}

/// The text without white space.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
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

//! The part of an answer that is meant for its reader.
//!
//! Servers of open models leak what their chat templates put around an answer: thinking between tags, channels, control
//! tokens. Only what stands outside of the findings is taken off: inside of them it is quoted code. Thinking is what opens the
//! answer: among words its tags are mentioned, as those of the code are, and what stands between them counts.

use super::{Lines, RawFinding, json, lenient, strict};
use crate::findings::tags::{Kind, Name, next_tag, tags};

/// Tags around thinking.
const THINKING: [&str; 3] = ["think", "thinking", "thought"];
/// Control tokens that have a form of their own.
const TOKENS: [&str; 6] = ["<s>", "</s>", "<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>"];
/// Control tokens behind which a word belongs to the template: a role, a channel.
const NAMING: [&str; 6] = [
    "start",
    "im_start",
    "channel",
    "constrain",
    "start_header_id",
    "start_of_turn",
];
/// Channels that no reader sees.
const HIDDEN: [&str; 2] = ["analysis", "commentary"];
/// Maximum length of the name of a control token, in bytes.
const MAX_TOKEN: usize = 60;
/// Number of closing tags behind which the answer may begin: quoted code can hold the tag.
const MAX_ENDS: usize = 8;

/// An answer without what surrounds it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Visible {
    pub(super) text: String,
    /// The thinking in front of it, which was taken off.
    pub(super) thinking: String,
    /// The tag that begins thinking in front of the answer which is never ended, with its line: all of the answer may be thinking.
    pub(super) unclosed: Option<String>,
}

/// Thinking that is taken off.
#[derive(Default)]
struct Aside {
    /// All of it.
    thinking: String,
    /// Its blocks of findings, which count.
    told: String,
}

impl Aside {
    fn take(&mut self, thinking: &str) {
        keep_told(thinking, &mut self.told);
        self.thinking.push_str(thinking);
        self.thinking.push('\n');
    }
}

/// Something of a template.
enum Mark {
    /// `<think>`, with the name of the tag.
    Opens(&'static str),
    /// `</think>`.
    Closes,
    /// The beginning of a channel that no reader sees.
    HiddenChannel,
    /// A control token, with the word that belongs to it.
    Token,
}

/// Takes thinking and control tokens off both ends of an answer.
pub(super) fn visible(answer: &str) -> Visible {
    let mut aside = Aside::default();
    let (head, is_unclosed, rest) = head(answer, &mut aside);
    let opening = is_unclosed.then(|| {
        let length = rest.find('>').map_or(rest.len(), |end| end + 1);
        let line = Lines::of(answer).at(answer.len() - rest.len());
        format!("{} in line {line}", &rest[..length])
    });
    let breaks = |text: &str| text.matches('\n').count();
    let taken = breaks(&answer[..answer.len() - rest.len()]).saturating_sub(breaks(&aside.told) + breaks(&head));
    let mut text = aside.told;
    // What follows keeps its line.
    text.push_str(&"\n".repeat(taken));
    let begin = tags(rest).last().map_or(0, |tag| tag.end);
    let begin = begin.max(rest.rfind(['}', ']']).map_or(0, |at| at + 1));
    let (body, tail) = rest.split_at(begin);
    text.push_str(&head);
    text.push_str(body);
    let mut tail = tail;
    while let Some((at, mark, end)) = first_mark(tail, tail.len()) {
        text.push_str(&tail[..at]);
        if matches!(mark, Mark::Opens(_) | Mark::Closes) {
            text.push_str(&tail[at..end]);
        }
        tail = &tail[end..];
    }
    text.push_str(tail);
    let unclosed = opening.filter(|_| !text.trim().is_empty());
    Visible {
        text,
        thinking: aside.thinking,
        unclosed,
    }
}

/// Splits an answer where its findings begin: the text in front without thinking and tokens, true if thinking is left open there,
/// and the rest.
fn head<'a>(answer: &'a str, aside: &mut Aside) -> (String, bool, &'a str) {
    let mut kept = String::new();
    let mut rest = answer;
    for _ in 0..MAX_MARKS {
        let Some((at, mark, end)) = first_mark(rest, beginning(rest)).or_else(|| end_of_drafts(rest)) else {
            return (kept, false, rest);
        };
        let before = &rest[..at];
        let opens_answer = kept.trim().is_empty() && before.trim().is_empty();
        match mark {
            Mark::Opens(_) | Mark::HiddenChannel if !opens_answer => return (kept, false, rest),
            Mark::Closes if is_quoted(before) => return (kept, false, rest),
            Mark::Opens(name) => {
                let Some((length, behind)) = closing(&rest[end..], name) else {
                    return (kept, true, &rest[at..]);
                };
                aside.take(&rest[end..end + length]);
                rest = &rest[end + behind..];
            }
            // Where the template itself opens the thinking, only its end is in the answer.
            Mark::Closes => {
                kept.push_str(before);
                aside.take(&std::mem::take(&mut kept));
                rest = &rest[end..];
            }
            Mark::HiddenChannel => {
                let ends = ["<|end|>", "<|start|>", "<|channel|>"];
                let Some(length) = ends.iter().filter_map(|token| rest[end..].find(token)).min() else {
                    return (kept, true, &rest[at..]);
                };
                aside.take(&rest[end..end + length]);
                rest = &rest[end + length..];
            }
            Mark::Token => {
                kept.push_str(before);
                rest = &rest[end..];
            }
        }
    }
    (kept, false, rest)
}

/// Number of marks of a template that are taken off the beginning of an answer. Looking for each reads on to where the findings begin;
/// what stands behind so many is read as text.
const MAX_MARKS: usize = 100;

/// The end of thinking that holds whole blocks of findings and that the template itself has opened; the answer follows.
fn end_of_drafts(text: &str) -> Option<(usize, Mark, usize)> {
    let closes = |(at, _): (usize, &str)| match mark_at(&text[at..])? {
        (Mark::Closes, length) => Some((at, at + length)),
        _ => None,
    };
    let is_end = |(at, end): &(usize, usize)| {
        let line = text[*end..].lines().next().unwrap_or_default().trim();
        let is_answered = tags(&text[*end..]).any(|tag| tag.name == Name::Findings);
        (line.is_empty() || line.starts_with('<'))
            && is_answered
            && !is_quoted(&text[..*at])
            && (strict::read(&text[..*at], false).is_some() || is_format(&text[..*at]))
    };
    let first = next_tag(text).map(|tag| tag.start);
    let mut ends = text.match_indices("</").filter_map(closes).take(MAX_ENDS);
    let (at, end) = ends.find(is_end).filter(|_| !json::is_around(text, first))?;
    Some((at, Mark::Closes, end))
}

/// Returns whether all that stands in a text in tags is the format of an answer.
fn is_format(text: &str) -> bool {
    let findings = lenient::read(text).map(|outcome| outcome.findings).unwrap_or_default();
    !findings.is_empty() && findings.iter().all(RawFinding::is_template)
}

/// Keeps the blocks of findings that stand in what looks like thinking: it may be an answer between two mentions of a tag, and a
/// model that drops what it told in whole is asked about it, as behind any other block. The mere format of an answer is not one.
fn keep_told(thinking: &str, told: &mut String) {
    let spans: Vec<(usize, usize)> = if let Some(reading) = strict::read(thinking, false) {
        let blocks = reading.blocks.iter().zip(reading.spans);
        let holding = blocks.filter(|(findings, _)| !findings.iter().all(RawFinding::is_template));
        holding.map(|(_, span)| span).collect()
    } else {
        let around = around_findings(thinking);
        let told = around.filter(|(start, end)| !is_format(&thinking[*start..*end]));
        told.into_iter().collect()
    };
    for (start, end) in spans {
        told.push_str(&thinking[start..end]);
        told.push('\n');
    }
}

/// Where the first block begins and the last one ends in a text of which the tags do not fit, if a finding begins between them.
fn around_findings(text: &str) -> Option<(usize, usize)> {
    let open = tags(text).find(|tag| tag.name == Name::Findings && tag.kind == Kind::Open)?;
    let close = tags(text)
        .filter(|tag| tag.name == Name::Findings && tag.kind == Kind::Close)
        .last()?;
    let begins = tags(text).any(|tag| {
        let is_between = tag.start >= open.end && tag.end <= close.start;
        is_between && tag.name == Name::Finding && tag.kind == Kind::Open
    });
    begins.then_some((open.start, close.end))
}

/// Returns whether a tag behind this text is a mention: in a quotation, or in code.
fn is_quoted(before: &str) -> bool {
    before.ends_with(['`', '"', '\'', '“', '„', '«']) || before.matches('`').count() % 2 == 1
}

/// Where the findings may begin: at a tag of theirs, or at a bracket that begins a line.
fn beginning(text: &str) -> usize {
    let tag = next_tag(text).map_or(text.len(), |tag| tag.start);
    let begins_line = |at: &usize| {
        let line = text[..*at].rsplit('\n').next().unwrap_or_default();
        line.trim().is_empty()
    };
    let bracket = text.match_indices(['{', '[']).map(|(at, _)| at).find(begins_line);
    tag.min(bracket.unwrap_or(text.len()))
}

/// The first mark that begins before this place: where it begins, what it is, where it ends.
fn first_mark(text: &str, before: usize) -> Option<(usize, Mark, usize)> {
    text[..before].match_indices('<').find_map(|(at, _)| {
        let (mark, length) = mark_at(&text[at..])?;
        Some((at, mark, at + length))
    })
}

fn mark_at(text: &str) -> Option<(Mark, usize)> {
    for name in THINKING {
        for (open, mark) in [("<", Mark::Opens(name)), ("</", Mark::Closes)] {
            let tag = format!("{open}{name}>");
            if text
                .get(..tag.len())
                .is_some_and(|begin| begin.eq_ignore_ascii_case(&tag))
            {
                return Some((mark, tag.len()));
            }
        }
    }
    let (name, length) = token(text)?;
    if !NAMING.contains(&name.as_str()) {
        return Some((Mark::Token, length));
    }
    let word: String = text[length..]
        .chars()
        .take_while(|c| c.is_ascii_alphabetic() || *c == '_')
        .collect();
    let is_hidden = name == "channel" && HIDDEN.contains(&word.as_str());
    let mark = if is_hidden { Mark::HiddenChannel } else { Mark::Token };
    Some((mark, length + word.len()))
}

/// The name of the control token that the text begins with, and its length.
fn token(text: &str) -> Option<(String, usize)> {
    if let Some(token) = TOKENS.iter().find(|token| text.starts_with(**token)) {
        return Some((token.trim_matches(['<', '>']).to_owned(), token.len()));
    }
    // DeepSeek writes them with a full-width bar.
    ["|", "｜"].iter().find_map(|bar| {
        let inside = text.strip_prefix('<')?.strip_prefix(bar)?;
        let end = inside.find(bar).filter(|end| *end <= MAX_TOKEN)?;
        let name = &inside[..end];
        let is_name = name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '▁'));
        let closed = inside[end..].strip_prefix(bar)?.starts_with('>');
        (is_name && closed && !name.is_empty()).then(|| (name.to_owned(), 2 + 2 * bar.len() + end))
    })
}

/// Where thinking that has begun ends, in front of and behind its closing tag: the first one that is not a mention, or else the first
/// one.
fn closing(text: &str, name: &str) -> Option<(usize, usize)> {
    let tag = format!("</{name}>");
    let lower = text.to_ascii_lowercase();
    let quotes = ['`', '"', '\''];
    let ends = || lower.match_indices(&tag).map(|(at, _)| at);
    let is_end = |at: &usize| !text[..*at].ends_with(quotes);
    let end = ends().find(is_end).or_else(|| ends().next())?;
    Some((end, end + tag.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_marks_alone_is_read_at_once() {
        let marks = format!("{}{}", "<think>".repeat(5_000), "</think>".repeat(5_000));
        let seen = visible(&format!("{marks}<findings></findings>")).text;
        assert!(
            seen.ends_with("</think><findings></findings>"),
            "the rest of them is text"
        );
    }

    #[test]
    fn thinking_and_tokens_around_an_answer_are_taken_off() {
        let block = "<findings><finding><claim>c</claim></finding></findings>";
        for (before, behind) in [
            ("<think>A critical problem? No.</think>\n", ""),
            ("<Thinking>\nhm\n</Thinking>", "<|im_end|>"),
            ("hm, src/db.py:4 is bad\n</think>\n", "</s>"),
            ("<think>the answer is <findings></findings></think>", ""),
            (
                "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>",
                "<|return|>",
            ),
            ("<|im_start|>assistant\n", "<|im_end|>\n<|endoftext|>"),
            ("<｜Assistant｜>", "<｜end▁of▁sentence｜>"),
            ("<think>Line 4 is CLOSE = \"</think>\", which is fine.</think>\n", ""),
            ("<|im_start|>assistant\n<think>hm</think>\n<think>hm</think>\n", ""),
        ] {
            let seen = visible(&format!("{before}{block}{behind}"));
            assert_eq!(seen.text.trim(), block, "{before}");
            assert!(seen.unclosed.is_none(), "{before}");
        }
    }

    #[test]
    fn what_is_quoted_or_visible_stays() {
        for answer in [
            "<findings><finding><evidence>x = '<|im_end|></think>'</evidence></finding></findings>",
            "{\"findings\": [{\"evidence\": \"<think>a</think>\"}]}",
            "<findings><finding>x</finding></findings></think>",
            "The <answer>4</answer> in a < b |> c",
            "<findings></findings>\n<think>The token is logged.</think>",
            "I read it. <think>The token is logged.</think>\n<findings></findings>",
            "`<think>` The token is logged. `</think>`\n<findings></findings>",
            "The token is logged, and `</think>` is a constant.\n<findings></findings>",
            "```\n<think>\nThe token is logged.\n</think>\n```\n<findings></findings>",
            "The mark is `<|channel|>analysis`. The token is logged. `<|end|>`\n<findings></findings>",
        ] {
            assert_eq!(visible(answer).text, answer);
        }
        let open = "<think>I am not done\n<findings></findings>";
        assert!(visible(open).unclosed.is_some());
        assert!(
            visible("<|channel|>analysis<|message|><findings></findings>")
                .unclosed
                .is_some()
        );
        let hidden = visible("<|channel|>analysis<|message|><findings></findings><|end|>");
        assert_eq!(hidden.text.trim(), "", "{hidden:?}");
    }

    #[test]
    fn a_block_of_findings_is_never_taken_for_thinking() {
        let block = "<findings><finding><claim>c</claim></finding></findings>";
        for (before, behind) in [
            ("The constant is `<think>`.\n", "\nThe other is `</think>`."),
            ("`<think>`", "`</think>`\n<findings></findings>"),
            ("The `<thought>` tag is new.\n", "\nSo is `</thought>`."),
            ("<think> is the constant.\n", "\n</think> is the other."),
            ("<think>At first: ", "</think>\n<findings></findings>"),
            ("<think>With a <finding> in ", "</think>\n<findings></findings>"),
            ("<|channel|>analysis<|message|>", "<|end|>\n<findings></findings>"),
        ] {
            let seen = visible(&format!("{before}{block}{behind}"));
            assert!(seen.text.contains(block), "{before}: {}", seen.text);
            assert!(seen.unclosed.is_none(), "{before}");
        }
        for format in [
            "<findings><finding><severity></severity><file></file><claim></claim></finding></findings>",
            "<findings>\n<finding>...</finding>\n</findings>",
            "<findings><finding><severity>critical</severity><file>…</file><claim>...</claim></finding></findings>",
            "<findings><finding><severity>critical|warning|suggestion</severity><file>path as in the index</file>\
             <claim>One sentence: the defect itself.</claim></finding></findings>",
        ] {
            for (before, behind) in [
                ("<think>The format is ", "</think>\n"),
                ("The format is ", "\n</think>\n"),
            ] {
                let seen = visible(&format!("{before}{format}{behind}<findings></findings>"));
                assert_eq!(seen.text.trim(), "<findings></findings>", "{before}{format}");
            }
            assert_eq!(visible(&format!("{format}</think>")).text, format!("{format}</think>"));
        }
        let drafted = format!("At first: {block}\nNo.\n</think>\n<findings></findings>");
        assert!(visible(&drafted).text.contains(block));
        let mentioned =
            visible("<think>It would be <findings></findings>, or <findings>.</think>\n<findings></findings>");
        assert_eq!(mentioned.text.trim(), "<findings></findings>");
    }
}

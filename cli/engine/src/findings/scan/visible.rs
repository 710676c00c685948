//! The part of an answer that is meant for its reader.
//!
//! Servers of open models leak what their chat templates put around an answer: thinking between tags, channels, control
//! tokens. Only what stands outside of the findings is taken off: inside of them it is quoted code.

use crate::findings::tags::{next_tag, tags};

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

/// An answer without what surrounds it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Visible {
    pub(super) text: String,
    /// Thinking was begun in front of the answer, and never ended: all of it may be thinking.
    pub(super) is_unclosed: bool,
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
    let (head, mut is_unclosed, rest) = head(answer);
    let begin = tags(rest).last().map_or(0, |tag| tag.end);
    let begin = begin.max(rest.rfind(['}', ']']).map_or(0, |at| at + 1));
    let (body, tail) = rest.split_at(begin);
    let mut text = head + body;
    let mut tail = tail;
    while let Some((at, mark, end)) = first_mark(tail, tail.len()) {
        let end = match mark {
            Mark::Opens(name) => match closing(&tail[end..], name) {
                Some(length) => end + length,
                // What may be thinking may be an answer too.
                None => break,
            },
            Mark::Closes => break,
            Mark::HiddenChannel | Mark::Token => end,
        };
        text.push_str(&tail[..at]);
        tail = &tail[end..];
    }
    text.push_str(tail);
    is_unclosed &= !text.trim().is_empty();
    Visible { text, is_unclosed }
}

/// Splits an answer where its findings begin: the text in front without thinking and tokens, true if thinking is left open there,
/// and the rest.
fn head(answer: &str) -> (String, bool, &str) {
    let mut kept = String::new();
    let mut rest = answer;
    loop {
        let Some((at, mark, end)) = first_mark(rest, beginning(rest)) else {
            return (kept, false, rest);
        };
        match mark {
            Mark::Opens(name) => {
                kept.push_str(&rest[..at]);
                let Some(length) = closing(&rest[end..], name) else {
                    return (kept, true, &rest[at..]);
                };
                rest = &rest[end + length..];
            }
            // Where the template itself opens the thinking, only its end is in the answer.
            Mark::Closes => {
                kept.clear();
                rest = &rest[end..];
            }
            Mark::HiddenChannel => {
                kept.push_str(&rest[..at]);
                let ends = ["<|end|>", "<|start|>", "<|channel|>"];
                let Some(length) = ends.iter().filter_map(|token| rest[end..].find(token)).min() else {
                    return (kept, true, &rest[at..]);
                };
                rest = &rest[end + length..];
            }
            Mark::Token => {
                kept.push_str(&rest[..at]);
                rest = &rest[end..];
            }
        }
    }
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

/// Where thinking that has begun ends, behind its closing tag.
fn closing(text: &str, name: &str) -> Option<usize> {
    let tag = format!("</{name}>");
    text.to_ascii_lowercase().find(&tag).map(|at| at + tag.len())
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("", "<think>done</think>"),
        ] {
            let seen = visible(&format!("{before}{block}{behind}"));
            assert_eq!(seen.text.trim(), block, "{before}");
            assert!(!seen.is_unclosed, "{before}");
        }
    }

    #[test]
    fn what_is_quoted_or_visible_stays() {
        for answer in [
            "<findings><finding><evidence>x = '<|im_end|></think>'</evidence></finding></findings>",
            "{\"findings\": [{\"evidence\": \"<think>a</think>\"}]}",
            "<findings><finding>x</finding></findings></think>",
            "The <answer>4</answer> in a < b |> c",
        ] {
            assert_eq!(visible(answer).text, answer);
        }
        let open = "<think>I am not done\n<findings></findings>";
        assert!(visible(open).is_unclosed);
        assert!(visible("<|channel|>analysis<|message|><findings></findings>").is_unclosed);
        let hidden = visible("<|channel|>analysis<|message|><findings></findings><|end|>");
        assert_eq!(hidden.text.trim(), "", "{hidden:?}");
    }
}

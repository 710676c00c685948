//! Code that is never built or reached, or that may not be.

use super::{Language, Quote};
use crate::findings::{
    code_words::{is_of_word, is_one_of},
    without_texts,
};

/// So many lines above a block may belong to its header.
const MAX_HEADER: usize = 40;

/// Words that begin a statement with a condition.
const CONDITIONS: &str = "if elif elsif elseif unless while until for";

/// Words whose value is always the same.
const CONSTANTS: &str = "true false True False TRUE FALSE nil None null NULL nullptr undefined";

/// Words that compare values.
const COMPARISONS: &str = "not and or is in eq ne lt gt le ge test";

/// Words that leave a block or a function.
const EXITS: &str = "return throw raise exit die abort panic break continue goto";

/// Calls that end the program.
const EXIT_CALLS: [&str; 15] = [
    "process.exit(",
    "process::exit(",
    "std::process::exit(",
    "std::exit(",
    "std::abort(",
    "sys.exit(",
    "os._exit(",
    "os.Exit(",
    "log.Fatal",
    "System.exit(",
    "Environment.Exit(",
    "exitProcess(",
    "fatalError(",
    "unreachable!(",
    "todo!(",
];

/// Words that begin what runs in one case only.
const BRANCHES: &str = "else do then switch foreach guard catch case default";

/// With these a statement goes on in the next line.
const OPERATORS: [char; 13] = ['(', '[', ',', '=', '>', '&', '|', '?', ':', '+', '-', '.', '\\'];

/// Words of Ruby and of shells with which a line opens a block.
const OPENERS: &str =
    "def if unless else elsif elif when case begin rescue ensure class module while until for loop in do then";

/// The word with which a text begins; an empty one where it begins otherwise.
fn leading_word(text: &str) -> &str {
    &text[..text.find(|next| !is_of_word(next)).unwrap_or(text.len())]
}

/// The word of a directive of a preprocessor.
fn directive(line: &str) -> Option<&str> {
    Some(leading_word(line.trim_start().strip_prefix('#')?.trim_start()))
}

/// Returns whether one of the lines is a directive or goes on with one.
pub(super) fn is_in_macro(quote: &Quote<'_>) -> bool {
    match quote.language {
        Language::C => (quote.first..quote.end).any(|at| {
            let beginning = (0..at).rev().take_while(|above| quote.written[*above].ends_with('\\'));
            directive(quote.written[beginning.last().unwrap_or(at)]).is_some()
        }),
        Language::Rust => is_marked(quote, &["macro_rules!"]),
        _ => false,
    }
}

/// Returns whether the lines are built only under a condition.
pub(super) fn is_built_on_condition(quote: &Quote<'_>) -> bool {
    match quote.language {
        Language::C | Language::CSharp | Language::Swift => {
            let has_condition = || is_in_part(quote, directive, |word| word.starts_with("if"), "endif");
            has_condition() || (quote.language == Language::CSharp && is_marked(quote, &["[Conditional("]))
        }
        Language::Make => {
            let begins = |word: &str| ["ifeq", "ifneq", "ifdef", "ifndef"].contains(&word);
            is_in_part(quote, |line| Some(leading_word(line.trim_start())), begins, "endif")
        }
        Language::Go => {
            let head = quote.written.iter().take_while(|line| !line.starts_with("package "));
            let mut head = head.map(|line| line.trim_start());
            head.any(|line| line.starts_with("//go:build") || line.starts_with("// +build"))
        }
        Language::Rust => quote.holds(&["#![cfg("]) || is_marked(quote, &["#[cfg(", "cfg!("]),
        _ => false,
    }
}

/// Returns whether one of the lines is in a part between two directives. A directive in a comment begins one too, and ends none.
fn is_in_part<'a>(
    quote: &'a Quote<'_>,
    word_of: impl Fn(&'a str) -> Option<&'a str>,
    begins: impl Fn(&str) -> bool,
    end: &str,
) -> bool {
    let guard = guard_of_header(quote);
    let has_condition = |open: &[usize]| open.iter().any(|begin| Some(*begin) != guard);
    let mut open: Vec<usize> = Vec::new();
    for at in 0..quote.end {
        let word = word_of(quote.written[at]).unwrap_or_default();
        let is_in_never = || open.last().is_some_and(|begin| is_never(quote.written[*begin]));
        if begins(word) {
            open.push(at);
        } else if word == end && (!quote.is_blank(at) || is_in_never()) {
            open.pop();
        } else if at >= quote.first && has_condition(&open) {
            return true;
        }
    }
    false
}

/// Returns whether a directive is `#if 0`, behind which a grammar takes all for a comment.
fn is_never(line: &str) -> bool {
    let condition = line
        .trim_start()
        .trim_start_matches('#')
        .trim_start()
        .strip_prefix("if");
    condition.is_some_and(|condition| condition.trim_start().starts_with('0'))
}

/// The line with the directive by which a header is read once only: the first one, of a name that the next one defines.
fn guard_of_header(quote: &Quote<'_>) -> Option<usize> {
    let mut directives = (0..quote.end).filter(|at| directive(quote.written[*at]).is_some() && !quote.is_blank(*at));
    let mut next = || {
        let at = directives.next()?;
        let mut words = quote.code(at).trim_start().trim_start_matches('#').split_whitespace();
        Some((at, words.next()?, words.next()?))
    };
    let (at, first, name) = next()?;
    let (_, second, defined) = next()?;
    (first == "ifndef" && second == "define" && name == defined).then_some(at)
}

/// Returns whether the lines, or a block around them, stand under one of these marks.
fn is_marked(quote: &Quote<'_>, marks: &[&str]) -> bool {
    let levels = levels(quote);
    (quote.first..quote.end).filter(|at| !quote.is_blank(*at)).any(|at| {
        let mut bound = levels[at].start;
        if has_mark_above(quote, at, marks) {
            return true;
        }
        (0..at).rev().any(|above| {
            let is_header = levels[above].lowest < bound;
            bound = bound.min(levels[above].lowest);
            is_header && has_mark_above(quote, above, marks)
        })
    })
}

/// Returns whether a statement or a header that ends in this line, or a mark right above it, has one of these marks.
fn has_mark_above(quote: &Quote<'_>, at: usize, marks: &[&str]) -> bool {
    let has_mark = |at: usize| {
        let line: String = quote.code(at).split_whitespace().collect();
        marks.iter().any(|mark| line.contains(mark))
    };
    let above = (at.saturating_sub(MAX_HEADER)..at).rev();
    let header = above.take_while(|above| !quote.code(*above).trim_end().ends_with([';', '{', '}']));
    std::iter::once(at).chain(header).any(has_mark)
}

/// The depth of a line in braces, or its indentation.
#[derive(Debug, Clone, Copy)]
struct Level {
    start: isize,
    lowest: isize,
}

/// The levels of all lines down to the last quoted one.
fn levels(quote: &Quote<'_>) -> Vec<Level> {
    let mut depth = 0;
    let level = |at: usize| {
        let code = quote.code(at);
        if !quote.language.has_braces() {
            let indentation = isize::try_from(code.len() - code.trim_start().len()).unwrap_or(isize::MAX);
            return Level {
                start: indentation,
                lowest: indentation,
            };
        }
        let start = depth;
        let mut lowest = depth;
        for sign in bare(code, quote.language).chars() {
            match sign {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            lowest = lowest.min(depth);
        }
        Level { start, lowest }
    };
    (0..quote.end).map(level).collect()
}

/// A line of code without its texts.
fn bare(code: &str, language: Language) -> String {
    if language != Language::Rust {
        return without_texts(code);
    }
    // An apostrophe begins a lifetime, or a text of one character.
    let mut kept = String::new();
    let mut rest = code;
    while let Some(at) = rest.find('\'') {
        kept.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let mut behind = rest.char_indices();
        let first = behind.next().map(|(_, character)| character);
        let second = behind.next();
        if first != Some('\\') && second.is_some_and(|(_, character)| character == '\'') {
            rest = &rest[second.map_or(0, |(at, _)| at + 1)..];
        } else if first == Some('\\') {
            rest = rest
                .get(2..)
                .and_then(|rest| rest.split_once('\''))
                .map_or("", |(_, behind)| behind);
        }
    }
    kept.push_str(rest);
    without_texts(&kept)
}

/// Returns whether a condition that is always the same stands in the lines or above them.
pub(super) fn has_constant_condition(quote: &Quote<'_>) -> bool {
    (0..quote.end).any(|at| is_constant(quote.code(at), quote.language))
}

fn is_constant(code: &str, language: Language) -> bool {
    let trimmed = code.trim_start();
    let mut statement = trimmed.trim_start_matches(['}', ' ']);
    if let Some(behind) = statement.strip_prefix("else ") {
        statement = behind.trim_start();
    }
    let word = leading_word(statement);
    if is_one_of(CONDITIONS, word) {
        let rest = statement[word.len()..].trim();
        let condition = condition_of(rest);
        // `do { … } while (0)` is run once.
        let is_loop_end = word == "while" && (trimmed.starts_with('}') || &rest[condition.len()..] == ";");
        return !is_loop_end && is_always_same(condition, matches!(word, "while" | "for"));
    }
    let modifiers = [" if ", " unless "].iter();
    let mut conditions = modifiers.filter_map(|mark| Some(code.rsplit_once(*mark)?.1));
    language == Language::Ruby && conditions.any(|condition| is_always_same(condition, false))
}

/// The condition with which a text begins: in its brackets, or as far as a block.
fn condition_of(text: &str) -> &str {
    if text.starts_with('(') {
        let mut depth = 0_usize;
        for (at, character) in text.char_indices() {
            match character {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return &text[..=at];
            }
        }
    }
    let ends = ["{", ";", ": ", " then", " do"];
    let end = ends.iter().filter_map(|end| text.find(end)).min();
    end.map_or(text, |end| &text[..end])
}

/// Returns whether a condition, or a part of one, uses no name. An endless loop is reached.
fn is_always_same(condition: &str, is_loop: bool) -> bool {
    let parts = condition.split("&&").flat_map(|part| part.split("||"));
    let mut parts = parts
        .flat_map(|part| part.split(" and "))
        .flat_map(|part| part.split(" or "));
    parts.any(|part| {
        let mut words = part.split(|next| !is_of_word(next)).filter(|word| !word.is_empty());
        let is_constant =
            |word: &str| is_one_of(CONSTANTS, word) || word.starts_with(|first: char| first.is_ascii_digit());
        let is_endless = is_loop && matches!(part.trim_matches(['(', ')', ' ', ':']), "true" | "True" | "1");
        let has_constant = words.clone().any(is_constant);
        let has_text = part.contains(['$', '@', '"', '\'', '`']);
        let is_known = |word: &str| is_constant(word) || is_one_of(COMPARISONS, word);
        has_constant && !has_text && !is_endless && words.all(is_known)
    })
}

/// Returns whether a statement before one of the lines, in the same block, leaves that block or the program.
pub(super) fn is_behind_exit(quote: &Quote<'_>) -> bool {
    let levels = levels(quote);
    (quote.first..quote.end).any(|line| {
        let code = quote.code(line);
        if quote.is_blank(line) || is_label(code, quote.language) || is_exit(code) {
            return false;
        }
        let mut bound = levels[line].lowest;
        let mut is_in_branch = false;
        let above = (0..line).rev().filter(|at| !quote.is_blank(*at));
        for at in above.filter(|at| !quote.lines[*at].begins_in_text) {
            if levels[at].lowest < bound {
                (bound, is_in_branch) = (levels[at].lowest, false);
            }
            if levels[at].start == bound && levels[at].lowest == bound {
                is_in_branch |= is_label(quote.code(at), quote.language);
                if !is_in_branch && leaves(quote, at, line) {
                    return true;
                }
            } else if levels[at].start > bound && !is_shown_block(quote, &levels, at) && leaves(quote, at, line) {
                return true;
            }
        }
        false
    })
}

/// Returns whether a line begins a branch, or is a place to jump to.
fn is_label(code: &str, language: Language) -> bool {
    let code = code.trim();
    let word = leading_word(code);
    match language {
        Language::Shell => code.ends_with(')') && !code.contains('('),
        Language::Python | Language::Ruby => false,
        _ => matches!(word, "case" | "default") || code.strip_suffix(':') == Some(word),
    }
}

/// Returns whether a statement that begins in this line and ends before the other one leaves its block whatever the values are.
fn leaves(quote: &Quote<'_>, at: usize, line: usize) -> bool {
    let (code, language) = (quote.code(at).trim(), quote.language);
    if is_exit(code) {
        let is_whole = quote
            .before(at)
            .is_none_or(|before| is_whole(quote.code(before).trim(), language));
        return is_whole && end_of_statement(quote, at, line).is_some_and(|end| !has_modifier(quote, at, end));
    }
    let word = leading_word(code);
    if !code.contains(';') || is_one_of(CONDITIONS, word) || is_one_of(BRANCHES, word) || code.contains(['{', '}']) {
        return false;
    }
    let is_row_of_shell = !code.contains(";;") && !code.contains(['(', '|', '&']);
    let bare = without_texts(code);
    let mut others = bare.split(';').skip(1);
    (language != Language::Shell || is_row_of_shell) && others.any(is_exit)
}

/// Returns whether a condition stands behind the statement in these lines, as Ruby has it.
fn has_modifier(quote: &Quote<'_>, at: usize, end: usize) -> bool {
    let has_one = |line: &str| line.contains(" if ") || line.contains(" unless ");
    quote.language == Language::Ruby && (at..=end).any(|at| has_one(quote.code(at)))
}

/// The line in which a statement ends, if that is before the other line.
fn end_of_statement(quote: &Quote<'_>, at: usize, line: usize) -> Option<usize> {
    let mut open = 0_usize;
    let mut lines = (at..=line).filter(|at| !quote.is_blank(*at)).peekable();
    while let Some(at) = lines.next() {
        let bare = bare(quote.code(at), quote.language);
        let count = |brackets: [char; 3]| bare.matches(brackets).count();
        open = (open + count(['(', '[', '{'])).saturating_sub(count([')', ']', '}']));
        let next = quote.code(*lines.peek()?).trim_start();
        let goes_on = bare.trim_end().ends_with(OPERATORS) || next.starts_with(['.', '&', '|', '?', ':', ')', ']']);
        if open == 0 && (!goes_on || bare.trim_end().ends_with(';')) {
            return Some(at);
        }
    }
    None
}

/// Returns whether a statement leaves its block.
fn is_exit(statement: &str) -> bool {
    let statement = statement.trim_start();
    let word = leading_word(statement);
    let behind = statement[word.len()..].trim_start();
    // In some languages these may be names, also of a method that is defined here.
    let may_be_name = matches!(word, "exit" | "die" | "abort" | "panic");
    let is_used = behind.starts_with(['.', ',', '=']) || behind.ends_with('{') || behind.contains("):");
    let is_name =
        behind.starts_with(':') || (may_be_name && is_used) || (word == "panic" && !behind.starts_with(['(', '!']));
    (is_one_of(EXITS, word) && !is_name) || EXIT_CALLS.iter().any(|call| statement.starts_with(call))
}

/// Returns whether nothing that stands in the line before a statement decides whether that runs.
fn is_whole(before: &str, language: Language) -> bool {
    let bare = bare(before, language);
    let bare = bare.trim_end();
    if !language.has_braces() {
        return !bare.ends_with(['\\', '|', '&', ',', '(', '[']);
    }
    let word = leading_word(bare.trim_start_matches(['}', ' ']));
    let is_header = is_one_of(CONDITIONS, word) || is_one_of(BRANCHES, word);
    let closes = bare.matches(')').count() > bare.matches('(').count();
    bare.ends_with([';', '{', '}']) || !(is_header || closes || bare.ends_with(OPERATORS))
}

/// Returns whether the block of a line is another one than those around it. The indentation alone does not say so in every language.
fn is_shown_block(quote: &Quote<'_>, levels: &[Level], at: usize) -> bool {
    if !matches!(quote.language, Language::Ruby | Language::Shell) {
        return true;
    }
    let mut above = (0..at).rev().filter(|above| !quote.is_blank(*above));
    let header = above.find(|above| levels[*above].start < levels[at].start);
    header.is_some_and(|header| {
        let code = quote.code(header).trim_end();
        let mut words = code.split(|next| !is_of_word(next));
        code.ends_with(OPERATORS) || code.ends_with(['{', ')']) || words.any(|word| is_one_of(OPENERS, word))
    })
}

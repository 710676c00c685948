//! The names to which a line of code gives a meaning. A base class, the type of a parameter and a value are used, and not declared.
//!
//! Where a line can be read in two ways, it declares the name: then a person looks at it.

use std::ops::Range;

use super::parameters::{
    Syntax, behind_group, group_end, has_name, is_open, is_parameter, last_segment, open_brackets,
};
use crate::findings::code_words::{MAX_LINE, first_word, has_word, is_of_word, is_one_of, last_word, places, word_at};

/// Words that begin a block of statements, and define nothing.
const CONTROL: &str = "if else elif elseif elsif unless for foreach while until loop do try except catch rescue finally ensure with using \
    switch select case default match begin when synchronized unsafe";

/// Words behind which the name of a function or a type stands.
const DEFINING: &str = "def defp defmacro fn func fun function sub macro procedure class struct interface trait impl enum module mod namespace record object \
    protocol extension type";

/// Those of them behind which a type stands, or what holds others.
const HOLDING: &str =
    "class struct interface trait impl enum module mod namespace record object protocol extension type";

/// Words of statements in which a name with brackets is called.
pub(super) const STATEMENTS: &str = "return await yield throw raise new not assert go defer delete else do print echo in if elif while for switch case until \
    unless catch with lock and or";

/// The declaration by the first keyword of a line.
struct Declaration<'a> {
    keyword: &'a str,
    /// The end of the keyword.
    from: usize,
    /// The place of the name; an empty one where it has none.
    name: Range<usize>,
}

impl<'a> Declaration<'a> {
    fn of(line: &'a str, syntax: Syntax) -> Option<Self> {
        let mut from = 0;
        loop {
            let word = word_at(line, from)?;
            from = word.end;
            let keyword = &line[word.clone()];
            if !is_keyword(keyword, &line[..word.start], &line[word.end..], syntax) {
                continue;
            }
            let name = declared_name(line, from);
            // As in `enum class Order`.
            if !is_keyword(&line[name.clone()], "", &line[name.end..], syntax) {
                return Some(Self { keyword, from, name });
            }
        }
    }

    /// Returns whether the name at this place behind the keyword is declared.
    fn declares(&self, line: &str, at: usize, behind: &str, syntax: Syntax) -> bool {
        let is_impl = self.keyword == "impl";
        if at == self.name.start && !self.name.is_empty() {
            return !(is_impl && behind.contains(" for "));
        }
        if at < self.name.start {
            // In a receiver, or what has the name.
            let front = &line[self.from..at];
            let open = open_brackets(front).first().copied();
            return open.is_some_and(|open| is_parameter(&front[open + 1..], behind, syntax));
        }
        let before = line[..at].trim_end();
        let word = last_word(before);
        let in_front = &before[..before.len() - word.len()];
        if before.len() < at && word != "impl" && is_keyword(word, in_front, " x", syntax) {
            return true;
        }
        let tail = &line[self.name.end..at];
        let opened = open_brackets(tail);
        let is_in = |open: usize| is_parameter(&tail[open + 1..], behind, syntax);
        if tail.starts_with(['<', '[']) && is_open(tail) {
            return !last_segment(&tail[1..]).contains(is_of_word);
        }
        if !is_one_of(HOLDING, self.keyword) {
            let is_header = |open: &usize| !tail[..*open].contains(['{', '=']) && !tail[..*open].contains("->");
            return match opened.first() {
                Some(open) => is_header(open) && is_in(*open),
                None => !tail.contains(['(', ':', '=']),
            };
        }
        if is_impl {
            return !is_open(tail) && tail.contains(" for ");
        }
        if tail.contains(['{', ';']) {
            return true;
        }
        match opened.first() {
            _ if self.keyword == "type" && tail.contains('=') => false,
            Some(_) if tail.ends_with(':') => true,
            Some(open) => syntax != Syntax::Python && is_in(*open),
            None => false,
        }
    }
}

/// Returns whether a line declares this name, as a function, a type or a parameter. `opens` says whether a block begins with the line.
pub(super) fn declares(line: &str, name: &str, syntax: Syntax, opens: bool) -> bool {
    if line.len() > MAX_LINE || !line.contains(name) {
        return has_word(line, name);
    }
    let found = Declaration::of(line, syntax);
    let is_value = || {
        let is_statement = is_one_of(STATEMENTS, first_word(line)) || line.contains(&format!("{name}("));
        opens && !is_statement && given_name(line) == Some(name)
    };
    let is_declared = |(before, behind): (&str, &str)| match &found {
        Some(found) if found.from <= before.len() => found.declares(line, before.len(), behind, syntax),
        _ => {
            is_method(before, behind, syntax, opens)
                || is_parameter_of_method(line, before, behind, syntax, opens)
                || is_of_lambda(before, behind, syntax)
        }
    };
    places(line, name).any(is_declared) || is_value()
}

/// Returns whether a line declares a function, a type or a member of this name; parameters do not count.
pub(super) fn is_declaration_of(line: &str, name: &str, syntax: Syntax, opens: bool) -> bool {
    if line.len() > MAX_LINE || !line.contains(name) {
        return has_word(line, name);
    }
    let found = Declaration::of(line, syntax);
    places(line, name).any(|(before, behind)| match &found {
        Some(found) => before.len() == found.name.start,
        None => is_method(before, behind, syntax, opens),
    })
}

/// Returns whether a line is, or goes on with, the header of a type that has what this one has.
pub(super) fn derives(line: &str, name: &str, syntax: Syntax) -> bool {
    if line.len() > MAX_LINE {
        return has_word(line, name);
    }
    let found = Declaration::of(line, syntax);
    let first = first_word(line);
    places(line, name).any(|(before, behind)| match &found {
        Some(found) if found.keyword == "impl" => before.len() == found.name.start,
        Some(found) => {
            let tail = before.get(found.name.end..);
            is_one_of(HOLDING, found.keyword) && tail.is_some_and(|tail| !is_of_constructor(tail, behind, syntax))
        }
        None => {
            let is_object = last_word(before.trim_end()) == "new" && line.trim_end().ends_with('{');
            is_object
                || is_one_of("extends implements include extend prepend use with", first)
                || line.trim_start().starts_with(": ")
        }
    })
}

/// Returns whether the name behind this part of the header of a type, from the type's own name on, belongs to a parameter with which it is
/// made, as in `class A(val order: Order)` and `record A(Order order)`.
fn is_of_constructor(tail: &str, behind: &str, syntax: Syntax) -> bool {
    let Some(open) = open_brackets(tail).first().copied() else {
        return false;
    };
    let front = tail[..open].trim();
    let is_generic = front.starts_with('<') && group_end(front) == Some(front.len());
    let is_list = front.is_empty() || is_generic || last_word(front) == "constructor";
    is_list
        && match syntax {
            Syntax::Python => false,
            Syntax::TypeFirst => has_name(behind),
            Syntax::Go | Syntax::Script | Syntax::Other => last_segment(&tail[open + 1..]).contains(':'),
        }
}

/// Returns whether the name between these parts of a line is that of a method without a keyword.
fn is_method(before: &str, behind: &str, syntax: Syntax, opens: bool) -> bool {
    let head = before.rsplit([')', ']', '>']).next().unwrap_or(before);
    let may_stand = |character: char| {
        is_of_word(character)
            || character.is_whitespace()
            || matches!(character, '*' | '&' | ':' | '~' | '?' | '#' | '@')
    };
    let mut words = head.split(|character| !is_of_word(character));
    let is_head = open_brackets(before).is_empty()
        && head.chars().all(may_stand)
        && !["->", "=>"].iter().any(|mark| before.trim_end().ends_with(mark))
        && !head.contains(" ?")
        && !head.starts_with('?')
        && !words.any(|word| is_one_of(STATEMENTS, word));
    if !is_head {
        return false;
    }
    let has_type = head.contains(is_of_word) || before.trim_end().ends_with(['>', ']', '*', '&']);
    let is_typed = syntax == Syntax::TypeFirst && has_type && !before.ends_with("::");
    let list = if behind.starts_with('<') {
        &behind[group_end(behind).unwrap_or(behind.len())..]
    } else {
        behind.trim_start()
    };
    if !list.starts_with('(') {
        return is_typed && (list.starts_with("=>") || list.starts_with('{'));
    }
    let Some(end) = group_end(list) else {
        return is_typed || (opens && !list.ends_with('('));
    };
    let after = list[end..].trim_start();
    let goes_on = [
        "{", "=>", ":", "->", "throws", "const", "noexcept", "override", "where", "async",
    ]
    .iter()
    .any(|mark| after.starts_with(mark));
    let is_short = matches!(syntax, Syntax::Script | Syntax::TypeFirst);
    let is_any =
        (is_typed && after.ends_with('{')) || (!is_short && !after.starts_with(['.', '?', ';', ',', ')', '=']));
    (opens && (after.is_empty() || is_any))
        || (goes_on && (opens || is_short))
        || (is_typed && after.starts_with([';', '=']))
}

/// Returns whether the name between these parts of a line is a parameter's of a function without a keyword.
fn is_parameter_of_method(line: &str, before: &str, behind: &str, syntax: Syntax, opens: bool) -> bool {
    let Some(open) = open_brackets(before).pop() else {
        return false;
    };
    let front = before[..open].trim_end();
    let method = last_word(front);
    let Some(after) = behind_group(behind) else {
        return false;
    };
    let is_lambda = (method.is_empty() || is_one_of("async fn", method))
        && (after.starts_with("=>") || after.starts_with("->") || (after.starts_with(':') && after.contains("=>")));
    let is_of_method = || {
        let start = front.len() - method.len();
        let may_be_call = syntax == Syntax::Other || (syntax == Syntax::Script && after.is_empty());
        !method.is_empty()
            && !may_be_call
            && !is_control(method)
            && !is_one_of(STATEMENTS, method)
            && is_method(&line[..start], &line[front.len()..], syntax, opens)
    };
    (is_lambda || is_of_method()) && is_parameter(&before[open + 1..], behind, syntax)
}

/// Returns whether the name between these parts of a line is a parameter's of a function without brackets.
fn is_of_lambda(before: &str, behind: &str, syntax: Syntax) -> bool {
    let behind = behind.trim_start();
    let front = before.trim_end();
    match syntax {
        Syntax::Python => before
            .rsplit_once("lambda ")
            .is_some_and(|(_, names)| !names.contains([':', '='])),
        Syntax::Script => {
            let begins = front.is_empty()
                || front.ends_with(['(', ',', '=', '{', '[', '?'])
                || front.ends_with("=>")
                || is_one_of("async return default", last_word(front));
            begins && behind.starts_with("=>")
        }
        Syntax::Other => {
            front.ends_with('|')
                && !front.ends_with("||")
                && !behind.starts_with("::")
                && behind.starts_with(['|', ',', ':'])
        }
        Syntax::Go | Syntax::TypeFirst => false,
    }
}

/// The place of the name behind a keyword: behind type parameters, a receiver and what has it.
fn declared_name(line: &str, from: usize) -> Range<usize> {
    let skip_blanks = |at: usize| at + line[at..].len() - line[at..].trim_start_matches([' ', '\t', '*', '&']).len();
    let mut at = skip_blanks(from);
    for bracket in ['<', '('] {
        if line[at..].starts_with(bracket) {
            at = skip_blanks(at + group_end(&line[at..]).unwrap_or(line.len() - at));
        }
    }
    let mut name = from..from;
    while line[at..].starts_with(is_of_word) {
        let Some(word) = word_at(line, at) else { break };
        name = word;
        let behind = &line[name.end..];
        let is_owner = |mark: &&&str| {
            behind
                .strip_prefix(**mark)
                .is_some_and(|rest| rest.starts_with(is_of_word))
        };
        let Some(mark) = ["::", ".", ":", "\\"].iter().find(is_owner) else {
            break;
        };
        at = name.end + mark.len();
    }
    name
}

/// Returns whether a word between these parts of a line is a keyword with a declaration behind it.
fn is_keyword(word: &str, before: &str, behind: &str, syntax: Syntax) -> bool {
    let is_any_case = syntax == Syntax::Other || word.chars().all(char::is_uppercase);
    let is_known = DEFINING
        .split_ascii_whitespace()
        .any(|known| known == word || (is_any_case && known.eq_ignore_ascii_case(word)));
    let is_free = !before.ends_with(['.', ':', '$', '@', '"', '\'', '-']);
    let next = behind.trim_start();
    let is_function = is_one_of("function func fun fn", word);
    let is_followed = next.starts_with(|first: char| is_of_word(first) || "<*&{".contains(first))
        || (is_function && next.starts_with('('))
        || (word == "object" && next.starts_with(':'));
    is_known && is_free && is_followed && !is_type_used(word, before, next, syntax)
}

/// Returns whether a keyword is a type itself, as in `object Find()`, or only stands before the name of one, as in `struct order *order`.
fn is_type_used(word: &str, before: &str, next: &str, syntax: Syntax) -> bool {
    if syntax != Syntax::TypeFirst || !is_one_of("struct enum class object", word) {
        return false;
    }
    if word == "object" {
        return true;
    }
    let rest = next.trim_start_matches(is_of_word).trim_start();
    rest.starts_with('*') || (before.contains('(') && rest.starts_with(is_of_word))
}

/// Returns whether a line begins a block of statements.
pub(super) fn is_control(text: &str) -> bool {
    let mut words = text.split(|character: char| !character.is_alphanumeric());
    is_one_of(CONTROL, words.find(|word| !word.is_empty()).unwrap_or_default())
}

/// The name that a line gives a meaning: of a function that it defines, or of a value that it sets.
pub(super) fn given_name(line: &str) -> Option<&str> {
    let end = line.find(['(', '=', ':'])?;
    let (head, rest) = line.split_at(end);
    let mut words = head
        .split(|character| !is_of_word(character))
        .filter(|word| !word.is_empty());
    let name = words.next_back()?;
    // A call alone gives none.
    let is_call = rest.starts_with('(') && !rest.starts_with("()") && words.next_back().is_none();
    (!is_call && !rest.starts_with("::") && !head.contains('.')).then_some(name)
}

/// The names that a header defines: of functions, types and values.
pub(super) fn defined_names(header: &str) -> Vec<&str> {
    if is_control(header) {
        return Vec::new();
    }
    let mut names: Vec<&str> = given_name(header)
        .into_iter()
        .filter(|name| !header.contains(&format!("{name}(")) && !is_defining(name))
        .collect();
    let mut is_next = false;
    let mut rest = header;
    while let Some(start) = rest.find(is_of_word) {
        let (before, from) = rest.split_at(start);
        let (word, behind) = from.split_at(from.find(|next| !is_of_word(next)).unwrap_or(from.len()));
        rest = behind;
        // In front of a name can stand what has it: a type, or a receiver in brackets.
        let is_owner = behind.starts_with('.');
        let has_parameters = behind.starts_with('(') && !before.ends_with('.') && word != "pub";
        if is_defining(word) {
            is_next = true;
            let receiver = behind
                .trim_start()
                .strip_prefix('(')
                .and_then(|within| within.split_once(')'));
            rest = receiver.map_or(behind, |(_, behind)| behind);
        } else if (is_next && !is_owner) || has_parameters {
            names.push(word);
            is_next = false;
        }
    }
    names.dedup();
    names
}

/// Returns whether a word is one behind which a function or a type stands.
pub(super) fn is_defining(word: &str) -> bool {
    let mut known = DEFINING.split_ascii_whitespace();
    known.any(|known| known.eq_ignore_ascii_case(word))
}

#[cfg(test)]
#[path = "declared_tests.rs"]
mod tests;

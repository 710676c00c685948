//! The names that a line of code sets, or has other code run under.

use super::{
    declared::{STATEMENTS, is_control, is_defining},
    parameters::{Syntax, last_segment, open_brackets},
};
use crate::findings::code_words::{MAX_LINE, first_word, has_word, is_of_word, is_one_of, last_word, places};
use crate::findings::is_import;

/// Words with which the declaration of a variable begins.
const VARIABLES: &str =
    "let const var val static pub private public protected readonly lateinit declare override final export";

/// Words by which Ruby has other code run under a name.
const STAND_INS: [&str; 5] = ["skip", "undef", "remove", "alias", "define"];

/// Returns whether code may give a name another meaning: it sets it, or has it in a text, as for a patch at run time.
pub(super) fn gives_meaning(code: &str, name: &str, syntax: Syntax) -> bool {
    if code.len() > MAX_LINE {
        return has_word(code, name);
    }
    let in_quotes = || {
        ["\"", "'"]
            .iter()
            .any(|quote| code.contains(&format!("{quote}{name}{quote}")))
    };
    let has_stand_in = || {
        let mut words = code.split(|character| !is_of_word(character));
        words.any(|word| STAND_INS.iter().any(|known| word.starts_with(known)))
    };
    places(code, name).any(|(before, behind)| {
        let behind = behind.trim_start();
        let is_assigned = is_assignment(behind) && !is_annotation(before, syntax);
        let is_looped = first_word(before) == "for" && (behind.starts_with("in ") || behind.starts_with("of "));
        let is_replaced = (before.ends_with(':') || is_one_of("alias undef", before.trim())) && has_stand_in();
        is_assigned || is_looped || is_replaced || is_unpacked(code, before, behind)
    }) || (has_word(code, name) && in_quotes())
}

/// Returns whether a statement of Python binds a name behind `as`, as `with` and `except` do. Elsewhere that is a type's place.
pub(super) fn is_bound(code: &str, name: &str, syntax: Syntax) -> bool {
    syntax == Syntax::Python
        && !is_import(code.trim_start())
        && places(code, name).any(|(before, _)| last_word(before.trim_end_matches([' ', '('])) == "as")
}

/// Returns whether a name is one of several that are set at once: `const { other: guard } = …`, `guard, other = …`.
fn is_unpacked(code: &str, before: &str, behind: &str) -> bool {
    let variable = first_word(code);
    let pattern = before.trim_start().strip_prefix(variable).unwrap_or_default();
    let is_pattern = is_one_of("const let var val", variable) && pattern.trim_start().starts_with(['{', '[', '(']);
    if is_pattern && !pattern.contains('=') {
        let is_renamed = before.trim_end().ends_with(':');
        let ends = behind.starts_with([',', '}', ']', ')']);
        return ends && behind.contains('=') && (is_renamed || !is_import(code.trim_start()));
    }
    let sets_more = || {
        behind
            .split_once('=')
            .is_some_and(|(head, _)| !head.contains(['(', '"', '\'', '<', '!', '{']))
    };
    before.trim().is_empty() && behind.starts_with(',') && sets_more()
}

fn is_assignment(behind: &str) -> bool {
    behind.starts_with(":=") || (behind.starts_with('=') && !behind.starts_with("==") && !behind.starts_with("=>"))
}

/// Returns whether what stands before a name and `=` makes it a type, as in `let slug: Slug = …` and `def find(slug: Slug = …`.
fn is_annotation(before: &str, syntax: Syntax) -> bool {
    let Some((head, _)) = before.split_once(':') else {
        return false;
    };
    let mut words = head.split_whitespace();
    let first = words.next().unwrap_or_default();
    let is_plain = |head: &str| {
        head.chars()
            .all(|character| is_of_word(character) || character.is_whitespace())
    };
    let is_of_parameter = |open: &usize| {
        let (front, within) = before.split_at(*open);
        let mut words = front.split(|character| !is_of_word(character));
        // In an argument, Ruby and Elixir set a variable so.
        let may_declare = syntax != Syntax::Other || words.any(is_defining);
        let parameter = last_segment(&within[1..]).split_once(':');
        may_declare && parameter.is_some_and(|(head, _)| is_plain(head))
    };
    // There `name: value` is an argument.
    if syntax != Syntax::TypeFirst && open_brackets(before).last().is_some_and(is_of_parameter) {
        return true;
    }
    let is_single = words.next().is_none();
    let is_variable = !is_single && is_one_of(VARIABLES, first);
    // As in `fun drop(id: Int): Order = …`.
    let is_result = syntax == Syntax::Other && before.trim_end().ends_with("):");
    is_result || (is_plain(head) && (is_variable || (syntax == Syntax::Python && is_single && !is_control(head))))
}

/// Returns whether a statement sets a variable or a member of this name, which it does not reach through anything.
pub(super) fn sets(line: &str, name: &str) -> bool {
    let line = line.trim_start();
    let first = first_word(line);
    if !line.contains(name) || is_control(line) || is_one_of(STATEMENTS, first) {
        return false;
    }
    let Some(end) = line.find(['=', ':', '(']) else {
        return false;
    };
    let (head, rest) = line.split_at(end);
    let is_plain = head
        .chars()
        .all(|character| is_of_word(character) || character.is_whitespace() || "@$[]<>?*&".contains(character));
    let is_typed = rest.starts_with(": ") && (rest.contains('=') || is_one_of(VARIABLES, first));
    let is_set = is_typed || is_assignment(rest);
    is_plain && is_set && last_word(head.trim_end()) == name
}

//! Lines of data that may belong to a text that began above them.

use super::Quote;

/// Returns whether one of the lines may belong to a text: to a block, or to a value that goes on over several lines.
pub(super) fn is_in_yaml_text(quote: &Quote<'_>) -> bool {
    (quote.first..quote.end)
        .filter(|at| !quote.is_blank(*at))
        .any(|at| is_of_text(quote, at))
}

fn is_of_text(quote: &Quote<'_>, at: usize) -> bool {
    // An entry of a flow, in its brackets or behind them, is one too.
    let entry = entry_of(quote.written[at]);
    let is_entry = entry.starts_with(['{', '[', '}', ']'])
        || entry.ends_with([':', ','])
        || entry.contains(": ")
        || entry.len() < quote.written[at].trim().len();
    if !is_entry {
        return true;
    }
    let mut bound = column(quote.written[at]);
    for above in (0..at).rev().filter(|above| !quote.is_blank(*above)) {
        let own = column(quote.written[above]);
        if own >= bound {
            continue;
        }
        bound = own;
        if !holds_others(quote.code(above)) {
            return true;
        }
    }
    false
}

/// An entry without the dashes of the lists that it begins.
fn entry_of(line: &str) -> &str {
    let mut entry = line.trim();
    while let Some(rest) = entry.strip_prefix("- ") {
        entry = rest.trim_start();
    }
    entry
}

/// The column at which the entry of a line begins.
fn column(line: &str) -> usize {
    line.trim_end().len() - entry_of(line).len()
}

/// Returns whether a line opens a map or a list, as opposed to a text.
fn holds_others(code: &str) -> bool {
    let entry = entry_of(code);
    let is_even = |quote: char| entry.matches(quote).count().is_multiple_of(2);
    let (key, value) = entry.split_once(": ").unwrap_or((entry, ""));
    let is_named = value.starts_with(['&', '!']) && !value.contains(' ');
    let is_key = key.ends_with(':') && value.is_empty();
    (entry == "-" || is_key || is_named || entry.ends_with(['{', '['])) && is_even('"') && is_even('\'')
}

/// Returns whether one of the lines may go on with the value of the line above it.
pub(super) fn goes_on(quote: &Quote<'_>) -> bool {
    (quote.first..quote.end).any(|at| {
        let is_behind = at
            .checked_sub(1)
            .is_some_and(|above| quote.written[above].ends_with('\\'));
        is_behind || quote.written[at].starts_with(char::is_whitespace)
    })
}

//! Settings that protect and cannot be read.
//!
//! A setting that exists to protect must never make a review milder by being broken. So each setting protects unless it is
//! listed here, those that are added later and those that are misspelled too.

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// Settings, and tables of settings, whose default is as strict as any value of theirs, or that say nothing about what is
/// reviewed, found, or approved.
const HARMLESS: [&str; 11] = [
    "review.language",
    "review.disabled_reviewers",
    "review.preset",
    "review.runtime",
    "review.max_inline",
    "review.prompt_paths",
    "paths",
    "break_glass",
    "limits",
    "models",
    "reviewers.effort",
];

/// Returns whether a review is as strict without this setting; `name` is the whole name, as in `review.language`.
pub(super) fn is_harmless(name: &str) -> bool {
    HARMLESS.iter().any(|known| {
        name.strip_prefix(known)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// Where the harmless settings stand: the beginning of each key and value in them.
pub(super) fn harmless_places(table: &DeTable<'_>, name: &str, places: &mut Vec<usize>) {
    for (key, value) in table {
        let name = full(name, key.get_ref());
        let is_harmless = is_harmless(&name);
        if is_harmless {
            places.extend([key.span().start, value.span().start]);
        }
        let items: &[Spanned<DeValue<'_>>] = match value.get_ref() {
            DeValue::Array(items) => items,
            _ => std::slice::from_ref(value),
        };
        for item in items {
            if is_harmless {
                places.push(item.span().start);
            }
            if let Some(table) = item.get_ref().as_table() {
                harmless_places(table, &name, places);
            }
        }
    }
}

/// The name of a key with its table.
pub(super) fn full(table: &str, key: &str) -> String {
    if table.is_empty() {
        key.to_owned()
    } else {
        format!("{table}.{key}")
    }
}

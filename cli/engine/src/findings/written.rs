//! Fields as models write them: paths, lines, categories, numbers.

use conclave_shared::finding::Finding;

use super::fold::folded;
use crate::{diff::FileDiff, review::CONTEXT_FILE};

/// Returns the changed file that a path written by a model means; the path itself if there is none.
pub fn path_of(written: &str, files: &[FileDiff]) -> String {
    let known = |path: &str| files.iter().any(|file| file.path == path);
    resolved(written, known, files.iter().map(|file| file.path.as_str()))
}

/// The path that is meant: as it is written, without what a patch or a root puts in front, or the only one that looks the
/// same.
pub(super) fn resolved<'f>(
    written: &str,
    known: impl Fn(&str) -> bool,
    files: impl Iterator<Item = &'f str>,
) -> String {
    let path = normalise_path(written);
    if known(&path) || path == CONTEXT_FILE {
        return path;
    }
    let bare = ["a/", "b/", "/"].iter().find_map(|prefix| path.strip_prefix(prefix));
    if let Some(bare) = bare.filter(|bare| known(bare)) {
        return bare.to_owned();
    }
    let wanted = folded(&path);
    let mut alike = files.filter(|file| !(file.is_ascii() && path.is_ascii()) && folded(file) == wanted);
    match (alike.next(), alike.next()) {
        (Some(file), None) => file.to_owned(),
        _ => path,
    }
}

/// A path without what surrounds it.
pub(super) fn normalise_path(path: &str) -> String {
    let path = path.trim().trim_matches('`');
    path.strip_prefix("./").unwrap_or(path).to_owned()
}

/// The line number that a text begins with.
pub(super) fn parse_line(text: &str) -> Result<u32, String> {
    let digits: String = text
        .chars()
        .skip_while(|c| !c.is_ascii_digit())
        .take_while(char::is_ascii_digit)
        .collect();
    match digits.parse::<u32>() {
        Ok(line) if line > 0 => Ok(line),
        _ => Err(format!("`{}` is not a line number", shorten(text))),
    }
}

/// How sure the reviewer is; in the middle, if it does not say. Some write per cent.
pub(super) fn confidence(written: Option<&str>) -> f64 {
    let Some(text) = written else { return 0.5 };
    let (text, scale) = match text.strip_suffix('%') {
        Some(text) => (text.trim(), 100.0),
        None => (text, 1.0),
    };
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => (number / scale).clamp(0.0, 1.0),
        _ => 0.5,
    }
}

/// A category as it is recorded: words joined by hyphens, and one spelling for attempts to steer the review, which rules
/// go by.
pub(super) fn category_of(written: &str) -> String {
    let category = kebab(written);
    if is_injection(&category) {
        Finding::PROMPT_INJECTION.to_owned()
    } else {
        category
    }
}

/// Returns whether a category means text that tries to steer the review, however a model puts it.
fn is_injection(category: &str) -> bool {
    let plain = category.replace('-', "");
    let has = |words: &[&str]| words.iter().any(|word| plain.contains(word));
    let aim = ["prompt", "llm", "instruction", "review", "agent", "model"];
    plain.contains("jailbreak") || (has(&["inject"]) && has(&aim)) || (has(&["manipulat", "hijack"]) && has(&aim))
}

fn kebab(text: &str) -> String {
    let mut kebab = String::new();
    for character in text.chars().take(60) {
        if character.is_ascii_alphanumeric() {
            kebab.push(character.to_ascii_lowercase());
        } else if !kebab.is_empty() && !kebab.ends_with('-') {
            kebab.push('-');
        }
    }
    let kebab = kebab.trim_end_matches('-');
    if kebab.is_empty() {
        "other".to_owned()
    } else {
        kebab.to_owned()
    }
}

/// The beginning of a text, for a message.
pub(super) fn shorten(text: &str) -> String {
    text.chars().take(80).collect()
}

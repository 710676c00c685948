//! Imports of another thing under a name.

use super::parameters::Syntax;
use crate::findings::code_words::{has_word, is_of_word, last_word, places};

/// The last part of the way to a module that says nothing of which one it is.
const ANY_MODULE: &str = "crate super self index mod lib main import from use";

/// Returns whether a line makes names of other files known.
pub(super) fn is_import_of_names(line: &str) -> bool {
    const BEGINNINGS: [&str; 7] = [
        "import ",
        "from ",
        "use ",
        "pub use ",
        "export {",
        "export type {",
        "alias ",
    ];
    let line = line.trim_start();
    BEGINNINGS.iter().any(|beginning| line.starts_with(beginning)) || line.contains("= require(")
}

/// The words by which an import can name a file: those of its path and of its package.
pub(super) fn module_words(path: &str, text: &str) -> Vec<String> {
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    let is_package = |line: &&str| line.starts_with("package ") || line.starts_with("namespace ");
    let packages = text.lines().filter(is_package).take(1);
    [stem].into_iter().chain(packages).flat_map(words_of).collect()
}

/// Returns whether an import gives this name to something that does not come from a file with these words, or to something that has
/// another name there.
pub(super) fn imports_other(line: &str, name: &str, known: &[String]) -> bool {
    if !has_word(line, name) {
        return false;
    }
    let is_renamed = |before: &str| before.ends_with(':') && !before.ends_with("::");
    let mut uses = places(line, name);
    let is_another = uses.any(|(before, behind)| {
        let before = before.trim_end();
        let is_alias = last_word(before) == "as" || before.ends_with("=>") || is_renamed(before);
        is_alias && !behind.trim_start().starts_with("as ")
    });
    let Some(module) = module_of(line, name).filter(|_| !is_another) else {
        return is_another;
    };
    let last = module
        .rsplit(['/', '.', ':', '\\'])
        .find(|part| !part.is_empty())
        .unwrap_or_default();
    let is_any = ANY_MODULE.split_ascii_whitespace().any(|any| any == last);
    let mut words = words_of(last).peekable();
    !is_any && words.peek().is_some() && !words.any(|word| known.contains(&word))
}

/// Returns whether an import of Python takes all names of another module than these words name, which may be any.
pub(super) fn imports_all(line: &str, syntax: Syntax, known: &[String]) -> bool {
    let line = line.trim();
    let module = line.strip_prefix("from ").and_then(|rest| rest.strip_suffix('*'));
    let module = module.and_then(|rest| rest.trim_end().strip_suffix(" import"));
    let last = module.and_then(|module| module.rsplit('.').next());
    syntax == Syntax::Python && last.is_some_and(|last| !words_of(last).any(|word| known.contains(&word)))
}

/// The module that an import takes a name from, as far as it says so.
fn module_of<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let quoted = |quote: char| line.split(quote).nth(1).filter(|_| line.matches(quote).count() == 2);
    if let Some(path) = quoted('"').or_else(|| quoted('\'')) {
        // The extension is none of the name.
        let file = path.rsplit('/').next().unwrap_or(path);
        let extension = file.rsplit_once('.').map_or(
            0,
            |(stem, extension)| if stem.is_empty() { 0 } else { extension.len() + 1 },
        );
        return Some(&path[..path.len() - extension]);
    }
    let line = line.trim_start();
    if let Some((module, _)) = line.strip_prefix("from ").and_then(|rest| rest.split_once(" import ")) {
        return Some(module.trim());
    }
    let (before, _) = places(line, name).next()?;
    let path = before.split('{').next().unwrap_or(before).trim_end();
    let path = path.trim_end_matches(|character: char| !is_of_word(character));
    path.rsplit(char::is_whitespace).next().filter(|path| !path.is_empty())
}

/// The words of a path in small letters.
fn words_of(path: &str) -> impl Iterator<Item = String> {
    let words = path.split(|character: char| !character.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_thing_under_a_name_does_not_come_from_its_file() {
        let known = module_words("src/main/shop/guards/Order_check.ts", "package com.acme.model;\n");
        for line in [
            "from fakes import guard",
            "from app.fakes import other, guard",
            "from shop.guards import noop as guard",
            "import { guard } from \"./fakes\";",
            "import guard from '../fakes.ts';",
            "import { noop as guard } from \"./order_check\";",
            "import type { guard } from \"./fakes\";",
            "const { guard } = require(\"./fakes\");",
            "use crate::fakes::guard;",
            "use crate::fakes::{other, guard};",
            "import com.evil.guard;",
            "use Fakes\\guard;",
        ] {
            assert!(imports_other(line, "guard", &known), "{line}");
        }
        for line in [
            "from order_check import guard",
            "from shop.guards import guard",
            "from . import guard",
            "import guard",
            "import { guard } from \"./order_check\";",
            "import { guard } from \"./order_check.js\";",
            "import { guard as check } from \"./order_check\";",
            "import type { guard } from \"@acme/shop\";",
            "import { guard } from \"..\";",
            "const { guard } = require(\"./guards\");",
            "use crate::guard;",
            "use crate::guards::{other, guard};",
            "import com.acme.model.guard;",
            "import { other } from \"./fakes\";",
        ] {
            assert!(!imports_other(line, "guard", &known), "{line}");
        }
    }
}

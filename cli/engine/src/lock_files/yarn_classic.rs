//! Lock files of Yarn 1.
//!
//! The parser of Yarn 1 takes far more than Yarn writes: escaped keys, several keys with one value, several fields on a line,
//! of which the last one counts; and where a line is not indented as expected, the rest of the file is dropped in silence. A
//! reader that is as lenient in another way would see another file. So each line that is not exactly as Yarn writes it makes
//! the file one that cannot be read.

use std::collections::HashSet;

use super::{
    entry::{Entry, Hash, Source, npm_hashes, npm_source, split_name},
    plain::{refuse_characters, shortened, without_mark},
};

/// The fields of a package that Yarn 1 writes, each with a value on its line.
const FIELDS: [&str; 6] = ["integrity", "name", "registry", "resolved", "uid", "version"];

/// Those with a list below them.
const LISTS: [&str; 4] = [
    "dependencies",
    "optionalDependencies",
    "permissions",
    "prebuiltVariants",
];

const OTHER_LINE: &str = "is not as Yarn 1 writes it";

/// Reads blocks: a line with the requests, then indented fields.
pub(super) fn read(text: &str) -> Result<Vec<Entry>, String> {
    refuse_characters(text)?;
    let mut blocks = Blocks::default();
    for (index, line) in without_mark(text).lines().enumerate() {
        let taken = blocks.take(line);
        taken.map_err(|fault| format!("line {} {fault}: `{}`", index + 1, shortened(line)))?;
    }
    blocks.into_entries()
}

#[derive(Default)]
struct Blocks {
    entries: Vec<Entry>,
    /// The first entry of the block. One package may be requested by several names; each of them is installed.
    block: usize,
    /// Entries that are installed from another package, with its name.
    others: Vec<(usize, String)>,
    /// The requests of all blocks.
    requests: HashSet<String>,
    /// The fields that the block has by now; `None` outside of a block.
    fields: Option<HashSet<String>>,
    /// The keys of the list that is being read, if one is.
    list: Option<HashSet<String>>,
}

impl Blocks {
    fn take(&mut self, line: &str) -> Result<(), &'static str> {
        // Behind an empty line or a comment, Yarn does not go on with a block.
        if line.is_empty() || line.starts_with('#') {
            (self.fields, self.list) = (None, None);
            return Ok(());
        }
        let content = line.trim_start_matches(' ');
        match line.len() - content.len() {
            0 => self.begin(line),
            2 => self.take_field(content),
            4 => self.take_item(content),
            _ => Err(OTHER_LINE),
        }
    }

    /// Begins a block: `a@^1.0.0, "a@>=1.0.0 <2":`.
    fn begin(&mut self, line: &str) -> Result<(), &'static str> {
        self.block = self.entries.len();
        (self.fields, self.list) = (Some(HashSet::new()), None);
        let mut rest = line;
        loop {
            let (request, behind) = word(rest)
                .filter(|(request, _)| !request.is_empty())
                .ok_or(OTHER_LINE)?;
            self.add_request(&request, line);
            if !self.requests.insert(request) {
                return Err("asks for what an entry before it asks for");
            }
            match behind.strip_prefix(", ") {
                Some(next) => rest = next,
                None if behind == ":" => return Ok(()),
                None => return Err(OTHER_LINE),
            }
        }
    }

    fn add_request(&mut self, request: &str, line: &str) {
        let (name, range) = split_name(request);
        // A directory has no address but the one that is asked for. An address that follows is what counts.
        let asked = if npm_source(range) == Source::Local {
            Source::Local
        } else {
            Source::DefaultRegistry
        };
        if let Some(entry) = self.entries[self.block..].iter_mut().find(|entry| entry.name == name) {
            if asked != Source::Local {
                entry.source = asked;
            }
            return;
        }
        if let Some(other) = range.strip_prefix("npm:") {
            self.others.push((self.entries.len(), split_name(other).0.to_owned()));
        }
        self.entries.push(Entry {
            name: name.to_owned(),
            version: String::new(),
            source: asked,
            hash: Hash::Missing,
            integrity: String::new(),
            source_text: String::new(),
            anchor: line.to_owned(),
            files: Vec::new(),
        });
    }

    /// Takes a field: `version "1.0.0"`, `dependencies:`.
    fn take_field(&mut self, content: &str) -> Result<(), &'static str> {
        let fields = self.fields.as_mut().ok_or(OTHER_LINE)?;
        let (field, behind) = content.split_at(content.find([' ', ':']).unwrap_or(content.len()));
        let value = behind.strip_prefix(' ').and_then(word);
        let value = match value {
            Some((value, "")) if FIELDS.contains(&field) => Some(value),
            None if LISTS.contains(&field) && behind == ":" => None,
            _ => return Err(OTHER_LINE),
        };
        if !fields.insert(field.to_owned()) {
            return Err("has a field that the entry has already");
        }
        self.list = value.is_none().then(HashSet::new);
        for entry in &mut self.entries[self.block..] {
            set_field(entry, field, value.as_deref().unwrap_or_default());
        }
        Ok(())
    }

    /// Takes an item of a list, which may have any name: `resolved "^1.0.0"`.
    fn take_item(&mut self, content: &str) -> Result<(), &'static str> {
        let list = self.list.as_mut().ok_or(OTHER_LINE)?;
        let (key, behind) = word(content).filter(|(key, _)| !key.is_empty()).ok_or(OTHER_LINE)?;
        let is_whole = behind
            .strip_prefix(' ')
            .and_then(word)
            .is_some_and(|(_, rest)| rest.is_empty());
        if !is_whole {
            return Err(OTHER_LINE);
        }
        if list.insert(key) {
            Ok(())
        } else {
            Err("has a dependency that the entry has already")
        }
    }

    fn into_entries(mut self) -> Result<Vec<Entry>, String> {
        if let Some(entry) = self.entries.iter().find(|entry| entry.version.is_empty()) {
            return Err(format!("`{}` begins no package", shortened(&entry.anchor)));
        }
        for (at, other) in self.others {
            let entry = &mut self.entries[at];
            if entry.name != other {
                entry.version = format!("npm:{other}@{}", entry.version);
            }
        }
        Ok(self.entries)
    }
}

/// The word that a text begins with, and what is behind it; `None` if Yarn does not write it so. It quotes all but what
/// begins with a letter, in JSON without an escape but that of the backslash of a path.
fn word(text: &str) -> Option<(String, &str)> {
    if let Some(quoted) = text.strip_prefix('"') {
        let (inside, behind) = quoted.split_once('"')?;
        let is_plain = !inside.replace(r"\\", "").contains('\\');
        return is_plain.then(|| (inside.replace(r"\\", r"\"), behind));
    }
    let (word, behind) = text.split_at(text.find([' ', ':', ',']).unwrap_or(text.len()));
    let is_quoted = |character: char| character.is_whitespace() || r#"\"[]"#.contains(character);
    let is_literal = word.starts_with("true") || word.starts_with("false");
    let is_plain =
        word.starts_with(|first: char| first.is_ascii_alphabetic()) && !is_literal && !word.contains(is_quoted);
    is_plain.then(|| (word.to_owned(), behind))
}

/// Takes a field of a package.
fn set_field(entry: &mut Entry, field: &str, value: &str) {
    match field {
        "version" => value.clone_into(&mut entry.version),
        "resolved" => {
            entry.source = npm_source(value);
            value.clone_into(&mut entry.source_text);
            // Before it had a field, the hash was a part of the address. Of a repository that part is the commit.
            if let Some(hash) = entry.hash_in_address().map(str::to_owned) {
                if entry.hash == Hash::Missing {
                    entry.hash = Hash::Optional;
                }
                if entry.integrity.is_empty() {
                    entry.integrity = hash;
                }
            }
        }
        "integrity" => {
            let hashes = npm_hashes(value);
            if !hashes.is_empty() {
                (entry.hash, entry.integrity) = (Hash::Present, hashes);
            }
        }
        _ => {}
    }
}

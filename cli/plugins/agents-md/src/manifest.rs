//! What manifests say: dependencies with their versions, and scripts.

use std::collections::BTreeMap;

use crate::{patch::Lines, pattern::pattern};

/// A dependency and its version as a line says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) version: String,
    /// The line at head, for an added one.
    pub(crate) line: Option<u32>,
}

/// What a patch does to the dependencies of a manifest.
#[derive(Debug, Default)]
pub(crate) struct Dependencies {
    pub(crate) added: BTreeMap<String, Dependency>,
    pub(crate) removed: BTreeMap<String, Dependency>,
}

impl Dependencies {
    /// Reads them, if the file is a manifest.
    pub(crate) fn of(path: &str, lines: &Lines) -> Option<Self> {
        let read = reader(path)?;
        let mut all = Self::default();
        for line in &lines.added {
            if let Some((name, version)) = read(&line.text) {
                let line = Some(line.number);
                all.added.insert(name, Dependency { version, line });
            }
        }
        for line in &lines.removed {
            if let Some((name, version)) = read(line) {
                all.removed.insert(name, Dependency { version, line: None });
            }
        }
        Some(all)
    }

    /// Names that are new in the manifest.
    pub(crate) fn new_names(&self) -> impl Iterator<Item = (&str, &Dependency)> {
        let new = self.added.iter().filter(|(name, _)| !self.removed.contains_key(*name));
        new.map(|(name, dependency)| (name.as_str(), dependency))
    }

    /// Names that are gone from it.
    pub(crate) fn gone_names(&self) -> impl Iterator<Item = &str> {
        let gone = self.removed.keys().filter(|name| !self.added.contains_key(*name));
        gone.map(String::as_str)
    }

    /// Dependencies whose version changed, with the old one and the new one.
    pub(crate) fn bumps(&self) -> impl Iterator<Item = (&str, &Dependency, &Dependency)> {
        self.removed.iter().filter_map(|(name, old)| {
            let new = self.added.get(name)?;
            (old.version != new.version).then_some((name.as_str(), old, new))
        })
    }
}

type Read = fn(&str) -> Option<(String, String)>;

fn reader(path: &str) -> Option<Read> {
    let name = path.rsplit('/').next().unwrap_or(path);
    Some(match name {
        "package.json" => |line| {
            two(
                pattern!(r#"^\s*"([^"]+)"\s*:\s*"[~^>=<v ]*(\d[\w.\-]*)[^"]*",?\s*$"#),
                line,
            )
        },
        "Cargo.toml" => |line| {
            let dependency = two(
                pattern!(r#"^\s*([\w-]+)\s*=\s*(?:"|\{.*?version\s*=\s*")[=^~]?(\d[\w.+\-]*)""#),
                line,
            )?;
            (!matches!(dependency.0.as_str(), "version" | "edition")).then_some(dependency)
        },
        "go.mod" => |line| {
            two(
                pattern!(r"^\s*(?:require\s+)?([\w.\-/]+?)(?:/v\d+)?\s+v?(\d[\w.\-]*)(?:\s*//.*)?$"),
                line,
            )
        },
        "Gemfile" => |line| {
            two(
                pattern!(r#"^\s*gem\s+["']([\w-]+)["'],\s*["'][~><= ]*(\d[\w.]*)"#),
                line,
            )
        },
        "pyproject.toml" | "Pipfile" => python,
        ".nvmrc" | ".node-version" => |line| Some(("node".to_owned(), one(pattern!(r"^\s*v?(\d[\d.]*)\s*$"), line)?)),
        ".python-version" => |line| Some(("python".to_owned(), one(pattern!(r"^\s*(\d[\d.]*)\s*$"), line)?)),
        ".ruby-version" => |line| Some(("ruby".to_owned(), one(pattern!(r"^\s*(?:ruby-)?(\d[\d.]*)\s*$"), line)?)),
        ".tool-versions" => |line| two(pattern!(r"^\s*([\w-]+)\s+v?(\d[\d.]*)"), line),
        "Dockerfile" | "Containerfile" => |line| two(pattern!(r"^\s*FROM\s+(?:\S+/)?([\w-]+):(\d[\w.]*)"), line),
        name if name.starts_with("requirements") && has_extension(name, "txt") => python,
        _ => return None,
    })
}

fn python(line: &str) -> Option<(String, String)> {
    two(
        pattern!(r#"^\s*"?'?([A-Za-z][\w.-]*)(?:\[[^\]]*\])?"?'?\s*(?:==|>=|~=|=\s*"[\^~>=]*|=\s*\{\s*version\s*=\s*"[\^~>=]*)\s*(\d[\w.]*)"#),
        line,
    )
    .filter(|(name, _)| name != "version")
}

pub(crate) fn has_extension(name: &str, extension: &str) -> bool {
    name.rsplit_once('.')
        .is_some_and(|(_, found)| found.eq_ignore_ascii_case(extension))
}

/// Finds the first group of a pattern.
pub(crate) fn one(pattern: &regex::Regex, line: &str) -> Option<String> {
    Some(pattern.captures(line)?.get(1)?.as_str().to_owned())
}

fn two(pattern: &regex::Regex, line: &str) -> Option<(String, String)> {
    let groups = pattern.captures(line)?;
    Some((groups.get(1)?.as_str().to_owned(), groups.get(2)?.as_str().to_owned()))
}

/// Returns whether one version promises nothing about the other. Before 1.0 that is every second number.
pub(crate) fn is_major(old: &str, new: &str) -> bool {
    let numbers = |version: &str| {
        let mut parts = version.split('.').map(|part| {
            let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<u64>().unwrap_or(0)
        });
        (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
    };
    let (old, new) = (numbers(old), numbers(new));
    if (old.0, new.0) == (0, 0) {
        old.1 != new.1
    } else {
        old.0 != new.0
    }
}

/// The scripts of a `package.json` that a line defines: name and command.
pub(crate) fn script(line: &str) -> Option<(String, String)> {
    two(
        pattern!(
            r#"^\s*"((?:build|start|dev|serve|test|lint|format|typecheck|check|compile|e2e|bundle|generate|db|migrate)(?::[\w-]+)*)"\s*:\s*"([A-Za-z./@][^"]*)",?\s*$"#
        ),
        line,
    )
}

/// The target of a Makefile, or the recipe of a justfile, that a line begins.
pub(crate) fn target(line: &str) -> Option<String> {
    one(pattern!(r"^([A-Za-z][\w./-]*)(?:\s+[\w=*+ ]*)?:(?:[^=]|$)"), line)
}

/// The program that a command starts, without what only sets the scene.
pub(crate) fn program(command: &str) -> &str {
    command
        .split_whitespace()
        .find(|word| !word.contains('=') && !matches!(*word, "cross-env" | "npx" | "env" | "exec" | "dotenv" | "--"))
        .unwrap_or(command)
}

//! The kind of a file by its path: one table for everything that decides by a path.
//!
//! Four things are kept apart, because they answer different questions. The *role* is what a file is for: who sits on the
//! panel and who reads which patch go by it. The *form* is what it is to a machine: whether something that runs is left out
//! with it. The *wording* is whether people's language stands in it, where a word proves nothing and letters of every script
//! are at home. *Noise* is what no reviewer reads. They do not follow from each other: `AGENTS.md` is prose that steers a
//! tool, and `mdx` a document that runs.
//!
//! Only what is known to be harmless counts as harmless: an unlisted extension is [`Form::Unknown`] and [`Role::Source`].

mod lock_format;
mod table;

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

pub use lock_format::{LockFormat, is_unknown_lock_file, manifests_of};

use self::table::{
    BEGINNINGS, BY_ITSELF, DIRECTORIES, EXTENSIONS, FIRST, MINIFIED, NAMES, Rows, TRANSLATIONS, VENDORED,
};

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Instructions and settings of coding agents.
    AgentInstructions,
    /// A build script, or the configuration of a linter, formatter or test runner.
    Build,
    /// A build script that also names dependencies: `build.gradle`.
    BuildManifest,
    /// What changed from release to release.
    Changelog,
    /// Configuration.
    Config,
    /// How the program is packed and where it runs: images, charts, infrastructure.
    Container,
    /// Data.
    Data,
    /// A contract between programs: `.proto`, `openapi.yaml`.
    Interface,
    /// Texts in several languages.
    Locale,
    /// Written by a package manager.
    LockFile,
    /// Names dependencies, versions or the package itself.
    Manifest,
    /// Changes a database's schema or content once.
    Migration,
    /// Defines what a CI server runs.
    Pipeline,
    /// Text for people.
    Prose,
    /// Queries of a database.
    Query,
    /// A program or a template, and everything that is not known.
    Source,
    /// A style sheet.
    Style,
    /// A test, or what only tests use.
    Test,
}

/// What a file is to a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// Code, a script, configuration or a template: text that runs or steers something.
    Code,
    /// A binary form that machines run: `.jar`, `.wasm`, `.pyc`.
    Compiled,
    /// A container of other files.
    Archive,
    /// A picture, a font, sound, a document: shown or printed, never run.
    Inert,
    /// Text for people, or plain data.
    Text,
    /// None of the known forms.
    Unknown,
}

/// Whether people's language stands in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wording {
    /// A document with markup: `.md`.
    Document,
    /// Other text for people, and tables of it.
    Text,
    /// Texts of a program in people's languages.
    Translation,
    /// None is known.
    Program,
}

/// Why no reviewer reads a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Noise {
    /// A lock file in a format that rules check.
    LockFile,
    /// Minified or bundled code, or a source map.
    Minified,
    /// A copy of third-party code.
    Vendored,
}

/// What an extension or a name says by itself.
#[derive(Debug, Clone, Copy)]
struct Entry {
    role: Role,
    form: Form,
    wording: Wording,
}

/// The kind of a file by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PathKind {
    /// What it is for.
    pub role: Role,
    /// What it is to a machine.
    pub form: Form,
    /// Whether people's language stands in it.
    pub wording: Wording,
    /// Why no reviewer reads it, if none does.
    pub noise: Option<Noise>,
    /// Whether it belongs to a database's migrations, whatever it holds: tools stamp those as generated.
    pub is_migration: bool,
    /// Whether it defines or helps a pipeline.
    pub is_pipeline: bool,
    /// Whether a tool runs or reads it by itself, because of its place.
    pub runs_by_itself: bool,
}

impl PathKind {
    /// Looks a path up.
    pub fn of(path: &str) -> Self {
        let lower = path.to_ascii_lowercase();
        let (directories, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
        let above: Vec<Role> = directories
            .split('/')
            .filter_map(|directory| INDEX.above.get(directory).copied())
            .collect();
        let place = Place {
            path,
            lower: &lower,
            directories,
            name,
            above: &above,
        };
        let entry = place.entry();
        let is_migration = place.is_under(Role::Migration) || name.ends_with(".migration.sql");
        let wording = place.wording(entry);
        let role = place.role(Entry { wording, ..entry }, is_migration);
        let is_hook_runner = is_in(".pre-commit-config.yaml lefthook.yaml lefthook.yml", name);
        Self {
            role,
            form: entry.form,
            wording,
            noise: place.noise(),
            is_migration,
            is_pipeline: role == Role::Pipeline || place.is_in_ci() || is_hook_runner,
            runs_by_itself: directories
                .split('/')
                .any(|directory| INDEX.by_itself.contains(directory)),
        }
    }

    /// Returns whether words stand in it that prove nothing about code.
    pub const fn is_prose(self) -> bool {
        matches!(self.wording, Wording::Document | Wording::Text)
    }

    /// Returns whether it can run or steer something, as far as the path tells.
    pub const fn may_run(self) -> bool {
        matches!(self.form, Form::Code | Form::Compiled) || self.runs_by_itself
    }

    /// Returns whether it decides how a change reaches production: schemas, interfaces, versions, packaging, pipelines.
    pub const fn concerns_release(self) -> bool {
        self.is_migration
            || matches!(
                self.role,
                Role::BuildManifest
                    | Role::Changelog
                    | Role::Container
                    | Role::Interface
                    | Role::Manifest
                    | Role::Migration
                    | Role::Pipeline
            )
    }
}

/// A path taken apart; all but `path` in lower case.
#[derive(Clone, Copy)]
struct Place<'p> {
    path: &'p str,
    lower: &'p str,
    directories: &'p str,
    name: &'p str,
    /// The roles that the directories above the file have.
    above: &'p [Role],
}

impl Place<'_> {
    fn extension(&self) -> Option<&str> {
        self.name.rsplit_once('.').map(|(_, extension)| extension)
    }

    /// What name and extension say.
    fn entry(&self) -> Entry {
        let unknown = Entry {
            role: Role::Source,
            form: Form::Unknown,
            wording: Wording::Program,
        };
        if let Some(entry) = INDEX.by_name.get(self.name) {
            return *entry;
        }
        // Lists of packages to install.
        if self.extension() == Some("txt")
            && ["requirements", "constraints"]
                .iter()
                .any(|list| self.name.contains(list))
        {
            return Entry {
                role: Role::Manifest,
                form: Form::Code,
                ..unknown
            };
        }
        let Some((stem, extension)) = self.name.rsplit_once('.') else {
            return unknown;
        };
        let entry = INDEX.by_extension.get(extension).copied().unwrap_or(unknown);
        // `.bashrc`, `.env`
        if stem.is_empty() {
            return Entry {
                form: Form::Code,
                ..entry
            };
        }
        // `libssl.so.3`
        if stem.contains(".so") && extension.bytes().all(|byte| byte.is_ascii_digit()) && !extension.is_empty() {
            return Entry {
                form: Form::Compiled,
                ..entry
            };
        }
        // `driver.ko.xz`, `model.pkl.gz`; `name-1.0.tar.gz`, which package managers install.
        if entry.form == Form::Archive && (is_compiled(stem) || is_package(stem, extension)) {
            return Entry {
                form: Form::Compiled,
                ..entry
            };
        }
        // `Dockerfile.arm64`, `.env.local`
        let first = self.name.trim_start_matches('.').split('.').next().unwrap_or_default();
        let steers = self.name.starts_with('.') || is_in("containerfile dockerfile env jenkinsfile makefile", first);
        match entry.form {
            Form::Unknown if steers => Entry {
                form: Form::Code,
                ..entry
            },
            _ => entry,
        }
    }

    fn role(&self, entry: Entry, is_migration: bool) -> Role {
        // A text for people is not a program, whatever it is called: `history.rs`, `i18n/index.ts`.
        let is_program = entry.form == Form::Code
            && matches!(entry.role, Role::Source | Role::Query)
            && entry.wording != Wording::Translation;
        let begins = |role: Role| {
            let mut rows = INDEX.beginnings.iter().filter(|(row, _)| *row == role);
            rows.any(|(_, word)| self.name.starts_with(word))
        };
        let fits = |role: Role| {
            let by_place = match role {
                Role::Migration => is_migration && (is_program || entry.role == Role::Config),
                Role::Pipeline => {
                    begins(role)
                        || self.name.contains(".gitlab-ci")
                        || self.is_under(role)
                        || self.lower.starts_with(".github/")
                        || (entry.role == Role::Config && self.is_in_ci())
                }
                Role::Test => self.is_test(),
                Role::Changelog => begins(role) && !is_program,
                Role::Build => begins(role) || self.name.contains(".config."),
                Role::Interface => begins(role) || self.name.ends_with(".schema.json"),
                _ => begins(role) || self.is_under(role),
            };
            by_place || entry.role == role
        };
        if let Some(role) = FIRST.into_iter().find(|role| fits(*role)) {
            return role;
        }
        if LockFormat::of(self.path).is_some() || is_unknown_lock_file(self.path) {
            Role::LockFile
        } else if self.is_under(Role::Locale) && !is_program {
            Role::Locale
        } else if begins(Role::Prose) && !is_program {
            Role::Prose
        } else if self.name.starts_with(".env") {
            Role::Config
        } else {
            entry.role
        }
    }

    fn wording(&self, entry: Entry) -> Wording {
        let is_data = entry.role == Role::Config && entry.wording == Wording::Program;
        let is_table = is_data && !matches!(self.extension(), Some("cfg" | "conf" | "env" | "jsonc"));
        let translated = || {
            self.directories
                .split('/')
                .any(|part| INDEX.translations.contains(part) || part.starts_with("values"))
        };
        if (is_table || self.extension() == Some("ftl")) && translated() {
            Wording::Translation
        } else {
            entry.wording
        }
    }

    fn noise(&self) -> Option<Noise> {
        let directories = self.path.rsplit_once('/').map_or("", |(directories, _)| directories);
        if LockFormat::of(self.path).is_some() {
            Some(Noise::LockFile)
        } else if MINIFIED.iter().any(|end| self.path.ends_with(end)) {
            Some(Noise::Minified)
        } else {
            let vendored = directories
                .split('/')
                .any(|directory| INDEX.vendored.contains(directory));
            vendored.then_some(Noise::Vendored)
        }
    }

    /// Returns whether a directory above the file has a role of its own.
    fn is_under(&self, role: Role) -> bool {
        self.above.contains(&role)
    }

    fn is_in_ci(&self) -> bool {
        self.directories.split('/').any(|directory| directory == "ci")
    }

    fn is_test(&self) -> bool {
        const ENDS: [&str; 7] = ["_test", "_tests", ".test", ".tests", ".spec", "_spec", "-test"];
        let stem = self.name.rsplit_once('.').map_or(self.name, |(stem, _)| stem);
        // `CartTest.java`, and not `Contest.java`.
        let camel = file_name(self.path).rsplit_once('.').is_some_and(|(stem, extension)| {
            let before = stem.strip_suffix('s').unwrap_or(stem).strip_suffix("Test");
            before.is_some_and(|before| !before.is_empty()) && is_in("cs groovy java kt scala swift", extension)
        });
        self.is_under(Role::Test)
            || stem.starts_with("test_")
            || ENDS.iter().any(|end| stem.ends_with(end))
            || camel
            || self.name == "conftest.py"
    }
}

/// The rows of the table, by their words: every path of a change is looked up several times.
static INDEX: LazyLock<Index> = LazyLock::new(|| Index {
    by_extension: entries(EXTENSIONS),
    by_name: entries(NAMES),
    beginnings: each_word(BEGINNINGS).collect(),
    above: each_word(DIRECTORIES).map(|(role, word)| (word, role)).collect(),
    by_itself: BY_ITSELF.split_ascii_whitespace().collect(),
    translations: TRANSLATIONS.split_ascii_whitespace().collect(),
    vendored: VENDORED.split_ascii_whitespace().collect(),
});

struct Index {
    by_extension: HashMap<&'static str, Entry>,
    by_name: HashMap<&'static str, Entry>,
    beginnings: Vec<(Role, &'static str)>,
    above: HashMap<&'static str, Role>,
    by_itself: HashSet<&'static str>,
    translations: HashSet<&'static str>,
    vendored: HashSet<&'static str>,
}

fn each_word(rows: &'static [(Role, &'static str)]) -> impl Iterator<Item = (Role, &'static str)> {
    rows.iter()
        .flat_map(|(role, words)| words.split_ascii_whitespace().map(|word| (*role, word)))
}

fn entries(rows: Rows) -> HashMap<&'static str, Entry> {
    let entries = rows.iter().flat_map(|(role, form, wording, words)| {
        let entry = Entry {
            role: *role,
            form: *form,
            wording: *wording,
        };
        words.split_ascii_whitespace().map(move |word| (word, entry))
    });
    entries.collect()
}

/// Returns whether a name, in lower case and without the extension of its compression, is that of something compiled.
fn is_compiled(stem: &str) -> bool {
    let entry = stem
        .rsplit_once('.')
        .and_then(|(_, extension)| INDEX.by_extension.get(extension));
    entry.is_some_and(|entry| entry.form == Form::Compiled)
}

/// Returns whether an archive is called like a package of Python or npm: a name, a hyphen and a version.
fn is_package(stem: &str, extension: &str) -> bool {
    let name = match stem.strip_suffix(".tar") {
        Some(name) => name,
        None if is_in("tbz tbz2 tgz txz", extension) => stem,
        None => return false,
    };
    let begins_version = |part: &str| {
        let part = part.strip_prefix('v').unwrap_or(part);
        part.starts_with(|first: char| first.is_ascii_digit())
    };
    name.split('-').skip(1).any(begins_version)
}

/// Returns whether a file is a document for people by its name, so that nothing but a person is expected to read it: `README`,
/// `LICENSE.txt`, `guide.md`. A text with another name may be input of a program.
pub fn is_document(path: &str) -> bool {
    let kind = PathKind::of(path);
    let name = file_name(path).to_ascii_lowercase();
    let stem = name.split('.').next().unwrap_or_default();
    let entry = INDEX.by_name.get(stem);
    kind.form == Form::Text
        && (kind.wording == Wording::Document
            || entry.is_some_and(|entry| matches!(entry.role, Role::Changelog | Role::Prose)))
}

/// The extension of a path in lower case; for a name without one, the name.
pub fn language(path: &str) -> String {
    let name = file_name(path);
    let word = match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => extension,
        _ => name,
    };
    word.to_ascii_lowercase()
}

/// The last part of a path.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn is_in(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|listed| listed == word)
}

#[cfg(test)]
#[path = "path_kind_tests.rs"]
mod tests;

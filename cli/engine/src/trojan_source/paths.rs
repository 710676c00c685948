//! Which files hold code, and where comments are in it.

/// Files of natural language, by extension.
const DOCUMENTS: [&str; 25] = [
    "adoc",
    "arb",
    "asciidoc",
    "csv",
    "ftl",
    "log",
    "markdown",
    "md",
    "org",
    "po",
    "pot",
    "resx",
    "rst",
    "rtf",
    "srt",
    "strings",
    "stringsdict",
    "tex",
    "text",
    "tmx",
    "tsv",
    "txt",
    "vtt",
    "xlf",
    "xliff",
];
/// Data files, which in a directory of translations hold natural language.
const DATA: [&str; 9] = [
    "json",
    "json5",
    "yaml",
    "yml",
    "properties",
    "xml",
    "toml",
    "ini",
    "plist",
];
/// Directories of translations.
const TRANSLATIONS: [&str; 11] = [
    "i18n",
    "intl",
    "l10n",
    "lang",
    "langs",
    "language",
    "languages",
    "locale",
    "locales",
    "messages",
    "translations",
];
/// Files of natural language without an extension.
const NAMES: [&str; 10] = [
    "authors",
    "changelog",
    "changes",
    "contributors",
    "copying",
    "license",
    "maintainers",
    "notice",
    "readme",
    "thanks",
];
/// Files that end in `.txt` and steer a build.
const BUILD_TEXTS: [&str; 4] = ["cmakelists.txt", "constraints", "requirements", "meson_options.txt"];

/// Whether these rules look at the file.
pub(super) fn is_code(path: &str) -> bool {
    let path = path.to_lowercase();
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    if BUILD_TEXTS.iter().any(|build| name.starts_with(build)) && extension == "txt" {
        return true;
    }
    let translated = directory
        .split('/')
        .any(|part| TRANSLATIONS.contains(&part) || part.starts_with("values"));
    let is_document = DOCUMENTS.contains(&extension)
        || (translated && DATA.contains(&extension))
        || (extension.is_empty() && NAMES.contains(&stem));
    !is_document
}

/// How comments to the end of the line begin.
pub(super) struct Comments(&'static [&'static str]);

impl Comments {
    pub(super) fn of(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        let extension = name.rsplit_once('.').map_or(name.as_str(), |(_, extension)| extension);
        Self(match extension {
            "py" | "pyi" | "sh" | "bash" | "zsh" | "fish" | "rb" | "yml" | "yaml" | "toml" | "pl" | "pm" | "r"
            | "jl" | "ex" | "exs" | "nix" | "conf" | "cfg" | "properties" | "env" | "dockerfile" | "makefile"
            | "mk" | "cmake" | "ps1" => &["#"],
            "tf" | "php" => &["#", "//"],
            "sql" | "lua" | "hs" | "elm" | "adb" | "ads" => &["--"],
            "lisp" | "clj" | "cljs" | "el" | "scm" | "asm" => &[";"],
            "erl" | "hrl" => &["%"],
            "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "cs" | "css" | "scss" | "less" | "dart" | "go" | "groovy"
            | "java" | "js" | "cjs" | "mjs" | "jsx" | "ts" | "cts" | "mts" | "tsx" | "kt" | "kts" | "m" | "mm"
            | "proto" | "rs" | "scala" | "sol" | "swift" | "zig" => &["//"],
            _ => &[],
        })
    }

    /// Whether this place stands behind the beginning of a comment that goes to the end of the line.
    pub(super) fn holds(&self, line: &[char], at: usize) -> bool {
        let mut quote = None;
        for index in 0..at {
            let character = line[index];
            match quote {
                Some(open) if character == open => quote = None,
                None if matches!(character, '"' | '\'' | '`') => quote = Some(character),
                None if self.begins(&line[index..]) => return true,
                _ => {}
            }
        }
        false
    }

    fn begins(&self, rest: &[char]) -> bool {
        let begins = |mark: &&str| mark.chars().eq(rest.iter().copied().take(mark.len()));
        self.0.iter().any(begins)
    }
}

/// Whether this place stands between quotes.
pub(super) fn in_string(line: &[char], at: usize) -> bool {
    let mut quote = None;
    for character in &line[..at] {
        match quote {
            Some(open) if *character == open => quote = None,
            None if matches!(character, '"' | '\'' | '`') => quote = Some(*character),
            _ => {}
        }
    }
    quote.is_some()
}

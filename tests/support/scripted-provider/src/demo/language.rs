//! Languages, and what the path of a file says.

use super::pattern::found;

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    JavaScript,
    Rust,
    Go,
    /// Java, Kotlin, C#, C, C++, Swift, Scala: braces, `//` and double quotes.
    Braces,
    Php,
    Ruby,
    Shell,
    Sql,
    /// JSON, YAML, TOML and the like.
    Data,
    Docs,
    Other,
}

impl Language {
    /// The language of a file of this name.
    pub(super) fn of(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
        match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
            "py" | "pyi" => Self::Python,
            "js" | "jsx" | "ts" | "tsx" | "mjs" | "cjs" | "mts" | "cts" | "vue" | "svelte" => Self::JavaScript,
            "rs" => Self::Rust,
            "go" => Self::Go,
            "java" | "kt" | "kts" | "cs" | "c" | "h" | "cc" | "cpp" | "hpp" | "swift" | "scala" => Self::Braces,
            "php" => Self::Php,
            "rb" | "rake" => Self::Ruby,
            "sh" | "bash" | "zsh" => Self::Shell,
            "sql" => Self::Sql,
            "json" | "yaml" | "yml" | "toml" | "ini" | "cfg" | "env" | "properties" | "xml" => Self::Data,
            "md" | "mdx" | "rst" | "txt" | "adoc" => Self::Docs,
            _ => Self::Other,
        }
    }

    /// The language is one to run.
    pub(super) const fn is_code(self) -> bool {
        !matches!(self, Self::Data | Self::Docs | Self::Other | Self::Sql)
    }

    /// The beginning of a comment up to the end of its line.
    pub(super) const fn comment(self) -> &'static str {
        match self {
            Self::Python | Self::Ruby | Self::Shell | Self::Data => "#",
            Self::Sql => "--",
            _ => "//",
        }
    }
}

/// Returns whether a path is one of tests or of their data.
pub(super) fn is_test_path(path: &str) -> bool {
    found!(
        path,
        r"(?i)(^|/)(tests?|spec|specs|__tests__|__mocks__|fixtures?|testdata|e2e|benches|examples?)/|(^|/)test_|_test\.|\.test\.|\.spec\.|_spec\.|(^|/)conftest\.|Tests?\.(java|kt|cs|swift)$"
    )
}

/// Returns whether a path is one of vendored or generated files.
pub(super) fn is_foreign_path(path: &str) -> bool {
    found!(
        path,
        r"(^|/)(vendor|node_modules|third_party|dist|build|generated)/|\.min\.|\.lock$|-lock\.|\.snap$|_pb2\.py$|\.pb\.go$"
    )
}

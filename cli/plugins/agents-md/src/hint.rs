//! What the diff itself says about the instructions for coding agents.

use std::fmt::Write;

use conclave_engine::untrusted::Untrusted;

/// How strongly a change calls for an update of AGENTS.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Materiality {
    /// It does not.
    Low,
    /// An update is worth it, where the file names the old fact.
    Medium,
    /// An update is strongly recommended: agents would run what no longer works.
    High,
}

impl Materiality {
    /// The word in the reviewer's prompt.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// What kind of change it is: the categories of the reviewer's prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Another package manager.
    PackageManager,
    /// Another test runner.
    TestFramework,
    /// Another build tool or task.
    BuildTool,
    /// Directories that moved.
    DirectoryLayout,
    /// A variable without which something stops.
    EnvironmentVariable,
    /// A pipeline, job or check that changed.
    CiWorkflow,
    /// A major version.
    MajorVersion,
    /// A lint or format rule.
    LintRules,
    /// Another client or data layer.
    ApiClient,
    /// Another state library.
    StateManagement,
    /// A minor or patch version.
    MinorVersion,
    /// Style sheets.
    Styles,
    /// A sentence that tells an agent nothing.
    Filler,
    /// A file that nobody reads to its end.
    Length,
    /// A tool without the command to run it.
    NoCommand,
}

impl Kind {
    /// The category.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PackageManager => "package-manager",
            Self::TestFramework => "test-framework",
            Self::BuildTool => "build-tool",
            Self::DirectoryLayout => "directory-layout",
            Self::EnvironmentVariable => "environment-variable",
            Self::CiWorkflow => "ci-workflow",
            Self::MajorVersion => "major-version",
            Self::LintRules => "lint-rules",
            Self::ApiClient => "api-client",
            Self::StateManagement => "state-management",
            Self::MinorVersion => "minor-version",
            Self::Styles => "styles",
            Self::Filler => "agents-md-filler",
            Self::Length => "agents-md-length",
            Self::NoCommand => "agents-md-no-command",
        }
    }
}

/// One observation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// How much it matters.
    pub materiality: Materiality,
    /// What kind.
    pub kind: Kind,
    /// The file that shows it.
    pub file: String,
    /// The line at head, where there is one.
    pub line: Option<u32>,
    /// What was observed. It may quote the author.
    pub text: String,
}

impl Hint {
    pub(crate) fn new(materiality: Materiality, kind: Kind, file: &str, line: Option<u32>, text: String) -> Self {
        Self {
            materiality,
            kind,
            file: file.to_owned(),
            line,
            text,
        }
    }
}

/// The most hints that the reviewer reads.
const MAX_HINTS: usize = 60;
/// The longest of them, in characters.
const MAX_HINT_LENGTH: usize = 240;

/// The hints as the reviewer reads them, what matters most first.
pub(crate) fn rendered(mut hints: Vec<Hint>) -> Untrusted {
    hints.sort_by_key(|hint| std::cmp::Reverse(hint.materiality));
    let mut text = String::from(
        "What rules without a model saw in the diff. It says where to look; whether AGENTS.md names the old fact is for you \
         to find out.\n",
    );
    if hints.iter().all(|hint| hint.materiality == Materiality::Low) {
        text.push_str("Nothing of high or medium materiality was seen: as a rule, AGENTS.md needs no update.\n");
    }
    for hint in hints.iter().take(MAX_HINTS) {
        let line = hint.line.map(|line| format!(":{line}")).unwrap_or_default();
        let quoted: String = hint.text.chars().take(MAX_HINT_LENGTH).collect();
        let _ = writeln!(
            text,
            "- {} | {} | {}{line} | {}",
            hint.materiality.as_str(),
            hint.kind.as_str(),
            Untrusted::from(hint.file.as_str()).sanitized_line(),
            Untrusted::from(quoted).sanitized_line()
        );
    }
    if hints.len() > MAX_HINTS {
        let _ = writeln!(text, "- and {} more of lower materiality", hints.len() - MAX_HINTS);
    }
    text.into()
}

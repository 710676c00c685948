//! Reading `.conclave.toml`: every problem at once, each with its place, and what is good is kept.
//!
//! Walked by hand and not deserialised, because serde stops at the first problem and a typing error in a team's file must
//! neither hide the next one nor throw away the rest.

use conclave_shared::{
    config::{Preset, TIME_LIMITS, TimeLimitOverrides},
    nearest::nearest,
    reviewer::ReviewerName,
    sandbox::SandboxLevel,
};
use regex::Regex;
use toml::de::DeTable;

use super::{
    AuthorSettles, BreakGlassBy, BreakGlassSettings, CodexSettings, PanelSettings, PathInstruction, PathSettings,
    RepoConfig, RepoConfigProblem, RepoGate, ReviewSettings, RuntimeChoice, Strictness,
    problem::Problems,
    protection::harmless_places,
    reader::{Reader, did_you_mean},
    schema::LANGUAGE,
};
use crate::{repo_config::RubricSettings, review::ReviewMode};

/// What could be read of a file, and what could not.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ParsedRepoConfig {
    /// The settings. What has a problem keeps its default, or has its strictest value where it decides by itself.
    pub config: RepoConfig,
    /// All problems, in the order of the file.
    pub problems: Vec<RepoConfigProblem>,
}

impl ParsedRepoConfig {
    /// The settings of something that is not a file, such as a symbolic link or a directory.
    pub fn not_a_file() -> Self {
        let mut problems = Problems::new("");
        problems.error(
            &(0..0),
            "it is not a plain file: a symbolic link, a directory or a submodule holds no settings".to_owned(),
        );
        Self {
            config: RepoConfig::default(),
            problems: problems.finish(),
        }
    }

    /// The problems because of which a setting that protects may not be in force.
    pub fn unread(&self) -> impl Iterator<Item = &RepoConfigProblem> {
        self.problems.iter().filter(|problem| problem.protects)
    }
}

/// The highest `review.max_inline`.
const MAX_INLINE: i64 = 1000;

/// More warnings than this are no border.
const MAX_WARNINGS: i64 = 1000;

/// Reads the file.
pub fn parse(bytes: &[u8]) -> ParsedRepoConfig {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let mut problems = Problems::new(&good);
            problems.syntax(&(good.len()..good.len()), "it is not UTF-8 text");
            return ParsedRepoConfig {
                // What stands behind the fault protects as well.
                config: parse(String::from_utf8_lossy(bytes).as_bytes()).config,
                problems: problems.finish(),
            };
        }
    };
    let (table, errors) = DeTable::parse_recoverable(text.strip_prefix('\u{FEFF}').unwrap_or(text));
    let mut reader = Reader {
        problems: Problems::new(text.strip_prefix('\u{FEFF}').unwrap_or(text)),
        meant: Vec::new(),
    };
    let mut harmless = Vec::new();
    harmless_places(table.get_ref(), "", &mut harmless);
    reader.problems.harmless(harmless);
    for error in errors {
        reader.problems.syntax(&error.span().unwrap_or(0..0), error.message());
    }
    let root = table.get_ref();
    reader.unknown_keys(root, "");
    let own = reader.own_reviewers(root);
    let config = RepoConfig {
        review: reader.review(root),
        panel: reader.panel(root),
        paths: reader.paths(root),
        path_instructions: reader.path_instructions(root),
        codex: reader.codex(root),
        verdict: reader.verdict(root),
        break_glass: reader.break_glass(root),
        limits: reader.limits(root),
        models: reader.models(root, &own),
        reviewers: own,
    };
    ParsedRepoConfig {
        config,
        problems: reader.problems.finish(),
    }
}

impl Reader<'_> {
    fn limits(&mut self, root: &DeTable<'_>) -> TimeLimitOverrides {
        let mut limits = TimeLimitOverrides::default();
        let Some(table) = self.table(root, "limits") else {
            return limits;
        };
        for limit in TIME_LIMITS {
            let bound = |seconds| i64::try_from(seconds).unwrap_or(i64::MAX);
            let range = bound(limit.min)..=bound(limit.max);
            if let Some(seconds) = self.number(table, "limits", limit.name, range) {
                limits.set(limit.name, seconds);
            }
        }
        limits.tool_calls = self.number(table, "limits", "tool_calls", 1..=i64::from(u32::MAX));
        limits
    }

    fn review(&mut self, root: &DeTable<'_>) -> ReviewSettings {
        const KEY: &str = "review";
        let none = DeTable::new();
        let table = self.table(root, KEY).unwrap_or(&none);
        let language = self.text(table, KEY, "language").and_then(|(text, span)| {
            let valid = Regex::new(LANGUAGE).is_ok_and(|pattern| pattern.is_match(&text));
            if !valid {
                let message = format!("`{text}` is not a language: write its name, as in `German`");
                self.problems.error(&span, message);
            }
            valid.then(|| text.trim().to_owned())
        });
        let strictness = self.choice(table, KEY, "strictness", &Strictness::ALL, Strictness::as_str);
        let gate = self.choice(table, KEY, "gate", &RepoGate::ALL, RepoGate::as_str);
        let mode = self.choice(table, KEY, "mode", &ReviewMode::ALL, ReviewMode::as_str);
        let memory = self.switch(table, KEY, "memory");
        let all = &AuthorSettles::ALL;
        let author_settles = self.choice(table, KEY, "author_settles", all, AuthorSettles::as_str);
        let author_settles = self.or_strict(author_settles, table, "review.author_settles", AuthorSettles::None);
        let levels = &[SandboxLevel::Enforced, SandboxLevel::Partial];
        let require_sandbox = self.choice(table, KEY, "require_sandbox", levels, SandboxLevel::as_str);
        let enforced = SandboxLevel::Enforced;
        ReviewSettings {
            language,
            strictness: strictness.unwrap_or_default(),
            disabled_reviewers: self.reviewers(table, KEY, "disabled_reviewers"),
            gate: self.or_strict(gate, table, "review.gate", RepoGate::Block),
            mode: self.or_strict(mode, table, "review.mode", ReviewMode::Gate),
            max_inline: self.number(table, KEY, "max_inline", 0..=MAX_INLINE),
            preset: self.choice(table, KEY, "preset", &Preset::ALL, Preset::as_str),
            runtime: self.choice(table, KEY, "runtime", &RuntimeChoice::ALL, RuntimeChoice::as_str),
            memory: self.or_strict(memory, table, "review.memory", false),
            author_settles: author_settles.unwrap_or_default(),
            prompt_paths: self.globs(table, KEY, "prompt_paths").unwrap_or_default(),
            require_sandbox: self.or_strict(require_sandbox, table, "review.require_sandbox", enforced),
        }
    }

    fn panel(&mut self, root: &DeTable<'_>) -> PanelSettings {
        let Some(table) = self.table(root, "panel") else {
            return PanelSettings::default();
        };
        PanelSettings {
            trivial: self.reviewers(table, "panel", "trivial"),
            lite: self.reviewers(table, "panel", "lite"),
            full: self.reviewers(table, "panel", "full"),
        }
    }

    fn reviewers(&mut self, table: &DeTable<'_>, name: &str, key: &str) -> Vec<ReviewerName> {
        let mut reviewers = Vec::new();
        for (name, span) in self.texts(table, name, key).unwrap_or_default() {
            if name == ReviewerName::COORDINATOR {
                let message = match key {
                    "disabled_reviewers" => "the coordinator cannot be disabled: without a judge there is no review",
                    _ => "the coordinator does not sit on a panel: it judges every review",
                };
                let message = message.to_owned();
                self.problems.error(&span, message);
            } else if !ReviewerName::STANDING.contains(&name.as_str()) {
                let hint = did_you_mean(nearest(&name, ReviewerName::STANDING), || {
                    format!("the reviewers are {}", ReviewerName::STANDING.join(", "))
                });
                self.problems
                    .error(&span, format!("`{name}` is not a reviewer: {hint}"));
            } else if let Ok(name) = ReviewerName::new(name) {
                reviewers.push(name);
            }
        }
        reviewers
    }

    fn paths(&mut self, root: &DeTable<'_>) -> PathSettings {
        let Some(table) = self.table(root, "paths") else {
            return PathSettings::default();
        };
        PathSettings {
            ignore: self.globs(table, "paths", "ignore").unwrap_or_default(),
            trusted: self.globs(table, "paths", "trusted").unwrap_or_default(),
        }
    }

    fn path_instructions(&mut self, root: &DeTable<'_>) -> Vec<PathInstruction> {
        let key = "path_instructions";
        let mut instructions = Vec::new();
        for (table, _) in self.tables(root, key, &["paths", "instructions"]) {
            let paths = self.globs(table, key, "paths");
            let text = self.text(table, key, "instructions");
            self.not_empty(table, "paths", "no reviewer would ever get these instructions");
            // A rule with one bad pattern still holds for the others.
            if let (Some(paths), Some((text, _))) = (paths.filter(|paths| !paths.is_empty()), text) {
                instructions.push(PathInstruction {
                    paths,
                    instructions: text,
                });
            }
        }
        instructions
    }

    fn codex(&mut self, root: &DeTable<'_>) -> CodexSettings {
        let Some(table) = self.table(root, "codex") else {
            return CodexSettings::default();
        };
        let rules = self.text(table, "codex", "rules").and_then(|(text, span)| {
            let fault = codex_fault(&text);
            if let Some(fault) = fault {
                self.problems.error(&span, format!("`{text}` {fault}"));
            }
            fault.is_none().then_some(text)
        });
        CodexSettings { rules }
    }

    fn break_glass(&mut self, root: &DeTable<'_>) -> BreakGlassSettings {
        let Some(table) = self.table(root, "break_glass") else {
            return BreakGlassSettings::default();
        };
        let by = self.choice(table, "break_glass", "by", &BreakGlassBy::ALL, BreakGlassBy::as_str);
        BreakGlassSettings {
            by: by.unwrap_or_default(),
        }
    }

    fn verdict(&mut self, root: &DeTable<'_>) -> RubricSettings {
        let default = RubricSettings::default();
        let Some(table) = self.table(root, "verdict") else {
            return default;
        };
        RubricSettings {
            // None at all is no pattern.
            warnings: self
                .number(table, "verdict", "warnings", 1..=MAX_WARNINGS)
                .unwrap_or(default.warnings),
            warnings_alike: self
                .number(table, "verdict", "warnings_alike", 1..=MAX_WARNINGS)
                .unwrap_or(default.warnings_alike),
        }
    }
}

/// Why a text names no place of rules.
fn codex_fault(text: &str) -> Option<&'static str> {
    if text.starts_with("https://") {
        return None;
    }
    if text.contains("://") {
        return Some("is not an https:// address");
    }
    path_fault(text)
}

/// Why a text names no file of the repository.
pub(super) fn path_fault(text: &str) -> Option<&'static str> {
    if text.starts_with('/') || text.contains('\\') || text.split('/').any(|part| part == "..") {
        return Some("is not a path below the repository's root");
    }
    None
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;

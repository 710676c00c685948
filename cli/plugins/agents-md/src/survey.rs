//! The survey of a diff: file after file, so that no more than one patch has to be in memory.

use std::collections::{BTreeMap, BTreeSet};

use conclave_engine::diff::ChangeKind;

use crate::{
    ChangedFile, Hint, Kind, Materiality,
    environment::{is_beside_the_program, required_variables, sample_variables},
    families::{BUILD_FILES, Family, LINT_FILES, LOCK_FILES, PIPELINES, TEST_FILES},
    instructions::{Instructions, faults, is_instructions},
    manifest::{Dependencies, has_extension},
    patch::Lines,
    pattern::pattern,
    pipeline::pipeline,
    tasks,
};
use Materiality::{High, Low, Medium};

/// So many files that leave a directory are a move of it.
const MANY_MOVED: usize = 5;

/// Looks at the files of a diff, one after the other.
#[derive(Debug, Default)]
pub struct Survey {
    hints: Vec<Hint>,
    /// Files of a family that came and went, by family.
    came: BTreeMap<&'static str, Vec<(&'static str, String)>>,
    went: BTreeMap<&'static str, Vec<(&'static str, String)>>,
    /// How many files left a place for another one, and the first of them.
    moves: BTreeMap<(String, String), (usize, String)>,
    variables: Vec<(String, Option<u32>, String)>,
    /// Text that was there before: what is in it is not new.
    before: BTreeSet<String>,
    styles: Vec<String>,
    own_files: BTreeSet<String>,
}

impl Survey {
    /// Looks at a file. The patch of one that is only listed, such as a lock file, may be left out.
    pub fn file(&mut self, file: &ChangedFile, patch: &str) {
        let lines = Lines::of(patch);
        let name = file.path.rsplit('/').next().unwrap_or(&file.path);
        self.families(file);
        if file.kind == ChangeKind::Renamed {
            self.moved(file);
        }
        if let Some(dependencies) = Dependencies::of(&file.path, &lines) {
            self.hints.extend(tasks::dependencies(&file.path, &dependencies));
        }
        self.hints.extend(match name {
            "package.json" => tasks::package_json(&file.path, &lines),
            "Makefile" | "makefile" | "GNUmakefile" | "justfile" | "Justfile" if file.kind != ChangeKind::Deleted => {
                tasks::targets(&file.path, &lines)
            }
            "pyproject.toml" => tasks::pyproject(&file.path, &lines),
            _ => Vec::new(),
        });
        if PIPELINES.find(&file.path).is_some() {
            self.hints.extend(pipeline(file, &lines));
        }
        if LINT_FILES.find(&file.path).is_some() {
            let text = format!("the lint or format rules in it are {}", file.kind.as_str());
            self.add(
                Medium,
                Kind::LintRules,
                &file.path,
                lines.added.first().map(|line| line.number),
                text,
            );
        }
        if ["css", "scss", "sass", "less", "styl"]
            .iter()
            .any(|style| has_extension(name, style))
        {
            self.styles.push(file.path.clone());
        }
        for variable in lines.removed.iter().flat_map(|line| names(line)) {
            self.before.insert(variable);
        }
        if !is_beside_the_program(&file.path) {
            for line in &lines.added {
                for variable in required_variables(&file.path, &line.text)
                    .into_iter()
                    .chain(sample_variables(name, &line.text))
                {
                    self.variables.push((file.path.clone(), Some(line.number), variable));
                }
            }
        }
        if is_instructions(&file.path) {
            self.own_files.insert(file.path.clone());
        }
    }

    /// Everything that was seen. `instructions` are the files for agents as they are at head.
    pub fn finish(mut self, instructions: &[Instructions]) -> Vec<Hint> {
        self.replaced(Kind::PackageManager, "lock", "the package manager");
        self.replaced(Kind::TestFramework, "tests", "the test runner");
        self.gone_build_files();
        self.moved_directories();
        let mut known = BTreeSet::new();
        for (path, line, variable) in std::mem::take(&mut self.variables) {
            if !self.before.contains(&variable) && known.insert(variable.clone()) {
                let text = format!("`{variable}` is read without a default; look whether it is new");
                self.add(High, Kind::EnvironmentVariable, &path, line, text);
            }
        }
        if let Some(first) = self.styles.first().cloned() {
            let text = format!("{} style sheets changed", self.styles.len());
            self.add(Low, Kind::Styles, &first, None, text);
        }
        for file in instructions {
            let changed = self.own_files.contains(&file.path);
            self.hints.extend(faults(file, changed));
        }
        self.hints
    }

    fn add(&mut self, materiality: Materiality, kind: Kind, file: &str, line: Option<u32>, text: String) {
        self.hints.push(Hint::new(materiality, kind, file, line, text));
    }

    fn families(&mut self, file: &ChangedFile) {
        for (name, family) in [("lock", &LOCK_FILES), ("tests", &TEST_FILES), ("build", &BUILD_FILES)] {
            let note = |place: &mut BTreeMap<&'static str, Vec<(&'static str, String)>>, path: &str| {
                if let Some(member) = family.find(path) {
                    place.entry(name).or_default().push((member, path.to_owned()));
                }
            };
            match file.kind {
                ChangeKind::Added | ChangeKind::Copied => note(&mut self.came, &file.path),
                ChangeKind::Deleted => note(&mut self.went, &file.old_path),
                ChangeKind::Renamed => {
                    note(&mut self.came, &file.path);
                    note(&mut self.went, &file.old_path);
                }
                ChangeKind::Modified => {}
            }
        }
    }

    /// One member of a family came where another one went, in the same directory.
    fn replaced(&mut self, kind: Kind, family: &'static str, what: &str) {
        let came = self.came.remove(family).unwrap_or_default();
        let went = self.went.remove(family).unwrap_or_default();
        for (new, path) in &came {
            let old = went
                .iter()
                .find(|(old, gone)| old != new && directory(gone) == directory(path) && kin(old, new));
            if let Some((old, _)) = old {
                self.add(High, kind, path, None, format!("{what} changes from {old} to {new}"));
            }
        }
    }

    fn gone_build_files(&mut self) {
        let came = self.came.remove("build").unwrap_or_default();
        for (old, gone) in self.went.remove("build").unwrap_or_default() {
            if came
                .iter()
                .any(|(new, path)| *new == old && directory(path) == directory(&gone))
            {
                continue;
            }
            match came.iter().find(|(_, path)| directory(path) == directory(&gone)) {
                Some((new, path)) => {
                    let text = format!("the build goes from {old} ({gone}) to {new}");
                    self.add(High, Kind::BuildTool, path, None, text);
                }
                None => self.add(
                    High,
                    Kind::BuildTool,
                    &gone,
                    None,
                    format!("the build file of {old} is gone"),
                ),
            }
        }
    }

    fn moved(&mut self, file: &ChangedFile) {
        let (mut old, mut new) = (directory(&file.old_path), directory(&file.path));
        if old == new {
            return;
        }
        // What both end in was not moved but came along.
        while let (Some((old_rest, old_last)), Some((new_rest, new_last))) = (split(old), split(new)) {
            if old_last != new_last {
                break;
            }
            (old, new) = (old_rest, new_rest);
        }
        let entry = self.moves.entry((old.to_owned(), new.to_owned()));
        entry.or_insert_with(|| (0, file.path.clone())).0 += 1;
    }

    fn moved_directories(&mut self) {
        for ((old, new), (count, first)) in std::mem::take(&mut self.moves) {
            if count >= MANY_MOVED {
                let root = |path: String| if path.is_empty() { "the root".to_owned() } else { path };
                let text = format!("{count} files moved from {} to {}", root(old), root(new));
                self.add(High, Kind::DirectoryLayout, &first, None, text);
            }
        }
    }
}

/// Names as variables have them.
fn names(line: &str) -> Vec<String> {
    let names = pattern!(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b|\b[A-Z]{3,}\b").find_iter(line);
    names.map(|name| name.as_str().to_owned()).collect()
}

fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

fn split(directory: &str) -> Option<(&str, &str)> {
    (!directory.is_empty()).then(|| directory.rsplit_once('/').unwrap_or(("", directory)))
}

fn kin(one: &str, other: &str) -> bool {
    Family::language(one) == Family::language(other)
}

#[cfg(test)]
#[path = "survey_tests.rs"]
mod tests;

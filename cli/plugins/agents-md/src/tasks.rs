//! Dependencies, scripts and targets: what the commands of AGENTS.md rest on.

use crate::{
    Hint, Kind,
    Materiality::{High, Low, Medium},
    families::{API_CLIENTS, STATE_LIBRARIES, TEST_RUNNERS},
    manifest::{Dependencies, is_major, one, program, script, target},
    patch::Lines,
    pattern::pattern,
};

/// Tools and libraries that were replaced, and versions.
pub(crate) fn dependencies(path: &str, dependencies: &Dependencies) -> Vec<Hint> {
    let mut hints = Vec::new();
    let mut add = |materiality, kind, line, text| hints.push(Hint::new(materiality, kind, path, line, text));
    for (materiality, kind, family) in [
        (High, Kind::TestFramework, &TEST_RUNNERS),
        (Medium, Kind::ApiClient, &API_CLIENTS),
        (Medium, Kind::StateManagement, &STATE_LIBRARIES),
    ] {
        let gone: Vec<&str> = dependencies
            .gone_names()
            .filter_map(|name| family.find_name(name))
            .collect();
        let new: Vec<(&str, Option<u32>)> = dependencies
            .new_names()
            .filter_map(|(name, dependency)| Some((family.find_name(name)?, dependency.line)))
            .collect();
        // What is gone stands for what instructions may still name; what is only new makes nothing untrue.
        let Some(old) = gone.iter().find(|old| new.iter().all(|(new, _)| new != *old)) else {
            continue;
        };
        match new.first() {
            Some((new, line)) => add(materiality, kind, *line, format!("{old} is replaced by {new}")),
            None => add(materiality, kind, None, format!("{old} is no longer a dependency")),
        }
    }
    for (name, old, new) in dependencies.bumps() {
        let text = format!("{name} goes from {} to {}", old.version, new.version);
        if is_major(&old.version, &new.version) {
            add(Medium, Kind::MajorVersion, new.line, text);
        } else {
            add(Low, Kind::MinorVersion, new.line, text);
        }
    }
    hints
}

/// The package manager and the scripts of a `package.json`.
pub(crate) fn package_json(path: &str, lines: &Lines) -> Vec<Hint> {
    let mut hints = Vec::new();
    let mut add = |materiality, kind, line, text| hints.push(Hint::new(materiality, kind, path, line, text));
    let manager = |text: &str| one(pattern!(r#""packageManager"\s*:\s*"([a-z]+)@"#), text);
    let old = lines.removed.iter().find_map(|line| manager(line));
    let new = lines
        .added
        .iter()
        .find_map(|line| Some((manager(&line.text)?, line.number)));
    if let Some((new, line)) = new
        && old.as_ref() != Some(&new)
    {
        let from = old.map(|old| format!(" from {old}")).unwrap_or_default();
        add(
            High,
            Kind::PackageManager,
            Some(line),
            format!("the package manager is set{from} to {new}"),
        );
    }
    for (name, old) in lines.removed.iter().filter_map(|line| script(line)) {
        let kind = if name.starts_with("test") || name.starts_with("e2e") {
            Kind::TestFramework
        } else if name.starts_with("lint") || name.starts_with("format") {
            Kind::LintRules
        } else {
            Kind::BuildTool
        };
        let materiality = if kind == Kind::LintRules { Medium } else { High };
        let new = lines
            .added
            .iter()
            .filter_map(|line| Some((script(&line.text)?, line.number)))
            .find(|((other, _), _)| *other == name);
        match new {
            Some(((_, new), line)) if program(&old) != program(&new) => {
                let text = format!("the script `{name}` runs `{new}` instead of `{old}`");
                add(materiality, kind, Some(line), text);
            }
            Some(_) => {}
            None => add(
                materiality,
                kind,
                None,
                format!("the script `{name}` (`{old}`) is gone"),
            ),
        }
    }
    hints
}

/// Targets of a Makefile or justfile that are gone.
pub(crate) fn targets(path: &str, lines: &Lines) -> Vec<Hint> {
    let mut hints = Vec::new();
    let mut add = |materiality, kind, line, text| hints.push(Hint::new(materiality, kind, path, line, text));
    for name in lines.removed.iter().filter_map(|line| target(line)) {
        if !lines
            .added
            .iter()
            .any(|line| target(&line.text).as_ref() == Some(&name))
        {
            add(High, Kind::BuildTool, None, format!("the target `{name}` is gone"));
        }
    }
    hints
}

/// The build and the linters of a `pyproject.toml`.
pub(crate) fn pyproject(path: &str, lines: &Lines) -> Vec<Hint> {
    let mut hints = Vec::new();
    let mut add = |materiality, kind, line, text| hints.push(Hint::new(materiality, kind, path, line, text));
    let backend = |text: &str| one(pattern!(r#"^\s*build-backend\s*=\s*"([\w.]+)""#), text);
    let old = lines.removed.iter().find_map(|line| backend(line));
    let new = lines
        .added
        .iter()
        .find_map(|line| Some((backend(&line.text)?, line.number)));
    if let (Some(old), Some((new, line))) = (old, new)
        && old != new
    {
        add(
            High,
            Kind::BuildTool,
            Some(line),
            format!("the build goes from {old} to {new}"),
        );
    }
    let lint = pattern!(r"^\s*\[tool\.(ruff|black|isort|flake8|pylint|mypy)\b");
    if let Some(line) = lines.added.iter().find(|line| lint.is_match(&line.text)) {
        let text = "it brings rules of a linter or formatter".to_owned();
        add(Medium, Kind::LintRules, Some(line.number), text);
    } else if lines.removed.iter().any(|line| lint.is_match(line)) {
        add(
            Medium,
            Kind::LintRules,
            None,
            "rules of a linter or formatter are gone".to_owned(),
        );
    }
    hints
}

//! Which patches are whose: each reviewer is told the files of its field, so that seven do not all read everything.
//!
//! A path says enough for that. What it does not say ends up as source, which every code reviewer reads; and a file in
//! whose field no required reviewer sits is given to one of them all the same, so that nothing stays unread by rule.

use std::collections::BTreeMap;

use conclave_shared::{path_globs::PathGlobs, reviewer::ReviewerName};

/// What a path says about its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    AgentInstructions,
    Build,
    Changelog,
    Config,
    Container,
    Data,
    Locale,
    Manifest,
    Migration,
    Pipeline,
    Prose,
    Query,
    Schema,
    Source,
    Style,
    Template,
    Test,
}

/// Takes over what is in no required reviewer's field, in this order.
const HEIRS: [&str; 5] = ["correctness", "generalist", "code_quality", "security", "performance"];

/// Whether files of this kind are in the field of this reviewer. A reviewer that is not known here reads everything.
fn is_in_field(reviewer: &str, kind: Kind) -> bool {
    use Kind::{
        AgentInstructions, Build, Changelog, Config, Container, Locale, Manifest, Migration, Pipeline, Prose, Query,
        Schema, Source, Template, Test,
    };
    match reviewer {
        "security" => matches!(
            kind,
            Source | Template | Query | Migration | Schema | Config | Build | Manifest | Pipeline | Container
        ),
        "correctness" => matches!(
            kind,
            Source | Template | Query | Migration | Schema | Config | Build | Pipeline | Container
        ),
        "performance" => matches!(kind, Source | Template | Query | Migration),
        "code_quality" => matches!(kind, Source | Template | Query | Build | Test),
        "documentation" => matches!(kind, Prose | Changelog | Locale | Schema | Source | Template),
        "release" => matches!(
            kind,
            Migration | Schema | Query | Manifest | Pipeline | Container | Build | Config | Changelog
        ),
        "agents_md" => matches!(
            kind,
            AgentInstructions | Manifest | Build | Pipeline | Container | Config
        ),
        "tests" => matches!(kind, Test | Build | Pipeline),
        _ => true,
    }
}

/// For each member of the panel the positions of its patches, in the order of the index. A member is its name and
/// whether the review is inconclusive without it. The fields of a project's own reviewers are what `own` says.
pub fn assign(
    panel: &[(ReviewerName, bool)],
    paths: &[&str],
    own: &BTreeMap<ReviewerName, PathGlobs>,
) -> BTreeMap<ReviewerName, Vec<usize>> {
    let reads = |name: &ReviewerName, path: &str, kind: Kind| match own.get(name) {
        Some(globs) => globs.is_match(path),
        None => is_in_field(name.as_str(), kind),
    };
    let heir = HEIRS
        .iter()
        .find_map(|heir| {
            panel
                .iter()
                .find(|(name, required)| *required && name.as_str() == *heir)
        })
        .or_else(|| panel.iter().find(|(_, required)| *required))
        .or_else(|| panel.first());
    let mut fields: BTreeMap<ReviewerName, Vec<usize>> =
        panel.iter().map(|(name, _)| (name.clone(), Vec::new())).collect();
    for (position, path) in paths.iter().enumerate() {
        let kind = kind(path);
        let inherited = !panel
            .iter()
            .any(|(name, required)| *required && reads(name, path, kind));
        for (name, _) in panel {
            let inherits = inherited && heir.is_some_and(|(heir, _)| heir == name);
            if (reads(name, path, kind) || inherits)
                && let Some(field) = fields.get_mut(name)
            {
                field.push(position);
            }
        }
    }
    fields
}

/// What a path says about its content; the first rule that fits.
fn kind(path: &str) -> Kind {
    let lower = path.to_ascii_lowercase();
    let (directories, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let stem = name.split('.').next().unwrap_or(name);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let under = |wanted: &[&str]| directories.split('/').any(|directory| wanted.contains(&directory));
    let named = |wanted: &[&str]| wanted.contains(&name);
    let starts = |wanted: &[&str]| wanted.iter().any(|start| name.starts_with(start));
    let ends = |wanted: &[&str]| wanted.contains(&extension);

    if named(&[
        "agents.md",
        "agents.override.md",
        "claude.md",
        "context.md",
        "gemini.md",
        ".cursorrules",
    ]) || under(&[".opencode", ".claude", ".agents", ".cursor", ".codex"])
    {
        Kind::AgentInstructions
    } else if (under(&["migrations", "migration", "migrate"]) || lower.contains("alembic/versions/"))
        && ends(&[
            "sql", "py", "rb", "php", "js", "ts", "go", "rs", "cs", "java", "kt", "xml", "yaml", "yml",
        ])
    {
        Kind::Migration
    } else if starts(&[
        ".gitlab-ci",
        "jenkinsfile",
        "azure-pipelines",
        "bitbucket-pipelines",
        ".drone.",
    ]) || lower.starts_with(".github/")
        || under(&[".circleci", ".buildkite", ".gitlab"])
    {
        Kind::Pipeline
    } else if is_test(directories, name) {
        Kind::Test
    } else if starts(&["changelog", "changes.", "history.", "release-notes", "releases."]) {
        Kind::Changelog
    } else if starts(&[
        "dockerfile",
        "containerfile",
        "docker-compose",
        "compose.y",
        "chart.y",
        "helmfile",
        "kustomization",
    ]) || ends(&["dockerfile", "tf", "hcl"])
        || under(&["charts", "helm", "k8s", "kubernetes"])
    {
        Kind::Container
    } else if is_manifest(name, extension) {
        Kind::Manifest
    } else if is_build(name, extension) {
        Kind::Build
    } else if ends(&["proto", "graphql", "gql", "avsc", "thrift", "xsd", "wsdl"])
        || starts(&["openapi", "swagger"])
        || name.ends_with(".schema.json")
    {
        Kind::Schema
    } else if under(&["locales", "locale", "i18n", "l10n", "translations"])
        || ends(&["po", "pot", "xlf", "arb", "strings"])
    {
        Kind::Locale
    } else if ends(&["md", "mdx", "rst", "adoc", "asciidoc", "txt", "org", "tex"])
        || ["readme", "license", "contributing", "authors", "notice"].contains(&stem)
    {
        Kind::Prose
    } else if ends(&["sql"]) {
        Kind::Query
    } else if ends(&["css", "scss", "sass", "less", "styl"]) {
        Kind::Style
    } else if ends(&[
        "html", "htm", "j2", "jinja", "jinja2", "hbs", "ejs", "erb", "haml", "tmpl", "tpl", "twig", "liquid", "pug",
        "mustache",
    ]) {
        Kind::Template
    } else if ends(&[
        "yaml",
        "yml",
        "toml",
        "ini",
        "json",
        "jsonc",
        "json5",
        "cfg",
        "conf",
        "properties",
        "xml",
        "plist",
        "env",
    ]) || starts(&[".env"])
    {
        Kind::Config
    } else if ends(&[
        "csv", "tsv", "svg", "snap", "lock", "geojson", "ndjson", "jsonl", "diff", "patch",
    ]) {
        Kind::Data
    } else {
        Kind::Source
    }
}

fn is_test(directories: &str, name: &str) -> bool {
    let in_tests = directories.split('/').any(|directory| {
        matches!(
            directory,
            "test" | "tests" | "__tests__" | "spec" | "specs" | "e2e" | "testdata" | "fixtures" | "cypress"
        )
    });
    let (stem, _) = name.rsplit_once('.').unwrap_or((name, ""));
    in_tests
        || stem.starts_with("test_")
        || ["_test", "_tests", ".test", ".tests", ".spec", "_spec", "-test"]
            .iter()
            .any(|end| stem.ends_with(end))
        || name == "conftest.py"
}

fn is_manifest(name: &str, extension: &str) -> bool {
    matches!(
        name,
        "package.json"
            | "cargo.toml"
            | "pyproject.toml"
            | "setup.py"
            | "setup.cfg"
            | "go.mod"
            | "go.work"
            | "pom.xml"
            | "gemfile"
            | "composer.json"
            | "mix.exs"
            | "pubspec.yaml"
            | "deno.json"
            | "version"
            | ".tool-versions"
            | ".nvmrc"
            | ".python-version"
    ) || (name.starts_with("requirements") && extension == "txt")
        || name.starts_with("rust-toolchain")
        || matches!(extension, "csproj" | "fsproj" | "gemspec" | "nuspec")
}

fn is_build(name: &str, extension: &str) -> bool {
    matches!(
        name,
        "makefile" | "justfile" | "rakefile" | "cmakelists.txt" | "build" | "workspace" | "tox.ini" | "noxfile.py"
    ) || matches!(extension, "mk" | "cmake" | "gradle" | "bazel" | "bzl")
        || name.ends_with(".gradle.kts")
        || [
            "taskfile.",
            "tsconfig",
            ".eslintrc",
            ".prettierrc",
            ".pre-commit",
            ".editorconfig",
            "rustfmt.",
            "clippy.",
            "ruff.",
            "biome.",
            "pytest.",
        ]
        .iter()
        .any(|start| name.starts_with(start))
        || name.contains(".config.")
}

#[cfg(test)]
#[path = "assign_tests.rs"]
mod tests;

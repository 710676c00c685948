//! Files that are noise by their name.

use super::FilterReason;

const LOCK_FILES: [&str; 14] = [
    "npm-shrinkwrap.json",
    "go.work.sum",
    "bun.lock",
    "package-lock.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "Cargo.lock",
    "go.sum",
    "poetry.lock",
    "Pipfile.lock",
    "flake.lock",
    "uv.lock",
    "composer.lock",
    "Gemfile.lock",
];
const MINIFIED: [&str; 4] = [".min.js", ".min.css", ".bundle.js", ".map"];
const VENDORED: [&str; 6] = [
    "vendor",
    "node_modules",
    "third_party",
    "bower_components",
    "Pods",
    ".yarn",
];

/// Why a path is noise, or `None`.
pub(super) fn reason(path: &str) -> Option<FilterReason> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if LOCK_FILES.contains(&name) {
        return Some(FilterReason::LockFile);
    }
    if MINIFIED.iter().any(|suffix| name.ends_with(suffix)) {
        return Some(FilterReason::Minified);
    }
    let directories = path.rsplit_once('/').map_or("", |(directories, _)| directories);
    directories
        .split('/')
        .any(|directory| VENDORED.contains(&directory))
        .then_some(FilterReason::Vendored)
}

/// Whether the path is a database migration: tools stamp those as generated, and they change schemas.
pub(super) fn is_migration(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let in_directory = lower.rsplit_once('/').is_some_and(|(directories, _)| {
        directories
            .split('/')
            .any(|directory| matches!(directory, "migrations" | "migration" | "migrate" | "alembic"))
    });
    in_directory || lower.ends_with(".migration.sql")
}

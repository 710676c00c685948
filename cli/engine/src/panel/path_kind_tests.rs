//! Everything that decides by a path decides by its kind: paths of one kind get the same answers.

use std::collections::BTreeMap;

use conclave_shared::{
    path_kind::{PathKind, language},
    reviewer::ReviewerName,
    risk::SecurityPaths,
};
use globset::GlobSet;

use super::{assign, select::release_reason};
use crate::{
    diff::{ByName, FileDiff, FilterReason, FilterRules, may_be_encoded},
    trojan_source::is_checked,
};

const PATHS: &str = "
    Cargo.toml a/Cargo.toml composer.json Gemfile App.csproj go.mod pom.xml VERSION x/VERSION requirements.txt build.gradle
    settings.gradle.kts Package.swift package-lock.json yarn.lock a/Cargo.lock deno.lock mix.lock Makefile vite.config.ts
    .gitlab-ci.yml Jenkinsfile .circleci/config.yml .github/workflows/a.yml .github/dependabot.yml ci/jobs.yaml ci/run.sh
    db/migrations/1.sql migrations/2.py alembic/env.py migrations/README.md api.proto api.thrift openapi.yaml schema.gql
    Dockerfile charts/a/values.yaml main.tf src/main.rs src/app.py web/App.vue tests/a.rs src/a_test.go CHANGELOG.md HISTORY.md
    AGENTS.md CLAUDE.md .cursorrules README.md docs/a.rst docs/a.mdx docs/b.mdx NOTICE LICENSE notes.txt b.txt locales/de.json
    i18n/he.json messages.po b.xlf config/app.yaml b.toml .env queries/a.sql b.sql site.css b.scss data/a.csv b.tsv logo.svg
    logo.png b.jpg lib.jar b.so a.zip b.tar data.bin b.dat vendor/a.c vendor/b.c vendor/README.md vendor/b.md dist/a.min.js
    dist/b.min.js dist/app.map bin/deploy bin/run .husky/pre-commit robots.txt CMakeLists.txt
";

#[test]
fn paths_of_one_kind_get_the_same_answers() {
    let panel: Vec<(ReviewerName, bool)> = ReviewerName::STANDING
        .into_iter()
        .map(|name| (ReviewerName::new(name).expect("a name"), true))
        .collect();
    let security = SecurityPaths::default();
    let rules = FilterRules {
        security: &security,
        ignore: &GlobSet::empty(),
        trusted: &GlobSet::empty(),
    };
    let mut by_kind = BTreeMap::<String, (&str, _)>::new();
    let mut kinds = 0;
    for path in PATHS.split_ascii_whitespace() {
        let file = FileDiff {
            path: path.to_owned(),
            old_path: path.to_owned(),
            ..FileDiff::default()
        };
        let readers: Vec<String> = assign(&panel, &[path], &BTreeMap::new())
            .into_iter()
            .filter(|(_, patches)| !patches.is_empty())
            .map(|(name, _)| name.to_string())
            .collect();
        let answers = (
            readers,
            release_reason(std::slice::from_ref(&file)).is_some(),
            ByName::of(&file, rules).is_left_out(),
            may_be_encoded(&file),
            is_checked(path),
        );
        kinds += 1;
        let (other, expected) = by_kind
            .entry(format!("{:?}", PathKind::of(path)))
            .or_insert_with(|| (path, answers.clone()));
        assert_eq!(answers, *expected, "{path} is of the kind of {other}");
    }
    assert!(by_kind.len() > 30 && by_kind.len() < kinds, "{} kinds", by_kind.len());
}

#[test]
fn noise_is_named_by_its_kind() {
    for (path, reason) in [
        ("a/go.sum", FilterReason::LockFile),
        ("dist/a.min.css", FilterReason::Minified),
        ("node_modules/a/b.js", FilterReason::Vendored),
    ] {
        assert_eq!(PathKind::of(path).noise.map(FilterReason::from), Some(reason), "{path}");
    }
    assert_eq!(language("a/B.RS"), "rs");
}

#[test]
fn manifests_pipelines_and_interfaces_of_every_ecosystem_seat_the_release_reviewer() {
    for path in [
        "composer.json",
        "Gemfile",
        "App.csproj",
        "mix.exs",
        "build.gradle.kts",
        "requirements.txt",
        "Jenkinsfile",
        ".circleci/config.yml",
        "api/orders.thrift",
        "schema.gql",
        "db/migration/V2__users.sql",
    ] {
        let file = FileDiff {
            path: path.to_owned(),
            ..FileDiff::default()
        };
        assert_eq!(
            release_reason(&[file]),
            Some(format!("release-related: {path}")),
            "{path}"
        );
    }
}

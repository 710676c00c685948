//! Names of many ecosystems, and what they are.

use super::*;

fn role(path: &str) -> Role {
    PathKind::of(path).role
}

#[test]
fn paths_say_what_files_are_for() {
    for (expected, paths) in [
        (
            Role::Manifest,
            "package.json crates/a/Cargo.toml pyproject.toml setup.py setup.cfg requirements-dev.txt constraints.txt Pipfile
             go.mod go.work pom.xml Gemfile widget.gemspec composer.json mix.exs pubspec.yaml deno.json App.csproj Lib.fsproj
             packages.config Directory.Packages.props Podfile widget.podspec gradle/libs.versions.toml .nvmrc .tool-versions
             rust-toolchain.toml VERSION vcpkg.json elm.json project.clj deps.edn app.cabal stack.yaml build.zig.zon",
        ),
        (
            Role::BuildManifest,
            "build.gradle app/build.gradle.kts settings.gradle build.sbt Package.swift flake.nix conanfile.py",
        ),
        (
            Role::Build,
            "Makefile GNUmakefile rules.mk CMakeLists.txt meson.build meson_options.txt BUILD WORKSPACE defs.bzl justfile
             Rakefile vite.config.ts tsconfig.json .eslintrc.json .pre-commit-config.yaml clippy.toml tox.ini noxfile.py
             lefthook.yml",
        ),
        (
            Role::Pipeline,
            ".gitlab-ci.yml ci/base.gitlab-ci.yml .gitlab/ci/build.yml .github/workflows/ci.yml .github/dependabot.yml
             Jenkinsfile Jenkinsfile.deploy ci/Jenkinsfile azure-pipelines.yml bitbucket-pipelines.yml .circleci/config.yml
             .buildkite/pipeline.yml .drone.yml .travis.yml appveyor.yml cloudbuild.yaml buildspec.yml action.yml ci/jobs.yaml",
        ),
        (
            Role::Migration,
            "db/migrations/0001_init.sql app/migrations/0002_users.py db/migrate/20260101_users.rb priv/repo/migrations/1_a.exs
             alembic/versions/ab12.py alembic/env.py src/main/resources/db/migration/V1__init.sql drizzle/0001.migration.sql
             migrations/meta/_journal.json",
        ),
        (
            Role::Interface,
            "api/orders.proto schema.graphql schema.gql schema.graphqls events.avsc api.thrift api.wsdl types.xsd rpc.capnp
             world.wit openapi.yaml swagger.json asyncapi.yaml config.schema.json",
        ),
        (
            Role::Container,
            "Dockerfile deploy/Dockerfile Dockerfile.arm64 app.dockerfile Containerfile docker-compose.yml compose.yaml
             charts/app/values.yaml Chart.yaml helmfile.yaml k8s/api.yaml kustomization.yaml main.tf prod.tfvars app.nomad",
        ),
        (
            Role::LockFile,
            "package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb deno.lock Cargo.lock go.sum
             go.work.sum poetry.lock pylock.toml pylock.dev.toml Pipfile.lock uv.lock pdm.lock composer.lock Gemfile.lock
             flake.lock mix.lock pubspec.lock Podfile.lock packages.lock.json gradle.lockfile gradle/verification-metadata.xml Package.resolved .pnp.cjs",
        ),
        (
            Role::Test,
            "tests/e2e/main.rs src/users_test.go web/cart.spec.ts web/cart.test.tsx test_users.py conftest.py spec/a_spec.rb
             src/CartTest.java src/CartTests.cs testdata/a.json web/__mocks__/fs.js",
        ),
        (
            Role::Changelog,
            "CHANGELOG.md CHANGELOG CHANGES.rst HISTORY.md release-notes.md changelog.json",
        ),
        (
            Role::AgentInstructions,
            "AGENTS.md web/CLAUDE.md GEMINI.md .cursorrules .claude/settings.json .cursor/rules/a.mdc
             .github/copilot-instructions.md skills/pdf/SKILL.md",
        ),
        (
            Role::Prose,
            "README.md README LICENSE LICENSE.txt docs/guide.adoc docs/a.asciidoc docs/a.mdx NOTICE notes.txt paper.tex
             LICENCE readme.de CONTRIBUTING",
        ),
        (
            Role::Locale,
            "web/locales/de.json i18n/he.yml po/de.po messages.xlf lib/l10n/app_de.arb a.strings locales/de/main.ftl",
        ),
        (
            Role::Config,
            "config/app.yaml .env .env.example settings.toml nginx.conf robots.txt messages/kafka.yaml deploy/values/prod.yaml",
        ),
        (Role::Query, "queries/users.sql report.psql a.cypher"),
        (Role::Style, "web/site.scss a.css"),
        (Role::Data, "data/cities.csv a.tsv logo.svg a.snap a.ndjson fix.patch"),
        (
            Role::Source,
            "src/main.rs bin/deploy web/App.vue scripts/run.sh templates/mail.j2 a.html src/contest.py src/Contest.java
             src/history.rs src/changes.py src/license.go web/i18n/index.ts src/ci/parser.rs unknown.qqq migrations/blob
             migrations/logo.png Test.java install",
        ),
    ] {
        for path in paths.split_ascii_whitespace() {
            assert_eq!(role(path), expected, "{path}");
        }
    }
}

#[test]
fn paths_say_what_files_are_to_a_machine() {
    for (path, expected) in [
        ("src/a.PY", Form::Code),
        ("Makefile", Form::Code),
        ("ops/deploy", Form::Unknown),
        (".bashrc", Form::Code),
        (".env.production", Form::Code),
        ("Dockerfile.arm64", Form::Code),
        ("requirements-dev.txt", Form::Code),
        ("CMakeLists.txt", Form::Code),
        ("vendor/x/AGENTS.md", Form::Code),
        ("docs/a.mdx", Form::Code),
        ("nginx/access.map", Form::Code),
        ("img/logo.svg", Form::Code),
        ("libssl.so.3", Form::Compiled),
        ("docs/guide.chm", Form::Compiled),
        ("start.lnk", Form::Compiled),
        ("data/model.rds", Form::Compiled),
        ("data/all.RData", Form::Compiled),
        ("site.url", Form::Code),
        ("files.cab", Form::Archive),
        ("gradle/wrapper/gradle-wrapper.jar", Form::Compiled),
        ("a.tar.gz", Form::Archive),
        ("icons.tgz", Form::Archive),
        ("night-sky.tar.xz", Form::Archive),
        ("data.csv.gz", Form::Archive),
        ("wheels/p-1.0.tar.gz", Form::Compiled),
        ("deps/some-name-v2.1.0.tgz", Form::Compiled),
        ("lib/m.ko.xz", Form::Compiled),
        ("model.pkl.gz", Form::Compiled),
        ("m/pytorch_model.bin", Form::Compiled),
        ("keys/a.gpg", Form::Compiled),
        ("logo.PNG", Form::Inert),
        ("LICENSE", Form::Text),
        ("VERSION", Form::Text),
        ("docs/guide.md", Form::Text),
        ("data/weights.dat", Form::Unknown),
        // It may be a script without an extension.
        ("install", Form::Unknown),
    ] {
        assert_eq!(PathKind::of(path).form, expected, "{path}");
    }
}

#[test]
fn documents_are_what_only_people_read() {
    for path in [
        "vendor/x/README",
        "vendor/x/README.md",
        "vendor/x/LICENSE.txt",
        "vendor/x/CHANGES",
        "docs/guide.adoc",
        "NOTICE.txt",
    ] {
        assert!(is_document(path), "{path}");
    }
    for path in [
        "vendor/modules.txt",
        "vendor/x/notes.txt",
        "vendor/x/data.csv",
        "vendor/x/VERSION",
        "vendor/x/AGENTS.md",
        "vendor/x/requirements.txt",
        "vendor/x/readme.py",
        "docs/a.mdx",
    ] {
        assert!(!is_document(path), "{path}");
    }
}

#[test]
fn some_places_run_by_themselves() {
    for path in [
        ".claude/commands/deploy.md",
        ".clinerules/a.md",
        ".yarn/releases/yarn-4.cjs",
        "web/.husky/pre-commit",
        ".github/workflows/a.yml",
    ] {
        assert!(PathKind::of(path).runs_by_itself, "{path}");
    }
    for path in ["src/a.rs", "hooks", "docs/husky/a.md"] {
        assert!(!PathKind::of(path).runs_by_itself, "{path}");
    }
}

#[test]
fn language_of_people_is_known_by_name_and_place() {
    for (path, expected) in [
        ("docs/a.md", Wording::Document),
        ("auth/AGENTS.md", Wording::Document),
        ("docs/a.asciidoc", Wording::Document),
        ("notes.txt", Wording::Text),
        ("AUTHORS", Wording::Text),
        ("requirements.txt", Wording::Program),
        ("CMakeLists.txt", Wording::Program),
        ("robots.txt", Wording::Program),
        ("config/app.yaml", Wording::Program),
        ("res/values-he/strings.xml", Wording::Translation),
        ("app/lang/he.json", Wording::Translation),
        ("locales/he/main.ftl", Wording::Translation),
        // A template of FreeMarker.
        ("mail/welcome.ftl", Wording::Program),
        ("Texts.he.resx", Wording::Translation),
    ] {
        assert_eq!(PathKind::of(path).wording, expected, "{path}");
    }
}

#[test]
fn prose_is_told_from_files_that_tools_read() {
    for path in [
        "README.md",
        "docs/a.rst",
        "LICENSE",
        "notes.txt",
        "docs/a.mdx",
        "AGENTS.md",
    ] {
        assert!(PathKind::of(path).is_prose(), "{path}");
    }
    for path in [
        "requirements-dev.txt",
        "CMakeLists.txt",
        "src/readme.py",
        "Makefile",
        "locales/de.json",
    ] {
        assert!(!PathKind::of(path).is_prose(), "{path}");
    }
}

#[test]
fn noise_is_known_by_exact_names() {
    for (path, expected) in [
        ("web/package-lock.json", Some(Noise::LockFile)),
        // No tool reads it, so no rule checks it.
        ("cargo.LOCK", None),
        ("deno.lock", None),
        ("dist/app.min.js", Some(Noise::Minified)),
        ("dist/app.js.map", Some(Noise::Minified)),
        ("third_party/a/b.c", Some(Noise::Vendored)),
        ("Vendor/a.c", None),
        ("vendored/a.c", None),
        ("vendor", None),
    ] {
        assert_eq!(PathKind::of(path).noise, expected, "{path}");
    }
}

#[test]
fn a_lock_file_is_checked_by_rules_or_known_as_one_that_is_not() {
    for path in [
        "package-lock.json",
        "a/go.sum",
        "uv.lock",
        "flake.lock",
        "pylock.toml",
        "a/pylock.dev.toml",
    ] {
        assert!(LockFormat::of(path).is_some() && !is_unknown_lock_file(path), "{path}");
    }
    for path in [
        "Go.sum",
        "deno.lock",
        "a/packages.lock.json",
        ".terraform.lock.hcl",
        "Package.resolved",
    ] {
        assert!(LockFormat::of(path).is_none() && is_unknown_lock_file(path), "{path}");
    }
    for path in [
        "locks.rs",
        "pylock.py",
        "pylock.a.b.toml",
        "pylock..toml",
        "my-pylock.toml",
        "src/lock",
        "src/lock.rs",
        "docs/lock.md",
        "block.json",
        "Cargo.toml",
    ] {
        assert!(LockFormat::of(path).is_none() && !is_unknown_lock_file(path), "{path}");
    }
}

#[test]
fn every_lock_file_that_rules_check_pins_the_dependencies_of_some_manifest() {
    for (lock, manifest) in [
        ("web/yarn.lock", "package.json"),
        ("npm-shrinkwrap.json", "package.json"),
        ("bun.lockb", "package.json"),
        ("Cargo.lock", "Cargo.toml"),
        ("composer.lock", "composer.json"),
        ("flake.lock", "flake.nix"),
        ("Gemfile.lock", "Gemfile"),
        ("a/go.sum", "go.mod"),
        ("go.work.sum", "go.work"),
        ("Pipfile.lock", "Pipfile"),
        ("poetry.lock", "pyproject.toml"),
        ("uv.lock", "pyproject.toml"),
        ("pylock.dev.toml", "pyproject.toml"),
    ] {
        assert!(manifests_of(lock).contains(&manifest), "{lock}");
    }
    assert!(!manifests_of("go.work.sum").contains(&"go.mod"));
    assert!(manifests_of("gradle.lockfile").is_empty());
}

#[test]
fn what_reaches_production_concerns_releases() {
    for path in [
        "composer.json",
        "Gemfile",
        "build.gradle",
        "App.csproj",
        "Jenkinsfile",
        ".circleci/config.yml",
        "api.thrift",
        "migrations/README.md",
        "CHANGELOG.md",
        "Dockerfile",
        "charts/a/values.yaml",
    ] {
        assert!(PathKind::of(path).concerns_release(), "{path}");
    }
    for path in [
        "src/main.rs",
        "README.md",
        "config/app.yaml",
        "tests/openapi_test.py",
        "Makefile",
        "yarn.lock",
    ] {
        assert!(!PathKind::of(path).concerns_release(), "{path}");
    }
}

#[test]
fn no_word_is_listed_twice() {
    for rows in [EXTENSIONS, NAMES] {
        let words: Vec<&str> = rows.iter().flat_map(|row| row.3.split_ascii_whitespace()).collect();
        assert_eq!(entries(rows).len(), words.len());
        assert!(words.iter().all(|word| *word == word.to_ascii_lowercase()));
    }
    assert_eq!(INDEX.above.len(), each_word(DIRECTORIES).count());
}

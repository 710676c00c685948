//! Tools that take each other's place: data.

/// Tools for one job, known by file names or by names of dependencies: each with how it shows. An entry that ends in `*` is a beginning,
/// one with a slash a directory and beginning.
pub(crate) struct Family(&'static [(&'static str, &'static [&'static str])]);

impl Family {
    /// The tool that a file belongs to.
    pub(crate) fn find(&self, path: &str) -> Option<&'static str> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let shows = |sign: &str| match (sign.strip_suffix('*'), sign.contains('/')) {
            (Some(start), true) => path.starts_with(start),
            (Some(start), false) => name.starts_with(start),
            (None, true) => path == sign,
            (None, false) => name == sign,
        };
        let mut members = self.0.iter();
        let member = members.find(|(_, signs)| signs.iter().any(|sign| shows(sign)));
        member.map(|(tool, _)| *tool)
    }

    /// The tool that a dependency is.
    pub(crate) fn find_name(&self, name: &str) -> Option<&'static str> {
        let member = self.0.iter().find(|(_, names)| names.contains(&name));
        member.map(|(tool, _)| *tool)
    }

    /// Whose tool it is: those of two languages do not take each other's place.
    pub(crate) fn language(tool: &str) -> &'static str {
        match tool {
            "npm" | "Yarn" | "pnpm" | "Bun" | "Jest" | "Vitest" | "Mocha" | "Karma" | "AVA" | "Playwright"
            | "Cypress" => "JavaScript",
            "Poetry" | "Pipenv" | "uv" | "PDM" | "pytest" | "tox" | "nox" => "Python",
            "RSpec" => "Ruby",
            _ => "other",
        }
    }
}

pub(crate) const LOCK_FILES: Family = Family(&[
    ("npm", &["package-lock.json", "npm-shrinkwrap.json"]),
    ("Yarn", &["yarn.lock"]),
    ("pnpm", &["pnpm-lock.yaml"]),
    ("Bun", &["bun.lock", "bun.lockb"]),
    ("Poetry", &["poetry.lock"]),
    ("Pipenv", &["Pipfile.lock"]),
    ("uv", &["uv.lock"]),
    ("PDM", &["pdm.lock"]),
]);

pub(crate) const TEST_FILES: Family = Family(&[
    ("Jest", &["jest.config.*"]),
    ("Vitest", &["vitest.config.*", "vitest.workspace.*"]),
    ("Mocha", &[".mocharc*"]),
    ("Karma", &["karma.conf*"]),
    ("AVA", &["ava.config.*"]),
    ("Playwright", &["playwright.config.*"]),
    ("Cypress", &["cypress.config.*"]),
    ("pytest", &["pytest.ini"]),
    ("tox", &["tox.ini"]),
    ("nox", &["noxfile.py"]),
    ("RSpec", &[".rspec"]),
]);

pub(crate) const BUILD_FILES: Family = Family(&[
    ("make", &["Makefile", "makefile", "GNUmakefile"]),
    ("just", &["justfile", "Justfile"]),
    ("Task", &["Taskfile.yml", "Taskfile.yaml"]),
    ("CMake", &["CMakeLists.txt"]),
    ("Meson", &["meson.build"]),
    ("Bazel", &["WORKSPACE", "WORKSPACE.bazel", "MODULE.bazel"]),
    ("Gradle", &["build.gradle", "build.gradle.kts"]),
    ("Maven", &["pom.xml"]),
    ("webpack", &["webpack.config.*"]),
    ("Vite", &["vite.config.*"]),
    ("Rollup", &["rollup.config.*"]),
    ("Turborepo", &["turbo.json"]),
    ("Nx", &["nx.json"]),
    ("gulp", &["gulpfile.*"]),
    ("Grunt", &["Gruntfile.*"]),
    ("Rake", &["Rakefile"]),
]);

pub(crate) const LINT_FILES: Family = Family(&[
    ("ESLint", &[".eslintrc", ".eslintrc.*", "eslint.config.*"]),
    ("Prettier", &[".prettierrc*", "prettier.config.*"]),
    ("Biome", &["biome.json", "biome.jsonc"]),
    ("Stylelint", &[".stylelintrc*", "stylelint.config.*"]),
    ("RuboCop", &[".rubocop.yml"]),
    ("Ruff", &["ruff.toml", ".ruff.toml"]),
    ("Flake8", &[".flake8"]),
    ("Pylint", &[".pylintrc", "pylintrc"]),
    ("golangci-lint", &[".golangci.yml", ".golangci.yaml", ".golangci.toml"]),
    ("Clippy", &["clippy.toml", ".clippy.toml"]),
    ("rustfmt", &["rustfmt.toml", ".rustfmt.toml"]),
    ("EditorConfig", &[".editorconfig"]),
    ("Checkstyle", &["checkstyle.xml"]),
    ("pre-commit", &[".pre-commit-config.yaml"]),
]);

pub(crate) const PIPELINES: Family = Family(&[
    ("GitLab CI", &[".gitlab-ci.yml", ".gitlab/ci/*"]),
    ("GitHub Actions", &[".github/workflows/*"]),
    ("CircleCI", &[".circleci/*"]),
    ("Azure Pipelines", &["azure-pipelines.yml"]),
    ("Jenkins", &["Jenkinsfile"]),
    ("Bitbucket Pipelines", &["bitbucket-pipelines.yml"]),
    ("Travis CI", &[".travis.yml"]),
    ("Drone", &[".drone.yml"]),
]);

pub(crate) const TEST_RUNNERS: Family = Family(&[
    ("Jest", &["jest"]),
    ("Vitest", &["vitest"]),
    ("Mocha", &["mocha"]),
    ("Karma", &["karma"]),
    ("AVA", &["ava"]),
    ("Jasmine", &["jasmine"]),
    ("Playwright", &["@playwright/test"]),
    ("Cypress", &["cypress"]),
    ("pytest", &["pytest"]),
    ("nose", &["nose", "nose2"]),
    ("RSpec", &["rspec", "rspec-rails"]),
    ("minitest", &["minitest"]),
]);

pub(crate) const API_CLIENTS: Family = Family(&[
    ("axios", &["axios"]),
    ("got", &["got"]),
    ("ky", &["ky"]),
    ("node-fetch", &["node-fetch"]),
    ("SuperAgent", &["superagent"]),
    ("Apollo Client", &["@apollo/client"]),
    ("urql", &["urql", "@urql/core"]),
    ("graphql-request", &["graphql-request"]),
    ("React Query", &["react-query", "@tanstack/react-query"]),
    ("SWR", &["swr"]),
    ("requests", &["requests"]),
    ("HTTPX", &["httpx"]),
    ("aiohttp", &["aiohttp"]),
    ("reqwest", &["reqwest"]),
    ("ureq", &["ureq"]),
    ("Faraday", &["faraday"]),
    ("Prisma", &["prisma", "@prisma/client"]),
    ("TypeORM", &["typeorm"]),
    ("Sequelize", &["sequelize"]),
    ("Drizzle", &["drizzle-orm"]),
    ("SQLAlchemy", &["SQLAlchemy", "sqlalchemy"]),
    ("Diesel", &["diesel"]),
    ("SQLx", &["sqlx"]),
]);

pub(crate) const STATE_LIBRARIES: Family = Family(&[
    ("Redux", &["redux", "react-redux", "@reduxjs/toolkit"]),
    ("MobX", &["mobx", "mobx-react"]),
    ("Zustand", &["zustand"]),
    ("Recoil", &["recoil"]),
    ("Jotai", &["jotai"]),
    ("Valtio", &["valtio"]),
    ("Vuex", &["vuex"]),
    ("Pinia", &["pinia"]),
    ("XState", &["xstate"]),
    ("NgRx", &["@ngrx/store"]),
]);

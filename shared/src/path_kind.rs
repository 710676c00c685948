//! The kind of a file by its path: one table for everything that decides by a path.
//!
//! Four things are kept apart, because they answer different questions. The *role* is what a file is for: who sits on the
//! panel and who reads which patch go by it. The *form* is what it is to a machine: whether something that runs is left out
//! with it. The *wording* is whether people's language stands in it, where a word proves nothing and letters of every script
//! are at home. *Noise* is what no reviewer reads. They do not follow from each other: `AGENTS.md` is prose that steers a
//! tool, and `mdx` a document that runs.
//!
//! Only what is known to be harmless counts as harmless: an unlisted extension is [`Form::Unknown`] and [`Role::Source`].

use std::{collections::HashMap, sync::LazyLock};

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Instructions and settings of coding agents.
    AgentInstructions,
    /// A build script, or the configuration of a linter, formatter or test runner.
    Build,
    /// A build script that also names dependencies: `build.gradle`.
    BuildManifest,
    /// What changed from release to release.
    Changelog,
    /// Configuration.
    Config,
    /// How the program is packed and where it runs: images, charts, infrastructure.
    Container,
    /// Data.
    Data,
    /// A contract between programs: `.proto`, `openapi.yaml`.
    Interface,
    /// Texts in several languages.
    Locale,
    /// Written by a package manager.
    LockFile,
    /// Names dependencies, versions or the package itself.
    Manifest,
    /// Changes a database's schema or content once.
    Migration,
    /// Defines what a CI server runs.
    Pipeline,
    /// Text for people.
    Prose,
    /// Queries of a database.
    Query,
    /// A program or a template, and everything that is not known.
    Source,
    /// A style sheet.
    Style,
    /// A test, or what only tests use.
    Test,
}

/// What a file is to a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// Code, a script, configuration or a template: text that runs or steers something.
    Code,
    /// A binary form that machines run: `.jar`, `.wasm`, `.pyc`.
    Compiled,
    /// A container of other files.
    Archive,
    /// A picture, a font, sound, a document: shown or printed, never run.
    Inert,
    /// Text for people, or plain data.
    Text,
    /// None of the known forms.
    Unknown,
}

/// Whether people's language stands in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wording {
    /// A document with markup: `.md`.
    Document,
    /// Other text for people, and tables of it.
    Text,
    /// Texts of a program in people's languages.
    Translation,
    /// None is known.
    Program,
}

/// Why no reviewer reads a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Noise {
    /// A lock file in a format that rules check.
    LockFile,
    /// Minified or bundled code, or a source map.
    Minified,
    /// A copy of third-party code.
    Vendored,
}

/// The formats of lock files that rules can check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockFormat {
    /// `bun.lock`
    Bun,
    /// `Cargo.lock`
    Cargo,
    /// `composer.lock`
    Composer,
    /// `flake.lock`
    Flake,
    /// `Gemfile.lock`
    Gem,
    /// `go.sum`
    Go,
    /// `package-lock.json`
    Npm,
    /// `Pipfile.lock`
    Pipfile,
    /// `pnpm-lock.yaml`
    Pnpm,
    /// `poetry.lock`
    Poetry,
    /// `uv.lock`
    Uv,
    /// `yarn.lock`
    Yarn,
}

impl LockFormat {
    /// The format of a lock file that rules can check. Case counts: tools read no other spelling.
    pub fn of(path: &str) -> Option<Self> {
        Some(match file_name(path) {
            "bun.lock" => Self::Bun,
            "Cargo.lock" => Self::Cargo,
            "composer.lock" => Self::Composer,
            "flake.lock" => Self::Flake,
            "Gemfile.lock" => Self::Gem,
            "go.sum" | "go.work.sum" => Self::Go,
            "package-lock.json" | "npm-shrinkwrap.json" => Self::Npm,
            "Pipfile.lock" => Self::Pipfile,
            "pnpm-lock.yaml" => Self::Pnpm,
            "poetry.lock" => Self::Poetry,
            "uv.lock" => Self::Uv,
            "yarn.lock" => Self::Yarn,
            _ => return None,
        })
    }
}

/// Returns whether the name is that of a lock file in a format that no rule reads.
pub fn is_unknown_lock_file(path: &str) -> bool {
    const ENDS: [&str; 14] = [
        ".lock",
        ".lockb",
        ".lockfile",
        ".locked",
        ".lock.json",
        ".lock.yaml",
        ".lock.yml",
        ".lock.toml",
        ".lock.hcl",
        "-lock.json",
        "-lock.yaml",
        "-lock.yml",
        "-lock.toml",
        ".resolved",
    ];
    const NAMES: [&str; 6] = [
        "npm-shrinkwrap.json",
        "verification-metadata.xml",
        "go.sum",
        "go.work.sum",
        ".pnp.cjs",
        ".pnp.data.json",
    ];
    let name = file_name(path).to_ascii_lowercase();
    LockFormat::of(path).is_none() && (ENDS.iter().any(|end| name.ends_with(end)) || NAMES.contains(&name.as_str()))
}

/// What an extension or a name says by itself.
#[derive(Debug, Clone, Copy)]
struct Entry {
    role: Role,
    form: Form,
    wording: Wording,
}

type Rows = &'static [(Role, Form, Wording, &'static str)];

/// By the extension, in lower case.
const EXTENSIONS: Rows = &[
    (
        Role::Prose,
        Form::Text,
        Wording::Document,
        "adoc asciidoc markdown md rst",
    ),
    // It imports and runs components.
    (Role::Prose, Form::Code, Wording::Document, "mdx"),
    (Role::Prose, Form::Text, Wording::Text, "log org rtf srt text txt vtt"),
    (Role::Prose, Form::Unknown, Wording::Text, "tex"),
    (Role::Prose, Form::Text, Wording::Program, "bib textile"),
    (Role::Data, Form::Text, Wording::Text, "csv tsv"),
    (Role::Data, Form::Code, Wording::Program, "diff lock patch svg"),
    (Role::Data, Form::Unknown, Wording::Program, "geojson jsonl ndjson snap"),
    (
        Role::Locale,
        Form::Unknown,
        Wording::Translation,
        "arb po pot strings stringsdict tmx xlf xliff",
    ),
    (Role::Source, Form::Code, Wording::Translation, "resx"),
    (
        Role::Query,
        Form::Code,
        Wording::Program,
        "cql cypher hql plsql psql sparql sql",
    ),
    (
        Role::Interface,
        Form::Code,
        Wording::Program,
        "
        avdl avsc capnp fbs gql graphql graphqls idl proto thrift wit wsdl xsd
    ",
    ),
    (Role::Style, Form::Code, Wording::Program, "css less sass scss styl"),
    (
        Role::Container,
        Form::Code,
        Wording::Program,
        "bicep containerfile dockerfile hcl nomad tf tfvars",
    ),
    (
        Role::Manifest,
        Form::Code,
        Wording::Program,
        "cabal csproj fsproj gemspec nuspec opam podspec vbproj",
    ),
    (
        Role::Build,
        Form::Code,
        Wording::Program,
        "bazel bzl cmake just make mk ninja",
    ),
    (Role::BuildManifest, Form::Code, Wording::Program, "gradle sbt"),
    (
        Role::Config,
        Form::Code,
        Wording::Program,
        "
        cfg conf env ini json json5 jsonc plist properties toml xml yaml yml
    ",
    ),
    // Programs, what a server or a browser acts on, templates, keys, and settings of other kinds.
    (
        Role::Source,
        Form::Code,
        Wording::Program,
        "
        ada adb applescript asm awk bas bash bat bats c cbl cc cgi cjs clj cljc cljs cls cmd cob coffee cpp cr cs csh
        csx cts cu cxx d dart elm erl ex exs f f90 fish fs fsx gd go groovy h hh hpp hrl hs hta hx hxx inc inl ipp
        ipynb java jl js jse jsx ksh kt kts lisp lua m mjs ml mli mm move mts nim nix nu pas php php3 php4 php5 php7
        phtml pl pm pro ps1 psd1 psm1 py pyi pyw pyx r rake rb rbs rkt rs ru s sas sc scala scm sed sh sol star sv swift
        t tcl ts tsx v vala vb vba vbe vbs vhd vue vy wat wsf zig zsh svelte astro command expect gyp gypi fnl html htm
        xhtml shtml xsl xslt asp aspx ascx asmx ashx cfm jsp jspx jspf tag webmanifest appcache map dtd tpl tmpl
        template j2 jinja jinja2 erb haml slim ejs hbs handlebars mustache pug jade liquid twig blade ftl vm njk gotmpl
        cshtml razor latte mako eex heex leex in jsonnet libsonnet config cnf reg rego cue dhall kdl tfstate service
        socket timer mount target desktop rules policy cedar crt pem cer key pub props targets vcxproj sln pbxproj
        xcconfig xcscheme entitlements manifest spec rc xaml storyboard xib qml cron crontab htaccess htpasswd npmrc
        bashrc zshrc profile vim el lds ld pp epp sls pkr sentinel opa workflow pipeline editorconfig browserslistrc
    ",
    ),
    (
        Role::Source,
        Form::Compiled,
        Wording::Program,
        "
        a aar apk app appimage appx bc beam bundle class cpl crate crx deb dex dll dmg docm drv ear efi egg elc elf exe
        gem hex img ipa iso jar jmod joblib ko lib luac msi msix node npz nupkg o obj ocx pack phar pickle pkg pkl pptm
        pt pth pyc pyd pyo rlib rmeta rpm scr so swf sys uf2 vsix war wasm whl xlsm xpi dylib lockb ser rdb keras h5
    ",
    ),
    (
        Role::Source,
        Form::Archive,
        Wording::Program,
        "
        7z br bz2 cab cpio gz lz lz4 lzma rar tar tbz tbz2 tgz txz xz zip zst
    ",
    ),
    (
        Role::Source,
        Form::Inert,
        Wording::Program,
        "
        apng avif bmp cur gif heic heif icns ico jfif jp2 jpe jpeg jpg jxl png psd tif tiff webp eot otf ttc ttf woff
        woff2 aac aif aiff avi flac m4a m4v mid midi mkv mov mp3 mp4 mpeg mpg oga ogg ogv opus wav webm wma wmv doc docx
        epub odp ods odt parquet pdf ppt pptx sqlite sqlite3 xls xlsx
    ",
    ),
];

/// By the whole name, in lower case; it says more than the extension.
const NAMES: Rows = &[
    (
        Role::AgentInstructions,
        Form::Code,
        Wording::Document,
        "
        agents.md agents.override.md claude.md claude.local.md context.md copilot-instructions.md gemini.md skill.md
    ",
    ),
    (Role::AgentInstructions, Form::Code, Wording::Program, ".cursorrules"),
    (
        Role::Manifest,
        Form::Code,
        Wording::Program,
        "
        .go-version .java-version .node-version .nvmrc .python-version .ruby-version .tool-versions bower.json
        build.zig.zon cargo.toml cartfile composer.json conanfile.txt deno.json deno.jsonc deps.edn
        directory.packages.props elm.json gemfile global.json go.mod go.work jsr.json libs.versions.toml mix.exs
        package.json packages.config paket.dependencies pipfile pnpm-workspace.yaml podfile pom.xml project.clj
        pubspec.yaml pyproject.toml setup.cfg setup.py shard.yml stack.yaml vcpkg.json
    ",
    ),
    (Role::Manifest, Form::Text, Wording::Program, "version"),
    (
        Role::BuildManifest,
        Form::Code,
        Wording::Program,
        "
        build.gradle.kts conanfile.py flake.nix package.swift settings.gradle.kts
    ",
    ),
    (
        Role::Build,
        Form::Code,
        Wording::Program,
        "
        brewfile buck build cmakelists.txt earthfile gnumakefile justfile kconfig lefthook.yaml lefthook.yml makefile
        meson.build meson_options.txt noxfile.py rakefile tiltfile tox.ini workspace
    ",
    ),
    (
        Role::Pipeline,
        Form::Code,
        Wording::Program,
        "action.yaml action.yml appveyor.yml jenkinsfile",
    ),
    (
        Role::Container,
        Form::Code,
        Wording::Program,
        "containerfile dockerfile",
    ),
    // Their extension is that of a text, and a program reads them.
    (Role::Config, Form::Code, Wording::Program, "robots.txt"),
    (
        Role::Config,
        Form::Code,
        Wording::Text,
        "_pth.txt manifest.txt security.txt",
    ),
    (
        Role::Source,
        Form::Code,
        Wording::Program,
        "
        authorized_keys capfile codeowners commit-msg configure crontab dangerfile exports fastfile fstab gradlew
        guardfile hosts known_hosts mvnw passwd post-checkout post-merge pre-commit pre-push procfile puppetfile shadow
        snakefile sudoers thorfile vagrantfile
    ",
    ),
    (Role::Changelog, Form::Text, Wording::Text, "changelog changes"),
    (
        Role::Prose,
        Form::Text,
        Wording::Text,
        "
        authors contributors copying license maintainers notice readme thanks
    ",
    ),
    (
        Role::Prose,
        Form::Text,
        Wording::Program,
        "contributing copyright history licence news patents todo unlicense",
    ),
];

/// By the beginning of the name, in lower case.
const BEGINNINGS: &[(Role, &str)] = &[
    (
        Role::Pipeline,
        "
        .drone. .gitlab-ci .travis. azure-pipelines bitbucket-pipelines buildspec cloudbuild jenkinsfile
    ",
    ),
    (Role::Changelog, "changelog changes. history. release-notes releases."),
    (
        Role::Container,
        "
        chart.y compose.y containerfile docker-compose dockerfile helmfile kustomization
    ",
    ),
    (Role::Manifest, "rust-toolchain"),
    (
        Role::Build,
        "
        .editorconfig .eslintrc .pre-commit .prettierrc biome. clippy. pytest. ruff. rustfmt. taskfile. tsconfig
    ",
    ),
    (Role::Interface, "asyncapi openapi swagger"),
    (Role::Prose, "authors. contributing. license. notice. readme."),
];

/// By a directory above the file, in lower case.
const DIRECTORIES: &[(Role, &str)] = &[
    (Role::AgentInstructions, ".agents .claude .codex .cursor .opencode"),
    (Role::Migration, "alembic migrate migration migrations"),
    (Role::Pipeline, ".buildkite .circleci .gitlab"),
    (
        Role::Test,
        "__mocks__ __tests__ cypress e2e fixtures spec specs test testdata tests",
    ),
    (Role::Container, "charts helm k8s kubernetes"),
    (Role::Locale, "i18n l10n locale locales translations"),
];

/// The order in which roles are asked for where several fit; a role that is not here is the extension's.
const FIRST: [Role; 10] = [
    Role::AgentInstructions,
    Role::Migration,
    Role::Pipeline,
    Role::Test,
    Role::Changelog,
    Role::Container,
    Role::Manifest,
    Role::BuildManifest,
    Role::Build,
    Role::Interface,
];

/// Directories with texts in several languages. Data in them is language; for the role only the sure ones count, because
/// `values/` may hold settings too.
const TRANSLATIONS: &str = "i18n intl l10n lang langs language languages locale locales messages translations";

/// Directories whose files a tool runs or reads by itself.
const BY_ITSELF: &str = "
    .yarn .husky .githooks .git-hooks githooks git-hooks hooks .github .gitlab .circleci .buildkite .vscode .idea
    .devcontainer .mvn .cargo .opencode .claude .cursor .agents .codex bin sbin scripts cron.d init.d profile.d
    systemd conf.d sites-enabled udev
";

/// Directories of copies of third-party code. Case counts: in another spelling they are somebody's own.
const VENDORED: &str = "vendor node_modules third_party bower_components Pods .yarn";

/// Ends of names of minified and bundled code.
const MINIFIED: [&str; 4] = [".min.js", ".min.css", ".bundle.js", ".map"];

/// The kind of a file by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PathKind {
    /// What it is for.
    pub role: Role,
    /// What it is to a machine.
    pub form: Form,
    /// Whether people's language stands in it.
    pub wording: Wording,
    /// Why no reviewer reads it, if none does.
    pub noise: Option<Noise>,
    /// Whether it belongs to a database's migrations, whatever it holds: tools stamp those as generated.
    pub is_migration: bool,
    /// Whether it defines or helps a pipeline.
    pub is_pipeline: bool,
    /// Whether a tool runs or reads it by itself, because of its place.
    pub runs_by_itself: bool,
}

impl PathKind {
    /// Looks a path up.
    pub fn of(path: &str) -> Self {
        let lower = path.to_ascii_lowercase();
        let (directories, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
        let place = Place {
            path,
            lower: &lower,
            directories,
            name,
        };
        let entry = place.entry();
        let is_migration = place.is_under(Role::Migration) || name.ends_with(".migration.sql");
        let wording = place.wording(entry);
        let role = place.role(Entry { wording, ..entry }, is_migration);
        let is_hook_runner = is_in(".pre-commit-config.yaml lefthook.yaml lefthook.yml", name);
        Self {
            role,
            form: entry.form,
            wording,
            noise: place.noise(),
            is_migration,
            is_pipeline: role == Role::Pipeline || place.is_in_ci() || is_hook_runner,
            runs_by_itself: directories.split('/').any(|directory| is_in(BY_ITSELF, directory)),
        }
    }

    /// Whether words stand in it that prove nothing about code.
    pub const fn is_prose(self) -> bool {
        matches!(self.wording, Wording::Document | Wording::Text)
    }

    /// Whether it can run or steer something, as far as the path tells.
    pub const fn may_run(self) -> bool {
        matches!(self.form, Form::Code | Form::Compiled) || self.runs_by_itself
    }

    /// Whether it decides how a change reaches production: schemas, interfaces, versions, packaging, pipelines.
    pub const fn concerns_release(self) -> bool {
        self.is_migration
            || matches!(
                self.role,
                Role::BuildManifest
                    | Role::Changelog
                    | Role::Container
                    | Role::Interface
                    | Role::Manifest
                    | Role::Migration
                    | Role::Pipeline
            )
    }
}

/// A path taken apart; all but `path` in lower case.
#[derive(Clone, Copy)]
struct Place<'p> {
    path: &'p str,
    lower: &'p str,
    directories: &'p str,
    name: &'p str,
}

impl Place<'_> {
    fn extension(&self) -> Option<&str> {
        self.name.rsplit_once('.').map(|(_, extension)| extension)
    }

    /// What name and extension say.
    fn entry(&self) -> Entry {
        static BY_EXTENSION: LazyLock<HashMap<&str, Entry>> = LazyLock::new(|| index(EXTENSIONS));
        static BY_NAME: LazyLock<HashMap<&str, Entry>> = LazyLock::new(|| index(NAMES));
        let unknown = Entry {
            role: Role::Source,
            form: Form::Unknown,
            wording: Wording::Program,
        };
        if let Some(entry) = BY_NAME.get(self.name) {
            return *entry;
        }
        // Lists of packages to install.
        if self.extension() == Some("txt")
            && ["requirements", "constraints"]
                .iter()
                .any(|list| self.name.contains(list))
        {
            return Entry {
                role: Role::Manifest,
                form: Form::Code,
                ..unknown
            };
        }
        let Some((stem, extension)) = self.name.rsplit_once('.') else {
            return unknown;
        };
        let entry = BY_EXTENSION.get(extension).copied().unwrap_or(unknown);
        // `.bashrc`, `.env`
        if stem.is_empty() {
            return Entry {
                form: Form::Code,
                ..entry
            };
        }
        // `libssl.so.3`
        if stem.contains(".so") && extension.bytes().all(|byte| byte.is_ascii_digit()) && !extension.is_empty() {
            return Entry {
                form: Form::Compiled,
                ..entry
            };
        }
        // `Dockerfile.arm64`, `.env.local`
        let first = self.name.trim_start_matches('.').split('.').next().unwrap_or_default();
        let steers = self.name.starts_with('.') || is_in("containerfile dockerfile env jenkinsfile makefile", first);
        match entry.form {
            Form::Unknown if steers => Entry {
                form: Form::Code,
                ..entry
            },
            _ => entry,
        }
    }

    fn role(&self, entry: Entry, is_migration: bool) -> Role {
        // A text for people is not a program, whatever it is called: `history.rs`, `i18n/index.ts`.
        let is_program = entry.form == Form::Code
            && matches!(entry.role, Role::Source | Role::Query)
            && entry.wording != Wording::Translation;
        let begins = |role: Role| {
            let rows = BEGINNINGS.iter().filter(|(row, _)| *row == role);
            rows.flat_map(|(_, words)| words.split_ascii_whitespace())
                .any(|word| self.name.starts_with(word))
        };
        let fits = |role: Role| {
            let by_place = match role {
                Role::Migration => is_migration && (is_program || entry.role == Role::Config),
                Role::Pipeline => {
                    begins(role)
                        || self.name.contains(".gitlab-ci")
                        || self.is_under(role)
                        || self.lower.starts_with(".github/")
                        || (entry.role == Role::Config && self.is_in_ci())
                }
                Role::Test => self.is_test(),
                Role::Changelog => begins(role) && !is_program,
                Role::Build => begins(role) || self.name.contains(".config."),
                Role::Interface => begins(role) || self.name.ends_with(".schema.json"),
                _ => begins(role) || self.is_under(role),
            };
            by_place || entry.role == role
        };
        if let Some(role) = FIRST.into_iter().find(|role| fits(*role)) {
            return role;
        }
        if LockFormat::of(self.path).is_some() || is_unknown_lock_file(self.path) {
            Role::LockFile
        } else if self.is_under(Role::Locale) && !is_program {
            Role::Locale
        } else if begins(Role::Prose) && !is_program {
            Role::Prose
        } else if self.name.starts_with(".env") {
            Role::Config
        } else {
            entry.role
        }
    }

    fn wording(&self, entry: Entry) -> Wording {
        let is_data = entry.role == Role::Config && entry.wording == Wording::Program;
        let is_table = is_data && !matches!(self.extension(), Some("cfg" | "conf" | "env" | "jsonc"));
        let translated = || {
            self.directories
                .split('/')
                .any(|part| is_in(TRANSLATIONS, part) || part.starts_with("values"))
        };
        if (is_table || self.extension() == Some("ftl")) && translated() {
            Wording::Translation
        } else {
            entry.wording
        }
    }

    fn noise(&self) -> Option<Noise> {
        let directories = self.path.rsplit_once('/').map_or("", |(directories, _)| directories);
        if LockFormat::of(self.path).is_some() {
            Some(Noise::LockFile)
        } else if MINIFIED.iter().any(|end| self.path.ends_with(end)) {
            Some(Noise::Minified)
        } else {
            let vendored = directories.split('/').any(|directory| is_in(VENDORED, directory));
            vendored.then_some(Noise::Vendored)
        }
    }

    /// Whether a directory above the file has a role of its own.
    fn is_under(&self, role: Role) -> bool {
        let rows = DIRECTORIES.iter().filter(|(row, _)| *row == role);
        rows.flat_map(|(_, words)| words.split_ascii_whitespace())
            .any(|word| self.directories.split('/').any(|directory| directory == word))
    }

    fn is_in_ci(&self) -> bool {
        self.directories.split('/').any(|directory| directory == "ci")
    }

    fn is_test(&self) -> bool {
        const ENDS: [&str; 7] = ["_test", "_tests", ".test", ".tests", ".spec", "_spec", "-test"];
        let stem = self.name.rsplit_once('.').map_or(self.name, |(stem, _)| stem);
        // `CartTest.java`, and not `Contest.java`.
        let camel = file_name(self.path).rsplit_once('.').is_some_and(|(stem, extension)| {
            let before = stem.strip_suffix('s').unwrap_or(stem).strip_suffix("Test");
            before.is_some_and(|before| !before.is_empty()) && is_in("cs groovy java kt scala swift", extension)
        });
        self.is_under(Role::Test)
            || stem.starts_with("test_")
            || ENDS.iter().any(|end| stem.ends_with(end))
            || camel
            || self.name == "conftest.py"
    }
}

fn index(rows: Rows) -> HashMap<&'static str, Entry> {
    let entries = rows.iter().flat_map(|(role, form, wording, words)| {
        let entry = Entry {
            role: *role,
            form: *form,
            wording: *wording,
        };
        words.split_ascii_whitespace().map(move |word| (word, entry))
    });
    entries.collect()
}

/// The extension of a path in lower case; for a name without one, the name.
pub fn language(path: &str) -> String {
    let name = file_name(path);
    let word = match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => extension,
        _ => name,
    };
    word.to_ascii_lowercase()
}

/// The last part of a path.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn is_in(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|listed| listed == word)
}

#[cfg(test)]
#[path = "path_kind_tests.rs"]
mod tests;

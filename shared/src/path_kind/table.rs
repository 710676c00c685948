//! The table: words by what they say. A row is what is said, and the words that say it.

use super::{Form, Role, Wording};

pub(super) type Rows = &'static [(Role, Form, Wording, &'static str)];

/// By the extension, in lower case.
#[rustfmt::skip]
pub(super) const EXTENSIONS: Rows = &[
    (Role::Prose, Form::Text, Wording::Document, "adoc asciidoc markdown md rst"),
    // It imports and runs components.
    (Role::Prose, Form::Code, Wording::Document, "mdx"),
    (Role::Prose, Form::Text, Wording::Text, "log org rtf srt text txt vtt"),
    (Role::Prose, Form::Unknown, Wording::Text, "tex"),
    (Role::Prose, Form::Text, Wording::Program, "bib textile"),
    (Role::Data, Form::Text, Wording::Text, "csv tsv"),
    (Role::Data, Form::Code, Wording::Program, "diff lock patch svg"),
    (Role::Data, Form::Unknown, Wording::Program, "geojson jsonl ndjson snap"),
    (Role::Locale, Form::Unknown, Wording::Translation, "arb po pot strings stringsdict tmx xlf xliff"),
    (Role::Source, Form::Code, Wording::Translation, "resx"),
    (Role::Query, Form::Code, Wording::Program, "cql cypher hql plsql psql sparql sql"),
    (Role::Interface, Form::Code, Wording::Program, "
        avdl avsc capnp fbs gql graphql graphqls idl proto thrift wit wsdl xsd
    "),
    (Role::Style, Form::Code, Wording::Program, "css less sass scss styl"),
    (Role::Container, Form::Code, Wording::Program, "bicep containerfile dockerfile hcl nomad tf tfvars"),
    (Role::Manifest, Form::Code, Wording::Program, "cabal csproj fsproj gemspec nuspec opam podspec vbproj"),
    (Role::Build, Form::Code, Wording::Program, "bazel bzl cmake just make mk ninja"),
    (Role::BuildManifest, Form::Code, Wording::Program, "gradle sbt"),
    (Role::Config, Form::Code, Wording::Program, "
        cfg conf env ini json json5 jsonc plist properties toml xml yaml yml
    "),
    // Programs, what a server or a browser acts on, templates, keys, and settings of other kinds.
    (Role::Source, Form::Code, Wording::Program, "
        ada adb applescript asm awk bas bash bat bats c cbl cc cgi cjs clj cljc cljs cls cmd cob coffee cpp cr cs csh
        csx cts cu cxx d dart elm erl ex exs f f90 fish fs fsx gd go groovy h hh hpp hrl hs hta hx hxx inc inl ipp
        ipynb java jl js jse jsx ksh kt kts lisp lua m mjs ml mli mm move mts nim nix nu pas php php3 php4 php5 php7
        phtml pl pm pro ps1 psd1 psm1 py pyi pyw pyx r rake rb rbs rkt rs ru s sas sc scala scm sed sh sol star sv
        swift t tcl ts tsx v vala vb vba vbe vbs vhd vue vy wat wsf zig zsh svelte astro command expect gyp gypi fnl
        html htm xhtml shtml xsl xslt asp aspx ascx asmx ashx cfm jsp jspx jspf tag webmanifest appcache map dtd tpl
        tmpl template j2 jinja jinja2 erb haml slim ejs hbs handlebars mustache pug jade liquid twig blade ftl vm njk
        gotmpl cshtml razor latte mako eex heex leex in jsonnet libsonnet config cnf reg rego cue dhall kdl tfstate
        service socket timer mount target desktop rules policy cedar crt pem cer key pub props targets vcxproj sln
        pbxproj xcconfig xcscheme entitlements manifest spec rc xaml storyboard xib qml cron crontab htaccess htpasswd
        npmrc bashrc zshrc profile vim el lds ld pp epp sls pkr sentinel opa workflow pipeline editorconfig
        browserslistrc url scf
    "),
    // What runs, installs, or makes objects when it is read (macros, pickles, saved workspaces). An archive that only holds files does not.
    (Role::Source, Form::Compiled, Wording::Program, "
        a aar apk app appimage appx bc beam bin blend bundle ckpt class cpl crate crx deb dex dill dll dmg docm drv ear
        efi egg elc elf exe gem hex img ipa iso jar jmod joblib ko lib luac mar mo msi msix node npy npz nupkg o obj ocx
        pack phar pickle pkg pkl pptm pt pth pyc pyd pyo rlib rmeta rpm sav scr so swf sys uf2 vsix war wasm whl xlsm
        xpi dylib lockb ser rdb keras h5 accde ade adp chm dotm hlp lnk mde msp mst pif potm ppam ppsm ps rda rdata rds
        scpt swc wll xlam xll xlsb xltm
    "),
    // A key ring says whose signatures a tool believes.
    (Role::Source, Form::Compiled, Wording::Program, "gpg kbx"),
    (Role::Source, Form::Archive, Wording::Program, "
        7z br bz2 cab cpio gz lz lz4 lzma rar tar tbz tbz2 tgz txz xz zip zst
    "),
    (Role::Source, Form::Inert, Wording::Program, "
        apng avif bmp cur gif heic heif icns ico jfif jp2 jpe jpeg jpg jxl png psd tif tiff webp eot otf ttc ttf woff
        woff2 aac aif aiff avi flac m4a m4v mid midi mkv mov mp3 mp4 mpeg mpg oga ogg ogv opus wav webm wma wmv doc
        docx epub odp ods odt parquet pdf ppt pptx sqlite sqlite3 xls xlsx
    "),
];

/// By the whole name, in lower case; it says more than the extension.
#[rustfmt::skip]
pub(super) const NAMES: Rows = &[
    (Role::AgentInstructions, Form::Code, Wording::Document, "
        agents.md agents.override.md claude.md claude.local.md context.md copilot-instructions.md gemini.md skill.md
    "),
    (Role::AgentInstructions, Form::Code, Wording::Program, ".cursorrules"),
    (Role::Manifest, Form::Code, Wording::Program, "
        .go-version .java-version .node-version .nvmrc .python-version .ruby-version .tool-versions bower.json
        build.zig.zon cargo.toml cartfile composer.json conanfile.txt deno.json deno.jsonc deps.edn
        directory.packages.props elm.json gemfile global.json go.mod go.work jsr.json libs.versions.toml mix.exs
        package.json packages.config paket.dependencies pipfile pnpm-workspace.yaml podfile pom.xml project.clj
        pubspec.yaml pyproject.toml setup.cfg setup.py shard.yml stack.yaml vcpkg.json
    "),
    (Role::Manifest, Form::Text, Wording::Program, "version"),
    (Role::BuildManifest, Form::Code, Wording::Program, "
        build.gradle.kts conanfile.py flake.nix package.swift settings.gradle.kts
    "),
    (Role::Build, Form::Code, Wording::Program, "
        brewfile buck build cmakelists.txt earthfile gnumakefile justfile kconfig lefthook.yaml lefthook.yml makefile
        meson.build meson_options.txt noxfile.py rakefile tiltfile tox.ini workspace
    "),
    (Role::Pipeline, Form::Code, Wording::Program, "action.yaml action.yml appveyor.yml jenkinsfile"),
    (Role::Container, Form::Code, Wording::Program, "containerfile dockerfile"),
    // Their extension is that of a text, and a program reads them.
    (Role::Config, Form::Code, Wording::Program, "robots.txt"),
    (Role::Config, Form::Code, Wording::Text, "_pth.txt manifest.txt security.txt"),
    (Role::Source, Form::Code, Wording::Program, "
        authorized_keys capfile codeowners commit-msg configure crontab dangerfile exports fastfile fstab gradlew
        guardfile hosts known_hosts mvnw passwd post-checkout post-merge pre-commit pre-push procfile puppetfile
        shadow snakefile sudoers thorfile vagrantfile
    "),
    (Role::Changelog, Form::Text, Wording::Text, "changelog changes"),
    (Role::Prose, Form::Text, Wording::Text, "authors contributors copying license maintainers notice readme thanks"),
    (Role::Prose, Form::Text, Wording::Program, "contributing copyright history licence news patents todo unlicense"),
];

/// By the beginning of the name, in lower case.
#[rustfmt::skip]
pub(super) const BEGINNINGS: &[(Role, &str)] = &[
    (Role::Pipeline, "
        .drone. .gitlab-ci .travis. azure-pipelines bitbucket-pipelines buildspec cloudbuild jenkinsfile
    "),
    (Role::Changelog, "changelog changes. history. release-notes releases."),
    (Role::Container, "chart.y compose.y containerfile docker-compose dockerfile helmfile kustomization"),
    (Role::Manifest, "rust-toolchain"),
    (Role::Build, "
        .editorconfig .eslintrc .pre-commit .prettierrc biome. clippy. pytest. ruff. rustfmt. taskfile. tsconfig
    "),
    (Role::Interface, "asyncapi openapi swagger"),
    (Role::Prose, "authors. contributing. license. notice. readme."),
];

/// By a directory above the file, in lower case.
#[rustfmt::skip]
pub(super) const DIRECTORIES: &[(Role, &str)] = &[
    (Role::AgentInstructions, "
        .agents .amazonq .claude .clinerules .codex .continue .cursor .gemini .junie .kiro .opencode .qwen .roo .windsurf
    "),
    (Role::Migration, "alembic migrate migration migrations"),
    (Role::Pipeline, ".buildkite .circleci .gitlab"),
    (Role::Test, "__mocks__ __tests__ cypress e2e fixtures spec specs test testdata tests"),
    (Role::Container, "charts helm k8s kubernetes"),
    (Role::Locale, "i18n l10n locale locales translations"),
];

/// The order in which roles are asked for where several fit; a role that is not here is the extension's.
pub(super) const FIRST: [Role; 10] = [
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
pub(super) const TRANSLATIONS: &str =
    "i18n intl l10n lang langs language languages locale locales messages translations";

/// Directories whose files a tool runs or reads by itself.
pub(super) const BY_ITSELF: &str = "
    .yarn .husky .githooks .git-hooks githooks git-hooks hooks .github .gitlab .circleci .buildkite .vscode .idea
    .devcontainer .mvn .cargo .opencode .claude .cursor .agents .codex bin sbin scripts cron.d init.d profile.d
    systemd conf.d sites-enabled udev .amazonq .clinerules .continue .gemini .junie .kiro .qwen .roo .windsurf
";

/// Directories of copies of third-party code. Case counts: in another spelling they are the project's own.
pub(super) const VENDORED: &str = "vendor node_modules third_party bower_components Pods .yarn";

/// Ends of names of minified and bundled code.
pub(super) const MINIFIED: [&str; 4] = [".min.js", ".min.css", ".bundle.js", ".map"];

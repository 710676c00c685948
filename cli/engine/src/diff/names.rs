//! Judges a file's content by its path: it can run, it can steer something, or neither.
//!
//! Only what is known to be harmless counts as harmless: an unlisted extension is [`NameKind::Unknown`].

/// The kind of content that a file's name announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameKind {
    /// Code, a script, configuration or a template: text that runs or steers something.
    Code,
    /// A binary form that machines run: `.jar`, `.wasm`, `.pyc`.
    Compiled,
    /// A container of other files.
    Archive,
    /// A picture, a font, sound, a document: shown or printed, never run.
    Inert,
    /// Text for people, or plain data.
    Prose,
    /// None of the known kinds.
    Unknown,
}

/// Extensions of programs, of what a server or a browser acts on, of templates, queries, configuration and interfaces.
const CODE: &str = "
    ada adb applescript asm awk bas bash bat bats bzl c cbl cc cgi cjs clj cljc cljs cls cmd cob coffee cpp cr cs csh
    csx cts cu cxx d dart elm erl ex exs f f90 fish fs fsx gd go gradle groovy h hh hpp hrl hs hta hx hxx inc inl ipp
    ipynb java jl js jse jsx ksh kt kts lisp lua m mjs ml mli mm move mts nim nix nu pas php php3 php4 php5 php7
    phtml pl pm pro ps1 psd1 psm1 py pyi pyw pyx r rake rb rbs rkt rs ru s sas sc scala scm sed sh sol star sv swift
    t tcl ts tsx v vala vb vba vbe vbs vhd vue vy wat wsf zig zsh svelte astro mdx gemspec podspec sbt cabal make mk
    cmake ninja bazel just dockerfile containerfile command expect gyp gypi fnl hcl html htm xhtml shtml xml xsl xslt
    xsd svg css scss sass less styl asp aspx ascx asmx ashx cfm jsp jspx jspf tag webmanifest appcache map wsdl dtd
    tpl tmpl template j2 jinja jinja2 erb haml slim ejs hbs handlebars mustache pug jade liquid twig blade ftl vm njk
    gotmpl cshtml razor latte mako eex heex leex in sql psql plsql cypher graphql gql sparql cql hql json json5 jsonc
    jsonnet libsonnet yaml yml toml ini cfg conf config cnf properties env plist reg rego cue dhall kdl tf tfvars
    tfstate bicep proto thrift avsc capnp fbs wit idl service socket timer mount target desktop rules policy cedar
    crt pem cer key pub lock patch diff props targets csproj fsproj vbproj vcxproj sln pbxproj xcconfig xcscheme
    entitlements nuspec manifest spec rc resx xaml storyboard xib qml cron crontab htaccess htpasswd npmrc bashrc
    zshrc profile vim el lds ld pp epp sls nomad pkr sentinel opa workflow pipeline editorconfig browserslistrc
";

const COMPILED: &str = "
    a aar apk app appimage appx bc beam bundle class cpl crate crx deb dex dll dmg docm drv ear efi egg elc elf exe
    gem hex img ipa iso jar jmod joblib ko lib luac msi msix node npz nupkg o obj ocx pack phar pickle pkg pkl pptm
    pt pth pyc pyd pyo rlib rmeta rpm scr so swf sys uf2 vsix war wasm whl xlsm xpi dylib lockb ser rdb keras h5
";

const ARCHIVES: &str = "
    7z br bz2 cab cpio gz lz lz4 lzma rar tar tbz tbz2 tgz txz xz zip zst
";

const INERT: &str = "
    apng avif bmp cur gif heic heif icns ico jfif jp2 jpe jpeg jpg jxl png psd tif tiff webp eot otf ttc ttf woff
    woff2 aac aif aiff avi flac m4a m4v mid midi mkv mov mp3 mp4 mpeg mpg oga ogg ogv opus wav webm wma wmv doc docx
    epub odp ods odt parquet pdf ppt pptx sqlite sqlite3 xls xlsx
";

const PROSE: &str = "
    adoc asciidoc bib csv log markdown md org rst rtf srt text textile tsv txt vtt
";

/// Names of texts for people that have no extension.
const PROSE_NAMES: &str = "
    authors changelog changes contributors copying copyright history install license licence maintainers news notice
    patents readme thanks todo unlicense version
";

/// Names without an extension that are those of scripts and settings.
const CODE_NAMES: &str = "
    brewfile build buck capfile codeowners containerfile crontab dangerfile dockerfile earthfile fastfile gemfile
    gnumakefile guardfile hosts jenkinsfile justfile kconfig makefile pipfile podfile procfile puppetfile rakefile
    snakefile sudoers thorfile tiltfile vagrantfile workspace configure gradlew mvnw pre-commit pre-push commit-msg
    post-checkout post-merge known_hosts authorized_keys passwd shadow fstab exports
";

/// Names that mean something to a tool although their extension is that of a text for people.
const STEERING_TEXTS: &str = "
    agents.md agents.override.md claude.md claude.local.md gemini.md context.md skill.md copilot-instructions.md
    cmakelists.txt robots.txt meson_options.txt manifest.txt security.txt _pth.txt
";

/// Directories whose files a tool runs or reads by itself.
const BY_ITSELF: &str = "
    .yarn .husky .githooks .git-hooks githooks git-hooks hooks .github .gitlab .circleci .buildkite .vscode .idea
    .devcontainer .mvn .cargo .opencode .claude .cursor .agents .codex bin sbin scripts cron.d init.d profile.d
    systemd conf.d sites-enabled udev
";

/// Returns the kind that the path announces.
pub(super) fn kind(path: &str) -> NameKind {
    let lower = path.to_ascii_lowercase();
    let name = file_name(&lower);
    if is_in(STEERING_TEXTS, name) || is_requirements(name) {
        return NameKind::Code;
    }
    let Some((stem, extension)) = name.rsplit_once('.') else {
        return if is_in(PROSE_NAMES, name) {
            NameKind::Prose
        } else if is_in(CODE_NAMES, name) {
            NameKind::Code
        } else {
            NameKind::Unknown
        };
    };
    // `.bashrc`, `.env`
    if stem.is_empty() {
        return NameKind::Code;
    }
    // `libssl.so.3`
    let versioned = !extension.is_empty() && extension.bytes().all(|byte| byte.is_ascii_digit());
    if versioned && stem.contains(".so") {
        return NameKind::Compiled;
    }
    for (extensions, kind) in [
        (CODE, NameKind::Code),
        (COMPILED, NameKind::Compiled),
        (ARCHIVES, NameKind::Archive),
        (INERT, NameKind::Inert),
        (PROSE, NameKind::Prose),
    ] {
        if is_in(extensions, extension) {
            return kind;
        }
    }
    // `Dockerfile.arm64`, `.env.local`
    let first = name.trim_start_matches('.').split('.').next().unwrap_or_default();
    if name.starts_with('.')
        || matches!(
            first,
            "dockerfile" | "containerfile" | "makefile" | "jenkinsfile" | "env"
        )
    {
        return NameKind::Code;
    }
    NameKind::Unknown
}

/// `requirements.txt`, `constraints-dev.txt`: lists of packages to install.
fn is_requirements(name: &str) -> bool {
    language(name) == "txt" && (name.contains("requirements") || name.contains("constraints"))
}

/// Returns whether a tool runs or reads the file by itself.
pub(super) fn runs_by_itself(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let Some((directories, _)) = lower.rsplit_once('/') else {
        return false;
    };
    directories.split('/').any(|directory| is_in(BY_ITSELF, directory))
}

/// Returns whether the file defines a pipeline.
pub(super) fn is_pipeline(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let name = file_name(&lower);
    name.contains(".gitlab-ci")
        || name.starts_with("jenkinsfile")
        || name.starts_with("azure-pipelines")
        || name.starts_with("bitbucket-pipelines")
        || name.starts_with("cloudbuild")
        || name.starts_with("buildspec")
        || matches!(
            name,
            ".travis.yml" | ".drone.yml" | "appveyor.yml" | ".pre-commit-config.yaml" | "lefthook.yml" | "action.yml"
        )
        || lower.starts_with("ci/")
        || lower.contains("/ci/")
}

/// The extension of a path in lower case; for a name without one, the name.
pub(super) fn language(path: &str) -> String {
    let name = file_name(path);
    let word = match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => extension,
        _ => name,
    };
    word.to_ascii_lowercase()
}

/// Returns whether the name is that of a source map.
pub(super) fn is_map(path: &str) -> bool {
    path.to_ascii_lowercase().ends_with(".map")
}

/// Returns whether a list contains the word.
fn is_in(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|listed| listed == word)
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_a_file_is() {
        for (path, expected) in [
            ("src/a.PY", NameKind::Code),
            ("Makefile", NameKind::Code),
            ("ops/deploy", NameKind::Unknown),
            (".bashrc", NameKind::Code),
            (".env.production", NameKind::Code),
            ("Dockerfile.arm64", NameKind::Code),
            ("requirements-dev.txt", NameKind::Code),
            ("CMakeLists.txt", NameKind::Code),
            ("vendor/x/AGENTS.md", NameKind::Code),
            ("nginx/access.map", NameKind::Code),
            ("img/logo.svg", NameKind::Code),
            ("libssl.so.3", NameKind::Compiled),
            ("gradle/wrapper/gradle-wrapper.jar", NameKind::Compiled),
            ("a.tar.gz", NameKind::Archive),
            ("logo.PNG", NameKind::Inert),
            ("LICENSE", NameKind::Prose),
            ("docs/guide.md", NameKind::Prose),
            ("data/weights.dat", NameKind::Unknown),
        ] {
            assert_eq!(kind(path), expected, "{path}");
        }
    }

    #[test]
    fn some_places_run_by_themselves() {
        for path in [
            ".yarn/releases/yarn-4.cjs",
            "web/.husky/pre-commit",
            ".github/workflows/a.yml",
        ] {
            assert!(runs_by_itself(path), "{path}");
        }
        for path in ["src/a.rs", "hooks", "docs/husky/a.md"] {
            assert!(!runs_by_itself(path), "{path}");
        }
    }
}

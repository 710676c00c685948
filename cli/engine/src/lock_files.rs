//! Lock files: what a cheap check by rules finds in them.
//!
//! Nobody reads a lock file, neither people nor models: it leaves the diff as noise. Whoever wants to smuggle code in knows
//! that, too. So each changed lock file is read whole, at base and at head, and compared: a registry that was not used
//! before, a dependency that newly comes from a repository or an address, a hash that is missing. What is found is a
//! finding like a reviewer's; no model takes part, and none is needed.

mod compare;
mod json;
mod lines;
mod model;
mod toml;
mod yaml;

use conclave_shared::finding::Finding;

use self::model::LockFile;

/// The name under which these findings are reported.
pub const LOCK_FILES: &str = conclave_shared::reviewer::ReviewerName::LOCK_FILES;

/// The most bytes of a lock file that are read.
pub const LARGEST_LOCK_FILE: usize = 24 << 20;

/// A lock file that could not be checked; completes "failed to check PATH: ".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LockFileFault(String);

/// The formats that are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Bun,
    Cargo,
    Composer,
    Flake,
    Gem,
    Go,
    Npm,
    Pipfile,
    Pnpm,
    Poetry,
    Uv,
    Yarn,
}

impl Format {
    fn of(path: &str) -> Option<Self> {
        Some(match path.rsplit('/').next()? {
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

    /// Where packages of this kind come from unless somebody says otherwise.
    const fn usual_registries(self) -> &'static [&'static str] {
        match self {
            Self::Bun | Self::Npm | Self::Pnpm | Self::Yarn => {
                &["https://registry.npmjs.org", "https://registry.yarnpkg.com"]
            }
            Self::Cargo => &[
                "https://github.com/rust-lang/crates.io-index",
                "https://index.crates.io",
            ],
            Self::Composer => &[
                "https://packagist.org",
                "https://repo.packagist.org",
                "https://api.github.com",
                "https://gitlab.com",
                "https://bitbucket.org",
            ],
            Self::Flake => &[],
            Self::Gem => &["https://rubygems.org"],
            Self::Go => &[
                "bitbucket.org",
                "cel.dev",
                "cloud.google.com",
                "github.com",
                "gitlab.com",
                "go.etcd.io",
                "go.mongodb.org",
                "go.opentelemetry.io",
                "go.uber.org",
                "go.yaml.in",
                "golang.org",
                "google.golang.org",
                "gopkg.in",
                "gotest.tools",
                "honnef.co",
                "k8s.io",
                "modernc.org",
                "sigs.k8s.io",
            ],
            Self::Pipfile | Self::Poetry | Self::Uv => &["https://pypi.org", "https://files.pythonhosted.org"],
        }
    }

    fn read(self, text: &str) -> Result<LockFile, LockFileFault> {
        let entries = match self {
            Self::Bun => json::bun(text),
            Self::Composer => json::composer(text),
            Self::Flake => json::flake(text),
            Self::Npm => json::npm(text),
            Self::Pipfile => json::pipfile(text),
            Self::Cargo => toml::cargo(text),
            Self::Poetry => toml::poetry(text),
            Self::Uv => toml::uv(text),
            Self::Pnpm => yaml::pnpm(text),
            Self::Yarn if text.contains("__metadata:") => yaml::yarn_berry(text),
            Self::Yarn => lines::yarn_classic(text),
            Self::Gem => lines::gemfile(text),
            Self::Go => lines::go_sum(text),
        };
        entries.map(LockFile::new).map_err(LockFileFault)
    }
}

/// Whether there are rules for this file.
pub fn is_lock_file(path: &str) -> bool {
    Format::of(path).is_some()
}

/// Whether the name is that of a lock file in a format that no rule reads.
pub fn is_unknown_lock_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    Format::of(path).is_none()
        && (ends(&[
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
        ]) || matches!(
            name.as_str(),
            "npm-shrinkwrap.json"
                | "verification-metadata.xml"
                | "go.sum"
                | "go.work.sum"
                | ".pnp.cjs"
                | ".pnp.data.json"
        ))
}

/// Checks a lock file against its base; `None` where there was none. The findings have no ids yet.
pub fn check(path: &str, base: Option<&str>, head: &str) -> Result<Vec<Finding>, LockFileFault> {
    let Some(format) = Format::of(path) else {
        return Ok(Vec::new());
    };
    // Only line feeds, so that places are found; the numbers of the lines are the same.
    let head_text = head.replace("\r\n", "\n");
    let head = format.read(&head_text)?;
    // Without the base, nothing can be compared.
    let before = base.map(|base| format.read(base)).transpose();
    let before = before.map_err(|fault| LockFileFault(format!("at base {fault}")))?;
    Ok(compare::compare(&compare::Change {
        path,
        usual: format.usual_registries(),
        base: before.as_ref(),
        base_text: base.unwrap_or_default(),
        head: &head,
        head_text: &head_text,
    }))
}

#[cfg(test)]
#[path = "lock_files_tests.rs"]
mod tests;

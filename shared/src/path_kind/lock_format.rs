//! Lock files by their names.

use super::file_name;

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
    /// `pylock.toml`, `pylock.NAME.toml`
    Pylock,
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
            name if is_pylock(name) => Self::Pylock,
            _ => return None,
        })
    }
}

/// Returns whether the name is one that Python's standard gives a lock file, perhaps with a word of the project in it
/// (<https://packaging.python.org/en/latest/specifications/pylock-toml/>).
fn is_pylock(name: &str) -> bool {
    let rest = name.strip_prefix("pylock.").and_then(|rest| rest.strip_suffix("toml"));
    // Nothing, or the word and its dot.
    rest.is_some_and(|rest| rest.is_empty() || rest.find('.').is_some_and(|at| at > 0 && at + 1 == rest.len()))
}

/// The names of the files beside a lock file whose dependencies it pins; none where its own name does not tell.
pub fn manifests_of(path: &str) -> &'static [&'static str] {
    const NPM: &[&str] = &["package.json", "package.json5", "package.yaml"];
    const PYTHON: &[&str] = &["pyproject.toml"];
    let name = file_name(path);
    match LockFormat::of(path) {
        Some(LockFormat::Bun | LockFormat::Npm | LockFormat::Pnpm | LockFormat::Yarn) => NPM,
        Some(LockFormat::Cargo) => &["Cargo.toml"],
        Some(LockFormat::Composer) => &["composer.json"],
        Some(LockFormat::Flake) => &["flake.nix"],
        Some(LockFormat::Gem) => &["Gemfile"],
        Some(LockFormat::Go) if name == "go.work.sum" => &["go.work"],
        Some(LockFormat::Go) => &["go.mod"],
        Some(LockFormat::Pipfile) => &["Pipfile"],
        Some(LockFormat::Poetry | LockFormat::Uv) => PYTHON,
        Some(LockFormat::Pylock) => &[
            "pyproject.toml",
            "requirements.in",
            "requirements.txt",
            "setup.cfg",
            "setup.py",
        ],
        None => match name {
            "bun.lockb" => NPM,
            "deno.lock" => &["deno.json", "deno.jsonc", "package.json"],
            "pdm.lock" => PYTHON,
            _ => &[],
        },
    }
}

/// Returns whether the name is that of a lock file in a format that no rule reads.
pub fn is_unknown_lock_file(path: &str) -> bool {
    const ENDS: &str = ".lock .lockb .lockfile .locked .lock.json .lock.yaml .lock.yml .lock.toml .lock.hcl \
        -lock.json -lock.yaml -lock.yml -lock.toml .resolved";
    const NAMES: &str = "npm-shrinkwrap.json verification-metadata.xml go.sum go.work.sum .pnp.cjs .pnp.data.json";
    let name = file_name(path).to_ascii_lowercase();
    LockFormat::of(path).is_none()
        && (ENDS.split_ascii_whitespace().any(|end| name.ends_with(end))
            || NAMES.split_ascii_whitespace().any(|known| known == name))
}

//! Finding the programs of a review.

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use crate::{
    OPENCODE_VERSION,
    binary::{Answered, first_that_fits},
    child::Sandbox,
    errors::ProcessError,
    install::{installed_opencode, working_ripgrep},
    path::{is_program, named_on_path, on_path},
};

/// Where the programs are looked for, in this order.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// The binary that the user has named, which has to be it.
    pub configured: Option<&'a Utf8Path>,
    /// The directory of what Conclave has installed.
    pub installed: Option<&'a Utf8Path>,
    /// `PATH`.
    pub path: &'a str,
    /// The sandbox in which a program is asked for its version.
    pub sandbox: &'a Sandbox,
}

/// The programs of a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    /// `OpenCode`.
    pub opencode: Utf8PathBuf,
    /// `PATH` on which `rg` is the ripgrep that was found.
    pub path: String,
}

impl Search<'_> {
    /// Both programs. Where `OpenCode` is named, or the installed one is the only one, its version is looked at when it runs: asking for it
    /// takes as long as half a start. Ripgrep is asked here, once for a review.
    ///
    /// # Errors
    /// One of them is missing.
    pub async fn programs(self) -> Result<Programs, ProcessError> {
        let opencode = self.opencode().await?;
        let ripgrep = self.ripgrep().await?.binary;
        let on_path = on_path("rg", self.path).next();
        let path = match ripgrep.parent() {
            Some(directory) if on_path.as_ref() != Some(&ripgrep) => format!("{directory}:{}", self.path),
            _ => self.path.to_owned(),
        };
        Ok(Programs { opencode, path })
    }

    /// `OpenCode`. Of an installed one and those on `PATH`, the first counts that is the pinned version; another one is asked for its
    /// version, and never more.
    ///
    /// # Errors
    /// There is none.
    pub async fn opencode(self) -> Result<Utf8PathBuf, ProcessError> {
        match self.configured {
            Some(binary) if is_program(binary) => return Ok(binary.to_owned()),
            Some(binary) => {
                let text = format!("CONCLAVE_OPENCODE is {binary}, which is not a file that can be executed");
                return Err(ProcessError::Missing(text));
            }
            None => {}
        }
        let on_path: Vec<Utf8PathBuf> = named_on_path("opencode", self.path).collect();
        let installed = self.installed.map(installed_opencode).filter(|binary| binary.is_file());
        let installed = match installed {
            // There is none that could take its place.
            Some(binary) if on_path.is_empty() => return Ok(binary),
            installed => installed,
        };
        let is_pinned = |version: &str| version == OPENCODE_VERSION;
        let all = installed.into_iter().chain(on_path);
        let found = first_that_fits(all, packaged_version, is_pinned, self.path, self.sandbox).await;
        found.map(|found| found.binary).map_err(|others| {
            if others.is_empty() {
                not_on_path()
            } else {
                ProcessError::NoneFits(others.join("; "))
            }
        })
    }

    /// The ripgrep that reviewers search with: the installed one, or the first on `PATH` that answers as ripgrep does.
    ///
    /// # Errors
    /// There is none.
    pub async fn ripgrep(self) -> Result<Answered, ProcessError> {
        working_ripgrep(self.installed, self.path, self.sandbox).await
    }
}

/// Returns the problem if no `OpenCode` is installed or on this `PATH`, in whichever version. None is asked, and nothing runs.
pub fn no_opencode(installed: Option<&Utf8Path>, path: &str) -> Option<ProcessError> {
    let is_installed = installed.is_some_and(|directory| installed_opencode(directory).is_file());
    let is_there = is_installed || named_on_path("opencode", path).next().is_some();
    (!is_there).then(not_on_path)
}

/// Returns the problem if `OpenCode` does not find its way in directories below this one: it takes a backslash for a `/`, and `%20` for a
/// blank.
pub fn unfit_place(directory: &Utf8Path) -> Option<ProcessError> {
    let path = directory.as_str();
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_hexdigit);
    let is_encoded = |rest: &str| is_digit(rest.as_bytes().first()) && is_digit(rest.as_bytes().get(1));
    let is_unfit = path.contains(|character: char| character == '\\' || character.is_control())
        || path.split('%').skip(1).any(is_encoded);
    is_unfit.then(|| ProcessError::Place(directory.to_owned()))
}

fn not_on_path() -> ProcessError {
    ProcessError::Missing("no `opencode` on PATH".to_owned())
}

/// The version of the npm package that the binary is in: quicker than asking it, and nothing runs.
fn packaged_version(binary: &Utf8Path) -> Option<String> {
    let real = binary.canonicalize_utf8().ok()?;
    let manifest = std::fs::read(real.parent()?.parent()?.join("package.json")).ok()?;
    let manifest: Value = serde_json::from_slice(&manifest).ok()?;
    let text = |field: &str| manifest.get(field)?.as_str().map(str::to_owned);
    text("name")?.starts_with("opencode-").then(|| text("version"))?
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;

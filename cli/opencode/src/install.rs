//! Fetching `OpenCode` and ripgrep: exactly the files that Conclave was made with, whole or not at all.
//!
//! A program comes from a registry of npm packages or from a file, is checked against a checksum in this program, unpacked beside
//! its place, started once, and moved there in one step. One installation works at a time; what an earlier one that was killed
//! has left is removed. Dropping its future stops it within a moment: long work is done in pieces.

mod claim;
mod errors;
mod lock;
mod package;
mod pins;
mod swap;

use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use conclave_certificates::Proxy;

pub use self::errors::InstallError;
use self::{
    claim::claim_of,
    lock::alone,
    package::{Registry, fault_of, named, sum_of, take_over, unpack},
    pins::{PINS, Pin},
    swap::put,
};
use crate::{
    binary::{Answered, FIRST_START_TIMEOUT, first_ripgrep, shown_version, version_within},
    child::Sandbox,
    errors::ProcessError,
    machine::{Machine, Platform},
    path::{named_on_path, on_path},
};

/// The beginning of the names of directories that an installation works in.
const PARTIAL: &str = ".partial-";

/// Where programs come from.
#[derive(Debug, Clone, Copy)]
pub enum InstallSource<'a> {
    /// A registry of npm packages: its address.
    Registry(&'a str),
    /// Files of packages.
    Files(&'a [Utf8PathBuf]),
}

/// The settings of an installation.
#[derive(Clone, Copy)]
pub struct InstallSettings<'a> {
    /// The directory of what is installed, which need not be there.
    pub directory: &'a Utf8Path,
    /// Where programs come from.
    pub source: InstallSource<'a>,
    /// The flag, variable or file that has the registry's address. An error names it in place of the address, which may hold a password.
    pub registry_setting: &'a str,
    /// The proxy that the environment names for that address.
    pub proxy: Option<&'a Proxy>,
    /// `PATH`.
    pub path: &'a str,
    /// The sandbox in which a program is asked for its version.
    pub sandbox: &'a Sandbox,
    /// Additional certificates to trust (PEM).
    pub extra_ca_file: Option<&'a Utf8Path>,
    /// Shows a line about each step.
    pub progress: &'a (dyn Fn(&str) + Sync),
}

/// The path of the installed `OpenCode` of the pinned version, whether it is there or not.
pub(crate) fn installed_opencode(directory: &Utf8Path) -> Utf8PathBuf {
    place(&PINS[0], directory)
}

/// The path of the installed ripgrep, whether it is there or not.
pub(crate) fn installed_ripgrep(directory: &Utf8Path) -> Utf8PathBuf {
    PINS.iter()
        .find(|pin| pin.program == "ripgrep")
        .map_or_else(Utf8PathBuf::new, |pin| place(pin, directory))
}

/// Returns the installed ripgrep, or the first on this `PATH` that answers as ripgrep does.
pub(crate) async fn working_ripgrep(
    installed: Option<&Utf8Path>,
    path: &str,
    sandbox: &Sandbox,
) -> Result<Answered, ProcessError> {
    let installed = installed.map(installed_ripgrep).filter(|file| file.is_file());
    let all = installed.into_iter().chain(named_on_path("rg", path));
    first_ripgrep(all, path, sandbox).await.map_err(|others| {
        if others.is_empty() {
            ProcessError::NoRipgrep
        } else {
            ProcessError::BrokenRipgrep(others.join("; "))
        }
    })
}

fn place(pin: &Pin, directory: &Utf8Path) -> Utf8PathBuf {
    directory
        .join(pin.directory_name())
        .join(pin.version)
        .join(pin.file_name())
}

/// Installs `OpenCode`, and ripgrep if none on `PATH` works; with files, what they are. Returns the paths of the programs.
///
/// # Errors
/// [`InstallError`]; the programs are then as they were before.
pub async fn install(settings: InstallSettings<'_>) -> Result<Vec<Utf8PathBuf>, InstallError> {
    install_for(Machine::here(), &PINS, settings).await
}

async fn install_for(
    machine: Machine,
    pins: &[Pin],
    settings: InstallSettings<'_>,
) -> Result<Vec<Utf8PathBuf>, InstallError> {
    let InstallSettings { directory, source, .. } = settings;
    let platform = machine.platform().ok_or_else(|| InstallError::no_platform(machine))?;
    let ours: Vec<&Pin> = pins.iter().filter(|pin| pin.platform == platform).collect();
    let megabytes = ours.iter().map(|pin| pin.megabytes).sum();
    let alone = alone(directory, settings.progress).await;
    let _alone = alone.map_err(InstallError::write(directory, megabytes))?;
    let mut installed = Vec::new();
    match source {
        InstallSource::Registry(address) => {
            let registry = Registry::new(address, settings)?;
            for pin in ours {
                if pin.program == "ripgrep"
                    && let Ok(found) =
                        first_ripgrep(on_path("rg", settings.path), settings.path, settings.sandbox).await
                {
                    (settings.progress)(&format!("ripgrep is there: {}", found.binary));
                    continue;
                }
                installed.push(one(pin, Origin::Registry(&registry), settings).await?);
            }
        }
        InstallSource::Files(files) => {
            // All are looked at before the first is installed.
            let mut known = Vec::new();
            for file in files {
                known.push((file, recognized(file, pins, platform, machine).await?));
            }
            for (file, pin) in known {
                installed.push(one(pin, Origin::File(file), settings).await?);
            }
            let ripgrep = pins
                .iter()
                .find(|pin| pin.program == "ripgrep" && platform.runs(pin.platform));
            note_missing_ripgrep(ripgrep, settings).await;
        }
    }
    Ok(installed)
}

/// Says that a review still needs a ripgrep, if none works, and which package has one.
async fn note_missing_ripgrep(pin: Option<&Pin>, settings: InstallSettings<'_>) {
    let found = working_ripgrep(Some(settings.directory), settings.path, settings.sandbox).await;
    if let Err(problem) = found {
        let file = pin.map(|pin| {
            format!(
                ", or bring the file that `npm pack {}` makes with --tarball",
                named(pin)
            )
        });
        (settings.progress)(&format!("{problem}{}", file.unwrap_or_default()));
    }
}

/// Removes everything that was installed, whichever version. Returns whether there was anything.
///
/// # Errors
/// A directory cannot be removed.
pub async fn remove_installed(directory: &Utf8Path, progress: &(dyn Fn(&str) + Sync)) -> Result<bool, InstallError> {
    if !directory.is_dir() {
        return Ok(false);
    }
    let alone = alone(directory, progress).await;
    let _alone = alone.map_err(InstallError::remove(directory))?;
    let mut found = false;
    for pin in &PINS {
        let place = directory.join(pin.directory_name());
        if let Ok(metadata) = place.symlink_metadata() {
            if metadata.is_symlink() {
                // Another user may need what is there.
                let target = place.read_link_utf8().map_err(InstallError::remove(&place))?;
                progress(&format!(
                    "{place} is a link to {target}, which stays: remove it if nothing else uses it"
                ));
            }
            std::fs::remove_dir_all(&place).map_err(InstallError::remove(&place))?;
            found = true;
        }
    }
    Ok(found)
}

/// The package that a file is, which has to be one that runs on this machine.
async fn recognized<'a>(
    file: &Utf8Path,
    pins: &'a [Pin],
    platform: Platform,
    machine: Machine,
) -> Result<&'a Pin, InstallError> {
    let sum = sum_of(file).await;
    let found = sum.map_err(|error| InstallError::Read(file.to_owned(), error))?;
    let same: Vec<&Pin> = pins.iter().filter(|pin| pin.sha512 == found).collect();
    if let Some(pin) = same.iter().find(|pin| platform.runs(pin.platform)) {
        return Ok(pin);
    }
    let ours: Vec<&Pin> = pins.iter().filter(|pin| pin.platform == platform).collect();
    // Where the name is of none of ours, it may have been meant for any.
    let expected = |name: &str| {
        let meant: Vec<&&Pin> = ours.iter().filter(|pin| name.starts_with(pin.stem())).collect();
        let all = if meant.is_empty() { ours.iter().collect() } else { meant };
        let all: Vec<String> = all.into_iter().map(|pin| named(pin)).collect();
        all.join(" ")
    };
    let of_other_platform = |is: String, name: &str| InstallError::OtherPlatform {
        file: file.to_owned(),
        found: is,
        machine: machine.to_string(),
        expected: expected(name),
    };
    let unknown = |claim: String, name: &str| InstallError::UnknownFile {
        file: file.to_owned(),
        found: found.clone(),
        claim,
        expected: expected(name),
    };
    if let Some(other) = same.first() {
        return Err(of_other_platform(named(other), other.package));
    }
    let Some(claim) = claim_of(file).await else {
        let fault = fault_of(file).await.map(|fault| format!(", and {fault}"));
        let name = file.file_name().unwrap_or_default();
        return Err(unknown(fault.unwrap_or_default(), name));
    };
    let (package, name) = (claim.package(), claim.name());
    Err(match claim.elsewhere(machine) {
        Some(place) => of_other_platform(format!("{package} for {place} (as its package.json says)"), name),
        None => unknown(format!(", though it calls itself {package}"), name),
    })
}

/// Where one package comes from.
#[derive(Clone, Copy)]
enum Origin<'a> {
    Registry(&'a Registry<'a>),
    /// A file that had the checksum when it was looked at.
    File(&'a Utf8Path),
}

/// Installs one program, unless it is there and runs.
async fn one(pin: &Pin, origin: Origin<'_>, settings: InstallSettings<'_>) -> Result<Utf8PathBuf, InstallError> {
    let InstallSettings {
        directory, progress, ..
    } = settings;
    let name = format!("{} {}", pin.program, pin.version);
    let binary = place(pin, directory);
    if binary.is_file() && runs(&binary, pin, settings).await.is_ok() {
        progress(&format!("{name} is installed already: {binary}"));
        return Ok(binary);
    }
    let home = directory.join(pin.directory_name());
    let write = |error| InstallError::write(&home, pin.megabytes)(error);
    std::fs::create_dir_all(&home).map_err(write)?;
    let partial = tempfile::Builder::new()
        .prefix(PARTIAL)
        .tempdir_in(&home)
        .map_err(write)?;
    let work = Utf8Path::from_path(partial.path()).ok_or_else(|| write(io::Error::other("its path is not UTF-8")))?;

    let fetched = work.join("package.tgz");
    match origin {
        // What is unpacked is a copy that no other user can reach, and it is the copy that is compared.
        Origin::File(file) => {
            if take_over(file, pin, &fetched).await? != pin.sha512 {
                return Err(InstallError::Changed(file.to_owned()));
            }
        }
        Origin::Registry(registry) => {
            progress(&format!("Fetching {name} from {} …", registry.host()));
            registry.fetch(pin, &fetched).await?;
        }
    }
    let new = work.join("new");
    std::fs::create_dir(&new).map_err(write)?;
    let unpacked = unpack(&fetched, pin, &new).await?;
    // The disk need not hold both for longer than this.
    let _ = std::fs::remove_file(&fetched);
    runs(&unpacked, pin, settings)
        .await
        .map_err(|cause| InstallError::DoesNotRun {
            program: name.clone(),
            cause,
            directory: home.clone(),
        })?;
    let old = work.join(pin.version);
    if let Err(error) = put(&new, &home.join(pin.version), &old) {
        if old.exists() {
            // What could not be moved back is the next installation's to find.
            let _ = partial.keep();
        }
        return Err(write(error));
    }
    progress(&format!("{name} is installed: {binary}"));
    Ok(binary)
}

/// Returns why the program cannot be used, if so.
async fn runs(binary: &Utf8Path, pin: &Pin, settings: InstallSettings<'_>) -> Result<(), String> {
    let reported = version_within(FIRST_START_TIMEOUT, binary, settings.path, settings.sandbox)
        .await
        .map_err(|error| error.to_string())?;
    if reported.split_whitespace().any(|word| word == pin.version) {
        return Ok(());
    }
    Err(format!("it reports the version `{}`", shown_version(&reported)))
}

#[cfg(test)]
#[path = "install_tests.rs"]
mod tests;

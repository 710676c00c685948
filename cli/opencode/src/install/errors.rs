//! The causes why a program was not installed. Each says what to do, and that nothing is half there.

use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use conclave_certificates::{CertificatesError, ClientError, FailedConnection};

use crate::{OPENCODE_VERSION, machine::Machine};

/// The cause why a program was not installed. What was installed before is as it was.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The user has no directory for programs.
    #[error("there is no directory to install into. Set HOME, or XDG_DATA_HOME")]
    NoDirectory,
    /// There is no package that could be checked.
    #[error(
        "Conclave has no checksum of OpenCode {OPENCODE_VERSION} for {0}. Install that version yourself, and set \
         CONCLAVE_OPENCODE to its binary, or review with `--runtime native`"
    )]
    Platform(String),
    /// The address of the registry cannot be used. It is not repeated here: it may have a password in it, in whatever form.
    #[error("the registry's address in {setting} cannot be used: {problem}. Correct it there")]
    Registry {
        /// The flag, variable or file that has the address.
        setting: String,
        /// The reason.
        problem: String,
    },
    /// There is no client to ask the registry with.
    #[error("{0}, or bring the file with --tarball")]
    Client(#[from] ClientError),
    /// The certificates that are to be trusted cannot be read.
    #[error("{0}. Correct CONCLAVE_CA_FILE, or what --ca-file names")]
    Certificates(#[from] CertificatesError),
    /// No connection.
    #[error(
        "{host} {connection}. Another registry is named with --registry; or bring the file: `npm pack {package}` where there is a \
         network, then `conclave runtime install --tarball FILE` here"
    )]
    Unreachable {
        /// The registry.
        host: String,
        /// The reason, and the next step.
        connection: FailedConnection,
        /// The package, with its version.
        package: String,
    },
    /// A download that ended too early.
    #[error(
        "{host} stopped in the middle of {package}: {cause}. Nothing of it was kept; try again, or bring the file with --tarball"
    )]
    Interrupted {
        /// The registry.
        host: String,
        /// The reason.
        cause: String,
        /// The package, with its version.
        package: String,
    },
    /// The registry answered with an error.
    #[error("{host} answered {status} for {package}. {}, or bring the file with --tarball", next_step(.status))]
    Status {
        /// The registry.
        host: String,
        /// The status.
        status: u16,
        /// The package, with its version.
        package: String,
    },
    /// The file is another one.
    #[error(
        "what came from {from} is not {package}: its SHA-512 is {found}, and {expected} is right. Nothing of it was \
         kept; try again, and if it stays so, ask the registry's owner"
    )]
    Checksum {
        /// The registry's host, or the file.
        from: String,
        /// The package, with its version.
        package: String,
        /// The checksum that it has.
        found: String,
        /// The checksum that it has to have.
        expected: &'static str,
    },
    /// The answer cannot be the file of a package.
    #[error(
        "what came from {from} is not {package}: {fault}. Nothing of it was kept; a login page or a proxy may stand before the \
         registry: log in there, name your registry with --registry, or bring the file with --tarball"
    )]
    NoArchive {
        /// The registry's host.
        from: String,
        /// The package, with its version.
        package: String,
        /// The difference to a package.
        fault: &'static str,
    },
    /// A file that is none of the packages.
    #[error(
        "{file} is none of the packages for this machine: its SHA-512 is {found}{claim}. Make it with `npm pack {expected}`"
    )]
    UnknownFile {
        /// The file.
        file: Utf8PathBuf,
        /// The checksum that it has.
        found: String,
        /// The package that it says it is, as the end of a sentence, or nothing.
        claim: String,
        /// The packages for this machine that it may have been meant to be, with their versions.
        expected: String,
    },
    /// A file that is the package of another kind of machine.
    #[error("{file} is {found}, which does not run on {machine}. Make the right one with `npm pack {expected}`")]
    OtherPlatform {
        /// The file.
        file: Utf8PathBuf,
        /// The package that it is.
        found: String,
        /// This machine.
        machine: String,
        /// The package that it has to be.
        expected: String,
    },
    /// The file is not the one any more that was looked at.
    #[error("{0} has changed while it was read. Nothing of it was kept; name a file that nothing else writes to")]
    Changed(Utf8PathBuf),
    /// The file cannot be read.
    #[error("failed to read {0}: {1}. Name a package's file with --tarball, as `npm pack` makes it")]
    Read(Utf8PathBuf, #[source] io::Error),
    /// A file or directory cannot be written.
    #[error("failed to write {path}: {source}. {}; nothing was installed", remedy(.source, .megabytes))]
    Write {
        /// The place.
        path: Utf8PathBuf,
        /// The reason.
        source: io::Error,
        /// Disk space that it takes, in megabytes.
        megabytes: u64,
    },
    /// A program cannot be removed.
    #[error("failed to remove {path}: {source}. Let this user write there, and repeat `conclave runtime remove`")]
    Remove {
        /// The place.
        path: Utf8PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The program does not run on this machine.
    #[error(
        "{program} was fetched as it has to be, and does not run here: {cause}. Nothing was installed; if programs must not \
         run in {directory}, set XDG_DATA_HOME to a directory where they may"
    )]
    DoesNotRun {
        /// The program.
        program: String,
        /// The reason.
        cause: String,
        /// The directory.
        directory: Utf8PathBuf,
    },
}

impl InstallError {
    pub(super) fn no_platform(machine: Machine) -> Self {
        Self::Platform(machine.to_string())
    }

    pub(super) fn write(path: &Utf8Path, megabytes: u64) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Write {
            path: path.to_owned(),
            source,
            megabytes,
        }
    }

    pub(super) fn remove(path: &Utf8Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Remove {
            path: path.to_owned(),
            source,
        }
    }
}

/// The remedy for a registry's answer.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the error's text has references only")]
const fn next_step(status: &u16) -> &'static str {
    match status {
        401 | 403 => {
            "The registry requires a login: set npm_config_registry=https://USER:PASSWORD@HOST/ in place of --registry, name \
             another one"
        }
        // For an https:// address, the proxy's answer is an error of the connection.
        407 => "The proxy requires a login: set HTTP_PROXY=http://USER:PASSWORD@HOST:PORT",
        429 => {
            "It has had too many requests from here: wait some minutes and try again, name another registry with --registry"
        }
        500..=599 => "It does not work at the moment: try again later, name another registry with --registry",
        _ => "Name a registry that has it with --registry",
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the error's text has references only")]
fn remedy(error: &io::Error, megabytes: &u64) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            format!("It takes {megabytes} MB: free some space")
        }
        io::ErrorKind::FileTooLarge => {
            format!("It takes {megabytes} MB: raise the limit on the size of a file (`ulimit -f`)")
        }
        _ => "Set XDG_DATA_HOME to a directory that can be written".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::USUAL;

    #[test]
    fn a_machine_without_a_checked_package_is_named_with_what_works_there() {
        let arm = Machine {
            processor: "aarch64",
            ..USUAL
        };
        let text = InstallError::no_platform(arm).to_string();
        assert!(
            text.contains("for linux on aarch64. Install that version yourself, and set CONCLAVE_OPENCODE")
                && text.ends_with("or review with `--runtime native`"),
            "{text}"
        );
    }

    #[test]
    fn a_full_disk_and_a_home_that_is_read_only_are_told_apart() {
        let path = Utf8Path::new("/home/dev/.local/share/conclave");
        let said = |kind: io::ErrorKind| InstallError::write(path, 260)(kind.into()).to_string();
        assert!(said(io::ErrorKind::StorageFull).contains("It takes 260 MB: free some space; nothing was installed"));
        assert!(said(io::ErrorKind::FileTooLarge).contains("`ulimit -f`"));
        assert!(
            said(io::ErrorKind::ReadOnlyFilesystem).contains("Set XDG_DATA_HOME to a directory that can be written")
        );
        // Nothing was to be installed where something cannot be removed.
        let error = InstallError::remove(path)(io::ErrorKind::ReadOnlyFilesystem.into()).to_string();
        assert!(
            error.contains("repeat `conclave runtime remove`") && !error.contains("XDG_DATA_HOME"),
            "{error}"
        );
    }
}

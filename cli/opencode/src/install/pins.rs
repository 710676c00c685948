//! The packages that are fetched, each with its checksum.

use crate::{OPENCODE_VERSION, machine::Platform};

/// A package of npm's registry with one program in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pin {
    /// The program's name for people.
    pub(super) program: &'static str,
    /// Its version, as it reports it.
    pub(super) version: &'static str,
    /// The package.
    pub(super) package: &'static str,
    /// The package's version.
    pub(super) release: &'static str,
    /// Where it runs.
    pub(super) platform: Platform,
    /// SHA-512 of its file, in base64, as the registry's `dist.integrity` has it.
    pub(super) sha512: &'static str,
    /// The program's file in it.
    pub(super) member: &'static str,
    /// Disk space that fetching and unpacking takes, in megabytes.
    pub(super) megabytes: u64,
}

impl Pin {
    /// The name of the program's file.
    pub(super) fn file_name(&self) -> &'static str {
        self.member.rsplit('/').next().unwrap_or(self.member)
    }

    /// The name of its directory among what is installed.
    pub(super) fn directory_name(&self) -> String {
        self.program.to_lowercase()
    }

    /// The part of the package's name that it has on every platform.
    pub(super) fn stem(&self) -> &'static str {
        self.package.split("-linux").next().unwrap_or(self.package)
    }

    /// The address of its file below the registry's, as npm builds it.
    pub(super) fn path(&self) -> String {
        let Self { package, release, .. } = self;
        let name = package.rsplit('/').next().unwrap_or(package);
        format!("{package}/-/{name}-{release}.tgz")
    }
}

const OPENCODE: Pin = Pin {
    program: "OpenCode",
    version: OPENCODE_VERSION,
    package: "opencode-linux-x64",
    release: OPENCODE_VERSION,
    platform: Platform::LinuxX64,
    sha512: "q/t/3p2CTxOT9y2kvjesb/LZab2+1eqlhhWA02Be6mjTtmYtNBcBsrI5yDo4Fw7ZSPBW2oyMIGMNRqiKQjiAWw==",
    member: "package/bin/opencode",
    megabytes: 260,
};

const RIPGREP: Pin = Pin {
    program: "ripgrep",
    version: "15.0.0",
    package: "@vscode/ripgrep-linux-x64",
    release: "1.18.0",
    platform: Platform::LinuxX64,
    sha512: "mQ3bVrUpnD2vs7QT0vX90Lt0cnUq467uFtEktIdsJJmW296RoSULRGqWgzG1AKxyBpNDD6l4ZO4qKf6SgyC23Q==",
    member: "package/bin/rg",
    megabytes: 10,
};

/// All of them. A new version's checksum: `npm view PACKAGE@VERSION dist.integrity`. A platform is here once a registry that
/// was looked at has had its package: elsewhere the user names a binary.
pub(super) const PINS: [Pin; 4] = [
    OPENCODE,
    Pin {
        package: "opencode-linux-x64-baseline",
        platform: Platform::LinuxX64Baseline,
        sha512: "1KQGBiiDDeL/VHHbHkOvvFo8Jr97WT5+C1tear+p7IcDTnXgVHXqIjU4O4jM4mHQzykTP2i884FCnW5LDa+zCA==",
        ..OPENCODE
    },
    RIPGREP,
    Pin {
        platform: Platform::LinuxX64Baseline,
        ..RIPGREP
    },
];

//! Rights of a confined program. Whatever is not listed is shut.

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};

/// Directories of programs and libraries, as far as they are there. Not all of `/usr`: images have their applications below it.
const SYSTEM: [&str; 18] = [
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/share",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/usr/local/lib",
    "/usr/local/libexec",
    "/lib",
    "/lib32",
    "/lib64",
    "/bin",
    "/sbin",
    "/nix/store",
    "/gnu/store",
];
/// Files that programs and their libraries look into, none of which holds a secret.
const SHARED: [&str; 8] = [
    "/etc/ld.so.cache",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/hosts",
    "/etc/localtime",
    "/dev/zero",
    "/etc/alternatives",
];

/// Rights on a file, or on everything below a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Read, list, and run as a program.
    Run,
    /// Read and list.
    Read,
    /// Read, list, write, make, rename and remove; never run, and make neither a socket nor a pipe nor a device.
    Write,
    /// Read and write a device that exists.
    Device,
}

/// One rule for files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRule {
    /// The file or directory. It has to be there before the program starts.
    pub path: Utf8PathBuf,
    /// The rights.
    pub access: Access,
    /// True if a missing path is an error.
    pub required: bool,
}

impl FileRule {
    /// A rule for a path that has to be there.
    pub fn required(path: impl Into<Utf8PathBuf>, access: Access) -> Self {
        Self {
            path: path.into(),
            access,
            required: true,
        }
    }

    /// A rule for a path that need not be there.
    pub fn optional(path: impl Into<Utf8PathBuf>, access: Access) -> Self {
        Self {
            path: path.into(),
            access,
            required: false,
        }
    }
}

/// The rules for the machine's own programs and libraries, and what these need to start: nothing that is the user's.
pub fn system_files() -> Vec<FileRule> {
    let system = SYSTEM.map(|path| FileRule::optional(path, Access::Run));
    let shared = SHARED.map(|path| FileRule::optional(path, Access::Read));
    let own = [
        FileRule::required("/dev/null", Access::Device),
        FileRule::required("/dev/urandom", Access::Read),
        // JavaScript engines look up their own stack there, and abort if they cannot. The rule is for the process that opens the
        // path: the one that becomes the program.
        FileRule::required("/proc/self/maps", Access::Read),
    ];
    system.into_iter().chain(shared).chain(own).collect()
}

/// Rights of a confined program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Files and directories.
    pub files: Vec<FileRule>,
    /// Ports of 127.0.0.1 that it may connect to.
    pub connect: Vec<u16>,
    /// Ports that it may listen at, once; 0 is one that the kernel picks.
    pub bind: Vec<u16>,
}

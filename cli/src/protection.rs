//! What keeps other programs of the same user out of this process.

use nix::sys::{
    resource::{Resource, setrlimit},
    stat::{Mode, umask},
};

use crate::env::{Environment, names};

/// Keeps other programs out, unless a person who looks for a fault wants one in. Leaves no memory behind in a core dump, and lets no other process attach or read memory, environment and open files. Programs
/// that are started from here are not affected: the kernel allows it again for each new program.
pub(crate) fn start(env: &Environment) {
    if env.get(names::DEBUGGABLE) == Some("1") {
        return;
    }
    // Neither can be refused by the kernels that this runs on, and a review without it is better than none.
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_dumpable(false);
}

/// From here on everything that is written is the owner's alone.
pub(crate) fn write_privately() {
    umask(Mode::from_bits_truncate(0o077));
}

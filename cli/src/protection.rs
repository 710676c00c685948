//! What keeps other programs of the same user out of this process.

use nix::sys::{
    resource::{Resource, setrlimit},
    stat::{Mode, umask},
};

use crate::{
    crash,
    env::{Environment, names},
};

/// Keeps other programs out, unless a person who looks for a fault wants one in. Leaves no memory behind in a core dump, nor does a
/// program that is started from here, and lets no other process attach or read memory, environment and open files. That the
/// kernel allows again for each new program.
pub(crate) fn start(env: &Environment) {
    if env.get(names::DEBUGGABLE) == Some("1") {
        return;
    }
    crash::contain_aborts();
    // Neither can be refused by the kernels that this runs on, and a review without it is better than none.
    let _ = setrlimit(
        Resource::RLIMIT_CORE,
        conclave_sandbox::NO_CORE,
        conclave_sandbox::NO_CORE,
    );
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_dumpable(false);
}

/// From here on everything that is written is the owner's alone.
pub(crate) fn write_privately() {
    umask(Mode::from_bits_truncate(0o077));
}

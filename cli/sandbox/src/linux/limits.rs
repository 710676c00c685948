//! Limits, the mark, and capabilities.

use std::io;

// This library reports a limit that cannot be read, which a container's filter may see to.
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, setrlimit};
use rustix::{
    process::getuid,
    thread::{
        CapabilitySet, CapabilitySets, clear_ambient_capability_set, remove_capability_from_bounding_set,
        set_capabilities,
    },
};

/// Maximum number of open files.
const MAX_FILES: u64 = 8192;
/// Maximum size of a file, in bytes.
const MAX_FILE: u64 = 2 << 30;
/// Maximum memory of one process, in bytes. Not of its addresses, of which a JavaScript engine reserves a hundred GB.
const MAX_MEMORY: u64 = 4 << 30;
/// Maximum size of the main thread's stack, in bytes. It is private memory that the limit for memory does not count.
const MAX_STACK: u64 = 64 << 20;
/// Size of a stack where none is set, in bytes: what systems usually set.
const USUAL_STACK: u64 = 8 << 20;
/// Number of tasks that the user may have more than now. The kernel counts those of all containers of the machine, which are not
/// seen from in here, so there is room.
const MORE_TASKS: u64 = 4096;

/// Sets the limits. They hold for everything that this process starts. Returns whether all could be set.
pub(super) fn set() -> bool {
    let limits = [
        (Resource::RLIMIT_CORE, crate::NO_CORE),
        (Resource::RLIMIT_NOFILE, MAX_FILES),
        (Resource::RLIMIT_FSIZE, MAX_FILE),
        (Resource::RLIMIT_DATA, MAX_MEMORY),
        (Resource::RLIMIT_NPROC, own_tasks() + MORE_TASKS),
    ];
    // One that fails must not keep the others from being set.
    let failed = limits.into_iter().filter(|(resource, limit)| {
        // A limit that is lower already stays.
        let lower = |(_, hard): (u64, u64)| hard.min(*limit);
        let set = getrlimit(*resource)
            .map(lower)
            .and_then(|hard| setrlimit(*resource, hard, hard));
        set.is_err()
    });
    let failed = failed.count();
    limit_stack().is_ok() && failed == 0
}

fn limit_stack() -> nix::Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_STACK)?;
    let (soft, hard) = stack(soft, hard);
    setrlimit(Resource::RLIMIT_STACK, soft, hard)
}

/// The limits of a stack in place of these. The soft one is also what threads get that ask for no size. Where it is infinite, they get
/// some MB, and would get all of a maximum that is set in its place; so it becomes the usual one.
fn stack(soft: u64, hard: u64) -> (u64, u64) {
    let hard = hard.min(MAX_STACK);
    let soft = if soft == RLIM_INFINITY { USUAL_STACK } else { soft };
    (soft.min(hard), hard)
}

/// The tasks of this user, as far as they are seen.
fn own_tasks() -> u64 {
    use std::os::unix::fs::MetadataExt;
    let user = getuid().as_raw();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let own = processes.filter(|entry| entry.metadata().is_ok_and(|found| found.uid() == user));
    let tasks = own.map(|entry| match std::fs::read_dir(entry.path().join("task")) {
        Ok(tasks) => tasks.count() as u64,
        Err(_) => 0,
    });
    tasks.sum()
}

/// Sets the mark: a limit that nothing uses, that everything inherits, and that a filtered process cannot change.
pub(super) fn set_mark(mark: u64) -> io::Result<()> {
    Ok(setrlimit(Resource::RLIMIT_RTTIME, mark, mark)?)
}

/// Gives up every capability for good. A process without any changes nothing.
pub(super) fn drop_capabilities() -> io::Result<()> {
    for capability in (0..u64::BITS).map(|bit| CapabilitySet::from_bits_retain(1 << bit)) {
        // Only who may set capabilities can do it. Without it nothing is gained either: there is no new privilege any more.
        let _ = remove_capability_from_bounding_set(capability);
    }
    let _ = clear_ambient_capability_set();
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    Ok(set_capabilities(None, none)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_thread_gets_a_larger_stack_than_is_usual_unless_it_is_set() {
        const MB: u64 = 1 << 20;
        for (before, after) in [
            ((RLIM_INFINITY, RLIM_INFINITY), (8 * MB, 64 * MB)),
            ((8 * MB, RLIM_INFINITY), (8 * MB, 64 * MB)),
            ((16 * MB, 32 * MB), (16 * MB, 32 * MB)),
            ((100 * MB, RLIM_INFINITY), (64 * MB, 64 * MB)),
            ((MB, 4 * MB), (MB, 4 * MB)),
        ] {
            assert_eq!(stack(before.0, before.1), after);
        }
    }
}

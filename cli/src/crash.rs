//! Endings that no command decides: a panic, and an abort, as when memory runs out.
//!
//! Both have a documented exit code, and a person reads what can be done.

use std::{
    panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind},
    process,
    time::Duration,
};

use nix::{
    libc,
    sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction},
};

use crate::{
    exit::Exit,
    output::{self, Output},
};

/// The message of an end without a cause that is known. It is written where nothing may be allocated any more.
const WHAT_TO_DO: &str = "error: conclave cannot go on. Give it more memory, processes and open files (`ulimit -a`, the limits of the \
     job's container); if it has enough of them, please report this as a fault of conclave\n";

/// Time that the message of a panic has to be written: the process may end right after it.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Causes of failures that are the machine's, in the words of the system and of git, and their remedies.
const REMEDIES: [(&[i32], &[&str], &str); 3] = [
    (
        &[libc::EAGAIN, libc::ENOMEM, libc::EMFILE, libc::ENFILE],
        &[
            "Cannot allocate memory",
            "Too many open files",
            "Resource temporarily unavailable",
        ],
        "Give conclave more memory, processes and open files (`ulimit -a`, the limits of the job's container).",
    ),
    (
        &[libc::ENOSPC, libc::EDQUOT],
        &["No space left on device", "Disk quota exceeded"],
        "Free some space on the disk that is full; where that is the one of temporary files, TMPDIR can name a directory on another.",
    ),
    (
        &[libc::EFBIG],
        &["File too large", "SIGXFSZ"],
        "Raise the limit on the size of a file (`ulimit -f`, the limits of the job's container).",
    ),
];

/// Returns the remedy for a failure whose cause is that the machine gives too little. The text of every failure ends with its cause.
pub(crate) fn remedy(failure: &str) -> Option<&'static str> {
    let is_cause = |(codes, words, _): &&(&[i32], &[&str], &str)| {
        codes.iter().any(|code| failure.contains(&format!("(os error {code})")))
            || words.iter().any(|words| failure.contains(words))
    };
    REMEDIES.iter().find(is_cause).map(|(.., remedy)| *remedy)
}

/// Makes a file that is larger than the limit of this process allows a failure of the write that is too much, in place of the end of
/// the process.
pub(crate) fn contain_file_limits() {
    // A handler, as programs that are started would inherit that the signal is ignored.
    let action = SigAction::new(SigHandler::Handler(passed_over), SaFlags::SA_RESTART, SigSet::empty());
    #[expect(unsafe_code, reason = "the standard library cannot handle signals")]
    // SAFETY: the handler does nothing.
    let _ = unsafe { sigaction(Signal::SIGXFSZ, &action) };
}

extern "C" fn passed_over(_: libc::c_int) {}

/// Runs the program. A panic that reaches its main thread ends it with [`Exit::Usage`].
pub(crate) fn contained(run: impl FnOnce() -> Exit) -> Exit {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        output::log_line(WHAT_TO_DO);
        output::settle(LAST_WORDS);
        Exit::Usage
    })
}

/// Shows panics as errors. While the threads of the runtime are being started a panic ends the process: those that run already
/// would be waited for in vain.
pub(crate) fn before_threads(output: &Output) {
    let output = output.clone();
    show_panics(move |panic| {
        output.error(panic);
        output::log_line(WHAT_TO_DO);
        output::settle(LAST_WORDS);
        #[expect(clippy::exit, reason = "nothing has begun, and the threads that run would never end")]
        process::exit(Exit::Usage.code().into());
    });
}

/// Shows panics as errors. Where they are caught, the review goes on without what has failed.
pub(crate) fn with_threads(output: &Output) {
    let output = output.clone();
    show_panics(move |panic| {
        output.error(panic);
        output::settle(LAST_WORDS);
    });
}

fn show_panics(show: impl Fn(&PanicHookInfo<'_>) + Send + Sync + 'static) {
    std::panic::set_hook(Box::new(show));
}

/// Ends the process with [`Exit::Usage`] and a message where it would abort: memory has run out, or a panic cannot be handled. Some
/// code of libraries reads through the null pointer that it gets for memory, and a stack that cannot grow ends the same way.
pub(crate) fn contain_aborts() {
    // It stays set: two threads may run out of memory at once, and the default would kill the process before the first one's word.
    let action = SigAction::new(SigHandler::Handler(aborted), SaFlags::SA_ONSTACK, SigSet::empty());
    for signal in [Signal::SIGABRT, Signal::SIGSEGV, Signal::SIGBUS] {
        #[expect(unsafe_code, reason = "the standard library cannot handle signals")]
        // SAFETY: the handler makes two system calls that are allowed in one, and touches no memory but a constant.
        let _ = unsafe { sigaction(signal, &action) };
    }
}

extern "C" fn aborted(_: libc::c_int) {
    #[expect(unsafe_code, reason = "two system calls; nothing may be allocated here")]
    // SAFETY: both are async-signal-safe, and the text is a constant.
    unsafe {
        libc::write(libc::STDERR_FILENO, WHAT_TO_DO.as_ptr().cast(), WHAT_TO_DO.len());
        libc::_exit(Exit::Usage.code().into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_its_remedy() {
        for (failure, part) in [
            ("failed to start git: x (os error 24)", Some("open files")),
            (
                "failed to write a: No space left on device (os error 28)",
                Some("TMPDIR"),
            ),
            (
                "`git checkout` failed: fatal: write error: No space left on device",
                Some("TMPDIR"),
            ),
            ("failed to write a: File too large (os error 27)", Some("ulimit -f")),
            ("`git init` failed: it was ended by SIGXFSZ", Some("ulimit -f")),
            ("failed to write a: Permission denied (os error 13)", None),
        ] {
            let found = remedy(failure);
            assert_eq!(found.is_some(), part.is_some(), "{failure}");
            assert!(
                found.unwrap_or_default().contains(part.unwrap_or_default()),
                "{failure}"
            );
        }
    }
}

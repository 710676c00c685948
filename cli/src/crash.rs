//! Endings that no command decides: a panic, and an abort, as when memory runs out.
//!
//! Both have a documented exit code, and a person reads what can be done.

use std::{
    panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind},
    process,
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

/// Returns the remedy for a failure whose cause is that the machine gives too little. The text of every failure ends with its cause.
pub(crate) fn remedy(failure: &str) -> Option<&'static str> {
    const TOO_LITTLE: [i32; 4] = [libc::EAGAIN, libc::ENOMEM, libc::EMFILE, libc::ENFILE];
    let is_exhausted = TOO_LITTLE
        .iter()
        .any(|code| failure.contains(&format!("(os error {code})")));
    is_exhausted.then_some(
        "Give conclave more memory, processes and open files (`ulimit -a`, the limits of the job's container).",
    )
}

/// Runs the program. A panic that reaches its main thread ends it with [`Exit::Usage`].
pub(crate) fn contained(run: impl FnOnce() -> Exit) -> Exit {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        output::log_line(WHAT_TO_DO);
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
        #[expect(clippy::exit, reason = "nothing has begun, and the threads that run would never end")]
        process::exit(Exit::Usage.code().into());
    });
}

/// Shows panics as errors. Where they are caught, the review goes on without what has failed.
pub(crate) fn with_threads(output: &Output) {
    let output = output.clone();
    show_panics(move |panic| output.error(panic));
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

//! The helper: puts the walls up around itself, and becomes the program.
//!
//! The order matters. What reads the machine (tasks, paths) comes before the walls; the filters come last, because the system
//! calls that put the walls up are among those that they refuse. The very last filter refuses filters.

use std::{
    ffi::OsString,
    io,
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, ExitCode},
};

use rustix::process::{Signal, set_parent_process_death_signal};
use seccompiler::BpfProgram;

use super::{
    channel::{Channel, Offer, Order, Report, Watching},
    files::{self, FilesError, Ports},
    filter::{self, FilterError},
    kernel, limits,
};
use crate::{HELPER_ARGUMENT, HELPER_FAILED, status::Walls};

/// Bytes that are offered to be read.
const OFFERED: usize = 16;

#[derive(Debug, thiserror::Error)]
enum HelperError {
    #[error("it is started by conclave only")]
    Alone,
    #[error("conclave is gone")]
    Orphan,
    #[error(transparent)]
    Files(#[from] FilesError),
    #[error(transparent)]
    Filter(#[from] FilterError),
    #[error("failed to {0}: {1}")]
    Step(&'static str, #[source] io::Error),
    #[error("failed to run {0}: {1}")]
    Program(String, #[source] io::Error),
    #[error("failed to run {0}: the interpreter or the loader that it names is not there")]
    Interpreter(String),
}

/// The exit code where the program cannot be run, as shells have it.
const PROGRAM_FAILED: i32 = 127;

/// Becomes the confined program, if the program was started as the helper. Returns the exit code of what failed; `None` for any
/// other call. To be called before anything else, while the process has one thread.
#[must_use]
pub fn run_helper() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != HELPER_ARGUMENT {
        return None;
    }
    let Err(error) = become_program(arguments);
    let (words, code) = match &error {
        // The sandbox stands; the program is at fault.
        HelperError::Program(..) | HelperError::Interpreter(_) => (format!("{error}\n"), PROGRAM_FAILED),
        _ => (format!("the sandbox could not be put up: {error}\n"), HELPER_FAILED),
    };
    // Nothing of the program's output works yet, and the parent reads the last words of this process.
    let _ = io::Write::write_all(&mut io::stderr(), words.as_bytes());
    Some(u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from))
}

fn become_program(mut arguments: impl Iterator<Item = OsString>) -> Result<std::convert::Infallible, HelperError> {
    let step = |what| move |error: io::Error| HelperError::Step(what, error);
    let of_kernel = |what| move |error: rustix::io::Errno| HelperError::Step(what, error.into());
    let channel = Channel::inherited().map_err(|_| HelperError::Alone)?;
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(of_kernel("tie its life to conclave's"))?;
    kernel::close_on_exec().map_err(step("close what it inherited"))?;
    let order: Order = channel.receive().map_err(step("receive its order"))?;
    let parent = rustix::process::getppid().map(|parent| parent.as_raw_nonzero().get().cast_unsigned());
    if parent != Some(order.parent) {
        return Err(HelperError::Orphan);
    }
    let nothing = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null");
    let nothing = nothing.map_err(step("open /dev/null"))?;

    let marked = limits::set_mark(order.mark).is_ok();
    let limited = limits::set();
    limits::drop_capabilities().map_err(step("give up capabilities"))?;
    rustix::thread::set_no_new_privs(true).map_err(of_kernel("give up new privileges"))?;
    let policy = &order.policy;
    let ports = Ports {
        connect: &policy.connect,
        bind: &policy.bind,
    };
    let landlock = files::restrict(&policy.files, Some(ports))?;
    let watch = watch(&channel, landlock)?;
    let [missing, denied] = filter::programs(order.parent, landlock)?;
    // The last one refuses further filters, ours included.
    let filtered = apply(&missing)? && apply(&denied)?;
    let walls = Walls {
        landlock,
        filter: filtered,
        watch,
        limits: marked && limited,
    };
    channel.send(&Report::Done(walls)).map_err(step("report what holds"))?;
    rustix::stdio::dup2_stdin(&nothing).map_err(of_kernel("replace its standard input"))?;

    let program = arguments.next().unwrap_or_default();
    let error = Command::new(&program).args(arguments).exec();
    let is_there = error.kind() == io::ErrorKind::NotFound && Path::new(&program).exists();
    let program = program.to_string_lossy().into_owned();
    Err(if is_there {
        HelperError::Interpreter(program)
    } else {
        HelperError::Program(program, error)
    })
}

/// Offers the parent to make the connections. A filter cannot be taken back, and a parent that cannot read in this memory would
/// leave the program without any connection: so it is asked first.
fn watch(channel: &Channel, landlock: u8) -> Result<bool, HelperError> {
    let step = |what| move |error: io::Error| HelperError::Step(what, error);
    let mut bytes = [0_u8; OFFERED];
    getrandom::fill(&mut bytes).map_err(|error| HelperError::Step("get random bytes", io::Error::other(error)))?;
    let bytes = Box::new(bytes);
    // Kernels without Landlock may not know the last of the requests that the watch needs.
    let can = landlock > 0;
    if can {
        let offer = Offer {
            address: bytes.as_ptr().addr() as u64,
            content: hex::encode(*bytes),
        };
        channel.send(&Report::Offer(offer)).map_err(step("offer its memory"))?;
        let Watching(wanted) = channel.receive().map_err(step("hear about the watch"))?;
        // The bytes have to stay where they are until then.
        drop(std::hint::black_box(bytes));
        if wanted {
            let listener = match kernel::listen(&mut filter::watched()?) {
                Ok(listener) => Some(listener),
                Err(error) if is_not_there(&error) => None,
                Err(error) => return Err(HelperError::Step("listen for connections", error)),
            };
            let descriptor = listener.as_ref().map(std::os::fd::AsFd::as_fd);
            let sent = channel.send_with(&Report::Listener, descriptor);
            sent.map_err(step("hand over the listener"))?;
            return Ok(listener.is_some());
        }
    }
    Ok(false)
}

/// Applies a filter. Returns whether there is seccomp at all.
fn apply(program: &BpfProgram) -> Result<bool, HelperError> {
    match seccompiler::apply_filter(program) {
        Ok(()) => Ok(true),
        Err(seccompiler::Error::Seccomp(error)) if is_not_there(&error) => Ok(false),
        Err(seccompiler::Error::Seccomp(error) | seccompiler::Error::Prctl(error)) => {
            Err(HelperError::Step("filter system calls", error))
        }
        Err(error) => Err(HelperError::Step("filter system calls", io::Error::other(error))),
    }
}

/// The answers of kernels and containers without seccomp, or whose own listener has the place.
fn is_not_there(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENOSYS | libc::EINVAL | libc::EPERM | libc::EACCES | libc::EBUSY)
    )
}

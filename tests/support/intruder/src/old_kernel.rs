//! A kernel with an older Landlock: a program and all that it starts get the answers that such a kernel gives.
//!
//! A filter stops each of its calls of Landlock, and this process, which traces all of them, answers what an older kernel would:
//! the version, and EINVAL for rights that it does not know. Everything else goes to the kernel as it is.

#![expect(unsafe_code, reason = "tracing has no safe interface")]

use std::{
    collections::BTreeMap,
    io,
    os::unix::process::CommandExt,
    process::{Command, ExitCode},
};

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

const OPTIONS: libc::c_int = libc::PTRACE_O_TRACESECCOMP
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_EXITKILL;
/// Maximum size of the structure that is looked at, in bytes.
#[cfg(target_arch = "x86_64")]
const MAX_SIZE: u64 = 64;
#[cfg(target_arch = "x86_64")]
/// Ask for the version, in place of making a ruleset.
const VERSION: u64 = 1;

/// Runs a program on a kernel whose Landlock has this version. Its exit code is the program's.
pub(crate) fn run(version: u64, program: &str, arguments: &[&str]) -> ExitCode {
    let calls = [libc::SYS_landlock_create_ruleset, libc::SYS_landlock_restrict_self];
    let rules = BTreeMap::from(calls.map(|call| (call, Vec::new())));
    let architecture = std::env::consts::ARCH.try_into().expect("an architecture");
    let filter =
        SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Trace(0), architecture).expect("a filter");
    let filter: BpfProgram = filter.try_into().expect("a filter");
    let mut command = Command::new(program);
    command.args(arguments);
    let traced = move || {
        trace(libc::PTRACE_TRACEME, 0, 0, 0)?;
        apply_filter(&filter).map_err(io::Error::other)
    };
    // SAFETY: this process has one thread, so that no lock is held by another one between fork and exec.
    unsafe { command.pre_exec(traced) };
    let main = i32::try_from(command.spawn().expect("it starts").id()).expect("a number");
    loop {
        let mut status = 0;
        // SAFETY: the kernel writes one number.
        let thread = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL) };
        assert!(thread > 0, "the program vanished: {}", io::Error::last_os_error());
        if thread == main && libc::WIFEXITED(status) {
            return ExitCode::from(u8::try_from(libc::WEXITSTATUS(status)).expect("a byte"));
        }
        if thread == main && libc::WIFSIGNALED(status) {
            return ExitCode::from(u8::try_from(128 + libc::WTERMSIG(status)).expect("a byte"));
        }
        if libc::WIFSTOPPED(status) {
            go_on(thread, status, version, thread == main);
        }
    }
}

/// Lets a stopped thread go on. It may have been killed meanwhile.
fn go_on(thread: i32, status: i32, version: u64, is_main: bool) {
    let event = status >> 16;
    let signal = libc::WSTOPSIG(status);
    let delivered = match (event, signal) {
        (libc::PTRACE_EVENT_SECCOMP, _) => {
            let _ = answer(thread, version);
            0
        }
        // The first stop, at the start of the program.
        (0, libc::SIGTRAP) if is_main => {
            let _ = trace(libc::PTRACE_SETOPTIONS, thread, 0, OPTIONS.cast_unsigned().into());
            0
        }
        // A new thread or process begins with one of these; so does what a signal has stopped, which goes on here.
        (0, signal) if !matches!(signal, libc::SIGSTOP | libc::SIGTRAP) => signal.cast_unsigned().into(),
        _ => 0,
    };
    let _ = trace(libc::PTRACE_CONT, thread, 0, delivered);
}

/// Answers a call in the kernel's place, or lets it through.
#[cfg(target_arch = "x86_64")]
fn answer(thread: i32, version: u64) -> io::Result<()> {
    // SAFETY: all zeros is a value of this plain structure.
    let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    trace(libc::PTRACE_GETREGS, thread, 0, (&raw mut registers).addr() as u64)?;
    let result = if registers.orig_rax == libc::SYS_landlock_restrict_self.cast_unsigned() {
        // Flags came with version 7.
        if registers.rsi == 0 || version >= 7 {
            None
        } else {
            Some(-libc::EINVAL)
        }
    } else {
        match registers.rdx {
            0 => {
                // A structure with more fields than the kernel knows is taken as long as those are zero.
                let known = known_rights(version).into_iter().chain(std::iter::repeat(0));
                let mut fits = true;
                for (address, known) in (registers.rdi..registers.rdi + registers.rsi.min(MAX_SIZE))
                    .step_by(8)
                    .zip(known)
                {
                    fits &= peek(thread, address)? & !known == 0;
                }
                if fits { None } else { Some(-libc::EINVAL) }
            }
            VERSION => Some(i32::try_from(version).map_err(io::Error::other)?),
            _ => Some(-libc::EINVAL),
        }
    };
    if let Some(result) = result {
        // No call: the result stands.
        registers.orig_rax = u64::MAX;
        registers.rax = i64::from(result).cast_unsigned();
        trace(libc::PTRACE_SETREGS, thread, 0, (&raw mut registers).addr() as u64)?;
    }
    Ok(())
}

/// The rights on files, on ports and the scopes that a version knows.
#[cfg(target_arch = "x86_64")]
fn known_rights(version: u64) -> [u64; 3] {
    let files = match version {
        1 => 13,
        2 => 14,
        3 | 4 => 15,
        _ => 16,
    };
    let ports = if version >= 4 { 2 } else { 0 };
    let scopes = if version >= 6 { 2 } else { 0 };
    [files, ports, scopes].map(|count: u32| (1 << count) - 1)
}

/// A word of a stopped thread's memory.
#[cfg(target_arch = "x86_64")]
fn peek(thread: i32, address: u64) -> io::Result<u64> {
    let mut word = 0_u64;
    trace(libc::PTRACE_PEEKDATA, thread, address, (&raw mut word).addr() as u64)?;
    Ok(word)
}

#[cfg(not(target_arch = "x86_64"))]
fn answer(_: i32, _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// One request of ptrace(2), as the kernel takes it.
fn trace(request: libc::c_uint, thread: i32, address: u64, data: u64) -> io::Result<()> {
    let thread = crate::kernel::signed(thread);
    crate::kernel::call(libc::SYS_ptrace, &[request.into(), thread, address, data]).map(drop)
}

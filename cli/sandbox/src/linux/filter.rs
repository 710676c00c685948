//! seccomp: system calls that Landlock does not see.
//!
//! Of system calls there is a list of what is refused, not of what is allowed: `OpenCode`'s runtime uses several hundred, and the
//! next version other ones. What is newer than the list does not exist in here. Of requests, settings and options, which some calls
//! have by the thousand, there is a list of what is allowed.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen::Dword, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};

use super::lists::{MISSING, NEVER, NEWEST, OWN_SETTINGS, REQUESTS, SOCKET_OPTIONS};

/// Where `struct seccomp_data` holds the number of the call, and the architecture.
const NUMBER_AT: u32 = 0;
/// See [`NUMBER_AT`].
const ARCHITECTURE_AT: u32 = 4;

/// Types of sockets are in these bits; above are flags.
const SOCKET_TYPE: u64 = 0xf;

/// The version of Landlock that keeps signals inside.
const WITH_SIGNALS: u8 = 6;

const F_SETSIG: i32 = 10;
const F_SETOWN_EX: i32 = 15;

/// A filter that could not be made.
#[derive(Debug, thiserror::Error)]
pub(super) enum FilterError {
    /// The processor has other calls than the lists.
    #[error("there is no list of system calls for this kind of processor")]
    Processor,
    /// The lists are wrong.
    #[error("failed to make the filter of system calls: {0}")]
    Lists(#[from] seccompiler::BackendError),
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// The two filters, in the order in which they have to be applied: what does not exist, and what fails with `EPERM`. The second
/// one refuses to apply another.
pub(super) fn programs(parent: u32, landlock: u8) -> Result<[BpfProgram; 2], FilterError> {
    let mut denied: Rules = NEVER.iter().map(|call| (*call, Vec::new())).collect();
    by_argument(&mut denied)?;
    if landlock < WITH_SIGNALS {
        signals_to(&mut denied, parent)?;
    }
    let missing: Rules = MISSING.iter().map(|call| (*call, Vec::new())).collect();
    Ok([
        without_newer_calls(program(missing, libc::ENOSYS)?),
        program(denied, libc::EPERM)?,
    ])
}

/// Calls that wait for an answer: connections, servers, and whatever makes a process or a thread, which ends with the run.
const WATCHED: &[i64] = &[
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_clone,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
];

/// The filter whose matches wait for an answer.
pub(super) fn watched() -> Result<BpfProgram, FilterError> {
    let architecture: u32 = audit_architecture()?;
    let number = |call: i64| u32::try_from(call).map_err(|_| FilterError::Processor);
    let jump = u16::try_from(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K).map_err(|_| FilterError::Processor)?;
    let load = u16::try_from(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS).map_err(|_| FilterError::Processor)?;
    let give = u16::try_from(libc::BPF_RET | libc::BPF_K).map_err(|_| FilterError::Processor)?;
    let at = |code, k, jt, jf| sock_filter { code, jt, jf, k };
    let calls = u8::try_from(WATCHED.len()).map_err(|_| FilterError::Processor)?;
    let mut filter = vec![
        at(load, ARCHITECTURE_AT, 0, 0),
        // Calls of another architecture are the other filters' business.
        at(jump, architecture, 0, calls + 1),
        at(load, NUMBER_AT, 0, 0),
    ];
    for (call, left) in WATCHED.iter().zip((1..=calls).rev()) {
        filter.push(at(jump, number(*call)?, left, 0));
    }
    filter.push(at(give, libc::SECCOMP_RET_ALLOW, 0, 0));
    filter.push(at(give, libc::SECCOMP_RET_USER_NOTIF, 0, 0));
    Ok(filter)
}

fn audit_architecture() -> Result<u32, FilterError> {
    match std::env::consts::ARCH {
        "x86_64" => Ok(0xc000_003e),
        "aarch64" => Ok(0xc000_00b7),
        "riscv64" => Ok(0xc000_00f3),
        _ => Err(FilterError::Processor),
    }
}

fn program(rules: Rules, error: i32) -> Result<BpfProgram, FilterError> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH).map_err(|_| FilterError::Processor)?;
    let error = u32::try_from(error).map_err(|_| FilterError::Processor)?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(error), architecture)?;
    Ok(filter.try_into()?)
}

/// The library compares numbers for equality only. So a comparison is put behind its check of the architecture: three
/// instructions, which kill what comes from another one.
fn without_newer_calls(mut program: BpfProgram) -> BpfProgram {
    let [load, jump, give] = [
        libc::BPF_LD | libc::BPF_W | libc::BPF_ABS,
        libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K,
        libc::BPF_RET | libc::BPF_K,
    ]
    .map(|code| u16::try_from(code).unwrap_or_default());
    let missing = libc::SECCOMP_RET_ERRNO | u32::try_from(libc::ENOSYS).unwrap_or_default();
    let at = |code, k, jt, jf| sock_filter { code, jt, jf, k };
    let comparison = [
        at(load, NUMBER_AT, 0, 0),
        at(jump, NEWEST, 0, 1),
        at(give, missing, 0, 0),
    ];
    program.splice(3..3, comparison);
    program
}

/// Calls with one argument that decides: refused if the condition holds.
fn by_argument(denied: &mut Rules) -> Result<(), FilterError> {
    let mut deny = |call: i64, conditions: Vec<SeccompCondition>| -> Result<(), FilterError> {
        denied.entry(call).or_default().push(SeccompRule::new(conditions)?);
        Ok(())
    };
    // Sockets: TCP only. What is not a stream, or a stream of another protocol (MPTCP), passes Landlock by.
    let (inet, inet6, unix) = (number(libc::AF_INET), number(libc::AF_INET6), number(libc::AF_UNIX));
    deny(libc::SYS_socket, vec![is_not(0, inet)?, is_not(0, inet6)?])?;
    deny(
        libc::SYS_socket,
        vec![is_not(2, 0)?, is_not(2, number(libc::IPPROTO_TCP))?],
    )?;
    deny(libc::SYS_socketpair, vec![is_not(0, unix)?])?;
    let stream = number(libc::SOCK_STREAM);
    for other in (0..=SOCKET_TYPE).filter(|kind| *kind != stream) {
        deny(libc::SYS_socket, vec![has_bits(1, SOCKET_TYPE, other)?])?;
        // A pair of datagram sockets could send to any socket file.
        deny(libc::SYS_socketpair, vec![has_bits(1, SOCKET_TYPE, other)?])?;
    }
    // TCP Fast Open connects without connect.
    let fast_open = number(libc::MSG_FASTOPEN);
    for (call, flags) in [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)] {
        deny(call, vec![has_bits(flags, fast_open, fast_open)?])?;
    }
    for flag in [
        // A child of conclave, which would hear of its end.
        libc::CLONE_PARENT,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
    ] {
        deny(libc::SYS_clone, vec![has_bits(0, number(flag), number(flag))?])?;
    }
    // Input into a terminal, signals by descriptor, flags of files, volumes of file systems, processes by descriptor, and more.
    deny(libc::SYS_ioctl, none_of(1, REQUESTS)?)?;
    deny(libc::SYS_prctl, none_of(0, OWN_SETTINGS.map(number))?)?;
    let levels = SOCKET_OPTIONS.map(|(level, _)| number(level));
    deny(libc::SYS_setsockopt, none_of(1, levels)?)?;
    for (level, options) in SOCKET_OPTIONS {
        let mut of_level = none_of(2, options.iter().copied().map(number))?;
        of_level.push(is(1, number(level))?);
        deny(libc::SYS_setsockopt, of_level)?;
    }
    for command in [libc::F_SETOWN, F_SETOWN_EX, F_SETSIG, libc::F_SETLEASE, libc::F_NOTIFY] {
        deny(libc::SYS_fcntl, vec![is(1, number(command))?])?;
    }
    // Memory that is declared to be a stack is not counted as private memory, so that its limit would not hold.
    let grows_down = number(libc::MAP_GROWSDOWN);
    deny(libc::SYS_mmap, vec![has_bits(3, grows_down, grows_down)?])?;
    // Limits: those of others, and all of its own but the number of open files. The mark is one of them.
    let files = number_of(libc::RLIMIT_NOFILE);
    deny(libc::SYS_prlimit64, vec![is_not(0, 0)?])?;
    // A pointer is not null if either half is not.
    deny(libc::SYS_prlimit64, vec![is_not(1, files)?, is_pointer(2)?])?;
    deny(libc::SYS_setrlimit, vec![is_not(0, files)?])?;
    for call in [
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setattr,
    ] {
        // A thread of another process has a number like one of its own: only "this thread" is sure.
        deny(call, vec![is_not(0, 0)?])?;
    }
    Ok(())
}

/// Signals to the parent, where Landlock does not stop them.
fn signals_to(denied: &mut Rules, parent: u32) -> Result<(), FilterError> {
    let negative = |number: u32| u64::from(0_u32.wrapping_sub(number));
    let group = rustix::process::getpgid(None).ok().map_or(parent, |group| {
        u32::try_from(group.as_raw_nonzero().get()).unwrap_or(parent)
    });
    let parents_group = i32::try_from(parent)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
        .and_then(|parent| rustix::process::getpgid(Some(parent)).ok())
        .and_then(|group| u32::try_from(group.as_raw_nonzero().get()).ok())
        .filter(|found| *found != group);
    let everybody = negative(1);
    let targets = [Some(u64::from(parent)), Some(everybody), Some(negative(parent))]
        .into_iter()
        .chain([parents_group.map(negative)])
        .flatten();
    for target in targets {
        for call in [
            libc::SYS_kill,
            libc::SYS_tkill,
            libc::SYS_tgkill,
            libc::SYS_rt_sigqueueinfo,
            libc::SYS_rt_tgsigqueueinfo,
        ] {
            let rule = SeccompRule::new(vec![is(0, target)?])?;
            denied.entry(call).or_default().push(rule);
        }
    }
    denied.insert(libc::SYS_pidfd_send_signal, Vec::new());
    Ok(())
}

/// A constant of C as the kernel compares it.
fn number(constant: i32) -> u64 {
    u64::from(constant.cast_unsigned())
}

/// The same for constants whose type differs between C libraries.
fn number_of(constant: impl TryInto<u64>) -> u64 {
    constant.try_into().unwrap_or_default()
}

fn is(argument: u8, value: u64) -> Result<SeccompCondition, FilterError> {
    Ok(SeccompCondition::new(argument, Dword, SeccompCmpOp::Eq, value)?)
}

fn is_not(argument: u8, value: u64) -> Result<SeccompCondition, FilterError> {
    Ok(SeccompCondition::new(argument, Dword, SeccompCmpOp::Ne, value)?)
}

/// The conditions for an argument that is none of these.
fn none_of(argument: u8, values: impl IntoIterator<Item = u64>) -> Result<Vec<SeccompCondition>, FilterError> {
    values.into_iter().map(|value| is_not(argument, value)).collect()
}

fn is_pointer(argument: u8) -> Result<SeccompCondition, FilterError> {
    let qword = seccompiler::SeccompCmpArgLen::Qword;
    Ok(SeccompCondition::new(argument, qword, SeccompCmpOp::Ne, 0)?)
}

fn has_bits(argument: u8, mask: u64, value: u64) -> Result<SeccompCondition, FilterError> {
    Ok(SeccompCondition::new(
        argument,
        Dword,
        SeccompCmpOp::MaskedEq(mask),
        value,
    )?)
}

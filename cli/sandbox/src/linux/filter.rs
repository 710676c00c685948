//! seccomp: system calls that Landlock does not see.
//!
//! A list of what is refused, not of what is allowed: `OpenCode`'s runtime uses several hundred calls, and the next version other
//! ones. What is newer than the list does not exist in here.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen::Dword, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};

/// The highest system call that the lists below were written for (`file_setattr`, Linux 6.17). Higher ones answer `ENOSYS`, and so
/// do those of the x32 interface, which have a bit above.
const NEWEST: u32 = 469;

/// Where `struct seccomp_data` holds the number of the call, and the architecture.
const NUMBER_AT: u32 = 0;
/// See [`NUMBER_AT`].
const ARCHITECTURE_AT: u32 = 4;

/// The version of Landlock that keeps signals inside.
const WITH_SIGNALS: u8 = 6;

const SETXATTRAT: i64 = 463;
const GETXATTRAT: i64 = 464;
const LISTXATTRAT: i64 = 465;
const REMOVEXATTRAT: i64 = 466;
const STATMOUNT: i64 = 457;
const LISTMOUNT: i64 = 458;
const OPEN_TREE_ATTR: i64 = 467;
const FILE_SETATTR: i64 = 469;
const FCHMODAT2: i64 = 452;

#[cfg(target_arch = "x86_64")]
const CREATE_MODULE: i64 = 174;
#[cfg(target_arch = "x86_64")]
const GET_KERNEL_SYMS: i64 = 177;
#[cfg(target_arch = "x86_64")]
const QUERY_MODULE: i64 = 178;

const F_SETSIG: i32 = 10;
const F_SETOWN_EX: i32 = 15;
const FIOSETOWN: u64 = 0x8901;
const SIOCSPGRP: u64 = 0x8902;
/// The kind of an ioctl request is in these bits.
const REQUEST_KIND: u64 = 0xff00;
/// Kinds of requests that read and change what file systems keep about a file: `f`, `X`, `v`.
const FILE_REQUESTS: [u64; 3] = [0x66, 0x58, 0x76];
/// Types of sockets are in these bits; above are flags.
const SOCKET_TYPE: u64 = 0xf;

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

/// The two filters: what fails with `EPERM`, and what does not exist.
pub(super) fn programs(parent: u32, landlock: u8) -> Result<[BpfProgram; 2], FilterError> {
    let mut denied: Rules = NEVER.iter().map(|call| (*call, Vec::new())).collect();
    by_argument(&mut denied)?;
    if landlock < WITH_SIGNALS {
        signals_to(&mut denied, parent)?;
    }
    let missing: Rules = MISSING.iter().map(|call| (*call, Vec::new())).collect();
    Ok([
        program(denied, libc::EPERM)?,
        without_newer_calls(program(missing, libc::ENOSYS)?),
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
    for namespace in [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
    ] {
        deny(
            libc::SYS_clone,
            vec![has_bits(0, number(namespace), number(namespace))?],
        )?;
    }
    // Input into a terminal, line disciplines, and signals by descriptor.
    for request in [
        number_of(libc::TIOCSTI),
        number_of(libc::TIOCLINUX),
        number_of(libc::TIOCSETD),
        FIOSETOWN,
        SIOCSPGRP,
    ] {
        deny(libc::SYS_ioctl, vec![is(1, request)?])?;
    }
    // Flags and attributes of files, which need no descriptor to write with.
    for kind in FILE_REQUESTS {
        deny(libc::SYS_ioctl, vec![has_bits(1, REQUEST_KIND, kind << 8)?])?;
    }
    for command in [libc::F_SETOWN, F_SETOWN_EX, F_SETSIG, libc::F_SETLEASE, libc::F_NOTIFY] {
        deny(libc::SYS_fcntl, vec![is(1, number(command))?])?;
    }
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
    deny(libc::SYS_prctl, vec![is(0, number(libc::PR_SET_PDEATHSIG))?])
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

/// Calls that do not exist.
const MISSING: &[i64] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Its flags are behind a pointer, where no filter can read them. The C library then uses clone.
    libc::SYS_clone3,
    // Attributes hold content, such as the address that a file was downloaded from, and Landlock does not look at them. Programs
    // take this answer for a file system without attributes.
    libc::SYS_getxattr,
    libc::SYS_lgetxattr,
    libc::SYS_fgetxattr,
    GETXATTRAT,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
    libc::SYS_flistxattr,
    LISTXATTRAT,
    STATMOUNT,
    LISTMOUNT,
];

/// Calls that fail whatever their arguments.
const NEVER: &[i64] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_perf_event_open,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_setpriority,
    libc::SYS_ioprio_set,
    // Namespaces and file systems.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    // What Landlock does not look at: owners, modes, times and attributes; a file's length by its path on older kernels.
    libc::SYS_truncate,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    REMOVEXATTRAT,
    FILE_SETATTR,
    // Watching files.
    libc::SYS_fanotify_init,
    libc::SYS_inotify_init1,
    // Memory and messages that are shared by name.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmdt,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    // The machine.
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_syslog,
    libc::SYS_personality,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
    libc::SYS_lookup_dcookie,
    // Older names of some of these.
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_inotify_init,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ustat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_sysfs,
    #[cfg(target_arch = "x86_64")]
    libc::SYS__sysctl,
    #[cfg(target_arch = "x86_64")]
    CREATE_MODULE,
    #[cfg(target_arch = "x86_64")]
    GET_KERNEL_SYMS,
    #[cfg(target_arch = "x86_64")]
    QUERY_MODULE,
];

//! The lists of the filters.

/// The highest system call that the lists were written for (`file_setattr`, Linux 6.17). Higher ones answer `ENOSYS`, and so do those of
/// the x32 interface, which have a bit above.
pub(super) const NEWEST: u32 = 469;

const SETXATTRAT: i64 = 463;
const GETXATTRAT: i64 = 464;
const LISTXATTRAT: i64 = 465;
const REMOVEXATTRAT: i64 = 466;
const STATMOUNT: i64 = 457;
const LISTMOUNT: i64 = 458;
const OPEN_TREE_ATTR: i64 = 467;
const FILE_GETATTR: i64 = 468;
const FILE_SETATTR: i64 = 469;
const FCHMODAT2: i64 = 452;

const IO_PGETEVENTS: i64 = if cfg!(target_arch = "x86_64") { 333 } else { 292 };

#[cfg(target_arch = "x86_64")]
const CREATE_MODULE: i64 = 174;
#[cfg(target_arch = "x86_64")]
const GET_KERNEL_SYMS: i64 = 177;
#[cfg(target_arch = "x86_64")]
const QUERY_MODULE: i64 = 178;

/// Requests to a device or file, of the many thousand that drivers and file systems have: whether it is a terminal and how large, how
/// much can be read, and two flags of descriptors.
pub(super) const REQUESTS: [u64; 6] = [
    0x5401, // TCGETS
    0x5413, // TIOCGWINSZ
    0x541b, // FIONREAD
    0x5421, // FIONBIO
    0x5450, // FIONCLEX
    0x5451, // FIOCLEX
];
/// Settings of a process that it may ask for and change: names, privileges that it gives up, whether its memory can be dumped, and the like. Not
/// what reaches others (core scheduling), ends a process with its parent, is for debuggers, or filters system calls: a filter slows every
/// call down, and some can stop the kernel.
pub(super) const OWN_SETTINGS: [i32; 20] = [
    libc::PR_GET_PDEATHSIG,
    libc::PR_GET_DUMPABLE,
    libc::PR_SET_DUMPABLE,
    libc::PR_GET_KEEPCAPS,
    libc::PR_SET_KEEPCAPS,
    libc::PR_SET_NAME,
    libc::PR_GET_NAME,
    libc::PR_GET_SECCOMP,
    libc::PR_CAPBSET_READ,
    libc::PR_CAPBSET_DROP,
    libc::PR_SET_TIMERSLACK,
    libc::PR_GET_TIMERSLACK,
    libc::PR_GET_CHILD_SUBREAPER,
    libc::PR_SET_NO_NEW_PRIVS,
    libc::PR_GET_NO_NEW_PRIVS,
    libc::PR_GET_THP_DISABLE,
    libc::PR_SET_THP_DISABLE,
    libc::PR_CAP_AMBIENT,
    libc::PR_SET_VMA,
    libc::PR_GET_SPECULATION_CTRL,
];
/// Options of sockets, of those of a socket, of TCP and of IPv6: time limits, buffers, addresses that are used again, and how TCP waits.
/// Not filters, other protocols on top of TCP, devices, or routes.
pub(super) const SOCKET_OPTIONS: [(i32, &[i32]); 3] = [
    (
        libc::SOL_SOCKET,
        &[
            libc::SO_REUSEADDR,
            libc::SO_REUSEPORT,
            libc::SO_SNDBUF,
            libc::SO_RCVBUF,
            libc::SO_KEEPALIVE,
            libc::SO_LINGER,
            libc::SO_RCVTIMEO,
            libc::SO_SNDTIMEO,
            libc::SO_RCVLOWAT,
        ],
    ),
    (
        libc::IPPROTO_TCP,
        &[
            libc::TCP_NODELAY,
            libc::TCP_CORK,
            libc::TCP_KEEPIDLE,
            libc::TCP_KEEPINTVL,
            libc::TCP_KEEPCNT,
            libc::TCP_QUICKACK,
            libc::TCP_USER_TIMEOUT,
            libc::TCP_DEFER_ACCEPT,
        ],
    ),
    (libc::IPPROTO_IPV6, &[libc::IPV6_V6ONLY]),
];

/// Calls that do not exist.
pub(super) const MISSING: &[i64] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Its requests count against a number that the whole machine has, and the kernel works on them past the call.
    libc::SYS_io_setup,
    libc::SYS_io_destroy,
    libc::SYS_io_submit,
    libc::SYS_io_cancel,
    libc::SYS_io_getevents,
    IO_PGETEVENTS,
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
    FILE_GETATTR,
    STATMOUNT,
    LISTMOUNT,
];

/// Calls that fail whatever their arguments.
pub(super) const NEVER: &[i64] = &[
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
    // Filters of its own, and questions about them. The sandbox has applied its own by then.
    libc::SYS_seccomp,
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

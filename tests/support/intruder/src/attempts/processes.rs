//! Reaching other processes, and the kernel's wider surface.

use std::{fs::File, os::fd::AsRawFd};

use super::{
    Attempt,
    Outside::{Always, Depends, Root},
};
use crate::kernel::{call, pointer, signed};

const YAMA: &str = "a kernel with Yama lets no descendant look into others";
const SIGCONT: u64 = 18;

pub(super) const ATTEMPTS: &[Attempt] = &[
    ("debugging_the_parent", Depends(YAMA), |facts| attaches(facts.parent)),
    ("debugging_the_victim", Depends(YAMA), |facts| attaches(facts.victim)),
    ("reading_memory_by_call", Depends(YAMA), |facts| {
        let place = [pointer(&0_u64), 0];
        // Nothing is read, and the right to read is asked for all the same.
        call(
            libc::SYS_process_vm_readv,
            &[signed(facts.victim), pointer(&place), 1, pointer(&place), 1, 0],
        )
        .is_ok()
    }),
    ("taking_a_descriptor", Depends(YAMA), |facts| {
        let Ok(process) = call(libc::SYS_pidfd_open, &[signed(facts.victim), 0]) else {
            return false;
        };
        call(libc::SYS_pidfd_getfd, &[process.cast_unsigned(), 0, 0]).is_ok()
    }),
    ("comparing_processes", Depends(YAMA), |facts| {
        call(libc::SYS_kcmp, &[signed(facts.parent), signed(facts.victim), 1, 0, 0]).is_ok()
    }),
    ("a_signal_to_the_parent", Always, |facts| {
        call(libc::SYS_kill, &[signed(facts.parent), SIGCONT]).is_ok()
    }),
    ("a_signal_to_the_parents_thread", Always, |facts| {
        call(libc::SYS_tgkill, &[signed(facts.parent), signed(facts.parent), SIGCONT]).is_ok()
    }),
    ("a_signal_to_the_parent_by_descriptor", Always, |facts| {
        let Ok(process) = call(libc::SYS_pidfd_open, &[signed(facts.parent), 0]) else {
            return false;
        };
        call(libc::SYS_pidfd_send_signal, &[process.cast_unsigned(), SIGCONT, 0, 0]).is_ok()
    }),
    ("a_signal_by_a_sockets_owner", Always, |facts| {
        let Ok(file) = File::open("/dev/null") else {
            return false;
        };
        call(
            libc::SYS_fcntl,
            &[signed(file.as_raw_fd()), signed(libc::F_SETOWN), signed(facts.parent)],
        )
        .is_ok()
    }),
    ("a_signal_to_the_victim", Always, |facts| {
        call(libc::SYS_kill, &[signed(facts.victim), SIGCONT]).is_ok()
    }),
    ("the_victims_processors", Always, |facts| {
        let every = [u64::MAX; 16];
        call(
            libc::SYS_sched_setaffinity,
            &[signed(facts.victim), 128, pointer(&every)],
        )
        .is_ok()
    }),
    ("the_victims_scheduling", Always, |facts| {
        let idle = 5;
        call(
            libc::SYS_sched_setscheduler,
            &[signed(facts.victim), idle, pointer(&0_u32)],
        )
        .is_ok()
    }),
    ("the_victims_scheduling_by_a_wide_number", Always, |facts| {
        let victim = 1 << 32 | signed(facts.victim);
        call(libc::SYS_sched_setscheduler, &[victim, 5, pointer(&0_u32)]).is_ok()
    }),
    ("limits_of_the_parent", Depends(YAMA), |facts| {
        let limits = [0_u64; 2];
        let files = u64::from(libc::RLIMIT_NOFILE);
        call(libc::SYS_prlimit64, &[signed(facts.parent), files, 0, pointer(&limits)]).is_ok()
    }),
    ("its_own_limits", Always, |_| {
        let (limits, core) = ([0_u64; 2], u64::from(libc::RLIMIT_CORE));
        call(libc::SYS_prlimit64, &[0, core, pointer(&limits), 0]).is_ok()
    }),
    ("taking_off_the_mark", Always, |_| {
        let (limits, time) = ([1_u64 << 39; 2], u64::from(libc::RLIMIT_RTTIME));
        call(libc::SYS_prlimit64, &[0, time, pointer(&limits), 0]).is_ok()
    }),
    ("the_parents_priority", Always, |facts| {
        call(libc::SYS_setpriority, &[0, signed(facts.parent), 5]).is_ok()
    }),
    ("the_parents_scheduling", Always, |facts| {
        call(
            libc::SYS_sched_setscheduler,
            &[signed(facts.parent), 0, pointer(&0_i32)],
        )
        .is_ok()
    }),
    ("the_parents_processors", Always, |facts| {
        let mask = [u64::MAX; 16];
        call(
            libc::SYS_sched_setaffinity,
            &[signed(facts.parent), 128, pointer(&mask)],
        )
        .is_ok()
    }),
    (
        "a_namespace_of_users",
        Depends("a machine that lets users make namespaces"),
        |_| call(libc::SYS_unshare, &[signed(libc::CLONE_NEWUSER)]).is_ok(),
    ),
    (
        "a_namespace_by_clone",
        Depends("a machine that lets users make namespaces"),
        |_| {
            let flags = signed(libc::CLONE_NEWUSER | libc::SIGCHLD);
            ends_at_once(&call(libc::SYS_clone, &[flags, 0, 0, 0, 0]))
        },
    ),
    (
        "a_namespace_by_clone3",
        Depends("a machine that lets users make namespaces"),
        |_| {
            let mut arguments = [0_u64; 11];
            arguments[0] = signed(libc::CLONE_NEWUSER);
            arguments[4] = signed(libc::SIGCHLD);
            ends_at_once(&call(libc::SYS_clone3, &[pointer(&arguments), 88]))
        },
    ),
    ("the_parents_namespace", Root, |facts| {
        let Ok(namespace) = File::open(format!("/proc/{}/ns/net", facts.parent)) else {
            return false;
        };
        call(libc::SYS_setns, &[signed(namespace.as_raw_fd()), 0]).is_ok()
    }),
    ("mounting", Root, |facts| {
        let place = facts.home.join("tmp");
        let place = std::ffi::CString::new(place.to_str().expect("UTF-8")).expect("a path");
        let mounted = call(
            libc::SYS_mount,
            &[pointer(c"none"), pointer(place.as_c_str()), pointer(c"tmpfs"), 0, 0],
        );
        let _ = call(libc::SYS_umount2, &[pointer(place.as_c_str()), 0]);
        mounted.is_ok()
    }),
    ("another_root", Root, |_| {
        call(libc::SYS_chroot, &[pointer(c"/")]).is_ok()
    }),
    ("becoming_another_user", Root, |_| {
        call(libc::SYS_setuid, &[12_345]).is_ok()
    }),
    // With it off, a program with the setuid bit would run as its owner.
    ("rights_of_a_setuid_program", Always, |_| {
        matches!(call(libc::SYS_prctl, &[signed(libc::PR_GET_NO_NEW_PRIVS)]), Ok(0))
    }),
    ("outliving_the_parent", Always, |_| {
        call(libc::SYS_prctl, &[signed(libc::PR_SET_PDEATHSIG), 0]).is_ok()
    }),
    ("a_child_of_the_parent", Always, |_| {
        let flags = signed(libc::CLONE_PARENT | libc::SIGCHLD);
        ends_at_once(&call(libc::SYS_clone, &[flags, 0, 0, 0, 0]))
    }),
    (
        "the_victims_core_scheduling",
        Depends("a kernel with core scheduling, and threads that share a core"),
        |facts| {
            let share_to = 2;
            call(
                libc::SYS_prctl,
                &[signed(libc::PR_SCHED_CORE), share_to, signed(facts.victim), 0, 0],
            )
            .is_ok()
        },
    ),
    ("facts_of_the_victim_by_descriptor", Depends("Linux 6.13"), |facts| {
        let Ok(process) = call(libc::SYS_pidfd_open, &[signed(facts.victim), 0]) else {
            return false;
        };
        let facts = [0_u64; 8];
        call(
            libc::SYS_ioctl,
            &[process.cast_unsigned(), 0xc040_ff0b, pointer(&facts)],
        )
        .is_ok()
    }),
    // One is handed to a program that the machine has for it, also where the limit is 0.
    ("a_core_dump", Always, |_| {
        let (limits, core) = ([0_u64; 2], u64::from(libc::RLIMIT_CORE));
        let asked = call(libc::SYS_prlimit64, &[0, core, 0, pointer(&limits)]);
        asked.is_ok() && std::hint::black_box(&limits)[0] != 1
    }),
    ("shared_memory_by_number", Always, |_| {
        let flags = signed(libc::IPC_CREAT | 0o600);
        let Ok(memory) = call(libc::SYS_shmget, &[signed(libc::IPC_PRIVATE), 4096, flags]) else {
            return false;
        };
        call(libc::SYS_shmctl, &[memory.cast_unsigned(), 0, 0]).is_ok()
    }),
    ("a_message_queue", Depends("a kernel with message queues"), |_| {
        let flags = signed(libc::O_CREAT | libc::O_RDWR);
        let opened = call(libc::SYS_mq_open, &[pointer(c"intruder"), flags, 0o600, 0]);
        let _ = call(libc::SYS_mq_unlink, &[pointer(c"intruder")]);
        opened.is_ok()
    }),
    ("the_keyring", Depends("a kernel with keyrings"), |_| {
        call(
            libc::SYS_add_key,
            &[pointer(c"user"), pointer(c"intruder"), pointer("x"), 1, signed(-2)],
        )
        .is_ok()
    }),
    ("kernel_programs", Root, |_| {
        let attributes = [1_u32, 4, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        call(libc::SYS_bpf, &[0, pointer(&attributes), 72]).is_ok()
    }),
    (
        "performance_counters",
        Depends("kernel.perf_event_paranoid below 3"),
        |_| {
            let mut attributes = [0_u64; 16];
            // A software event, and its size; user space only.
            attributes[0] = 1 | (128 << 32);
            attributes[5] = 0b110_0001;
            call(
                libc::SYS_perf_event_open,
                &[pointer(&attributes), 0, signed(-1), signed(-1), 0],
            )
            .is_ok()
        },
    ),
    (
        "faults_of_user_space",
        Depends("vm.unprivileged_userfaultfd, or flags for user mode"),
        |_| call(libc::SYS_userfaultfd, &[1]).is_ok(),
    ),
    ("watching_files", Always, |_| {
        call(libc::SYS_inotify_init1, &[0]).is_ok()
    }),
    ("another_personality", Always, |_| {
        call(libc::SYS_personality, &[0x004_0000]).is_ok()
    }),
    // Each of these makes one call: a loop of them can stop the kernel, which is why they are refused.
    ("a_filter_of_its_own", Always, |_| {
        let (mode, filter) = (1, filter());
        gives_up_privileges() && !is_refused(call(libc::SYS_seccomp, &[mode, 0, pointer(&filter.0)]))
    }),
    ("a_filter_of_its_own_with_a_listener", Always, |_| {
        let (mode, filter, listener) = (1, filter(), 1 << 3);
        gives_up_privileges() && !is_refused(call(libc::SYS_seccomp, &[mode, listener, pointer(&filter.0)]))
    }),
    ("a_filter_of_its_own_by_a_setting", Always, |_| {
        let (mode, filter) = (2, filter());
        let set = [signed(libc::PR_SET_SECCOMP), mode, pointer(&filter.0)];
        gives_up_privileges() && !is_refused(call(libc::SYS_prctl, &set))
    }),
    ("the_strictest_filter", Always, |_| {
        let strict = call(libc::SYS_prctl, &[signed(libc::PR_SET_SECCOMP), 1]);
        if strict.is_ok() {
            // Nothing else is left to it.
            let _ = call(libc::SYS_exit, &[0]);
        }
        !is_refused(strict)
    }),
    ("a_question_about_filters", Always, |_| {
        !is_refused(call(libc::SYS_seccomp, &[2, 0, pointer(&0x7fff_0000_u32)]))
    }),
    (
        "asynchronous_io",
        Depends("a kernel with asynchronous I/O, and room for more of it"),
        |_| {
            let place = 0_u64;
            let made = call(libc::SYS_io_setup, &[1, pointer(&place)]);
            let _ = call(libc::SYS_io_destroy, &[*std::hint::black_box(&place)]);
            made.is_ok()
        },
    ),
    ("the_hosts_name", Root, |_| {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let name = name.trim();
        call(libc::SYS_sethostname, &[pointer(name), name.len() as u64]).is_ok()
    }),
    ("a_call_of_the_future", Depends("a kernel that has it"), |_| {
        let refused = call(480, &[]).expect_err("it has no arguments that would be right");
        refused.raw_os_error() != Some(libc::ENOSYS)
    }),
];

/// A filter that allows everything, and the memory that it points to.
fn filter() -> (libc::sock_fprog, Box<libc::sock_filter>) {
    let allow_all = libc::sock_filter {
        code: 6,
        jt: 0,
        jf: 0,
        k: libc::SECCOMP_RET_ALLOW,
    };
    let mut memory = Box::new(allow_all);
    let program = libc::sock_fprog {
        len: 1,
        filter: &raw mut *memory,
    };
    (program, memory)
}

/// Without it only root may filter.
fn gives_up_privileges() -> bool {
    call(libc::SYS_prctl, &[signed(libc::PR_SET_NO_NEW_PRIVS), 1]).is_ok()
}

/// Returns whether a call was refused by the sandbox, and not for what it asked.
#[expect(clippy::print_stderr, reason = "a test that fails has to show the kernel's answer")]
fn is_refused(result: std::io::Result<i64>) -> bool {
    let error = result.err().and_then(|error| error.raw_os_error());
    eprintln!("the answer: {error:?}");
    error == Some(libc::EPERM)
}

fn attaches(process: i32) -> bool {
    // Seize stops nothing, and lets go when this process ends.
    call(libc::SYS_ptrace, &[0x4206, signed(process), 0, 0]).is_ok()
}

/// Both sides of a clone come here: the child ends.
fn ends_at_once(cloned: &std::io::Result<i64>) -> bool {
    if matches!(cloned, Ok(0)) {
        let _ = call(libc::SYS_exit, &[0]);
    }
    cloned.is_ok()
}

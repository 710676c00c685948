//! Reading and writing what is not its own.

use std::{
    ffi::CString,
    fs::{self, File, OpenOptions},
    io::{Read, Seek, SeekFrom, Write},
    os::unix::{ffi::OsStrExt, fs::FileExt, fs::OpenOptionsExt},
    path::Path,
};

use super::{
    Attempt,
    Outside::{Always, Depends},
};
use crate::{
    facts::{LEFT_OPEN, SECRET},
    kernel::{call, pointer, signed},
};

const YAMA: &str = "a kernel with Yama lets no descendant look into its parent";

/// An attribute of the user's file.
pub(crate) const ATTRIBUTE: &std::ffi::CStr = c"user.origin";

fn of_c(path: &Path) -> std::ffi::CString {
    std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).expect("no NUL")
}

pub(super) const READS: &[Attempt] = &[
    (
        "attributes_of_a_file",
        Depends("a file system with attributes"),
        |facts| {
            let path = of_c(&facts.user.join(".ssh/id"));
            let value = [0_u8; 64];
            let name = ATTRIBUTE.as_ptr().addr() as u64;
            call(
                libc::SYS_getxattr,
                &[path.as_ptr().addr() as u64, name, pointer(&value), 64],
            )
            .is_ok_and(|length| length > 0)
        },
    ),
    (
        "names_of_attributes",
        Depends("a file system with attributes"),
        |facts| {
            let path = of_c(&facts.user.join(".ssh/id"));
            let names = [0_u8; 256];
            call(
                libc::SYS_listxattr,
                &[path.as_ptr().addr() as u64, pointer(&names), 256],
            )
            .is_ok_and(|length| length > 0)
        },
    ),
    ("parents_environment", Depends(YAMA), |facts| {
        has_bytes(of_process(facts.parent, "environ"))
    }),
    ("parents_arguments", Always, |facts| {
        has_bytes(of_process(facts.parent, "cmdline"))
    }),
    ("parents_maps", Depends(YAMA), |facts| {
        has_bytes(of_process(facts.parent, "maps"))
    }),
    ("parents_memory", Depends(YAMA), |facts| memory_of(facts.parent)),
    ("parents_root", Depends(YAMA), |facts| {
        fs::read_dir(of_process(facts.parent, "root/etc")).is_ok()
    }),
    ("parents_directory", Depends(YAMA), |facts| {
        fs::read_dir(of_process(facts.parent, "cwd/")).is_ok()
    }),
    ("parents_descriptors", Depends(YAMA), |facts| {
        fs::read_dir(of_process(facts.parent, "fd")).is_ok()
    }),
    ("victims_environment", Depends(YAMA), |facts| {
        holds_secret(of_process(facts.victim, "environ"))
    }),
    ("victims_memory", Depends(YAMA), |facts| memory_of(facts.victim)),
    ("all_processes", Always, |_| fs::read_dir("/proc").is_ok()),
    ("own_environment", Always, |_| has_bytes("/proc/self/environ")),
    ("ssh_key", Always, |facts| holds_secret(facts.user.join(".ssh/id"))),
    ("real_checkout", Always, |facts| {
        holds_secret(facts.user.join("checkout/file"))
    }),
    ("real_git_configuration", Always, |facts| {
        holds_secret(facts.user.join("checkout/.git/config"))
    }),
    ("list_of_the_users_home", Always, |facts| {
        fs::read_dir(&facts.user).is_ok()
    }),
    ("list_of_tmp", Always, |_| fs::read_dir("/tmp").is_ok()),
    ("list_of_the_root", Always, |_| fs::read_dir("/").is_ok()),
    ("kernels_settings", Always, |_| {
        fs::read("/proc/sys/kernel/osrelease").is_ok()
    }),
    ("devices", Always, |_| fs::read_dir("/sys/devices").is_ok()),
    ("through_its_own_link", Always, |facts| {
        let link = facts.home.join("tmp/link");
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(facts.user.join(".ssh/id"), &link).is_ok() && holds_secret(link)
    }),
    ("through_its_own_hard_link", Always, |facts| {
        let link = facts.home.join("tmp/hard");
        let _ = fs::remove_file(&link);
        fs::hard_link(facts.user.join(".ssh/id"), &link).is_ok() && holds_secret(link)
    }),
    ("an_inherited_descriptor", Always, |_| {
        let bytes = [0_u8; 8];
        call(libc::SYS_pread64, &[signed(LEFT_OPEN), pointer(&bytes), 8, 0]).is_ok_and(|length| length > 0)
    }),
    ("by_a_file_handle", Depends("only root opens by handle"), |facts| {
        let path = c_path(&facts.user.join(".ssh/id"));
        let mut handle = [0_u32; 34];
        handle[0] = 128;
        let mount = 0_i32;
        call(
            libc::SYS_name_to_handle_at,
            &[
                signed(libc::AT_FDCWD),
                pointer(path.as_c_str()),
                pointer(&handle),
                pointer(&mount),
                0,
            ],
        )
        .is_ok()
    }),
];

pub(super) const WRITES: &[Attempt] = &[
    ("flags_of_a_file", Depends("a file system with flags"), |facts| {
        // FS_IOC_SETFLAGS of FS_NOATIME_FL, on a descriptor that only reads.
        let file = fs::File::open(facts.workspace.join("file"));
        file.is_ok_and(|file| {
            let file = signed(std::os::fd::AsRawFd::as_raw_fd(&file));
            call(libc::SYS_ioctl, &[file, 0x4008_6602, pointer(&0x80_u64)]).is_ok()
        })
    }),
    ("a_file_of_the_workspace", Always, |facts| {
        changes(&facts.workspace.join("file"))
    }),
    ("a_new_file_in_the_workspace", Always, |facts| {
        fs::write(facts.workspace.join("new"), "x").is_ok()
    }),
    ("its_configuration", Always, |facts| {
        changes(&facts.runtime.join("opencode.json"))
    }),
    ("a_file_of_the_user", Always, |facts| changes(&facts.user.join("notes"))),
    ("a_new_file_of_the_user", Always, |facts| {
        fs::write(facts.user.join("new"), "x").is_ok()
    }),
    ("a_hook_of_the_real_checkout", Always, |facts| {
        fs::write(facts.user.join("checkout/.git/hook"), "x").is_ok()
    }),
    ("tmp", Always, |facts| {
        fs::write(format!("/tmp/intruder-{}", facts.parent), "x").is_ok()
    }),
    ("shared_memory", Always, |facts| {
        let path = format!("/dev/shm/intruder-{}", facts.parent);
        let written = fs::write(&path, "x").is_ok();
        let _ = fs::remove_file(path);
        written
    }),
    ("cutting_a_file", Always, |facts| {
        call(
            libc::SYS_truncate,
            &[pointer(c_path(&facts.user.join("notes")).as_c_str()), 1],
        )
        .is_ok()
    }),
    ("removing_a_file", Always, |facts| {
        fs::remove_file(facts.user.join("to-remove")).is_ok()
    }),
    ("removing_a_file_of_the_workspace", Always, |facts| {
        fs::remove_file(facts.workspace.join("to-remove")).is_ok()
    }),
    ("moving_a_file_out", Always, |facts| {
        fs::rename(facts.user.join("to-move"), facts.home.join("tmp/moved")).is_ok()
    }),
    ("modes", Always, |facts| {
        let path = c_path(&facts.user.join("notes"));
        call(
            libc::SYS_fchmodat,
            &[signed(libc::AT_FDCWD), pointer(path.as_c_str()), 0o600],
        )
        .is_ok()
    }),
    ("modes_by_a_newer_call", Depends("Linux 6.6"), |facts| {
        let path = c_path(&facts.user.join("notes"));
        call(452, &[signed(libc::AT_FDCWD), pointer(path.as_c_str()), 0o600, 0]).is_ok()
    }),
    ("owners", Always, |facts| {
        std::os::unix::fs::chown(facts.user.join("notes"), None, None).is_ok()
    }),
    ("times", Always, |facts| {
        let path = c_path(&facts.user.join("notes"));
        call(
            libc::SYS_utimensat,
            &[signed(libc::AT_FDCWD), pointer(path.as_c_str()), 0, 0],
        )
        .is_ok()
    }),
    (
        "attributes",
        Depends("a file system with attributes of users"),
        |facts| {
            let (path, name) = (c_path(&facts.user.join("notes")), c"user.intruder");
            call(
                libc::SYS_setxattr,
                &[pointer(path.as_c_str()), pointer(name), pointer("x"), 1, 0],
            )
            .is_ok()
        },
    ),
    ("a_file_of_3_gb", Always, |facts| {
        let path = facts.home.join("tmp/large");
        let written = File::create(&path)
            .and_then(|mut file| file.seek(SeekFrom::Start(3 << 30)).and_then(|_| file.write_all(b"x")))
            .is_ok();
        let _ = fs::remove_file(path);
        written
    }),
    ("8_gb_of_memory", Depends("a machine without strict overcommit"), |_| {
        is_mapped(8 << 30, 0)
    }),
    (
        "8_gb_of_memory_that_is_called_a_stack",
        Depends("a machine without strict overcommit"),
        |_| is_mapped(8 << 30, libc::MAP_GROWSDOWN),
    ),
    ("a_stack_that_grows", Always, |_| is_mapped(4096, libc::MAP_GROWSDOWN)),
    ("a_program_of_its_own", Always, |facts| {
        let path = facts.home.join("tmp/program");
        let _ = fs::remove_file(&path);
        let copy = || -> std::io::Result<bool> {
            let program = fs::read("/bin/sh")?;
            let mut file = OpenOptions::new()
                .create_new(true)
                .write(true)
                .mode(0o755)
                .open(&path)?;
            file.write_all(&program)?;
            drop(file);
            Ok(std::process::Command::new(&path)
                .args(["-c", "exit 0"])
                .status()?
                .success())
        };
        copy().unwrap_or(false)
    }),
    ("a_pipe_in_its_home", Always, |facts| {
        let path = facts.home.join("tmp/pipe");
        let _ = fs::remove_file(&path);
        call(
            libc::SYS_mknodat,
            &[
                signed(libc::AT_FDCWD),
                pointer(c_path(&path).as_c_str()),
                u64::from(libc::S_IFIFO | 0o600),
                0,
            ],
        )
        .is_ok()
    }),
];

/// Returns whether it gets private memory of this size, with these flags.
fn is_mapped(size: u64, flags: i32) -> bool {
    let writable = signed(libc::PROT_READ | libc::PROT_WRITE);
    let flags = signed(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags);
    call(libc::SYS_mmap, &[0, size, writable, flags, signed(-1), 0]).is_ok()
}

fn of_process(process: i32, file: &str) -> String {
    format!("/proc/{process}/{file}")
}

fn has_bytes(path: impl AsRef<Path>) -> bool {
    let mut bytes = [0; 16];
    File::open(path)
        .and_then(|mut file| file.read(&mut bytes))
        .is_ok_and(|length| length > 0)
}

fn holds_secret(path: impl AsRef<Path>) -> bool {
    fs::read(path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(SECRET))
}

/// Its first mapping, found as a debugger finds it.
fn memory_of(process: i32) -> bool {
    let Ok(maps) = fs::read_to_string(of_process(process, "maps")) else {
        return false;
    };
    let start = maps
        .split('-')
        .next()
        .and_then(|start| u64::from_str_radix(start, 16).ok());
    let (Some(start), Ok(memory)) = (start, File::open(of_process(process, "mem"))) else {
        return false;
    };
    memory.read_at(&mut [0; 16], start).is_ok()
}

fn changes(path: &Path) -> bool {
    OpenOptions::new()
        .append(true)
        .open(path)
        .and_then(|mut file| file.write_all(b"x"))
        .is_ok()
}

fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).expect("a path")
}

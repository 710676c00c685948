//! System calls that no safe library has: seccomp's listener, its four requests, and marking descriptors.

#![expect(
    unsafe_code,
    reason = "seccomp's listener has no safe interface: each block is one system call on memory that this file owns"
)]

use std::{
    io,
    mem::{size_of, zeroed},
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
};

use seccompiler::sock_filter;

/// A system call of the confined program that waits for an answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    /// The request's number.
    pub(super) id: u64,
    /// The thread that waits.
    pub(super) thread: u32,
    /// The number of the system call.
    pub(super) call: i64,
    /// Its arguments.
    pub(super) arguments: [u64; 6],
}

/// The answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// The call has this result already.
    Done,
    /// The kernel carries it out. Only for calls whose arguments are not in memory, which another thread could change.
    Continue,
    /// It fails with this error.
    Refuse(i32),
}

/// Installs a filter, and returns the descriptor on which its requests arrive.
pub(super) fn listen(program: &mut [sock_filter]) -> io::Result<OwnedFd> {
    let length = u16::try_from(program.len()).map_err(io::Error::other)?;
    let filter = libc::sock_fprog {
        len: length,
        filter: program.as_mut_ptr().cast(),
    };
    let install = |flags: libc::c_ulong| {
        // SAFETY: the kernel copies the program, which outlives the call, and writes nothing.
        unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                flags,
                &raw const filter,
            )
        }
    };
    let new = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    let mut descriptor = install(new | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
    if descriptor < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL) {
        // Before Linux 5.19.
        descriptor = install(new);
    }
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    let descriptor = RawFd::try_from(descriptor).map_err(io::Error::other)?;
    // SAFETY: the kernel has just made it for this process, and nothing else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Takes the next request. `Ok(None)` if the thread that waited is gone.
pub(super) fn receive(listener: BorrowedFd<'_>) -> io::Result<Option<Request>> {
    // SAFETY: all zeros is a value of this plain structure, and what the kernel asks for.
    let mut request: libc::seccomp_notif = unsafe { zeroed() };
    // SAFETY: the kernel writes one structure of this size there.
    let result = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut request) };
    if result < 0 {
        let error = io::Error::last_os_error();
        return match error.raw_os_error() {
            Some(libc::ENOENT | libc::EINTR) => Ok(None),
            _ => Err(error),
        };
    }
    Ok(Some(Request {
        id: request.id,
        thread: request.pid,
        call: request.data.nr.into(),
        arguments: request.data.args,
    }))
}

/// Returns whether the thread still waits. What was read of its memory before counts only then: its number may be another's by now.
pub(super) fn still_waits(listener: BorrowedFd<'_>, request: &Request) -> bool {
    // SAFETY: the kernel reads one number.
    let result = unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_ID_VALID,
            &raw const request.id,
        )
    };
    result == 0
}

/// Puts a copy of `descriptor` into the waiting process, in place of its descriptor `number`.
pub(super) fn put(
    listener: BorrowedFd<'_>,
    request: &Request,
    descriptor: BorrowedFd<'_>,
    number: u32,
    closes_on_exec: bool,
) -> io::Result<()> {
    let flags = u32::try_from(libc::SECCOMP_ADDFD_FLAG_SETFD).map_err(io::Error::other)?;
    let closes = u32::try_from(libc::O_CLOEXEC).map_err(io::Error::other)?;
    let addition = libc::seccomp_notif_addfd {
        id: request.id,
        flags,
        srcfd: u32::try_from(descriptor.as_raw_fd()).map_err(io::Error::other)?,
        newfd: number,
        newfd_flags: if closes_on_exec { closes } else { 0 },
    };
    // SAFETY: the kernel reads one structure of this size.
    let result = unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_ADDFD,
            &raw const addition,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Answers. The thread may be gone meanwhile.
pub(super) fn answer(listener: BorrowedFd<'_>, request: &Request, answer: Answer) {
    // SAFETY: all zeros is a value of this plain structure.
    let mut response: libc::seccomp_notif_resp = unsafe { zeroed() };
    response.id = request.id;
    match answer {
        Answer::Done => {}
        Answer::Continue => response.flags = u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).unwrap_or(1),
        Answer::Refuse(error) => response.error = -error,
    }
    // SAFETY: the kernel reads one structure of this size.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut response) };
}

/// Marks every descriptor from 3 on, so that the next program does not inherit it.
pub(super) fn close_on_exec() -> io::Result<()> {
    // SAFETY: it changes flags of descriptors, and no memory.
    let result = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if result == 0 {
        return Ok(());
    }
    // Before Linux 5.11, or in a container that does not know the call.
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let Some(number) = entry?.file_name().to_str().and_then(|name| name.parse::<RawFd>().ok()) else {
            continue;
        };
        if number > 2 {
            // SAFETY: it changes a flag; a descriptor that is closed meanwhile only makes it fail.
            unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
    Ok(())
}

/// The structures are the kernel's: a size that differs would change the numbers of the requests.
const _: () = assert!(size_of::<libc::seccomp_notif>() == 80 && size_of::<libc::seccomp_notif_resp>() == 24);

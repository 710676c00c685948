//! System calls, raw: an intruder uses no library that keeps it from anything.

#![expect(unsafe_code, reason = "the intruder makes the calls that libraries do not make")]

use std::io;

/// Makes a system call.
pub(crate) fn call(number: libc::c_long, arguments: &[u64]) -> io::Result<i64> {
    let at = |index: usize| arguments.get(index).copied().unwrap_or_default();
    // SAFETY: what the arguments point to lives in the caller; a wrong one makes the call fail, or only this process.
    let result = unsafe { libc::syscall(number, at(0), at(1), at(2), at(3), at(4), at(5)) };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// The address of a value, for a call.
pub(crate) fn pointer<T: ?Sized>(value: &T) -> u64 {
    (&raw const *value).cast::<u8>().addr() as u64
}

/// A signed number as the register holds it.
pub(crate) fn signed(number: i32) -> u64 {
    i64::from(number).cast_unsigned()
}

/// `getpid` through the 32-bit gate, where no filter for 64-bit calls looks.
#[cfg(target_arch = "x86_64")]
pub(crate) fn through_the_32_bit_gate() -> bool {
    let result: i64;
    // SAFETY: getpid has no arguments and touches no memory.
    unsafe {
        std::arch::asm!(
            "int 0x80",
            inout("rax") 20_i64 => result,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _,
        );
    }
    result > 0
}

/// Other processors have no such gate.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn through_the_32_bit_gate() -> bool {
    false
}

/// Goes on in a new process again and again, for half a minute at most.
pub(crate) fn hop() {
    let began = std::time::Instant::now();
    // SAFETY: no handler is set, and the process has one thread.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    while began.elapsed().as_secs() < 30 {
        // SAFETY: the process has one thread, and goes on as it is.
        if unsafe { libc::fork() } > 0 {
            // SAFETY: it ends the process.
            unsafe { libc::_exit(0) };
        }
    }
}

/// Waits until a signal ends the process.
pub(crate) fn wait_for_ever() {
    loop {
        std::thread::park();
    }
}

//! A hostile program in `OpenCode`'s place, and the host that starts it as Conclave starts `OpenCode`.
//!
//! `host GROUP` starts the same program as an intruder, with and without the sandbox around it, and prints what its attempts came
//! to. `on-landlock VERSION PROGRAM …` runs a program on a kernel with an older Landlock. `bench OPENCODE ROUNDS` measures what the sandbox costs. Each attempt is a process of its own, because some end in a signal.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a program for tests: a broken fixture must stop them, and its output is its result"
)]

#[cfg(target_os = "linux")]
mod attempts;
#[cfg(target_os = "linux")]
mod bench;
#[cfg(target_os = "linux")]
mod facts;
#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod old_kernel;

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    if let Some(failed) = conclave_sandbox::run_helper() {
        return failed;
    }
    let arguments: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        // What a host starts in place of `opencode serve`.
        [own, "serve", ..] => attempts::run_all(own),
        [_, "attempt", name] => return attempts::run(name),
        [own, "try-all", file] => attempts::try_all(own, file),
        [_, "host", options @ ..] => println!("{}", host::run(options)),
        [_, "bench", opencode, rounds] => {
            let (result, holds) = bench::run(opencode, rounds.parse().expect("a number of rounds"));
            println!("{result}");
            return ExitCode::from(u8::from(!holds));
        }
        [_, "on-landlock", version, program, arguments @ ..] => {
            return old_kernel::run(version.parse().expect("a version"), program, arguments);
        }
        [_, "hide", way, file] => attempts::hide(way, file),
        [_, "victim"] => kernel::wait_for_ever(),
        _ => panic!("host GROUP, serve, attempt NAME or victim"),
    }
    ExitCode::SUCCESS
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    ExitCode::FAILURE
}

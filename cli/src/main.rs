//! The `conclave` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    // First of all, as long as there is one thread: this may be the helper that becomes OpenCode.
    if let Some(failed) = conclave_sandbox::run_helper() {
        return failed;
    }
    conclave::run(std::env::args_os(), std::env::vars_os()).into()
}

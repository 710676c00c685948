//! The `conclave` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    conclave::run(std::env::args_os(), std::env::vars_os()).into()
}

//! Code review of merge requests by a panel of AI reviewers and a judge.
//!
//! This crate is the composition root: the only place that knows everyone. It reads arguments and environment, wires
//! the plugins, the gateway and the agent runtime to the engine, prints, and turns the outcome into an exit code.

mod args;
#[doc(hidden)]
pub mod bench;
mod commands;
mod context;
mod diff;
mod doctor;
mod env;
mod exit;
mod init;
mod output;
mod private_files;
mod protection;
#[cfg(test)]
mod reference_tests;
mod run;

use std::{ffi::OsString, process::ExitCode};

use clap::error::ContextValue;

use crate::{
    args::{Arguments, RefusedReview},
    env::Environment,
    exit::Exit,
};

/// Runs the program with these arguments and this environment.
pub fn run(
    arguments: impl IntoIterator<Item = OsString>,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> ExitCode {
    protection::start();
    let environment = Environment::new(environment);
    let given: Vec<OsString> = arguments.into_iter().collect();
    let redactor = environment.redactor();
    let arguments = match Arguments::read(given.iter().cloned(), &environment) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are no errors; clap prints all three where they belong.
            let exit = if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Reviewed
            };
            show_usage(&error);
            if exit == Exit::Usage {
                run::directory::clear_refused(&given, &environment);
            }
            if let (Exit::Usage, Some(review)) = (exit, RefusedReview::read(&given, &environment))
                && let Ok(runtime) = tokio::runtime::Runtime::new()
            {
                runtime.block_on(commands::refused(&review, &environment, &redactor));
                runtime.shutdown_background();
            }
            return exit.into();
        }
    };
    let hidden = redactor.clone();
    std::panic::set_hook(Box::new(move |panic| output::error(&panic.to_string(), &hidden)));
    output::set_locale(&environment);
    output::logging::start(&environment, redactor.clone());
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            output::error(&format!("failed to start: {error}"), &redactor);
            return Exit::Usage.into();
        }
    };
    let result = runtime.block_on(commands::run(arguments, &environment, &redactor));
    // Everything that had to end has ended. What is left is nobody's business any more, such as a name server that does not
    // answer for the tracker's name: dropping the runtime would wait for it.
    runtime.shutdown_background();
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => {
            output::error(&failure.to_string(), &redactor);
            failure.exit().into()
        }
    }
}

/// Prints what clap has to say. It repeats arguments and variables, which may come from outside: a text with something in it
/// that a log acts on is printed like every other error.
fn show_usage(error: &clap::Error) {
    let text = error.render().to_string();
    let has_lines = error.context().any(|(_, value)| match value {
        ContextValue::String(value) => value.contains('\n'),
        ContextValue::Strings(values) => values.iter().any(|value| value.contains('\n')),
        _ => false,
    });
    if !error.use_stderr() || (output::is_harmless(&text) && !has_lines) {
        let _ = error.print();
    } else {
        output::log_line(&text);
    }
}

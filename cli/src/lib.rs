//! Code review of merge requests by a panel of AI reviewers and a judge.
//!
//! This crate is the composition root: the only place that knows everyone. It reads arguments and environment, wires
//! the plugins, the gateway and the agent runtime to the engine, prints, and turns the outcome into an exit code.

mod args;
mod commands;
mod context;
mod crash;
pub mod diff;
mod doctor;
mod env;
pub mod exit;
mod init;
mod output;
mod private_files;
mod protection;
#[cfg(test)]
mod reference_tests;
mod run;

use std::{ffi::OsString, sync::Arc, time::Duration};

use clap::error::ContextValue;
use conclave_opencode::InstallError;

pub use self::exit::Exit;
use self::{
    args::{Arguments, RefusedReview, with_variables},
    context::Context,
    env::Environment,
    exit::Failure,
    output::Output,
};

/// Time that what is said of a command that has not begun has to be written.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// Runs the program with these arguments and this environment.
pub fn run(
    arguments: impl IntoIterator<Item = OsString>,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Exit {
    crash::contained(|| run_to_exit(arguments, environment))
}

fn run_to_exit(
    arguments: impl IntoIterator<Item = OsString>,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Exit {
    crash::contain_file_limits();
    let environment = Environment::new(environment);
    protection::start(&environment);
    if environment.goes_past_proxies() {
        conclave_certificates::go_past_proxies();
    }
    let context = Context::new(environment);
    let given: Vec<OsString> = arguments.into_iter().collect();
    let arguments = match Arguments::read(given.iter().cloned(), &context.env) {
        Ok(arguments) => arguments,
        Err(error) => {
            let exit = refuse(&error, &given, context);
            output::settle(LAST_WORDS);
            return exit;
        }
    };
    let (output, environment) = (context.output.clone(), context.env.clone());
    output::set_locale(&context.env);
    output::logging::start(&context.env, context.redactor.clone());
    crash::before_threads(&output);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            fail(&output, &Failure::io("start the threads of the runtime")(error));
            output::settle(LAST_WORDS);
            return Exit::Usage;
        }
    };
    crash::with_threads(&output);
    let exit = runtime.block_on(async {
        let signals = Arc::clone(&context.signals);
        let result = Box::pin(commands::run(arguments, context)).await;
        let exit = result.unwrap_or_else(|failure| {
            let failure = match failure {
                Failure::Settings(text) => Failure::Settings(with_variables(&text, &given, &environment)),
                failure => failure,
            };
            fail(&output, &failure);
            failure.exit()
        });
        // What took the signals of the command may be gone. They have to end this wait as well.
        let _ = signals.watch();
        if !output::written(signals.out_of_patience()).await {
            return signals.exit().unwrap_or(exit);
        }
        let exit = delivered(exit, &output);
        output::resume_commands();
        output::written(signals.out_of_patience()).await;
        exit
    });
    // Everything that had to end has ended. Dropping the runtime would wait for what is left, such as a name server that does
    // not answer for the tracker's name.
    runtime.shutdown_background();
    exit
}

/// The exit code of a command whose result may not have arrived: then it has failed.
fn delivered(exit: Exit, output: &Output) -> Exit {
    let Some(error) = output::lost() else { return exit };
    fail(output, &Failure::io("write to standard output")(error));
    if let Some(note) = made_all_the_same(output) {
        output.note(&note);
    }
    match exit {
        Exit::Reviewed => Exit::Usage,
        exit => exit,
    }
}

/// Returns the note on a command that has changed something and could not print that: a script that reads the exit code alone would do it
/// again.
fn made_all_the_same(output: &Output) -> Option<String> {
    let change = output.change()?;
    Some(format!("The command was carried out all the same: {}", change.trim()))
}

/// Shows a failure, and what can be done where the machine gives too little.
fn fail(output: &Output, failure: &Failure) {
    output.error(failure);
    // An installation says itself how much room it takes.
    let is_said = matches!(failure, Failure::Install(InstallError::Write { .. }));
    let text = failure.to_string();
    if let Some(remedy) = crash::remedy(&text).filter(|_| !is_said) {
        output.remedy(remedy);
    }
    if let Some(remedy) = conclave_certificates::remedy(&text).filter(|remedy| !text.contains(remedy.as_str())) {
        output.note(&exit::capitalized(&remedy));
    }
}

/// Shows what is wrong with the arguments, and undoes what a review would have to undo.
fn refuse(error: &clap::Error, given: &[OsString], context: Context) -> Exit {
    show_usage(error);
    // Help and version are no errors; clap prints all three where they belong.
    if !error.use_stderr() {
        return delivered(Exit::Reviewed, &context.output);
    }
    // A review before a push that cannot begin stops no push.
    if given.get(1..3).is_some_and(|command| command == ["hook", "pre-push"]) {
        context.output.note("Nothing was reviewed; the push goes on.");
        return Exit::Reviewed;
    }
    if let Ok(runtime) = tokio::runtime::Runtime::new() {
        runtime.block_on(async {
            run::directory::clear_refused(given, &context.env).await;
            if let Some(review) = RefusedReview::read(given, &context.env) {
                Box::pin(commands::refused(&review, context)).await;
            }
        });
        runtime.shutdown_background();
    }
    Exit::Usage
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
        let printed = error.print();
        if !error.use_stderr() {
            output::note_lost(printed);
        }
    } else {
        output::log_line(&text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_whose_text_was_lost_is_said_to_be_made() {
        let output = Output::default();
        let made = || made_all_the_same(&output.clone());
        assert_eq!(made(), None, "nothing was changed");
        output.print_change("openai is on (revision 7).".to_owned(), None);
        let said = "The command was carried out all the same: openai is on (revision 7).";
        assert_eq!(made().as_deref(), Some(said));
    }

    #[test]
    fn wrong_arguments_fail_a_command_but_stop_no_push() {
        let exit = |line: &[&str]| {
            let line = std::iter::once(&"conclave").chain(line).map(OsString::from);
            let given: Vec<OsString> = line.collect();
            let context = Context::new(Environment::default());
            let error = Arguments::read(given.iter().cloned(), &context.env).expect_err("refused");
            refuse(&error, &given, context)
        };
        assert_eq!(exit(&["local", "--agents", "abc"]), Exit::Usage);
        assert_eq!(exit(&["hook", "install", "--nonsense"]), Exit::Usage);
        assert_eq!(exit(&["hook", "pre-push", "--nonsense"]), Exit::Reviewed);
    }
}

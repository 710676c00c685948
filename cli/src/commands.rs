//! The commands.

mod config;
mod confirm;
mod demo;
mod generated;
mod hook;
mod init;
mod local;
mod memory;
mod replay;
mod review;
mod runtime;
mod workflow_job;

use crate::{
    args::{Arguments, Command, mistaken_variables},
    context::Context,
    doctor,
    exit::{Exit, Failure},
    output,
};

pub(crate) use self::review::refused;

/// Runs the command that was asked for.
pub(crate) async fn run(arguments: Arguments, mut context: Context) -> Result<Exit, Failure> {
    if matches!(
        arguments.command,
        Command::Local(_) | Command::Review(_) | Command::Plan(_) | Command::Hook(_)
    ) {
        for mistake in mistaken_variables(&context.env) {
            context.output.warn(mistake);
        }
    }
    match arguments.command {
        Command::Local(arguments) if arguments.install_hook => {
            hook::install(arguments.place.repo.as_deref(), &context).await
        }
        Command::Local(arguments) => Box::pin(local::run(arguments, &context)).await,
        Command::Review(arguments) => {
            if context.env.is_github_job() {
                output::stop_commands();
            }
            context.trust(arguments.ca_file.as_deref());
            context.follow(arguments.handed_on.as_deref());
            Box::pin(review::run(arguments, &context)).await
        }
        Command::Plan(arguments) => Box::pin(local::plan(arguments, &context)).await,
        Command::Replay(arguments) => replay::run(&arguments, &context),
        Command::Demo => Box::pin(demo::run(&context)).await,
        Command::Doctor(arguments) => {
            context.trust(arguments.ca_file.as_deref());
            Box::pin(doctor::run(arguments, &context)).await
        }
        Command::Init(arguments) => init::run(arguments, &context.output).await,
        Command::Completions(arguments) => Ok(generated::completions(&arguments)),
        Command::Man(arguments) => generated::man(&arguments),
        Command::Runtime(arguments) => Box::pin(runtime::run(arguments.command, &context)).await,
        Command::Hook(arguments) => Box::pin(hook::run(arguments.command, &context)).await,
        Command::Config(arguments) => Box::pin(config::run(arguments.command, &context)).await,
        Command::Memory(arguments) => Box::pin(memory::run(arguments.command, &context)).await,
    }
}

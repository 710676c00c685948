//! The commands.

mod config;
mod confirm;
mod doctor;
mod generated;
mod hook;
mod init;
mod local;
mod memory;
mod plan;
mod replay;
mod review;

use conclave_shared::redact::Redactor;

use crate::{
    args::{Arguments, Command},
    env::Environment,
    exit::{Exit, Failure},
};

pub(crate) use self::review::refused;

/// Runs the command that was asked for.
pub(crate) async fn run(arguments: Arguments, environment: &Environment, redactor: &Redactor) -> Result<Exit, Failure> {
    match arguments.command {
        Command::Local(arguments) if arguments.install_hook => {
            hook::install(arguments.place.repo.as_deref(), redactor).await
        }
        Command::Local(arguments) => Box::pin(local::run(arguments, environment, redactor)).await,
        Command::Review(arguments) => review::run(arguments, environment, redactor).await,
        Command::Plan(arguments) => Box::pin(plan::run(arguments, environment, redactor)).await,
        Command::Replay(arguments) => replay::run(&arguments, redactor),
        Command::Doctor(arguments) => Box::pin(doctor::run(arguments, environment, redactor)).await,
        Command::Init(arguments) => init::run(arguments, redactor).await,
        Command::Completions(arguments) => Ok(generated::completions(&arguments)),
        Command::Man(arguments) => generated::man(&arguments),
        Command::Hook(arguments) => Box::pin(hook::run(arguments.command, environment, redactor)).await,
        Command::Config(arguments) => Box::pin(config::run(arguments.command, environment, redactor)).await,
        Command::Memory(arguments) => Box::pin(memory::run(arguments.command, environment, redactor)).await,
    }
}

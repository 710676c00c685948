//! `conclave hook`: a review before each push.

use std::io::Read;

use camino::Utf8Path;
use conclave_git::Repository;
use conclave_plugin_local::{HookState, Push, Range, install_hook, passed_over, pushes, uninstall_hook};

use super::local;
use crate::{
    args::{Gate, HookCommand, PrePushArguments},
    context::Context,
    exit::{Exit, Failure},
    output,
    run::{directory, scratch::Scratch},
};

pub(crate) async fn run(command: HookCommand, context: &Context) -> Result<Exit, Failure> {
    match command {
        HookCommand::Install(place) => install(place.repo.as_deref(), context).await,
        HookCommand::Uninstall(place) => {
            show(&uninstall_hook(here(place.repo.as_deref())).await?, context);
            Ok(Exit::Reviewed)
        }
        HookCommand::PrePush(arguments) => Box::pin(pre_push(*arguments, context)).await,
    }
}

/// Installs the hook in the repository around this directory.
pub(crate) async fn install(repo: Option<&Utf8Path>, context: &Context) -> Result<Exit, Failure> {
    show(&install_hook(here(repo)).await?, context);
    Ok(Exit::Reviewed)
}

fn here(repo: Option<&Utf8Path>) -> &Utf8Path {
    repo.unwrap_or(Utf8Path::new("."))
}

fn show(state: &HookState, context: &Context) {
    context.output.note(&match state {
        HookState::Installed(path) => format!(
            "Installed {path}: each push to a branch is reviewed before, and significant concerns stop it. `git push --no-verify` goes past \
             it once, CONCLAVE_GATE=off lets it only show what it finds, `conclave hook uninstall` takes it away."
        ),
        HookState::Present(path) => format!("{path} reviews already; nothing was changed."),
        HookState::MadeExecutable(path) => format!(
            "{path} was there, but git did not run it, because it was not executable. It is now: each push to a branch is reviewed before."
        ),
        HookState::Removed(path) => format!("Removed {path}."),
        HookState::Absent(path) => format!("There is no hook of Conclave at {path}; nothing was changed."),
    });
}

/// Reviews what git is about to push. Only what a review says stops a push, and a person who stops the review: that
/// something is broken or missing does not.
async fn pre_push(mut arguments: PrePushArguments, context: &Context) -> Result<Exit, Failure> {
    let output = &context.output;
    arguments.common.gate.get_or_insert(Gate::Block);
    let mut input = String::new();
    std::io::stdin()
        .read_to_string(&mut input)
        .map_err(Failure::io("read what git says of the push"))?;
    let others = passed_over(&input);
    if let Some(first) = others.first() {
        let more = match others.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        output.note(&format!("Only branches are reviewed: {first}{more} goes on without."));
    }
    for push in pushes(&input) {
        match Box::pin(review(&push, &arguments, &context.for_another_run())).await {
            Ok(Exit::Reviewed) => {}
            Ok(exit @ (Exit::Blocked | Exit::Inconclusive)) => {
                output.note("The push is stopped by this review; `git push --no-verify` pushes all the same.");
                return Ok(exit);
            }
            Ok(exit) if exit.is_stopped() => return Ok(exit),
            Ok(Exit::OutOfTime) => output.note("The review did not end in time; the push goes on."),
            Ok(_) => output.note("The review's records could not be written; the push goes on."),
            Err(failure) => {
                output.error(failure);
                output.note("Nothing was reviewed; the push goes on.");
            }
        }
    }
    // The signals of the reviews are watched for no longer.
    let _ = context.watch_signals();
    if output::written(context.signals.out_of_patience()).await
        && let Some(error) = output::lost()
    {
        output.note(&format!("The review could not be shown: {error}; the push goes on."));
    }
    Ok(Exit::Reviewed)
}

async fn review(push: &Push, arguments: &PrePushArguments, context: &Context) -> Result<Exit, Failure> {
    let repository = Repository::open(Utf8Path::new(".")).await?;
    // What CI will compare with; without a default branch, what the server has of this branch.
    let Some(base) = repository.default_branch().await.or_else(|| push.remote.clone()) else {
        let note = "No default branch was found to compare with; what is pushed is not reviewed.";
        context.output.note(note);
        return Ok(Exit::Reviewed);
    };
    context.watch_signals()?;
    let common = &arguments.common;
    let cleared = directory::clear(common.output.as_deref(), common.reports.as_deref(), &context.env).await;
    let scratch = Scratch::create(context.signals.stop())?;
    let range = Range::Commits {
        base,
        head: push.commit.clone(),
    };
    let source = cleared.and(local::source(Ok(range), None, &scratch, context).await);
    local::review(source, None, common, scratch, context).await
}

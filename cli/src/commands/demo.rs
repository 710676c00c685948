//! `conclave demo`: a review of an example that is part of the program, by a model that is part of it too.

use std::ffi::OsString;

use conclave_scripted_provider::{DemoModel, ScriptedProvider};
use secrecy::ExposeSecret;

use super::local;
use crate::{
    args::{Arguments, Command, problem_of},
    context::Context,
    env::names,
    exit::{Exit, Failure},
    output::layout::hang,
    run::scratch::Scratch,
};

/// The repository of `scripts/demo-repository`, as `git fast-export` writes it.
const EXAMPLE: &[u8] = include_bytes!("../assets/example.fast-import");
const BRANCH: &str = "feature/order-export";
/// Variables that a demo takes over: where it runs and how it is shown. No key, no service, no job.
const KEPT: [&str; 21] = [
    "PATH",
    "HOME",
    "TMPDIR",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "COLUMNS",
    names::OPENCODE,
    "CONCLAVE_RUNTIME",
    names::SANDBOX,
    names::SANDBOX_PROGRAMS,
    names::DEBUGGABLE,
    names::EDITOR_LINK,
    names::LOG,
    "CONCLAVE_OUTPUT",
    "CONCLAVE_FORMAT",
];

pub(super) async fn run(context: &Context) -> Result<Exit, Failure> {
    let output = &context.output;
    // Before there is a directory that a signal could leave behind.
    context.watch_signals()?;
    let scratch = Scratch::create(context.signals.stop())?;
    let repository = scratch.path().join("shop");
    tokio::select! {
        exit = context.signals.arrived() => return Ok(exit),
        imported = conclave_git::import(&repository, EXAMPLE, BRANCH) => imported?,
    }
    let key = conclave_gateway::random_run_key()?;
    let provider = ScriptedProvider::builder()
        .api_key(key.expose_secret())
        .model(DemoModel::new())
        .start()
        .await
        .map_err(Failure::io("open a port on 127.0.0.1"))?;
    let environment = context
        .env
        .only(&KEPT)
        .with(names::ANTHROPIC_API_KEY, key.expose_secret())
        .with(names::ANTHROPIC_BASE_URL, &provider.url());
    let introduction = "A demo: a small order service with a flawed branch is reviewed. Panel, judge and checks are the real ones; \
                        the model is a scripted stand-in that looks for fixed patterns. It asks no provider, needs no key and costs \
                        nothing (the costs below are what a paid model would have taken).";
    output.layout(&format!("{}\n", hang(introduction, 0)));
    let range = format!("main..{BRANCH}");
    let line = ["conclave", "local", &range, "--repo", repository.as_str()].map(OsString::from);
    let arguments = Arguments::read(line, &environment).map_err(|error| Failure::Settings(problem_of(&error)))?;
    let Command::Local(arguments) = arguments.command else {
        return Err(Failure::Settings(
            "the demo's arguments belong to another command".to_owned(),
        ));
    };
    let exit = Box::pin(local::run(arguments, &context.within(environment))).await?;
    if exit == Exit::Reviewed {
        output.layout(
            "\nReview your own work, in a repository of yours:\n\
             \x20 export ANTHROPIC_API_KEY=...   or another provider's\n\
             \x20 conclave doctor                is everything here that a review needs?\n\
             \x20 conclave local                 what you have changed since the default branch",
        );
    }
    Ok(exit)
}

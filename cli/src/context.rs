//! What every command has besides its arguments.

pub(crate) mod signals;

use std::{sync::Arc, time::Duration};

use camino::Utf8Path;
use tokio::time::Instant;

use self::signals::Signals;
use crate::{
    env::{Environment, names},
    exit::Failure,
    output::Output,
};
use conclave_shared::redact::Redactor;

/// Time for each step of a run that has to end.
const LAST_STEP: Duration = Duration::from_secs(5);

/// A step of a run that has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastStep {
    /// What is known is posted.
    Post,
    /// An earlier approval is taken back.
    TakeBack,
    /// The check gets its end.
    Check,
}

impl LastStep {
    /// Time after the signal in a job of GitHub Actions, which sends another one after 7.5 seconds, and kills 2.5 seconds later.
    const fn after_signal(self) -> Duration {
        Duration::from_millis(match self {
            Self::Post => 3_500,
            Self::TakeBack => 4_500,
            Self::Check => 6_500,
        })
    }
}

/// The environment, the door for what is printed, and what ends a run early.
#[derive(Debug)]
pub(crate) struct Context {
    /// The environment, with what arguments say in place of variables.
    pub(crate) env: Environment,
    /// Takes secrets out of what is stored and sent.
    pub(crate) redactor: Redactor,
    /// Prints without secrets.
    pub(crate) output: Output,
    /// What ends a run before its end, once it is watched for.
    pub(crate) signals: Arc<Signals>,
}

impl Context {
    pub(crate) fn new(env: Environment) -> Self {
        let redactor = env.redactor();
        Self {
            output: Output::new(redactor.clone()),
            redactor,
            env,
            signals: Arc::default(),
        }
    }

    /// The same run in another environment.
    pub(crate) fn within(&self, env: Environment) -> Self {
        Self {
            signals: Arc::clone(&self.signals),
            ..Self::new(env)
        }
    }

    /// The same for another run, which the signals and time limits of this one do not end.
    pub(crate) fn for_another_run(&self) -> Self {
        Self {
            env: self.env.clone(),
            redactor: self.redactor.clone(),
            output: self.output.clone(),
            signals: Arc::default(),
        }
    }

    /// Trusts the certificates that an argument names.
    pub(crate) fn trust(&mut self, ca_file: Option<&Utf8Path>) {
        if let Some(file) = ca_file {
            self.env = self.env.with(names::CA_FILE, file.as_str());
        }
    }

    /// Reads what another workflow has handed on from the file that an argument names.
    pub(crate) fn follow(&mut self, handed_on: Option<&Utf8Path>) {
        if let Some(file) = handed_on {
            self.env = self.env.with(names::HANDED_ON, file.as_str());
        }
    }

    /// The moment at which a step of a run that has to end is given up.
    pub(crate) fn given_up(&self, step: LastStep) -> Instant {
        match self.signals.asked_at().filter(|_| self.env.is_github_job()) {
            Some(asked) => asked + step.after_signal(),
            None => Instant::now() + LAST_STEP,
        }
    }

    /// Lets signals end a run in good order from here on.
    pub(crate) fn watch_signals(&self) -> Result<(), Failure> {
        self.signals.watch().map_err(Failure::io("watch for signals"))
    }
}

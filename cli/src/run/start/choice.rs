//! The choice between the agent runtimes.
//!
//! OpenCode needs more than a second before it answers, so it starts before the repository's settings are known, and is ended
//! again if they ask for the native runtime.

use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use conclave_engine::{repo_config::RuntimeChoice, review::RuntimeName};
use conclave_opencode::{
    Answered, ProcessError, Programs, Sandbox, Search, StartError, check_version, no_opencode, unfit_place,
};
use conclave_sandbox::SandboxStatus;
use conclave_shared::{redact::Redactor, sandbox::SandboxLevel};
use secrecy::SecretString;
use tokio::sync::watch;

use super::{
    opencode::{Child, Wanted},
    sandbox::{around_child, around_question, compare, demand, sandbox_here},
};
use crate::{
    env::{Environment, names},
    exit::Failure,
    run::{directory::programs_directory, prepare::components::OfRepository, recording::RunRecording},
};

/// The agent runtime of a run, while the change is still being read.
pub(crate) enum Starting {
    OpenCode {
        child: Box<Child>,
        /// True if the native runtime takes its place where it cannot be used.
        replaceable: bool,
    },
    Native {
        /// The cause why it is not OpenCode, where it could have been.
        instead: Option<ProcessError>,
    },
}

/// The runtime that the job asks for. A recorded run is repeated on the runtime that it had.
pub(crate) fn of_job(
    argument: Option<RuntimeChoice>,
    recording: &RunRecording,
) -> Result<Option<RuntimeChoice>, Failure> {
    let Some(recorded) = recording.runtime() else {
        return Ok(argument);
    };
    let choice = match recorded {
        RuntimeName::OpenCode => RuntimeChoice::OpenCode,
        RuntimeName::Native => RuntimeChoice::Native,
    };
    match argument {
        Some(argument) if argument != RuntimeChoice::Auto && argument != choice => Err(Failure::Settings(format!(
            "the recording is of a run on {}, and --runtime is {argument}: its calls would not be found. Use --runtime \
             {choice}, or leave it out",
            recorded.describe()
        ))),
        _ => Ok(Some(choice)),
    }
}

/// What is known before OpenCode is started, and what it needs.
pub(crate) struct Place<'a> {
    pub(crate) env: &'a Environment,
    pub(crate) redactor: &'a Redactor,
    pub(crate) scratch: &'a Utf8Path,
    pub(crate) workspace: &'a Utf8Path,
    /// Places of the user's that no agent has to see.
    pub(crate) private: &'a [Utf8PathBuf],
    /// The least sandbox that the job accepts.
    pub(crate) required: Option<SandboxLevel>,
}

/// Returns whether the native runtime takes OpenCode's place where that cannot be used. A binary that is named is meant.
fn is_replaceable(env: &Environment, choice: Option<RuntimeChoice>) -> bool {
    choice != Some(RuntimeChoice::OpenCode) && env.get(names::OPENCODE).is_none()
}

/// The search for the programs that OpenCode as a runtime consists of. One that has to be asked for its version is in this sandbox then.
fn search<'a>(env: &'a Environment, installed: Option<&'a Utf8Path>, sandbox: &'a Sandbox) -> Search<'a> {
    Search {
        configured: env.get(names::OPENCODE).map(Utf8Path::new),
        installed,
        path: env.path(),
        sandbox,
    }
}

/// The programs of OpenCode. Where nothing names them, a problem is why `auto` is the native runtime.
async fn find_programs(env: &Environment, sandbox: &Sandbox) -> Result<Programs, ProcessError> {
    let installed = programs_directory(env);
    search(env, installed.as_deref(), sandbox).programs().await
}

/// The agent runtime that a review here would run on, as far as that is known without starting it.
#[derive(Debug)]
pub(crate) enum Foreseen {
    /// The native one.
    Native {
        /// The cause why it is not OpenCode, where it could have been.
        instead: Option<ProcessError>,
    },
    /// OpenCode, with its programs, or why a review could not start.
    OpenCode {
        opencode: Result<Utf8PathBuf, ProcessError>,
        ripgrep: Result<Answered, ProcessError>,
    },
    /// OpenCode, of which nothing may run here, not even to say its version.
    Refused(Failure),
}

/// Foresees the runtime of a review that this is chosen for, which requires this sandbox. OpenCode's version is asked for only if that
/// is wished: it takes as long as half a start.
pub(crate) async fn foresee(
    env: &Environment,
    choice: RuntimeChoice,
    places: &[Utf8PathBuf],
    required: Option<SandboxLevel>,
    asks_version: bool,
) -> Foreseen {
    if choice == RuntimeChoice::Native {
        return Foreseen::Native { instead: None };
    }
    let is_replaceable = is_replaceable(env, Some(choice));
    let installed = programs_directory(env);
    if is_replaceable && let Some(problem) = no_opencode(installed.as_deref(), env.path()) {
        return Foreseen::Native { instead: Some(problem) };
    }
    // Nothing of OpenCode runs in less of a sandbox than is required.
    let sandbox = match around_question(env, places, required).await {
        Ok(sandbox) => sandbox,
        Err(failure) => return Foreseen::Refused(failure),
    };
    let search = search(env, installed.as_deref(), &sandbox);
    let opencode = async {
        let binary = search.opencode().await?;
        if asks_version {
            check_version(&binary, search.path, &sandbox).await?;
        }
        Ok::<_, ProcessError>(binary)
    };
    // Both at once: one that does not answer does not add its time to the other's.
    let found = tokio::join!(opencode, search.ripgrep());
    match found {
        (Err(problem), _) | (_, Err(problem)) if is_replaceable => Foreseen::Native { instead: Some(problem) },
        (opencode, ripgrep) => Foreseen::OpenCode { opencode, ripgrep },
    }
}

impl Foreseen {
    /// Which one it is.
    pub(crate) const fn name(&self) -> RuntimeName {
        match self {
            Self::Native { .. } => RuntimeName::Native,
            Self::OpenCode { .. } | Self::Refused(_) => RuntimeName::OpenCode,
        }
    }

    /// The reason why a review that requires this sandbox could not start on it.
    pub(crate) async fn problem(self, env: &Environment, required: Option<SandboxLevel>) -> Option<Failure> {
        match self {
            Self::Refused(failure) => Some(failure),
            Self::OpenCode { opencode, ripgrep } => opencode.err().or(ripgrep.err()).map(Failure::from),
            Self::Native { .. } => {
                let here = sandbox_here(env, &[], RuntimeName::Native).await;
                here.and_then(|here| compare(here, required)).err()
            }
        }
    }
}

/// Returns whether a problem is one of an OpenCode or a ripgrep that is there: another version, one that cannot be started, one that
/// does not find its way here, or an OpenCode whose ripgrep is missing.
const fn is_its_own(problem: &ProcessError) -> bool {
    matches!(
        problem,
        ProcessError::NoneFits(_)
            | ProcessError::Version(..)
            | ProcessError::NoVersion(..)
            | ProcessError::Start(..)
            | ProcessError::NoRipgrep
            | ProcessError::BrokenRipgrep(_)
            | ProcessError::Place(_)
    )
}

impl Starting {
    /// Starts what the job asks for, once it is certain that the sandbox here is as much as is required of it: nothing of OpenCode
    /// runs in less. Where it is all of a sandbox, no settings can ask for more, and nothing is waited for.
    pub(crate) async fn begin(
        mut choice: Option<RuntimeChoice>,
        place: &Place<'_>,
        mut of_repository: watch::Receiver<Option<OfRepository>>,
    ) -> Result<Self, Failure> {
        let Place { env, required, .. } = *place;
        if choice == Some(RuntimeChoice::Native) {
            return Ok(Self::Native { instead: None });
        }
        if is_replaceable(env, choice)
            && let Some(problem) = no_opencode(programs_directory(env).as_deref(), env.path())
        {
            // Where there is none, its sandbox need not be possible: an image may have no shell to try it with.
            return Ok(Self::Native { instead: Some(problem) });
        }
        let here = sandbox_here(env, place.private, RuntimeName::OpenCode).await?;
        let here = compare(here, required)?;
        if here.level < SandboxLevel::Enforced {
            let known = of_repository
                .wait_for(Option::is_some)
                .await
                .map(|known| known.unwrap_or_default());
            // Without an answer the run has ended.
            let Ok(known) = known else {
                return std::future::pending().await;
            };
            compare(here, known.sandbox)?;
            choice = choice.or(known.runtime);
            if choice == Some(RuntimeChoice::Native) {
                return Ok(Self::Native { instead: None });
            }
        }
        let sandbox = around_child(env, place.workspace, &[])?;
        let replaceable = is_replaceable(env, choice);
        let programs = match unfit_place(place.scratch) {
            Some(problem) => Err(problem),
            None => find_programs(env, &sandbox).await,
        };
        let programs = match programs {
            Ok(programs) => programs,
            Err(problem) if replaceable => return Ok(Self::Native { instead: Some(problem) }),
            Err(problem) => return Err(problem.into()),
        };
        match Child::start(env, &programs, place.scratch, place.workspace, place.redactor) {
            Ok(child) => Ok(Self::OpenCode {
                child: Box::new(child),
                replaceable,
            }),
            Err(Failure::Process(problem)) if replaceable && is_its_own(&problem) => {
                Ok(Self::Native { instead: Some(problem) })
            }
            Err(failure) => Err(failure),
        }
    }

    /// Waits until it can be used, or is known not to be wanted.
    pub(crate) async fn answers(&mut self, wanted: watch::Receiver<Wanted>) -> Result<(), Failure> {
        let Self::OpenCode { child, replaceable } = self else {
            return Ok(());
        };
        match child.answers(wanted).await {
            Err(StartError::Process(problem)) if *replaceable && is_its_own(&problem) => {
                *self = Self::Native { instead: Some(problem) };
                Ok(())
            }
            answered => Ok(answered?),
        }
    }

    /// Takes the runtime that the repository's settings ask for, where the job asks for none.
    pub(crate) async fn settle(self, job: Option<RuntimeChoice>, repo: Option<RuntimeChoice>) -> Result<Self, Failure> {
        match (self, job.or(repo).unwrap_or_default()) {
            (Self::OpenCode { child, .. }, RuntimeChoice::Native) => {
                child.stop().await;
                Ok(Self::Native { instead: None })
            }
            (Self::Native { instead: Some(problem) }, RuntimeChoice::OpenCode) => Err(problem.into()),
            (settled, _) => Ok(settled),
        }
    }

    /// The sandbox around the agents, graded by what it opens of these places of the user's too; an error if it is less than what
    /// is required.
    pub(crate) async fn sandbox(
        &mut self,
        env: &Environment,
        places: &[Utf8PathBuf],
        required: Option<SandboxLevel>,
    ) -> Result<SandboxStatus, Failure> {
        let found = match self {
            Self::OpenCode { child, .. } => child.sandbox(places).await?,
            Self::Native { .. } => sandbox_here(env, &[], RuntimeName::Native).await?,
        };
        demand(found, required)
    }

    /// A note on the choice, for people.
    pub(crate) fn note(&self) -> Option<String> {
        match self {
            Self::Native { instead: Some(problem) } if is_its_own(problem) => {
                Some(format!("the review runs on the native runtime, because {problem}"))
            }
            _ => None,
        }
    }

    /// Which one it is.
    pub(crate) const fn name(&self) -> RuntimeName {
        match self {
            Self::OpenCode { .. } => RuntimeName::OpenCode,
            Self::Native { .. } => RuntimeName::Native,
        }
    }

    /// Sets how long a start may take.
    pub(crate) fn limit_start(&mut self, limit: Duration) {
        if let Self::OpenCode { child, .. } = self {
            child.limit_start(limit);
        }
    }

    /// The key for the gateway.
    pub(super) fn run_key(&self) -> Result<SecretString, Failure> {
        match self {
            Self::OpenCode { child, .. } => Ok(child.run_key()),
            Self::Native { .. } => Ok(conclave_gateway::random_run_key()?),
        }
    }

    /// Ends it.
    pub(crate) async fn stop(self) {
        if let Self::OpenCode { child, .. } = self {
            child.stop().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The runtime that is foreseen where there is no program at all, and why a review could not start on it.
    async fn without_programs(
        choice: RuntimeChoice,
        variables: &[(&str, &str)],
        required: Option<SandboxLevel>,
    ) -> (RuntimeName, Option<String>) {
        let empty = tempfile::tempdir().expect("a directory");
        let path = empty.path().to_str().expect("UTF-8");
        let path = [("PATH", path)];
        let variables = variables.iter().chain(&path);
        let env = Environment::new(variables.map(|(name, value)| ((*name).into(), (*value).into())));
        let foreseen = foresee(&env, choice, &[], required, true).await;
        let name = foreseen.name();
        let problem = foreseen.problem(&env, required).await;
        (name, problem.map(|problem| problem.to_string()))
    }

    #[tokio::test]
    async fn a_runtime_is_foreseen_with_what_keeps_a_review_from_starting() {
        let (auto, opencode, native) = (RuntimeChoice::Auto, RuntimeChoice::OpenCode, RuntimeChoice::Native);
        let none: &[(&str, &str)] = &[];
        let named: &[(&str, &str)] = &[("CONCLAVE_OPENCODE", "/nowhere/opencode")];
        let off: &[(&str, &str)] = &[("CONCLAVE_SANDBOX", "off")];
        let (all, part) = (Some(SandboxLevel::Enforced), Some(SandboxLevel::Partial));
        for (choice, variables, required, name, problem) in [
            (auto, none, None, RuntimeName::Native, None),
            (native, named, None, RuntimeName::Native, None),
            (opencode, none, None, RuntimeName::OpenCode, Some("is not installed")),
            (auto, named, None, RuntimeName::OpenCode, Some("which is not a file")),
            // Threads of one's own never have all of a sandbox.
            (native, none, all, RuntimeName::Native, Some("has to be `enforced`")),
            // The sandbox of an OpenCode that is not there need not be possible.
            (auto, off, part, RuntimeName::Native, Some("has to be `partial`")),
            (opencode, off, part, RuntimeName::OpenCode, Some("has to be `partial`")),
            (native, off, None, RuntimeName::Native, None),
        ] {
            let (found, said) = without_programs(choice, variables, required).await;
            assert_eq!(found, name, "{choice} {variables:?} {required:?}");
            match problem {
                None => assert_eq!(said, None, "{choice} {variables:?} {required:?}"),
                Some(problem) => {
                    let said = said.expect(problem);
                    assert!(said.contains(problem), "{choice} {variables:?}: {said}");
                }
            }
        }
    }
}

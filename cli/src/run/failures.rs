//! Where a run failed, and why, in the closed lists that the tracker counts by.

use std::io::ErrorKind;

use conclave_certificates::ClientError;
use conclave_forge::{ApiError, ApiErrorKind};
use conclave_gateway::ConfigError;
use conclave_git::GitError;
use conclave_opencode::{ProcessError, StartError};
use conclave_plugin_local::LocalError;
use conclave_shared::telemetry::{FailureKind, RunStage};

use crate::{env::providers, exit::Failure};

/// The part of a run that a failure belongs to; `current` is the part that the run had reached. Parts run side by side, so that
/// the failure itself says more where it can be of one part only.
pub(crate) fn stage(failure: &Failure, current: RunStage) -> RunStage {
    match failure {
        Failure::Range(_) => RunStage::Arguments,
        Failure::Api(_) | Failure::Forge(_) => match current {
            RunStage::Publish | RunStage::Conclude => current,
            _ => RunStage::Forge,
        },
        Failure::Git(_) | Failure::Local(_) | Failure::Diff(_) | Failure::Workspace(_) => match current {
            RunStage::Publish | RunStage::Conclude => current,
            _ => RunStage::Checkout,
        },
        Failure::RepoConfig(_) | Failure::Plugin(_) | Failure::Prompt(_) => RunStage::Configuration,
        Failure::Process(_)
        | Failure::Start(_)
        | Failure::Install(_)
        | Failure::Native(_)
        | Failure::Gateway(_)
        | Failure::Sandbox { .. } => RunStage::Runtime,
        Failure::Settings(_) | Failure::Hook(_) | Failure::Config(_) | Failure::Memory(_) | Failure::Io { .. } => {
            current
        }
    }
}

/// Why it failed.
pub(crate) fn kind(failure: &Failure) -> FailureKind {
    match failure {
        Failure::Git(error) | Failure::Local(LocalError::Git(error)) => of_git(error),
        Failure::Api(error) => of_api(error),
        Failure::Forge(_) => FailureKind::ForgeUnreachable,
        Failure::Process(error) | Failure::Start(StartError::Process(error)) => of_process(error),
        Failure::Start(_) | Failure::Native(_) => FailureKind::RuntimeFailed,
        Failure::Plugin(error) if error.0.contains(providers::NO_CREDENTIALS) => FailureKind::Unauthorized,
        Failure::Diff(_) | Failure::Workspace(_) => FailureKind::Git,
        Failure::Range(_)
        | Failure::Settings(_)
        | Failure::Local(_)
        | Failure::Plugin(_)
        | Failure::RepoConfig(_)
        | Failure::Prompt(_)
        // A recording that cannot be read was named by the caller.
        | Failure::Gateway(ConfigError::Recording(..)) => FailureKind::Settings,
        // The machine is another one than the run needs.
        Failure::Sandbox { .. }
        | Failure::Install(_)
        | Failure::Gateway(ConfigError::Client(ClientError::NoAuthorities)) => FailureKind::WrongImage,
        Failure::Hook(_) | Failure::Gateway(_) | Failure::Config(_) | Failure::Memory(_) | Failure::Io { .. } => {
            FailureKind::Internal
        }
    }
}

/// Returns whether there was nothing to do: a range that adds nothing.
pub(crate) fn is_nothing_to_review(failure: &Failure) -> bool {
    matches!(failure, Failure::Local(LocalError::Empty(_)))
}

fn of_git(error: &GitError) -> FailureKind {
    match error {
        GitError::Start(_) => FailureKind::WrongImage,
        GitError::UnknownRevision { .. } | GitError::MissingCommit { .. } => FailureKind::NotFound,
        _ => FailureKind::Git,
    }
}

fn of_api(error: &ApiError) -> FailureKind {
    match error.kind {
        ApiErrorKind::UnusableToken | ApiErrorKind::Unauthorized | ApiErrorKind::Scope | ApiErrorKind::Forbidden => {
            FailureKind::Unauthorized
        }
        ApiErrorKind::NotFound | ApiErrorKind::Moved => FailureKind::NotFound,
        ApiErrorKind::Settings => FailureKind::Settings,
        _ => FailureKind::ForgeUnreachable,
    }
}

fn of_process(error: &ProcessError) -> FailureKind {
    match error {
        ProcessError::Missing(_) | ProcessError::NoneFits(_) => FailureKind::RuntimeMissing,
        ProcessError::Version { .. }
        | ProcessError::NoVersion { .. }
        | ProcessError::NoRipgrep
        | ProcessError::BrokenRipgrep(_) => FailureKind::WrongImage,
        ProcessError::Place(_) => FailureKind::Settings,
        // A program for another machine or C library, or one that the job's user may not run.
        ProcessError::Start(_, source)
            if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied)
                || source.raw_os_error() == Some(nix::errno::Errno::ENOEXEC as i32) =>
        {
            FailureKind::WrongImage
        }
        ProcessError::Start { .. } | ProcessError::Home { .. } => FailureKind::RuntimeFailed,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use conclave_engine::{plugin::PluginError, ports::ForgeError};

    use super::*;

    #[test]
    fn every_failure_has_a_place_and_a_cause() {
        let not_found = || io::Error::from(ErrorKind::NotFound);
        let api = |kind| Failure::Api(ApiError::new(kind, "failed to read the merge request"));
        let missing = || ProcessError::Missing("no opencode on PATH".to_owned());
        let version = ProcessError::Version("/usr/bin/opencode".into(), "1.0.0".to_owned());
        for (failure, stage_of, kind_of) in [
            (
                Failure::Git(GitError::Start(not_found())),
                RunStage::Checkout,
                FailureKind::WrongImage,
            ),
            (
                api(ApiErrorKind::Unauthorized),
                RunStage::Forge,
                FailureKind::Unauthorized,
            ),
            (
                api(ApiErrorKind::Unreachable),
                RunStage::Forge,
                FailureKind::ForgeUnreachable,
            ),
            (
                Failure::Forge(ForgeError("down".to_owned())),
                RunStage::Forge,
                FailureKind::ForgeUnreachable,
            ),
            (
                Failure::Process(missing()),
                RunStage::Runtime,
                FailureKind::RuntimeMissing,
            ),
            (
                Failure::Start(StartError::Process(missing())),
                RunStage::Runtime,
                FailureKind::RuntimeMissing,
            ),
            (Failure::Process(version), RunStage::Runtime, FailureKind::WrongImage),
            (
                Failure::Process(ProcessError::NoRipgrep),
                RunStage::Runtime,
                FailureKind::WrongImage,
            ),
            (
                Failure::Gateway(ClientError::NoAuthorities.into()),
                RunStage::Runtime,
                FailureKind::WrongImage,
            ),
            (
                Failure::Start(StartError::silent(
                    "/opencode".into(),
                    std::time::Duration::from_mins(1),
                )),
                RunStage::Runtime,
                FailureKind::RuntimeFailed,
            ),
            (
                Failure::Plugin(PluginError(format!("providers: {}", providers::NO_CREDENTIALS))),
                RunStage::Configuration,
                FailureKind::Unauthorized,
            ),
            (
                Failure::Settings("--models x".to_owned()),
                RunStage::Plan,
                FailureKind::Settings,
            ),
            (
                Failure::Gateway(ConfigError::Recording("/x".into(), "is a directory".to_owned())),
                RunStage::Runtime,
                FailureKind::Settings,
            ),
            (
                Failure::io("write the records")(not_found()),
                RunStage::Plan,
                FailureKind::Internal,
            ),
        ] {
            assert_eq!(
                (stage(&failure, RunStage::Plan), kind(&failure)),
                (stage_of, kind_of),
                "{failure}"
            );
        }
        let late = Failure::Forge(ForgeError("down".to_owned()));
        assert_eq!(stage(&late, RunStage::Publish), RunStage::Publish);
        assert!(is_nothing_to_review(&Failure::Local(LocalError::Empty(String::new()))));
    }
}

//! The tracker's view of a run, from before anything is read until after its end: every run that begins is seen to end.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use conclave_engine::ports::TelemetrySink;
use conclave_plugin_github::PullRequestAddress;
use conclave_plugin_gitlab::MergeRequestAddress;
use conclave_plugin_telemetry::{Telemetry, TelemetrySettings};
use conclave_shared::telemetry::{EventBody, FailureKind, RunFailed, RunSkipped, RunStage, RunStarted, SkipReason};
use uuid::Uuid;

use crate::{
    env::{Environment, ci::project_name},
    exit::{Exit, Failure},
    output::Output,
    run::failures,
};

/// What a run is about, as far as it is known before anything is asked.
#[derive(Debug, Clone)]
pub(crate) struct RunSubject {
    /// The project's path, or the directory's name.
    pub(crate) project: String,
    /// `gitlab`, `github` or `local`.
    pub(crate) forge: &'static str,
    /// The merge request's number, where there is one.
    pub(crate) merge_request: Option<u64>,
}

impl RunSubject {
    /// A merge request of this project.
    pub(crate) fn new(forge: &'static str, project: impl Into<String>, merge_request: Option<u64>) -> Self {
        Self {
            project: project.into(),
            forge,
            merge_request,
        }
    }

    /// A merge request by its address, before the server was asked.
    pub(crate) fn at(address: &str) -> Option<Self> {
        if PullRequestAddress::is_one(address) {
            let address = PullRequestAddress::parse(address).ok()?;
            let project = project_name(&address.repository_url, &address.repository);
            return Some(Self::new("github", project, Some(address.number)));
        }
        let address = MergeRequestAddress::parse(address).ok()?;
        Some(Self::new("gitlab", address.path(), Some(address.iid())))
    }
}

/// Reports the start of a run and how it ends, whatever ends it.
#[derive(Debug)]
pub(crate) struct RunReport {
    id: Uuid,
    merge_request: Option<u64>,
    settings: Option<TelemetrySettings>,
    telemetry: Option<Arc<Telemetry>>,
    started: Instant,
    stage: Mutex<RunStage>,
    has_ended: AtomicBool,
}

impl RunReport {
    /// Reports the start of a run. Nothing is waited for. Where the tracker's settings are wrong, nobody gets the report; the
    /// run says what is wrong with them when it reads its settings. A run that fails for a file of certificates is reported with
    /// those that can be used.
    pub(crate) fn begin(environment: &Environment, subject: &RunSubject) -> Self {
        let silent = Self::silent();
        let settings = tracker(environment, silent.id, &subject.project);
        let report = Self {
            merge_request: subject.merge_request,
            telemetry: settings.clone().map(|settings| Arc::new(Telemetry::start(settings))),
            settings,
            has_ended: AtomicBool::new(false),
            ..silent
        };
        report.record(EventBody::RunStarted(RunStarted {
            tier: None,
            forge: subject.forge.to_owned(),
            merge_request: subject.merge_request,
            client_version: env!("CARGO_PKG_VERSION").to_owned(),
            reviewers: Vec::new(),
            author: None,
            limit_seconds: None,
            planned: false,
        }));
        report
    }

    /// A report that nobody gets.
    pub(crate) fn silent() -> Self {
        Self {
            id: Uuid::now_v7(),
            merge_request: None,
            settings: None,
            telemetry: None,
            started: Instant::now(),
            stage: Mutex::new(RunStage::Arguments),
            has_ended: AtomicBool::new(true),
        }
    }

    /// The run's id.
    pub(crate) const fn id(&self) -> Uuid {
        self.id
    }

    /// Where the tracker is, if there is one.
    pub(crate) fn settings(&self) -> Option<TelemetrySettings> {
        self.settings.clone()
    }

    /// Where further events go, if there is a tracker.
    pub(crate) fn telemetry(&self) -> Option<Arc<Telemetry>> {
        self.telemetry.clone()
    }

    /// Notes that a part of the run begins.
    pub(crate) fn enter(&self, stage: RunStage) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
    }

    /// Notes that the run's end was reported; and reports that it failed, if its review could not be posted.
    pub(crate) fn ended(&self, unpublished: Option<FailureKind>) {
        if let Some(kind) = unpublished {
            self.fail(RunStage::Publish, kind);
        }
        self.has_ended.store(true, Ordering::Relaxed);
    }

    /// Reports that a person skipped the review.
    pub(crate) fn skipped_by_person(&self) {
        self.skip(SkipReason::BreakGlass);
    }

    /// Reports how a run ended that has not reported its end: that it failed, and where, or that there was nothing to do.
    pub(crate) fn conclude(&self, result: &Result<Exit, Failure>) {
        let stage = *self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        match result {
            Ok(Exit::OutOfTime) => self.fail(stage, FailureKind::Timeout),
            Ok(exit) if exit.is_stopped() => self.fail(stage, FailureKind::Stopped),
            Ok(_) => self.skip(SkipReason::NothingToReview),
            Err(failure) if failures::is_nothing_to_review(failure) => self.skip(SkipReason::NothingToReview),
            Err(failure) => self.fail(failures::stage(failure, stage), failures::kind(failure)),
        }
    }

    /// Reports that the arguments were refused.
    pub(crate) fn refused(&self) {
        self.fail(RunStage::Arguments, FailureKind::Settings);
    }

    fn fail(&self, stage: RunStage, kind: FailureKind) {
        self.end(EventBody::RunFailed(RunFailed {
            stage,
            kind,
            merge_request: self.merge_request,
            duration_ms: Some(whole_milliseconds(self.started.elapsed())),
        }));
    }

    fn skip(&self, reason: SkipReason) {
        self.end(EventBody::RunSkipped(RunSkipped {
            reason,
            merge_request: self.merge_request,
        }));
    }

    /// Reports an end, unless one was reported.
    fn end(&self, event: EventBody) {
        if !self.has_ended.swap(true, Ordering::Relaxed) {
            self.record(event);
        }
    }

    /// Sends what has not been sent yet, for at most the two seconds that the last events of every run have. After the first
    /// time there is nothing left to send.
    pub(crate) async fn flush(&self, output: &Output) {
        let Some(telemetry) = &self.telemetry else { return };
        for sentence in telemetry.flush().await.sentences() {
            output.warn(sentence);
        }
    }
}

impl TelemetrySink for RunReport {
    fn record(&self, event: EventBody) {
        if let Some(telemetry) = &self.telemetry {
            telemetry.record(event);
        }
    }
}

/// The tracker that a run is reported to.
fn tracker(environment: &Environment, id: Uuid, project: &str) -> Option<TelemetrySettings> {
    let usable = || environment.without_unusable_certificates().telemetry(id, project);
    environment.telemetry(id, project).or_else(|_| usable()).ok().flatten()
}

fn whole_milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_fails_for_its_certificates_is_reported_all_the_same() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = folder.path().join("not.pem");
        std::fs::write(&text, "no certificate").expect("a file");
        for file in ["/nonexistent/ca.pem".to_owned(), text.to_string_lossy().into_owned()] {
            let variables = [
                ("CONCLAVE_CA_FILE", file.as_str()),
                ("CONCLAVE_TRACKER_URL", "https://tracker.example"),
                ("CONCLAVE_TRACKER_TOKEN", "t"),
            ];
            let environment = Environment::new(variables.map(|(name, value)| (name.into(), value.into())));
            assert!(environment.telemetry(Uuid::nil(), "p").is_err(), "{file}");
            assert!(tracker(&environment, Uuid::nil(), "p").is_some(), "{file}");
        }
        let none = Environment::new([("CONCLAVE_TRACKER_URL".into(), "tracker.example".into())]);
        assert!(tracker(&none, Uuid::nil(), "p").is_none());
    }
}

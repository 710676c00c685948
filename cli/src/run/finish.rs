//! The end of a run: the records, what is printed, and what is posted.

pub(crate) mod outcome;

use std::time::Duration;

use camino::Utf8Path;
use conclave_engine::{
    diff::FileDiff,
    ports::{ForgeError, Publication, PublishOutcome, PublishSettings, TelemetrySink},
    repo_config::RepoConfig,
    review::{Review, StopCause},
};
use conclave_shared::{redact::Redactor, verdict::Verdict};
use tokio::time::timeout;

use crate::{
    args::ReviewFormat,
    context::signals::Signals,
    exit::Failure,
    output,
    run::{
        directory::RunDirectory,
        execute::source,
        prepare::{change::Job, settings_files::SettingsInUse},
        reports,
        start::runtime::Runtime,
        stopwatch::Stopwatch,
        telemetry::record_stance,
    },
};

/// How long posting may take once the run has to end.
const LAST_POST: Duration = Duration::from_secs(5);

/// What the end of a run needs.
pub(crate) struct Ending<'a> {
    pub(crate) job: &'a Job,
    /// The changed files.
    pub(crate) files: &'a [FileDiff],
    pub(crate) publishing: PublishSettings,
    /// The repository's settings in force.
    pub(crate) settings: &'a RepoConfig,
    pub(crate) sink: &'a dyn TelemetrySink,
    pub(crate) format: ReviewFormat,
    /// How places are opened from the terminal.
    pub(crate) links: output::Links,
    pub(crate) directory: &'a RunDirectory,
    /// Where the reports go besides the run directory.
    pub(crate) reports: Option<&'a Utf8Path>,
    pub(crate) redactor: &'a Redactor,
    pub(crate) signals: &'a Signals,
}

impl Ending<'_> {
    /// Stops the runtime, writes the records, prints, posts. Returns what became of what was posted, if anything was.
    pub(crate) async fn conclude(
        &self,
        review: &mut Review,
        runtime: Runtime,
        early: bool,
        watch: &mut Stopwatch,
    ) -> Result<Option<PublishOutcome>, Failure> {
        if early {
            // Whoever stops a job kills it soon after: what is known goes out while everything is being stopped.
            review.seconds = watch.total();
            let (_, posted) = tokio::join!(runtime.stop(), timeout(LAST_POST, self.publish(review, true)));
            return posted.unwrap_or_else(|_| Err(ForgeError("the forge took too long".to_owned()).into()));
        }
        review.warnings.extend(runtime.stop().await);
        watch.lap("shutdown");
        review.stages.extend(watch.last());
        review.seconds = watch.total();
        tokio::select! {
            posted = self.publish(review, false) => posted,
            () = self.out_of_patience() => Err(ForgeError("the run was stopped before everything was posted".to_owned()).into()),
        }
    }

    /// Returns once a run that was asked to end has used up its time for posting. The run's own limit does not cut a post short.
    async fn out_of_patience(&self) {
        if self.signals.stop().stopped().await != StopCause::Asked {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(LAST_POST).await;
    }

    async fn publish(&self, review: &mut Review, hurried: bool) -> Result<Option<PublishOutcome>, Failure> {
        if !hurried && let Some(forge) = &self.job.forge {
            // What another run has posted meanwhile is printed and kept with the review. Where that cannot be read, posting says
            // so, which reads it again.
            let meanwhile = forge.meanwhile(review).await.unwrap_or_default();
            review.add_meanwhile(&meanwhile);
        }
        let excerpts = source::excerpts(&self.job.repository, review).await;
        if let Err(failure) = self.record(review, &excerpts) {
            output::note(&format!("Warning: {failure}"), self.redactor);
            without_records(review, &failure);
        }
        output::reviewed(
            review,
            &output::Shown {
                format: self.format,
                excerpts: &excerpts,
                directory: self.directory.path(),
                links: self.links.clone(),
            },
            self.redactor,
        );
        let posted = self.post(review, hurried).await?;
        if let Some(amended) = posted.as_ref().and_then(|outcome| outcome.amended.as_deref()) {
            // It is posted as another one than was printed: the records have to tell the same as the note.
            review.clone_from(amended);
            if let Err(failure) = self.record(review, &excerpts) {
                output::note(&format!("Warning: {failure}"), self.redactor);
            }
        }
        Ok(posted)
    }

    fn record(&self, review: &Review, excerpts: &output::Excerpts) -> Result<(), Failure> {
        let lines = serde_json::to_string(excerpts).unwrap_or_default();
        let directories = std::iter::once(self.directory.path()).chain(self.reports);
        reports::write(review, self.redactor, directories)?;
        self.directory
            .write(output::Excerpts::FILE, self.redactor.redact(&lines).as_bytes())?;
        Ok(())
    }

    async fn post(&self, review: &Review, hurried: bool) -> Result<Option<PublishOutcome>, Failure> {
        let Some(forge) = &self.job.forge else { return Ok(None) };
        // Secrets go before anything is made of the texts: afterwards they could be encoded, or cut in two.
        let review = output::without_secrets(review, self.redactor)
            .map_err(|error| ForgeError(format!("the review could not be cleaned of secrets: {error}")))?;
        let outcome = forge
            .publish(Publication {
                review: &review,
                files: self.files,
                sources: &source::texts_with_fixes(&self.job.repository, &review).await,
                settings: self.publishing,
                hurried,
                settings_watch: &SettingsInUse::new(
                    &self.job.repository,
                    self.job.later.as_ref(),
                    self.job.subject.settings_commit(),
                    self.settings,
                ),
            })
            .await?;
        record_stance(self.sink, review.merge_request, &outcome);
        output::posted(&outcome, self.redactor);
        Ok(Some(outcome))
    }
}

/// A review whose records are lost is shown and posted, but cannot be looked into later: it approves nothing.
fn without_records(review: &mut Review, failure: &Failure) {
    let gap = format!("the records of this run were lost: {failure}");
    if review.verdict.approves() {
        review.verdict = Verdict::Inconclusive;
        review.verdict_reason.clone_from(&gap);
    }
    review.coverage.gaps.push(gap);
}

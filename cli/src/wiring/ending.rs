//! The end of a run: the records, what is printed, and what is posted.

use std::time::Duration;

use camino::Utf8Path;
use conclave_engine::{
    ports::ForgeError,
    report::{Review, render_markdown},
};
use conclave_shared::{redact::Redactor, verdict::Verdict};
use tokio::time::timeout;

use super::{Job, runtime::Runtime, source, stopwatch::Stopwatch};
use crate::{args::Format, exit::Failure, output, reports, rundir::RunDirectory};

/// How long posting may take once the run has to end.
const LAST_POST: Duration = Duration::from_secs(5);

/// What the end of a run needs.
pub(super) struct Ending<'a> {
    pub(super) job: &'a Job,
    pub(super) format: Format,
    pub(super) directory: &'a RunDirectory,
    /// Where the reports go besides the run directory.
    pub(super) reports: Option<&'a Utf8Path>,
    pub(super) redactor: &'a Redactor,
}

impl Ending<'_> {
    /// Stops the runtime, writes the records, prints, posts.
    pub(super) async fn conclude(
        &self,
        review: &mut Review,
        runtime: Runtime,
        early: bool,
        watch: &mut Stopwatch,
    ) -> Result<(), Failure> {
        if early {
            // Whoever stops a job kills it soon after: what is known goes out while everything is being stopped.
            review.seconds = watch.total();
            let (_, posted) = tokio::join!(runtime.stop(), timeout(LAST_POST, self.publish(review)));
            return posted.unwrap_or_else(|_| Err(ForgeError("the forge took too long".to_owned()).into()));
        }
        review.warnings.extend(runtime.stop().await);
        watch.lap("shutdown");
        review.stages.extend(watch.last());
        review.seconds = watch.total();
        self.publish(review).await
    }

    async fn publish(&self, review: &mut Review) -> Result<(), Failure> {
        let excerpts = source::excerpts(&self.job.repository, review).await;
        if let Err(failure) = self.record(review, &excerpts) {
            output::note(&format!("Warning: {failure}"), self.redactor);
            without_records(review, &failure);
        }
        match self.format {
            Format::Json => output::print(&output::json(review, self.redactor)),
            Format::Human => {
                let text = output::review(review, &excerpts, self.directory.path());
                output::print(&self.redactor.redact(&text));
            }
        }
        self.post(review).await
    }

    fn record(&self, review: &Review, excerpts: &output::Excerpts) -> Result<(), Failure> {
        let lines = serde_json::to_string(excerpts).unwrap_or_default();
        let directories = std::iter::once(self.directory.path()).chain(self.reports);
        reports::write(review, self.redactor, directories)?;
        self.directory
            .write(output::Excerpts::FILE, self.redactor.redact(&lines).as_bytes())?;
        Ok(())
    }

    async fn post(&self, review: &Review) -> Result<(), Failure> {
        let Some(forge) = &self.job.forge else { return Ok(()) };
        let text = self.redactor.redact(&render_markdown(review));
        let outcome = forge.publish(review, &text).await?;
        let state = if outcome.approved {
            "approved by the bot"
        } else {
            "not approved by the bot"
        };
        match outcome.url {
            Some(url) => output::note(&format!("Posted: {url} ({state})"), self.redactor),
            None => output::note(&format!("Posted ({state})"), self.redactor),
        }
        for warning in &outcome.warnings {
            output::note(&format!("Warning: {warning}"), self.redactor);
        }
        Ok(())
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

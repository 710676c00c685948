//! A review that does not happen, because a person has broken the glass.

use conclave_engine::{
    ports::{NoSettings, SettingsWatch},
    publish::{BreakGlass, BreakGlassPolicy},
    repo_config::{BreakGlassBy, RepoConfig},
    review::ReviewMode,
};
use conclave_forge::Publisher;
use conclave_git::Repository;
use conclave_plugin_telemetry::anonymous_person;
use conclave_shared::telemetry::{self, EventBody, RunStage};
use secrecy::ExposeSecret;

use super::{
    prepare::{
        checkout::{Checkout, LaterCommits},
        repo_config,
        settings_files::SettingsInUse,
    },
    report::RunReport,
    scratch::Scratch,
    telemetry::record_stance,
};
use crate::{context::Context, env::ci::CiEnvironment, exit::Failure};
use conclave_engine::ports::{Forge, TelemetrySink};

/// A person's word that is in force.
pub(crate) struct Broken {
    glass: BreakGlass,
    /// What the review that is skipped would have been allowed to do.
    mode: ReviewMode,
    /// The settings by which the word counts; none where they cannot be read, and then nothing is approved.
    settings: Option<SettingsRead>,
}

/// The settings of the target branch, and where they were read.
struct SettingsRead {
    config: RepoConfig,
    /// False if a setting that protects could not be read.
    is_whole: bool,
    repository: Repository,
    later: LaterCommits,
    commit: String,
    /// Holds what was fetched, for as long as newer commits are compared with it.
    _scratch: Scratch,
}

/// How a person's word is looked for.
pub(crate) struct Request<'a> {
    pub(crate) publisher: &'a Publisher,
    pub(crate) pipeline: &'a CiEnvironment,
    /// Whose word counts, as far as the job says: it can only be stricter than the target branch, because the author of a
    /// change may write its pipeline.
    pub(crate) policy: BreakGlassPolicy,
    /// What a verdict may do, as far as the job says.
    pub(crate) mode: Option<ReviewMode>,
}

impl Request<'_> {
    async fn settings(&self, context: &Context) -> Result<SettingsRead, Failure> {
        let subject = self.publisher.subject().await?;
        let scratch = Scratch::create(context.signals.stop())?;
        let checkout = Checkout::open(self.pipeline, &context.env, scratch.path(), None).await?;
        let (repository, _, later) = checkout.complete(&subject).await?;
        let loaded = repo_config::load(&repository, &subject).await?;
        let is_whole = loaded.in_force.unread().next().is_none();
        Ok(SettingsRead {
            is_whole,
            config: loaded.in_force.config,
            commit: subject.settings_commit().to_owned(),
            repository,
            later,
            _scratch: scratch,
        })
    }
}

impl Broken {
    /// Finds the word that is in force. The settings of the target branch are read only where there is such a word. Where they
    /// cannot be read, which may be what is broken, the strict ones count: not the author's word, and no approval.
    pub(crate) async fn find(request: &Request<'_>, context: &Context) -> Result<Option<Self>, Failure> {
        let Some(glass) = request.publisher.break_glass(request.policy).await? else {
            return Ok(None);
        };
        let read = request.settings(context).await;
        let (by, mode) = match &read {
            Ok(settings) if settings.is_whole => (settings.config.break_glass.by, settings.config.review.mode),
            Ok(settings) => {
                context.output.note(
                    "Settings of the target branch cannot be read, so `break glass` approves nothing: correct .conclave.toml there",
                );
                (settings.config.break_glass.by, Some(ReviewMode::Comment))
            }
            Err(failure) => {
                context.output.note(&format!(
                    "The settings of the target branch cannot be read, so `break glass` approves nothing: {failure}"
                ));
                (BreakGlassBy::NotAuthor, Some(ReviewMode::Comment))
            }
        };
        let counts = match by {
            BreakGlassBy::Developers => Some(glass),
            BreakGlassBy::NotAuthor => {
                let other = request.publisher.break_glass(BreakGlassPolicy::NotAuthor).await?;
                if other.is_none() {
                    let words = request.pipeline.forge.words();
                    context.output.note(&format!(
                        "`break glass` by {} (note {}) does not count: who opened the {} or committed to it cannot skip \
                         its review. Another member who may push to the {} can, or set `[break_glass] by = \"developers\"` on the \
                         target branch",
                        glass.user,
                        glass.note,
                        words.noun,
                        words.project
                    ));
                }
                other
            }
        };
        let mode = if [request.mode, mode].contains(&Some(ReviewMode::Comment)) {
            ReviewMode::Comment
        } else {
            request.mode.or(mode).unwrap_or(request.pipeline.forge.default_mode())
        };
        Ok(counts.map(|glass| Self {
            glass,
            mode,
            settings: read.ok(),
        }))
    }

    /// The name of the person.
    pub(crate) fn user(&self) -> &str {
        &self.glass.user
    }

    /// Says so on the merge request, approves it unless the mode forbids that, and reports to the tracker who it was. Nothing else
    /// of the review is needed for that, so nothing else can be in the way of it.
    pub(crate) async fn skip_review(
        &self,
        request: &Request<'_>,
        post: bool,
        report: &RunReport,
        context: &Context,
    ) -> Result<(), Failure> {
        let glass = &self.glass;
        context.output.note(&format!(
            "Break glass: {} has said so in note {}. The {} is not reviewed.",
            glass.user,
            glass.note,
            request.pipeline.forge.words().noun
        ));
        if !post {
            return Ok(());
        }
        let secret = request.pipeline.forge.secret().expose_secret().as_bytes();
        report.record(EventBody::BreakGlass(telemetry::BreakGlass {
            merge_request: glass.merge_request,
            // The note says who; the tracker knows people by their hashes only.
            user: anonymous_person(secret, request.pipeline.forge.name(), glass.user_id)
                .unwrap_or_else(|| "unknown".to_owned()),
            note: glass.note,
            head_sha: glass.head_sha.clone(),
        }));
        let watch = self.settings.as_ref().map(|read| {
            let (later, config) = (Some(&read.later), &read.config);
            SettingsInUse::new(&read.repository, later, &read.commit, config)
        });
        let watch: &dyn SettingsWatch = watch.as_ref().map_or(&NoSettings, |watch| watch);
        let posted = request.publisher.skip_review(glass, self.mode, watch).await;
        report.enter(RunStage::Publish);
        let outcome = posted?;
        report.skipped_by_person();
        context.output.posted(&outcome, request.publisher.has_written());
        record_stance(report, Some(glass.merge_request), &outcome);
        Ok(())
    }
}

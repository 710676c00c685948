//! All plugins, in the order in which they contribute, and what a run has besides them.

use std::sync::Arc;

use conclave_engine::{
    plugin::{BuiltInPanel, ProviderSpec, ReviewPlugin},
    repo_config::RuntimeChoice,
};
use conclave_plugin_cloudflare::{AiGateway, CloudflarePlugin};
use conclave_plugin_reviewer_config::{Follower, ReviewerConfigPlugin};
use conclave_shared::sandbox::SandboxLevel;
use tokio::sync::watch;
use uuid::Uuid;

use super::{
    change::{Origin, Source},
    memory::MemorySource,
    organization::OrganizationSettings,
    plugins::{CoordinatorToolsPlugin, DirectProviders},
};
use crate::{
    env::{Environment, names},
    exit::Failure,
    run::{
        directory,
        observers::{Observers, Trace},
        recording::RunRecording,
        report::RunReport,
    },
};

/// The repository's own word on its runtime.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OfRepository {
    /// The runtime.
    pub(crate) runtime: Option<RuntimeChoice>,
    /// The least sandbox around it.
    pub(crate) sandbox: Option<SandboxLevel>,
}

/// The plugins of a run, and what they are asked for besides their phases.
pub(crate) struct Components {
    pub(crate) plugins: Vec<Box<dyn ReviewPlugin>>,
    /// What the organization brings, once the change is there.
    pub(crate) organization: OrganizationSettings,
    /// Follows the configuration while the run goes on.
    pub(crate) follower: Follower,
    pub(crate) observers: Observers,
    /// What the project remembers, if it is asked for: of merge requests only, because nothing else is remembered, and not
    /// where a run has to say what another one said.
    pub(crate) memory: Option<MemorySource>,
    /// What the person should know of the settings.
    pub(crate) notes: Vec<String>,
    /// Gets what the repository's settings say of the runtime, as soon as they are read.
    pub(crate) of_repository: watch::Sender<Option<OfRepository>>,
}

impl Components {
    /// Makes all plugins. One without settings is there too, and contributes nothing. Of a review, what is recorded and reported;
    /// a plan needs no key, and nothing of it is reported.
    pub(crate) fn new(
        source: &Source,
        review: Option<(&RunRecording, &RunReport)>,
        env: &Environment,
    ) -> Result<Self, Failure> {
        let (project, secret) = (&source.project, source.secret.as_ref());
        let report = review.map(|(_, report)| report);
        let mut notes = Vec::new();
        let recorded = match review {
            Some((recording, _)) => recording.providers()?,
            None => None,
        };
        let ai_gateway = match &recorded {
            None => env.ai_gateway(project, secret)?,
            // A recorded run asks no provider.
            Some(_) => None,
        };
        let direct = if let Some(recorded) = recorded {
            DirectProviders::on(recorded)
        } else if let Some(gateway) = &ai_gateway {
            // The providers that AI Gateway fronts are asked through it. An endpoint of one's own is asked as without it.
            DirectProviders::if_any(beside_gateway(env, gateway, &mut notes)?)
        } else if review.is_some() {
            DirectProviders::on(env.providers()?)
        } else {
            DirectProviders::if_any(env.providers()?)
        };
        // Before anything is asked: every client of the run trusts the same.
        env.certificates()?;
        env.check_proxies()?;
        // A service that is set wrongly is as one that does not answer: the review goes on without it, and says so.
        if let (Err(failure), Some(_)) = (env.telemetry(Uuid::nil(), project), report) {
            notes.push(format!("no telemetry is sent: {failure}"));
        }
        let remembers = matches!(source.origin, Origin::Forge { .. })
            && review.is_some_and(|(recording, _)| matches!(recording, RunRecording::Off));
        let memory = report.and_then(RunReport::settings).filter(|_| remembers);
        notes.extend(env.without_tracker_token().filter(|_| report.is_some()));
        let reviewer_config = match env.config_source(project) {
            Ok(source) => ReviewerConfigPlugin::new(
                source,
                directory::cache_directory(env)
                    .as_deref()
                    .map(camino::Utf8Path::as_std_path),
                secret,
            ),
            Err(failure) => ReviewerConfigPlugin::unusable(failure.to_string()),
        };
        let follower = reviewer_config.follower();
        let trace = trace(report, env, &mut notes)?;
        // The order decides which of two is named first in a conflict, and the order of sections in the prompts. What amends
        // models comes behind what proposes them.
        let plugins: Vec<Box<dyn ReviewPlugin>> = vec![
            Box::new(BuiltInPanel),
            Box::new(direct),
            Box::new(CloudflarePlugin::new(ai_gateway)),
            // `codex` and `agents_md` need the change before they can start: `organization` makes them.
            Box::new(CoordinatorToolsPlugin),
            Box::new(reviewer_config),
        ];
        Ok(Self {
            plugins,
            organization: OrganizationSettings::read(env, secret)?,
            follower,
            observers: Observers::new(report.and_then(RunReport::telemetry), trace),
            memory: memory.map(MemorySource::new),
            notes,
            of_repository: watch::Sender::new(None),
        })
    }
}

/// The trace of a review, if a collector is set.
#[cfg(feature = "otlp")]
fn trace(
    report: Option<&RunReport>,
    env: &Environment,
    _notes: &mut Vec<String>,
) -> Result<Option<Arc<dyn Trace>>, Failure> {
    let Some(settings) = report.map(|report| env.tracing(report.id())).transpose()?.flatten() else {
        return Ok(None);
    };
    let tracer = conclave_plugin_tracing::RunTracer::start(&settings)
        .map_err(|error| Failure::Settings(format!("{}: {error}", names::OTLP_ENDPOINT)))?;
    Ok(Some(Arc::new(tracer)))
}

#[cfg(not(feature = "otlp"))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature it can fail")]
fn trace(
    _report: Option<&RunReport>,
    env: &Environment,
    notes: &mut Vec<String>,
) -> Result<Option<Arc<dyn Trace>>, Failure> {
    if env.get(names::OTLP_ENDPOINT).is_some() {
        notes.push(format!(
            "{} is set, but this `conclave` was built without the feature `otlp`: there will be no trace",
            names::OTLP_ENDPOINT
        ));
    }
    Ok(None)
}

/// The providers that are asked beside an AI Gateway; notes which variables have no effect then.
fn beside_gateway(
    env: &Environment,
    gateway: &AiGateway,
    notes: &mut Vec<String>,
) -> Result<Vec<ProviderSpec>, Failure> {
    let compatible = env.compatible_provider()?;
    let is_fronted = compatible.as_ref().is_some_and(|spec| gateway.holds(&spec.base_url));
    notes.extend(env.unused_variables(is_fronted));
    Ok(compatible.map(|spec| gateway.front(spec)).into_iter().collect())
}

#[cfg(test)]
#[path = "components_tests.rs"]
mod tests;

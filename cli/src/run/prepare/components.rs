//! All plugins, in the order in which they contribute.

#[cfg(feature = "otlp")]
use std::sync::Arc;

use conclave_engine::plugin::{BuiltInPanel, ProviderSpec, ReviewPlugin};
use conclave_plugin_cloudflare::{AiGateway, CloudflarePlugin};
use conclave_plugin_reviewer_config::{Follower, ReviewerConfigPlugin};
use secrecy::SecretString;
use uuid::Uuid;

#[cfg(feature = "otlp")]
use crate::run::observers::Trace;
use crate::{
    env::{Environment, names, providers, services},
    exit::Failure,
    run::{
        directory,
        observers::Observers,
        prepare::{
            change::{Arrival, Assignment},
            memory::MemorySource,
            organization::OrganisationSettings,
            plugins::{CoordinatorToolsPlugin, DirectProviders},
        },
        recording::Tape,
        report::RunReport,
    },
};

/// The plugins of a run, and what they are asked for besides their phases.
pub(crate) struct House {
    pub(crate) plugins: Vec<Box<dyn ReviewPlugin>>,
    /// Where the change arrives.
    pub(crate) arrival: Arrival,
    /// The installation's secret, if there is one.
    pub(crate) secret: Option<SecretString>,
    /// What the organisation brings, once the change is there.
    pub(crate) organisation: OrganisationSettings,
    /// Follows the configuration while the run goes on.
    pub(crate) follower: Follower,
    /// Who listens to the run.
    pub(crate) observers: Observers,
    /// What the project remembers, if it is asked for: of merge requests only, because nothing else is remembered, and not
    /// where a run has to say what another one said.
    pub(crate) memory: Option<MemorySource>,
    /// What the person should know of the settings.
    pub(crate) notes: Vec<String>,
}

/// What the plugins are made for.
#[derive(Clone, Copy)]
pub(crate) enum Purpose<'a> {
    /// A review, which may be one that was recorded.
    Review(&'a Tape, &'a RunReport),
    /// A plan: no key is needed, and nothing is reported.
    Plan,
}

/// Makes all plugins. One without settings is there too, and contributes nothing.
pub(crate) fn build(assignment: Assignment, environment: &Environment, purpose: Purpose<'_>) -> Result<House, Failure> {
    let Assignment {
        origin,
        project,
        secret,
    } = assignment;
    let secret = environment.get(names::SECRET).map(SecretString::from).or(secret);
    let mut notes = Vec::new();

    let remembers = origin.is_merge_request() && matches!(purpose, Purpose::Review(Tape::Off, _));
    let (gitlab, local, arrival) = origin.plugins();
    let recorded = match purpose {
        Purpose::Review(tape, _) => tape.providers()?,
        Purpose::Plan => None,
    };
    let ai_gateway = match &recorded {
        None => services::ai_gateway(environment, &project, secret.as_ref())?,
        // A recorded run asks nobody.
        Some(_) => None,
    };
    let direct = if let Some(recorded) = recorded {
        DirectProviders::on(recorded)
    } else if let Some(gateway) = &ai_gateway {
        // The providers that AI Gateway fronts are asked through it. An endpoint of one's own is asked as without it.
        DirectProviders::if_any(beside_gateway(environment, gateway, &mut notes)?)
    } else {
        let providers = providers::read(environment)?;
        match purpose {
            Purpose::Plan => DirectProviders::if_any(providers),
            Purpose::Review(..) => DirectProviders::on(providers),
        }
    };
    services::telemetry(environment, Uuid::nil(), &project)?;
    let report = match purpose {
        Purpose::Review(_, report) => Some(report),
        Purpose::Plan => None,
    };
    let memory = report.and_then(RunReport::settings).filter(|_| remembers);
    let memory = memory.map(MemorySource::new);
    notes.extend(services::without_tracker_token(environment).filter(|_| report.is_some()));
    // A local review has no installation, but the person may have its secret.
    let marking = secret
        .clone()
        .or_else(|| environment.get(names::SECRET).map(SecretString::from));
    let reviewer_config = ReviewerConfigPlugin::new(
        services::config_source(environment, &project)?,
        directory::cache_directory(environment)
            .as_deref()
            .map(camino::Utf8Path::as_std_path),
        marking.as_ref(),
    );
    let follower = reviewer_config.follower();
    #[cfg(feature = "otlp")]
    let trace = match report {
        Some(report) => trace(environment, report.id())?,
        None => None,
    };
    #[cfg(not(feature = "otlp"))]
    let trace = None;
    #[cfg(not(feature = "otlp"))]
    if environment.get(names::OTLP_ENDPOINT).is_some() {
        notes.push(format!(
            "{} is set, but this `conclave` was built without the feature `otlp`: there will be no trace",
            names::OTLP_ENDPOINT
        ));
    }

    let observers = Observers::new(report.and_then(RunReport::telemetry), trace);

    // The order decides which of two is named first in a conflict, and the order of sections in the prompts. What amends
    // models comes behind what proposes them.
    let plugins: Vec<Box<dyn ReviewPlugin>> = vec![
        Box::new(BuiltInPanel),
        Box::new(direct),
        Box::new(gitlab),
        Box::new(local),
        Box::new(CloudflarePlugin::new(ai_gateway)),
        // `codex` and `agents_md` need the change before they can start: `organisation` makes them.
        Box::new(CoordinatorToolsPlugin),
        Box::new(reviewer_config),
    ];
    Ok(House {
        plugins,
        arrival,
        organisation: OrganisationSettings::read(environment, marking.as_ref())?,
        secret,
        follower,
        observers,
        memory,
        notes,
    })
}

/// The trace of a run, if there is a collector.
#[cfg(feature = "otlp")]
fn trace(environment: &Environment, run: Uuid) -> Result<Option<Arc<dyn Trace>>, Failure> {
    let Some(settings) = services::tracing(environment, run)? else {
        return Ok(None);
    };
    match conclave_plugin_tracing::RunTracer::start(&settings) {
        Ok(tracer) => Ok(Some(Arc::new(tracer))),
        Err(error) => Err(Failure::Settings(format!("{}: {error}", names::OTLP_ENDPOINT))),
    }
}

/// The providers that are asked beside an AI Gateway; notes which variables have no effect then.
fn beside_gateway(
    environment: &Environment,
    gateway: &AiGateway,
    notes: &mut Vec<String>,
) -> Result<Vec<ProviderSpec>, Failure> {
    let compatible = providers::compatible(environment)?;
    let is_fronted = compatible.as_ref().is_some_and(|spec| gateway.holds(&spec.base_url));
    notes.extend(services::unused_variables(environment, is_fronted));
    Ok(compatible.map(|spec| gateway.front(spec)).into_iter().collect())
}

#[cfg(test)]
#[path = "components_tests.rs"]
mod tests;

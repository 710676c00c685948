//! All plugins, in the order in which they contribute.

use conclave_engine::plugin::{ReviewPlugin, StandingPanel};
use conclave_plugin_agents_md::AgentsMdPlugin;
use conclave_plugin_cloudflare::CloudflarePlugin;
use conclave_plugin_reviewer_config::ReviewerConfigPlugin;
use conclave_plugin_telemetry::TelemetryPlugin;
use secrecy::SecretString;
use uuid::Uuid;

use super::{
    assignment::{Arrival, Assignment},
    observers::Observers,
    plugin_settings,
    plugins::{CoordinatorToolsPlugin, DirectProviders},
};
use crate::{env_vars, exit::Failure, providers, settings::Environment};

/// The plugins of a run, and what they are asked for besides their phases.
pub(super) struct House {
    pub(super) plugins: Vec<Box<dyn ReviewPlugin>>,
    /// Where the change arrives.
    pub(super) arrival: Arrival,
    /// The installation's secret, if there is one.
    pub(super) secret: Option<SecretString>,
    /// Who listens to the run.
    pub(super) observers: Observers,
    /// What the person should know of the settings.
    pub(super) notes: Vec<String>,
}

/// What the plugins are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A review.
    Review,
    /// A plan: no key is needed, and nobody is told.
    Plan,
}

/// Makes all plugins. One without settings is there too, and contributes nothing.
pub(super) fn build(
    assignment: Assignment,
    environment: &Environment,
    run_id: Uuid,
    purpose: Purpose,
) -> Result<House, Failure> {
    let Assignment {
        origin,
        project,
        secret,
    } = assignment;
    let secret = environment.get(env_vars::SECRET).map(SecretString::from).or(secret);
    let mut notes = Vec::new();

    let (gitlab, local, arrival) = origin.plugins();
    let ai_gateway = plugin_settings::ai_gateway(environment, &project, secret.as_ref())?;
    let direct = if ai_gateway.is_none() {
        let providers = providers::read(environment)?;
        match purpose {
            Purpose::Plan => DirectProviders::if_any(providers),
            Purpose::Review => DirectProviders::on(providers),
        }
    } else {
        // With AI Gateway all providers are behind it; a key beside it is left alone, and the person told.
        notes.extend(plugin_settings::unused_keys(environment));
        DirectProviders::off()
    };
    let told = purpose == Purpose::Review;
    let telemetry = TelemetryPlugin::start(plugin_settings::telemetry(environment, run_id, &project)?.filter(|_| told));
    let reviewer_config = ReviewerConfigPlugin::new(plugin_settings::config_source(environment, &project)?);
    #[cfg(feature = "otlp")]
    let tracing =
        conclave_plugin_tracing::TracingPlugin::start(plugin_settings::tracing(environment, run_id)?.filter(|_| told))
            .map_err(|error| Failure::Settings(format!("{}: {error}", env_vars::OTLP_ENDPOINT)))?;
    #[cfg(feature = "otlp")]
    let trace = tracing.tracer().map(|tracer| tracer as _);
    #[cfg(not(feature = "otlp"))]
    let trace = None;
    #[cfg(not(feature = "otlp"))]
    if environment.get(env_vars::OTLP_ENDPOINT).is_some() {
        notes.push(format!(
            "{} is set, but this `conclave` was built without the feature `otlp`: there will be no trace",
            env_vars::OTLP_ENDPOINT
        ));
    }

    let observers = Observers::new(telemetry.telemetry(), trace);

    // The order decides which of two is named first in a conflict, and the order of sections in the prompts. What amends
    // models comes behind what proposes them.
    let plugins: Vec<Box<dyn ReviewPlugin>> = vec![
        Box::new(StandingPanel),
        Box::new(direct),
        Box::new(gitlab),
        Box::new(local),
        Box::new(CloudflarePlugin::new(ai_gateway)),
        // The place of `codex`: its rules come before the reviewer of AGENTS.md.
        Box::new(AgentsMdPlugin),
        Box::new(CoordinatorToolsPlugin),
        Box::new(reviewer_config),
        Box::new(telemetry),
        #[cfg(feature = "otlp")]
        Box::new(tracing),
    ];
    Ok(House {
        plugins,
        arrival,
        secret,
        observers,
        notes,
    })
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;

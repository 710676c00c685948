//! What the composition root itself contributes, and the settings of the plugins.

use std::collections::BTreeMap;

use camino::Utf8Path;
use conclave_engine::{
    pipeline::Plan,
    plugin::{ConfigureContext, McpServer, PluginError, ProviderModel, ProviderSpec, ReviewPlugin},
    prompt::PromptLibrary,
};
use conclave_gateway::Gateway;
use conclave_opencode::{
    GATEWAY_KEY_VARIABLE, MCP_TOKEN_VARIABLE, McpEndpoints, TOOL_SPAWN_REVIEWERS, TOOL_SUBMIT_REVIEW,
};
use conclave_plugin_reviewer_config::ConfigSource;
use conclave_shared::{model::ModelId, pricing, reviewer::ReviewerName};
use secrecy::SecretString;

use super::live;
use crate::{
    env_vars,
    exit::Failure,
    providers::{self, Provider},
    settings::Environment,
};

/// The models of the plan, each provider at its place in the gateway.
pub(super) struct ModelProviders {
    specs: Vec<ProviderSpec>,
}

impl ModelProviders {
    pub(super) fn new(providers: &[Provider], plan: &Plan, gateway: &Gateway) -> Self {
        let all = live::models(plan);
        let mut models: BTreeMap<&str, Vec<&ModelId>> = BTreeMap::new();
        for model in &all {
            models.entry(model.provider()).or_default().push(model);
        }
        let specs = providers
            .iter()
            .filter_map(|provider| {
                let models = models.get(provider.name)?;
                Some(ProviderSpec {
                    name: provider.name.to_owned(),
                    wire: provider.wire,
                    base_url: gateway.base_url(provider.name),
                    key_variable: GATEWAY_KEY_VARIABLE,
                    models: models
                        .iter()
                        .map(|model| ProviderModel {
                            id: (*model).clone(),
                            facts: pricing::facts(model),
                        })
                        .collect(),
                })
            })
            .collect();
        Self { specs }
    }
}

impl ReviewPlugin for ModelProviders {
    fn name(&self) -> &'static str {
        "models"
    }

    fn configure(&self, context: &mut ConfigureContext<'_>) -> Result<(), PluginError> {
        for spec in &self.specs {
            context.add_provider(spec.clone());
        }
        Ok(())
    }
}

/// The coordinator's two tools.
pub(super) struct CoordinatorToolsPlugin {
    endpoints: McpEndpoints,
}

impl CoordinatorToolsPlugin {
    pub(super) fn new(endpoints: McpEndpoints) -> Self {
        Self { endpoints }
    }
}

impl ReviewPlugin for CoordinatorToolsPlugin {
    fn name(&self) -> &'static str {
        "coordinator_tools"
    }

    fn configure(&self, context: &mut ConfigureContext<'_>) -> Result<(), PluginError> {
        for (name, url, tool) in [
            ("spawn", &self.endpoints.spawn, TOOL_SPAWN_REVIEWERS),
            ("submit", &self.endpoints.submit, TOOL_SUBMIT_REVIEW),
        ] {
            context.add_mcp_server(McpServer {
                name: name.to_owned(),
                url: url.clone(),
                token_variable: MCP_TOKEN_VARIABLE,
            });
            context.allow_tool(ReviewerName::COORDINATOR, tool);
        }
        Ok(())
    }
}

/// Where the configuration service is, if one is set.
pub(super) fn config_source(environment: &Environment, project: &str) -> Result<Option<ConfigSource>, Failure> {
    let Some(address) = environment.get(env_vars::CONFIG_URL) else {
        return Ok(None);
    };
    let token = environment.get(env_vars::CONFIG_TOKEN).ok_or_else(|| {
        Failure::Settings(format!(
            "{} is set, but {} is not: set it to one of the Worker's READER_TOKENS",
            env_vars::CONFIG_URL,
            env_vars::CONFIG_TOKEN
        ))
    })?;
    Ok(Some(ConfigSource {
        url: providers::url(env_vars::CONFIG_URL, address)?,
        token: SecretString::from(token),
        project: project.to_owned(),
    }))
}

/// The prompts: built in, replaced file by file from a directory.
pub(super) fn library(directory: Option<&Utf8Path>) -> Result<PromptLibrary, Failure> {
    let mut library = PromptLibrary::default();
    let Some(directory) = directory else { return Ok(library) };
    let failed = || Failure::io(format!("read the prompts in {directory}"));
    let mut texts = Vec::new();
    for entry in directory.read_dir_utf8().map_err(failed())? {
        let entry = entry.map_err(failed())?;
        if let Some(name) = entry.file_name().strip_suffix(".md") {
            texts.push((
                name.to_owned(),
                std::fs::read_to_string(entry.path()).map_err(failed())?,
            ));
        }
    }
    if texts.is_empty() {
        return Err(Failure::Settings(format!(
            "--prompts {directory}: there is no .md file in it"
        )));
    }
    library.replace(texts);
    Ok(library)
}

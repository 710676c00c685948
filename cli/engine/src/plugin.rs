//! How plugins contribute to a run.
//!
//! Plugins know nothing of each other and never see the final configuration. [`ConfigureContext`] is all that they can
//! reach; every contribution is remembered with the plugin that made it, and one assembler merges them.

mod assemble;
mod context;
mod panel;

pub use assemble::{Conflict, RuntimeConfig};
pub use context::{
    AgentRole, AgentSpec, Audience, ConfigureContext, McpServer, Owned, PromptSection, ProviderModel, ProviderSpec,
    ProviderWire,
};
pub use panel::StandingPanel;

use async_trait::async_trait;
use conclave_shared::config::ConfigDocument;

/// Why a plugin failed. The text says what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct PluginError(pub String);

/// A part that contributes to how a review runs. The phases come in this order.
#[async_trait]
pub trait ReviewPlugin: Send + Sync {
    /// The plugin's name, as it stands beside everything that it contributes.
    fn name(&self) -> &'static str;

    /// Fetches what the plugin needs from outside. All plugins at once; a failure is logged, and the review goes on
    /// without that plugin's result.
    async fn bootstrap(&mut self) -> Result<(), PluginError> {
        Ok(())
    }

    /// Contributes. One plugin after the other, in the order of registration; a failure stops the run.
    fn configure(&self, _context: &mut ConfigureContext<'_>) -> Result<(), PluginError> {
        Ok(())
    }

    /// Overrides from outside, after everything is assembled.
    async fn post_configure(&self, _config: &mut ConfigDocument) -> Result<(), PluginError> {
        Ok(())
    }

    /// What the person should know of what was fetched, once the phases are over.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Runs the first phase of all plugins at once. Returns the failures as warnings, each with its plugin's name.
pub async fn bootstrap(plugins: &mut [Box<dyn ReviewPlugin>]) -> Vec<String> {
    let runs = plugins.iter_mut().map(|plugin| async {
        let name = plugin.name();
        plugin.bootstrap().await.err().map(|error| format!("{name}: {error}"))
    });
    futures_util::future::join_all(runs)
        .await
        .into_iter()
        .flatten()
        .collect()
}

/// Runs the second phase in order and assembles the result.
pub fn configure(plugins: &[Box<dyn ReviewPlugin>]) -> Result<RuntimeConfig, PluginError> {
    let mut contributions = context::Contributions::default();
    for plugin in plugins {
        let mut context = ConfigureContext::new(plugin.name(), &mut contributions);
        plugin
            .configure(&mut context)
            .map_err(|error| PluginError(format!("{}: {error}", plugin.name())))?;
    }
    RuntimeConfig::assemble(contributions).map_err(|conflict| PluginError(conflict.to_string()))
}

/// Runs the third phase in order. Returns the failures as warnings.
pub async fn post_configure(plugins: &[Box<dyn ReviewPlugin>], config: &mut ConfigDocument) -> Vec<String> {
    let mut warnings = Vec::new();
    for plugin in plugins {
        if let Err(error) = plugin.post_configure(config).await {
            warnings.push(format!("{}: {error}", plugin.name()));
        }
    }
    warnings
}

#[cfg(test)]
#[path = "plugin/plugin_tests.rs"]
mod tests;

//! How plugins contribute to a run.
//!
//! Plugins know nothing of each other and never see the final configuration. [`ConfigureContext`] is all that they can
//! reach; every contribution is remembered with the plugin that made it, and one assembler merges them.
//!
//! The phases, and the plan between them: [`bootstrap`] fetches, all plugins at once; [`configure`] contributes and
//! assembles; [`post_configure`] amends which models are used. Only then is the plan made, as it needs the reviewers that
//! were registered, the providers that can be used and the models in force; and [`Assembled::for_plan`] narrows
//! everything down to it. Nothing of this needs a running server: addresses are put in when the file is rendered.

mod assemble;
mod conflict;
mod context;
mod contributions;
mod panel;

pub use assemble::{Assembled, BUILT_IN, RuntimeConfig};
pub use conflict::Conflict;
pub use context::ConfigureContext;
pub use contributions::{
    AgentRole, AgentSpec, Audience, McpLocation, McpServer, Owned, PromptSection, ProviderModel, ProviderSpec,
    ProviderWire, ToolGrant,
};
pub use panel::BuiltInPanel;

use async_trait::async_trait;
use conclave_shared::config::ConfigDocument;

/// Why a plugin failed. The text says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
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

    /// Amends from outside which models are used, after everything is assembled. A failure is logged.
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
    let failures = futures_util::future::join_all(runs).await;
    let failures: Vec<String> = failures.into_iter().flatten().collect();
    for failure in &failures {
        tracing::info!(
            failure,
            "the review goes on without what this plugin would have fetched"
        );
    }
    failures
}

/// Runs the second phase in order and assembles the result.
pub fn configure(plugins: &[Box<dyn ReviewPlugin>]) -> Result<Assembled, PluginError> {
    let mut contributions = RuntimeConfig::default();
    for plugin in plugins {
        let mut context = ConfigureContext::new(plugin.name(), &mut contributions);
        plugin
            .configure(&mut context)
            .map_err(|error| PluginError(format!("{}: {error}", plugin.name())))?;
    }
    Assembled::new(contributions).map_err(|conflict| PluginError(conflict.to_string()))
}

/// Runs the third phase in order. Returns the failures as warnings.
pub async fn post_configure(
    plugins: &[Box<dyn ReviewPlugin>],
    assembled: &mut Assembled,
    document: &mut ConfigDocument,
) -> Vec<String> {
    let mut warnings = Vec::new();
    for plugin in plugins {
        let before = document.clone();
        if let Err(error) = plugin.post_configure(document).await {
            warnings.push(format!("{}: {error}", plugin.name()));
            // Half an amendment is none.
            *document = before;
            continue;
        }
        assembled.note_changes(plugin.name(), &before, document);
    }
    warnings
}

/// The example of the document, which has to compile.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/writing-a-plugin.md")]
mod document {}

#[cfg(test)]
#[path = "plugin/plugin_tests.rs"]
mod tests;

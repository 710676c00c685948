//! What the composition root itself contributes.

use camino::Utf8Path;
use conclave_engine::{
    plugin::{ConfigureContext, McpLocation, McpServer, PluginError, ProviderSpec, ReviewPlugin},
    prompt::PromptLibrary,
    session::{TOOL_SPAWN_REVIEWERS, TOOL_SUBMIT_REVIEW},
};
use conclave_opencode::v1::{MCP_TOKEN_VARIABLE, SPAWN_PATH, SUBMIT_PATH};
use conclave_shared::reviewer::ReviewerName;

use crate::{env::providers, exit::Failure, run::prepare::own_reviewers::OwnReviewers};

/// Providers that are asked with keys of their own.
pub(crate) struct DirectProviders {
    specs: Vec<ProviderSpec>,
    /// True if a run without any of them makes sense.
    optional: bool,
}

impl DirectProviders {
    /// These.
    pub(crate) fn on(specs: Vec<ProviderSpec>) -> Self {
        Self { specs, optional: false }
    }

    /// These, if any: a plan can be made without, and a run can have its providers from elsewhere.
    pub(crate) fn if_any(specs: Vec<ProviderSpec>) -> Self {
        Self {
            optional: true,
            ..Self::on(specs)
        }
    }
}

impl ReviewPlugin for DirectProviders {
    fn name(&self) -> &'static str {
        "providers"
    }

    fn configure(&self, context: &mut ConfigureContext<'_>) -> Result<(), PluginError> {
        if self.specs.is_empty() && !self.optional {
            return Err(PluginError(providers::NO_CREDENTIALS.to_owned()));
        }
        for spec in &self.specs {
            context.add_provider(spec.clone());
        }
        Ok(())
    }
}

/// The coordinator's two tools.
pub(crate) struct CoordinatorToolsPlugin;

impl ReviewPlugin for CoordinatorToolsPlugin {
    fn name(&self) -> &'static str {
        "coordinator_tools"
    }

    fn configure(&self, context: &mut ConfigureContext<'_>) -> Result<(), PluginError> {
        for (name, path, tool) in [
            ("spawn", SPAWN_PATH, TOOL_SPAWN_REVIEWERS),
            ("submit", SUBMIT_PATH, TOOL_SUBMIT_REVIEW),
        ] {
            context.add_mcp_server(McpServer {
                name: name.to_owned(),
                location: McpLocation::ToolServer(path.to_owned()),
                token_variable: MCP_TOKEN_VARIABLE,
            });
            context.allow_tool(ReviewerName::COORDINATOR, tool);
        }
        Ok(())
    }
}

/// The prompts: built in and the project's own, replaced file by file from a directory; and what to say about files
/// without effect.
pub(crate) fn library(
    directory: Option<&Utf8Path>,
    own: &OwnReviewers,
) -> Result<(PromptLibrary, Vec<String>), Failure> {
    let mut library = PromptLibrary::default();
    own.add_to(&mut library);
    let Some(directory) = directory else {
        return Ok((library, Vec::new()));
    };
    let unread = |error: std::io::Error| {
        Failure::Settings(format!(
            "--prompts {directory}: failed to read it: {error}. Name a directory with the prompts that replace built-in ones"
        ))
    };
    let mut texts = Vec::new();
    for entry in directory.read_dir_utf8().map_err(unread)? {
        let entry = entry.map_err(unread)?;
        if let Some(name) = entry.file_name().strip_suffix(".md") {
            let text = std::fs::read_to_string(entry.path()).map_err(|error| {
                let step = match error.kind() {
                    std::io::ErrorKind::InvalidData => "Save it as UTF-8",
                    _ => "Make it readable, or take it away",
                };
                Failure::Settings(format!("failed to read the prompt {}: {error}. {step}", entry.path()))
            })?;
            texts.push((name.to_owned(), text));
        }
    }
    if texts.is_empty() {
        return Err(Failure::Settings(format!(
            "--prompts {directory}: there is no .md file in it"
        )));
    }
    texts.sort();
    let without_effect = library
        .replace(texts)
        .map_err(|error| Failure::Settings(format!("--prompts {directory}: {error}")))?;
    let warnings = without_effect
        .iter()
        .map(|file| format!("--prompts {directory}: {file}"));
    Ok((library, warnings.collect()))
}

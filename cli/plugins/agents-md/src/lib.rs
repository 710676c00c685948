//! The `agents_md` plugin: the reviewer that checks whether AGENTS.md still tells the truth, what the diff itself says about
//! that, and the organisation's template for such files.

mod changed_file;
mod environment;
mod families;
mod hint;
mod instructions;
mod manifest;
mod patch;
mod pattern;
mod pipeline;
mod survey;
mod tasks;

pub use changed_file::ChangedFile;
pub use hint::{Hint, Kind, Materiality};
pub use instructions::{Instructions, Unread, not_shown, places};
pub use survey::Survey;

use async_trait::async_trait;
use chrono::Utc;
use conclave_engine::{
    plugin::{AgentRole, AgentSpec, Audience, ConfigureContext, PluginError, PromptSection, ReviewPlugin},
    untrusted::Untrusted,
};
use conclave_fetch::{Fetched, Fetcher, TextUrl};

/// The reviewer's name.
pub const REVIEWER: &str = "agents_md";

/// What the plugin needs.
#[derive(Debug)]
pub struct AgentsMdSettings {
    /// Where the organisation's template is, if there is one.
    pub template: Option<TextUrl>,
    /// For the template.
    pub fetcher: Fetcher,
    /// What the survey of the diff has seen.
    pub hints: Vec<Hint>,
    /// The files for agents that the changed files are under, as they are at head.
    pub instructions: Vec<Instructions>,
    /// Those of them that cannot be shown.
    pub unread: Vec<Unread>,
}

/// Registers the reviewer with its hints, and gives everybody the template.
#[derive(Debug)]
pub struct AgentsMdPlugin {
    settings: AgentsMdSettings,
    fetched: Option<Fetched>,
}

impl AgentsMdPlugin {
    /// The plugin; nothing is fetched yet.
    pub fn new(settings: AgentsMdSettings) -> Self {
        Self {
            settings,
            fetched: None,
        }
    }
}

/// What cannot be a template, in words.
fn check(text: &str) -> Result<(), String> {
    let start: String = text
        .trim_start()
        .chars()
        .take(15)
        .collect::<String>()
        .to_ascii_lowercase();
    if text.trim().is_empty() {
        Err("it is empty".to_owned())
    } else if start.starts_with("<!doctype") || start.starts_with("<html") {
        Err("it is a web page, perhaps one to sign in".to_owned())
    } else {
        Ok(())
    }
}

#[async_trait]
impl ReviewPlugin for AgentsMdPlugin {
    fn name(&self) -> &'static str {
        "agents_md"
    }

    async fn bootstrap(&mut self) -> Result<(), PluginError> {
        let Some(url) = &self.settings.template else {
            return Ok(());
        };
        match self.settings.fetcher.text(url, Utc::now(), check).await {
            Ok(fetched) => {
                self.fetched = Some(fetched);
                Ok(())
            }
            Err(error) => Err(PluginError(format!(
                "the template at {url} {error}; the review goes on without it"
            ))),
        }
    }

    fn warnings(&self) -> Vec<String> {
        let warning = self.fetched.as_ref().and_then(|fetched| fetched.warning.as_ref());
        warning
            .map(|warning| format!("agents_md: the template at {warning}"))
            .into_iter()
            .collect()
    }

    fn configure(&self, context: &mut ConfigureContext<'_>) -> Result<(), PluginError> {
        context.register_agent(AgentSpec {
            name: REVIEWER.to_owned(),
            description: "Checks whether AGENTS.md is still true".to_owned(),
            role: AgentRole::Reviewer,
        });
        context.inject_section(PromptSection {
            name: "materiality_hints",
            audience: Audience::Agent(REVIEWER.to_owned()),
            text: hint::rendered(self.settings.hints.clone()),
        });
        context.inject_section(PromptSection {
            name: "agents_md_files",
            audience: Audience::Agent(REVIEWER.to_owned()),
            text: instructions::rendered(&self.settings.instructions, &self.settings.unread).0,
        });
        if let Some(template) = &self.fetched {
            context.inject_section(PromptSection {
                name: "agents_md_template_instructions",
                audience: Audience::Everyone,
                text: Untrusted::from(template.text.as_str()),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

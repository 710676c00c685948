//! The one place where contributions become a configuration.

use std::collections::{BTreeMap, BTreeSet};

use conclave_shared::{
    config::{CapabilityList, ConfigDocument, ModelTier, fallback, named_models},
    model::ModelId,
    pricing,
    reviewer::ReviewerName,
};

use super::{
    AgentSpec, Audience, McpServer, Owned, PromptSection, ProviderModel, ProviderSpec, ToolGrant,
    conflict::{Conflict, no_repetition},
};
use crate::{ports::SPARE_MODEL, review::Plan, untrusted::SECTIONS};

/// Where models come from that no plugin named.
pub const BUILT_IN: &str = "conclave";

/// All contributions together, before it is known who sits on the panel.
#[derive(Debug)]
pub struct Assembled {
    /// Without models.
    contributions: RuntimeConfig,
    /// Who chose the models of a reviewer or of a class.
    chosen_by: BTreeMap<String, &'static str>,
}

/// What the runtime is started with, each part with the plugin that it came from.
#[derive(Debug, Clone, Default)]
pub struct RuntimeConfig {
    /// The agents of the panel and the coordinator.
    pub agents: Vec<Owned<AgentSpec>>,
    /// Providers, as the gateway knows them; the runtime sees those that have models.
    pub providers: Vec<Owned<ProviderSpec>>,
    /// Models of the panel's routes, each once, with whoever chose it.
    pub models: Vec<Owned<ProviderModel>>,
    /// MCP servers.
    pub mcp_servers: Vec<Owned<McpServer>>,
    /// Tools that agents may call beside what every agent may do.
    pub tools: Vec<Owned<ToolGrant>>,
    /// Sections of the prompts, in the order of registration.
    pub sections: Vec<Owned<PromptSection>>,
}

impl Assembled {
    /// Merges everything.
    pub(super) fn new(contributions: RuntimeConfig) -> Result<Self, Conflict> {
        check(&contributions)?;
        Ok(Self {
            contributions,
            chosen_by: BTreeMap::new(),
        })
    }

    /// The reviewers that somebody registered.
    pub fn reviewers(&self) -> BTreeSet<String> {
        let names = self.contributions.agents.iter().map(|agent| agent.value.name.clone());
        names.filter(|name| name != ReviewerName::COORDINATOR).collect()
    }

    /// The sections of the prompts, in the order of registration.
    pub fn sections(&self) -> &[Owned<PromptSection>] {
        &self.contributions.sections
    }

    /// The providers that can be used.
    pub fn providers(&self) -> BTreeSet<String> {
        let providers = self.contributions.providers.iter();
        providers.map(|provider| provider.value.name.clone()).collect()
    }

    /// The same, with how each is asked.
    pub fn provider_specs(&self) -> Vec<&ProviderSpec> {
        self.contributions.providers.iter().map(|owned| &owned.value).collect()
    }

    /// Notes who changed which models between two versions of the document.
    pub(super) fn note_changes(&mut self, plugin: &'static str, before: &ConfigDocument, after: &ConfigDocument) {
        for (reviewer, settings) in &after.reviewers {
            let earlier = before.reviewers.get(reviewer).map(|settings| &settings.models);
            if !settings.models.is_empty() && earlier != Some(&settings.models) {
                self.chosen_by.insert(reviewer.clone(), plugin);
            }
        }
        for tier in ModelTier::ALL {
            if !after.models.of(tier).is_empty() && after.models.of(tier) != before.models.of(tier) {
                self.chosen_by.insert(tier.as_str().to_owned(), plugin);
            }
        }
    }

    /// Narrows everything down to who sits on the panel and which models they use.
    pub fn for_plan(self, plan: &Plan, document: &ConfigDocument) -> RuntimeConfig {
        let models = self.models(plan, document);
        let mut config = self.contributions;
        config.models = models;
        let mut panel: BTreeSet<String> = plan.reviewers().iter().map(ToString::to_string).collect();
        panel.insert(ReviewerName::COORDINATOR.to_owned());
        config.agents.retain(|agent| panel.contains(&agent.value.name));
        config.tools.retain(|grant| panel.contains(&grant.value.agent));
        config.sections.retain(|section| match &section.value.audience {
            Audience::Everyone => true,
            Audience::Agent(agent) => panel.contains(agent),
        });
        config
    }

    fn models(&self, plan: &Plan, document: &ConfigDocument) -> Vec<Owned<ProviderModel>> {
        let capabilities = CapabilityList::new(&document.capabilities);
        let mut models: Vec<Owned<ProviderModel>> = Vec::new();
        let members = plan.members.iter().map(|member| (member.name.as_str(), &member.route));
        for (name, route) in members.chain([(ReviewerName::COORDINATOR, &plan.coordinator)]) {
            let plugin = self.choice_of(name, plan, document);
            let (routed, skipped) = match route {
                Ok(route) => (route.models.as_slice(), &route.skipped),
                Err(none) => (&[][..], &none.skipped),
            };
            // What is switched off now may be switched on again while the run goes on.
            let off = skipped.iter().filter(|skip| skip.switched_off).map(|skip| &skip.model);
            for id in routed.iter().chain(off) {
                if !models.iter().any(|known| known.value.id == *id) {
                    models.push(Owned {
                        plugin,
                        value: provider_model(id, &capabilities),
                    });
                }
            }
        }
        models.extend(self.named_beside(&models, document, &capabilities));
        models
    }

    /// What the runtime has to know for changes during the run: the other models of the document with who stands in for them,
    /// and for each provider one that stands for any model that is named later.
    fn named_beside(
        &self,
        routed: &[Owned<ProviderModel>],
        document: &ConfigDocument,
        capabilities: &CapabilityList,
    ) -> Vec<Owned<ProviderModel>> {
        let providers = self.providers();
        let mut seen: BTreeSet<ModelId> = routed.iter().map(|known| known.value.id.clone()).collect();
        let mut models = Vec::new();
        let mut next: Vec<ModelId> = named_models(document).cloned().collect();
        let spares = providers
            .iter()
            .map(|provider| ModelId::from_parts(provider, SPARE_MODEL));
        next.extend(spares.flatten());
        while let Some(id) = next.pop() {
            if providers.contains(id.provider()) && seen.insert(id.clone()) {
                next.extend(fallback(document, &id));
                models.push(Owned {
                    plugin: BUILT_IN,
                    value: provider_model(&id, capabilities),
                });
            }
        }
        models.sort_by(|one, other| one.value.id.cmp(&other.value.id));
        models
    }

    /// Who chose the models of this reviewer.
    fn choice_of(&self, reviewer: &str, plan: &Plan, document: &ConfigDocument) -> &'static str {
        let own = document
            .reviewers
            .get(reviewer)
            .is_some_and(|settings| !settings.models.is_empty());
        let class = plan.classes.get(reviewer).copied();
        let tier = class.unwrap_or_else(|| conclave_shared::config::model_tier(reviewer, plan.is_trivial()));
        let chosen = if own { reviewer } else { tier.as_str() };
        self.chosen_by.get(chosen).copied().unwrap_or(BUILT_IN)
    }
}

fn provider_model(id: &ModelId, capabilities: &CapabilityList) -> ProviderModel {
    ProviderModel {
        id: id.clone(),
        facts: pricing::facts(id),
        capabilities: capabilities.of(id),
    }
}

impl RuntimeConfig {
    /// The models of a provider.
    pub fn models_of(&self, provider: &str) -> impl Iterator<Item = &Owned<ProviderModel>> {
        self.models
            .iter()
            .filter(move |model| model.value.id.provider() == provider)
    }
}

fn known(contributions: &RuntimeConfig, plugin: &'static str, what: &'static str, agent: &str) -> Result<(), Conflict> {
    if contributions.agents.iter().any(|known| known.value.name == agent) {
        return Ok(());
    }
    Err(Conflict::NoSuchAgent {
        plugin,
        what,
        agent: agent.to_owned(),
    })
}

fn check(contributions: &RuntimeConfig) -> Result<(), Conflict> {
    no_repetition("agent", &contributions.agents, |agent| agent.name.clone())?;
    no_repetition("provider", &contributions.providers, |provider| provider.name.clone())?;
    no_repetition("MCP server", &contributions.mcp_servers, |server| server.name.clone())?;
    for section in &contributions.sections {
        if !SECTIONS.contains(&section.value.name) {
            return Err(Conflict::UnknownSection {
                plugin: section.plugin,
                name: section.value.name,
            });
        }
        if let Audience::Agent(agent) = &section.value.audience {
            known(contributions, section.plugin, "a section", agent)?;
        }
    }
    for grant in &contributions.tools {
        let ToolGrant { agent, tool } = &grant.value;
        known(contributions, grant.plugin, "a tool", agent)?;
        let mut servers = contributions.mcp_servers.iter();
        if !servers.any(|server| tool.starts_with(&format!("{}_", server.value.name))) {
            return Err(Conflict::NoSuchTool {
                plugin: grant.plugin,
                agent: agent.clone(),
                tool: tool.clone(),
            });
        }
    }
    Ok(())
}

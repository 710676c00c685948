//! The phases and what happens when plugins disagree.

use conclave_shared::reviewer::ReviewerName;

use super::*;

struct Quiet;

impl ReviewPlugin for Quiet {
    fn name(&self) -> &'static str {
        "quiet"
    }
}

struct Rival;

#[async_trait]
impl ReviewPlugin for Rival {
    fn name(&self) -> &'static str {
        "rival"
    }

    async fn bootstrap(&mut self) -> Result<(), PluginError> {
        Err(PluginError("the template URL does not answer".into()))
    }

    fn configure(&self, context: &mut ConfigureContext<'_>) -> Result<(), PluginError> {
        context.register_agent(AgentSpec {
            name: "security".into(),
            description: String::new(),
            role: AgentRole::Reviewer,
            tools: Vec::new(),
        });
        Ok(())
    }
}

struct Helper(&'static str);

impl ReviewPlugin for Helper {
    fn name(&self) -> &'static str {
        "helper"
    }

    fn configure(&self, context: &mut ConfigureContext<'_>) -> Result<(), PluginError> {
        context.allow_tool(self.0, "look_up");
        Ok(())
    }
}

fn panel() -> Box<dyn ReviewPlugin> {
    Box::new(StandingPanel::new(vec![ReviewerName::new("security").expect("a name")]))
}

#[tokio::test]
async fn a_failed_bootstrap_is_a_warning_with_the_plugins_name() {
    let mut plugins: Vec<Box<dyn ReviewPlugin>> = vec![Box::new(Quiet), Box::new(Rival)];
    assert_eq!(
        bootstrap(&mut plugins).await,
        ["rival: the template URL does not answer"]
    );
}

#[test]
fn contributions_are_merged_and_remembered() {
    let config = configure(&[panel(), Box::new(Helper("security"))]).expect("no conflict");
    let agents: Vec<_> = config
        .agents
        .iter()
        .map(|agent| (agent.plugin, agent.value.name.as_str()))
        .collect();
    assert_eq!(agents, [("panel", "coordinator"), ("panel", "security")]);
    assert_eq!(config.agents[1].value.tools, ["look_up"]);
}

#[test]
fn a_conflict_names_both_plugins() {
    let error = configure(&[panel(), Box::new(Rival)]).expect_err("a conflict");
    assert_eq!(
        error.to_string(),
        "the plugins `panel` and `rival` both contribute the agent `security`"
    );
    let error = configure(&[panel(), Box::new(Helper("nobody"))]).expect_err("no such agent");
    assert!(
        error.to_string().contains("`nobody`, which nobody registered"),
        "{error}"
    );
}

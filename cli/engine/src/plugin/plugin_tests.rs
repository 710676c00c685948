//! The phases and what happens when plugins disagree.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use conclave_shared::model::ModelId;
use tokio::sync::Barrier;

use super::*;
use crate::untrusted::Untrusted;

type Configure = dyn Fn(&mut ConfigureContext<'_>) -> Result<(), PluginError> + Send + Sync;

/// A plugin whose only phase is the second one.
struct Part(&'static str, Box<Configure>);

impl ReviewPlugin for Part {
    fn name(&self) -> &'static str {
        self.0
    }

    fn configure(&self, context: &mut ConfigureContext<'_>) -> Result<(), PluginError> {
        (self.1)(context)
    }
}

fn part(
    name: &'static str,
    configure: impl Fn(&mut ConfigureContext<'_>) -> Result<(), PluginError> + Send + Sync + 'static,
) -> Box<dyn ReviewPlugin> {
    Box::new(Part(name, Box::new(configure)))
}

fn adds(
    name: &'static str,
    contribute: impl Fn(&mut ConfigureContext<'_>) + Send + Sync + 'static,
) -> Box<dyn ReviewPlugin> {
    part(name, move |context| {
        contribute(context);
        Ok(())
    })
}

fn panel() -> Box<dyn ReviewPlugin> {
    Box::new(BuiltInPanel)
}

fn assemble(plugins: &[Box<dyn ReviewPlugin>]) -> Result<Assembled, PluginError> {
    configure(plugins)
}

#[track_caller]
fn refused(plugins: &[Box<dyn ReviewPlugin>], text: &str) {
    let error = assemble(plugins).expect_err("it must not be assembled").to_string();
    assert_eq!(error, text);
}

fn agent(name: &str) -> AgentSpec {
    AgentSpec {
        name: name.to_owned(),
        description: String::new(),
        role: AgentRole::Reviewer,
    }
}

fn provider(name: &str) -> ProviderSpec {
    ProviderSpec {
        name: name.to_owned(),
        wire: ProviderWire::Anthropic,
        base_url: "https://models.example/v1".parse().expect("a URL"),
        credential: None,
        headers: Vec::new(),
    }
}

fn server(name: &str) -> McpServer {
    McpServer {
        name: name.to_owned(),
        location: McpLocation::ToolServer("/x".into()),
        token_variable: "T",
    }
}

fn model(name: &str) -> ModelId {
    name.parse().expect("a model")
}

/// Starts only together with the others.
struct Together(Arc<Barrier>, Result<(), PluginError>);

#[async_trait]
impl ReviewPlugin for Together {
    fn name(&self) -> &'static str {
        "together"
    }

    async fn bootstrap(&mut self) -> Result<(), PluginError> {
        self.0.wait().await;
        self.1.clone()
    }
}

#[tokio::test(start_paused = true)]
async fn all_plugins_start_at_once_and_a_failure_is_a_warning_with_the_plugins_name() {
    let barrier = Arc::new(Barrier::new(3));
    let failure = Err(PluginError("the template URL does not answer".into()));
    let mut plugins: Vec<Box<dyn ReviewPlugin>> = [Ok(()), failure, Ok(())]
        .into_iter()
        .map(|result| Box::new(Together(Arc::clone(&barrier), result)) as _)
        .collect();
    let all = tokio::time::timeout(Duration::from_secs(1), bootstrap(&mut plugins)).await;
    assert_eq!(
        all.expect("nobody waits for another to end"),
        ["together: the template URL does not answer"]
    );
}

#[test]
fn the_second_phase_goes_in_the_order_of_registration_and_stops_at_the_first_failure() {
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let noting = |name: &'static str, result: Result<(), PluginError>| {
        let order = Arc::clone(&order);
        part(name, move |_| {
            order.lock().expect("nobody panics").push(name);
            result.clone()
        })
    };
    let failure = Err(PluginError("no forge, no review".into()));
    let plugins = [noting("one", Ok(())), noting("two", failure), noting("three", Ok(()))];
    refused(&plugins, "two: no forge, no review");
    assert_eq!(*order.lock().expect("nobody panics"), ["one", "two"]);
}

#[test]
fn contributions_are_merged_and_remembered() {
    let helper = adds("helper", |context| {
        context.add_mcp_server(server("look"));
        context.allow_tool("security", "look_up");
    });
    let assembled = assemble(&[panel(), helper]).expect("no conflict");
    assert!(assembled.reviewers().contains("security"));
    assert!(
        !assembled.reviewers().contains("coordinator"),
        "who judges sits on no panel"
    );
    assert!(
        !assembled.reviewers().contains("codex"),
        "a reviewer of another plugin is that plugin's"
    );
    let config = assembled.for_plan(&plan_of(&["security"]), &ConfigDocument::default());
    let agents: Vec<_> = config
        .agents
        .iter()
        .map(|a| (a.plugin, a.value.name.as_str()))
        .collect();
    assert_eq!(agents, [("panel", "coordinator"), ("panel", "security")]);
    let tools: Vec<_> = config
        .tools
        .iter()
        .map(|grant| (grant.plugin, grant.value.tool.as_str()))
        .collect();
    assert_eq!(tools, [("helper", "look_up")]);
}

#[test]
fn every_conflict_names_both_plugins() {
    type Contribute = fn(&mut ConfigureContext<'_>);
    let cases: [(&str, &str, Contribute); 3] = [
        ("agent", "house_rules", |context| {
            context.register_agent(agent("house_rules"));
        }),
        ("provider", "anthropic", |context| {
            context.add_provider(provider("anthropic"));
        }),
        ("MCP server", "look", |context| context.add_mcp_server(server("look"))),
    ];
    for (kind, name, contribute) in cases {
        refused(
            &[adds("first", contribute), adds("second", contribute)],
            &format!("the plugins `first` and `second` both contribute the {kind} `{name}`"),
        );
    }
}

#[test]
fn something_for_nobody_is_an_error() {
    refused(
        &[
            panel(),
            adds("helper", |context| context.allow_tool("nobody", "look_up")),
        ],
        "the plugin `helper` has a tool for the agent `nobody`, which no plugin registered",
    );
    refused(
        &[adds("helper", |context| {
            context.inject_section(PromptSection {
                name: "codex_rules",
                audience: Audience::Agent("nobody".into()),
                text: Untrusted::default(),
            });
        })],
        "the plugin `helper` has a section for the agent `nobody`, which no plugin registered",
    );
    refused(
        &[
            panel(),
            adds("helper", |context| {
                context.inject_section(PromptSection {
                    name: "of_my_own",
                    audience: Audience::Everyone,
                    text: Untrusted::default(),
                });
            }),
        ],
        "the plugin `helper` adds the prompt section `of_my_own`, which is none of the known sections",
    );
}

#[test]
fn no_plugin_can_give_an_agent_what_could_act() {
    // A plugin gives tools only, and a tool belongs to a server that a plugin added.
    for tool in [
        "bash",
        "edit",
        "webfetch",
        "task",
        "external_directory",
        "lookup",
        "other_up",
    ] {
        let helper = adds("helper", move |context| {
            context.add_mcp_server(server("look"));
            context.allow_tool("security", tool);
        });
        let error = assemble(&[panel(), helper]).expect_err("refused").to_string();
        assert!(
            error.contains(&format!("`{tool}`, but no plugin added an MCP server")),
            "{error}"
        );
    }
}

struct Remote(Result<&'static str, PluginError>);

#[async_trait]
impl ReviewPlugin for Remote {
    fn name(&self) -> &'static str {
        "remote"
    }

    async fn post_configure(&self, config: &mut ConfigDocument) -> Result<(), PluginError> {
        config.models.light.clear();
        config.models.top = vec![model(self.0.clone()?)];
        Ok(())
    }
}

#[tokio::test]
async fn models_are_amended_and_each_remembers_the_plugin_that_chose_it() {
    let plugins = [panel(), Box::new(Remote(Ok("b/top"))) as _];
    let mut document = ConfigDocument::default();
    document.models.standard = vec![model("a/standard")];
    document.reviewers.entry("tests".to_owned()).or_default().models = vec![model("a/tests")];
    let mut assembled = configure(&plugins).expect("no conflict");
    assert_eq!(post_configure(&plugins, &mut assembled, &mut document).await, [""; 0]);
    assert_eq!(document.models.top, [model("b/top")]);
    let plan = plan_with(&["security", "tests"], &document);
    let config = assembled.for_plan(&plan, &document);
    let models: Vec<_> = config.models.iter().map(|m| (m.plugin, m.value.id.as_str())).collect();
    assert_eq!(
        models,
        [(BUILT_IN, "a/standard"), (BUILT_IN, "a/tests"), ("remote", "b/top")]
    );
}

#[tokio::test]
async fn an_amendment_that_fails_changes_nothing_and_is_a_warning() {
    let plugins: [Box<dyn ReviewPlugin>; 2] = [panel(), Box::new(Remote(Err(PluginError("gone".into()))))];
    let mut document = ConfigDocument::default();
    document.models.light = vec![model("a/light")];
    let before = document.clone();
    let mut assembled = configure(&plugins).expect("no conflict");
    assert_eq!(
        post_configure(&plugins, &mut assembled, &mut document).await,
        ["remote: gone"]
    );
    assert_eq!(document, before);
}

fn plan_of(reviewers: &[&str]) -> crate::review::Plan {
    plan_with(reviewers, &ConfigDocument::default())
}

/// A plan with these reviewers, whatever the diff; providers `a`, `b` and `anthropic` can be used.
fn plan_with(reviewers: &[&str], document: &ConfigDocument) -> crate::review::Plan {
    use conclave_shared::{
        config::{NO_CLASSES, Preset, RouteInput, route},
        reviewer::ReviewerName,
        risk::{FileChange, RiskRules, SecurityPaths, classify},
    };
    let credentials = ["a", "b", "anthropic"].map(str::to_owned).into();
    let input = RouteInput {
        document,
        preset: Preset::Current,
        credentials: &credentials,
        trivial: false,
        classes: &NO_CLASSES,
    };
    let change = FileChange {
        path: "auth/login.rs",
        old_path: "auth/login.rs",
        changed_lines: 1,
    };
    crate::review::Plan {
        assessment: classify(&[change], RiskRules::default(), &SecurityPaths::default()),
        members: reviewers
            .iter()
            .map(|name| crate::review::PanelMember {
                name: ReviewerName::new(*name).expect("a name"),
                route: route(name, input),
                required: true,
                attempt: Duration::from_secs(1),
                parts: Vec::new(),
                patches: Vec::new(),
                rules: None,
            })
            .collect(),
        coordinator: route(ReviewerName::COORDINATOR, input),
        slots: Vec::new(),
        gaps: Vec::new(),
        classes: BTreeMap::new(),
        rules: crate::rules::AppliedRules::default(),
    }
}

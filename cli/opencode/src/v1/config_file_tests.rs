//! The file and its explanation.

use std::collections::BTreeSet;

use conclave_engine::plugin::ToolGrant;
use conclave_shared::config::CapabilityList;

use super::*;

fn owned<T>(plugin: &'static str, value: T) -> Owned<T> {
    Owned { plugin, value }
}

fn agent_spec(name: &str, role: AgentRole) -> AgentSpec {
    AgentSpec {
        name: name.to_owned(),
        description: "What it does".to_owned(),
        role,
    }
}

fn grant(plugin: &'static str, agent: &str, tool: &str) -> Owned<ToolGrant> {
    owned(
        plugin,
        ToolGrant {
            agent: agent.to_owned(),
            tool: tool.to_owned(),
        },
    )
}

fn provider_spec(name: &str) -> ProviderSpec {
    ProviderSpec {
        name: name.to_owned(),
        wire: ProviderWire::Anthropic,
        base_url: "https://secret-gateway.example/v1".parse().expect("a URL"),
        credential: Some("the-real-key".to_owned().into()),
        headers: vec![("x-key".to_owned(), "the-other-key".to_owned().into())],
    }
}

fn model_of(name: &str) -> ProviderModel {
    let id = name.parse().expect("a model");
    ProviderModel {
        capabilities: CapabilityList::default().of(&id),
        id,
        facts: None,
    }
}

fn config() -> RuntimeConfig {
    RuntimeConfig {
        agents: vec![
            owned("panel", agent_spec("coordinator", AgentRole::Coordinator)),
            owned("house", agent_spec("codex", AgentRole::Reviewer)),
        ],
        providers: vec![
            owned("cloudflare", provider_spec("anthropic")),
            owned("cloudflare", provider_spec("unused")),
        ],
        models: vec![
            owned("reviewer_config", model_of("anthropic/claude-x")),
            owned(BUILT_IN, model_of("anthropic/claude-y")),
        ],
        mcp_servers: vec![owned(
            "coordinator_tools",
            McpServer {
                name: "spawn".to_owned(),
                location: McpLocation::ToolServer("/spawn".to_owned()),
                token_variable: "TOKEN_OF_THE_RUN",
            },
        )],
        tools: vec![
            grant("coordinator_tools", "coordinator", "spawn_reviewers"),
            grant("generous", "codex", "read"),
        ],
        ..RuntimeConfig::default()
    }
}

fn explained(config: &RuntimeConfig) -> (Value, Vec<ExplainedLine>) {
    let endpoints = Endpoints::placeholders();
    let file = ConfigFile {
        config,
        endpoints: &endpoints,
        reviewer_prompt: "./r.md",
        coordinator_prompt: "./c.md",
    };
    (render_config(&file), explain(&file))
}

#[test]
fn the_explanation_is_the_file_line_by_line() {
    let empty = RuntimeConfig::default();
    for config in [&config(), &empty] {
        let (value, lines) = explained(config);
        let text: Vec<&str> = lines.iter().map(|line| line.line.as_str()).collect();
        assert_eq!(text.join("\n"), format!("{value:#}"));
    }
}

#[test]
fn each_line_names_whoever_it_came_from() {
    let (_, lines) = explained(&config());
    let owner = |needle: &str| {
        let owners: BTreeSet<&str> = lines
            .iter()
            .filter(|line| line.line.contains(needle))
            .map(|line| line.plugin)
            .collect();
        owners.into_iter().collect::<Vec<_>>().join(" ")
    };
    for (needle, plugins) in [
        ("\"autoupdate\"", "conclave"),
        ("\"agent\"", "conclave"),
        ("\"coordinator\": {", "panel"),
        ("\"codex\": {", "house"),
        ("{file:./r.md}", "house"),
        ("\"temperature\"", "conclave"),
        ("\"*\": \"deny\"", "conclave"),
        ("\"spawn_reviewers\": \"allow\"", "coordinator_tools"),
        ("\"grep\": \"allow\"", "conclave"),
        ("\"anthropic\": {", "cloudflare"),
        ("\"npm\"", "cloudflare"),
        ("\"baseURL\"", "conclave"),
        ("\"claude-x\": {", "reviewer_config"),
        ("\"name\": \"claude-x\"", "reviewer_config"),
        ("\"claude-y\": {", "conclave"),
        ("\"spawn\": {", "coordinator_tools"),
        ("TOOLS_PORT/spawn", "coordinator_tools"),
    ] {
        assert_eq!(owner(needle), plugins, "{needle}");
    }
}

#[test]
fn the_runtime_learns_nothing_of_a_provider_but_its_name() {
    let (value, _) = explained(&config());
    let text = value.to_string();
    for secret in ["the-real-key", "the-other-key", "secret-gateway", "x-key"] {
        assert!(!text.contains(secret), "{text}");
    }
    assert_eq!(
        value["provider"]["anthropic"]["options"]["baseURL"],
        "http://127.0.0.1:GATEWAY_PORT/anthropic/v1"
    );
    assert_eq!(
        value["enabled_providers"],
        json!(["anthropic"]),
        "one without models is none"
    );
}

#[test]
fn giving_what_every_agent_has_takes_no_exception_away() {
    let (value, _) = explained(&config());
    let permission = &value["agent"]["codex"]["permission"];
    assert_eq!(permission["read"]["*.env"], "deny", "{permission:#}");
    let first = permission.as_object().and_then(|rules| rules.keys().next());
    assert_eq!(first.map(String::as_str), Some("*"), "the last rule that matches wins");
}

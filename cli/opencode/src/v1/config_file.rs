//! `opencode.json`: what the assembler's result looks like to OpenCode.
//!
//! The file can be read by anybody: keys are named, never written. Every part of it is made together with the name of the
//! plugin that it came from, so the file and its explanation cannot differ.

mod annotated;

use conclave_engine::plugin::{
    AgentRole, AgentSpec, BUILT_IN, McpLocation, McpServer, Owned, ProviderModel, ProviderSpec, ProviderWire,
    RuntimeConfig,
};
use conclave_shared::config::{MAX_CALL_SECONDS, MAX_RUN_SECONDS};
use serde_json::{Value, json};

use super::GATEWAY_KEY_VARIABLE;
use annotated::Node;

pub use annotated::ExplainedLine;

/// Addresses of the run's own servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoints {
    /// The model gateway: `http://127.0.0.1:PORT`.
    pub gateway: String,
    /// The tool server, likewise.
    pub tools: String,
}

impl Endpoints {
    /// Addresses for a file that nobody will start: the ports are known only in a run.
    pub fn placeholders() -> Self {
        Self {
            gateway: "http://127.0.0.1:GATEWAY_PORT".to_owned(),
            tools: "http://127.0.0.1:TOOLS_PORT".to_owned(),
        }
    }
}

/// Inputs of the file: the contributions, and what it needs besides.
#[derive(Debug)]
pub struct ConfigFile<'a> {
    /// The assembled contributions.
    pub config: &'a RuntimeConfig,
    /// Addresses of the run's own servers.
    pub endpoints: &'a Endpoints,
    /// The prompt file of a role, relative to the configuration file.
    pub reviewer_prompt: &'a str,
    /// The coordinator's prompt file, relative to the configuration file.
    pub coordinator_prompt: &'a str,
}

/// Time limit of OpenCode for a response's headers, and between its parts, in milliseconds. The gateway ends every call by
/// itself, at limits that can be set and changed while a run goes on, so this is longer than they can be; OpenCode's own
/// default of 300 s would end calls that the gateway still waits for, and ask again.
const HTTP_TIMEOUT_MS: u64 = (MAX_CALL_SECONDS + 60) * 1000;
/// Time limit of a tool of ours, in milliseconds: as long as a run can be.
const MCP_TIMEOUT_MS: u64 = MAX_RUN_SECONDS * 1000;

/// Maximum number of tokens that one answer is asked for: a review needs no more, and a runaway answer costs no more.
const MAX_OUTPUT: u64 = 32_000;

/// The file's content.
pub fn render_config(file: &ConfigFile<'_>) -> Value {
    document(file).value()
}

/// The file line by line, each with the plugin that it came from; together exactly what `{:#}` makes of
/// [`render_config`].
pub fn explain(file: &ConfigFile<'_>) -> Vec<ExplainedLine> {
    document(file).lines()
}

fn document(file: &ConfigFile<'_>) -> Node {
    let config = file.config;
    let providers: Vec<&Owned<ProviderSpec>> = config
        .providers
        .iter()
        .filter(|owned| config.models_of(&owned.value.name).next().is_some())
        .collect();
    let mut document = Node::new(
        BUILT_IN,
        json!({
            "$schema": "https://opencode.ai/config.json",
            "autoupdate": false,
            "share": "disabled",
            "snapshot": false,
            "lsp": false,
            "formatter": false,
        }),
    );
    let names = providers
        .iter()
        .map(|owned| Node::new(owned.plugin, json!(owned.value.name)));
    document.set("enabled_providers", Node::array(BUILT_IN, names));
    for (key, value) in [
        ("compaction", json!({"auto": false, "prune": false})),
        ("tool_output", json!({"max_bytes": 1_000_000, "max_lines": 20_000})),
        ("permission", json!({"*": "deny"})),
    ] {
        document.set(key, Node::new(BUILT_IN, value));
    }
    let providers = providers
        .iter()
        .map(|owned| (owned.value.name.clone(), provider(owned, file)));
    document.set("provider", Node::object(BUILT_IN, providers));
    let servers = config
        .mcp_servers
        .iter()
        .map(|owned| (owned.value.name.clone(), server(owned, file.endpoints)));
    document.set("mcp", Node::object(BUILT_IN, servers));
    let agents = config
        .agents
        .iter()
        .map(|owned| (owned.value.name.clone(), agent(owned, file)));
    document.set("agent", Node::object(BUILT_IN, agents));
    document
}

fn server(owned: &Owned<McpServer>, endpoints: &Endpoints) -> Node {
    let server = &owned.value;
    let url = match &server.location {
        McpLocation::ToolServer(path) => format!("{}{path}", endpoints.tools),
        McpLocation::Url(url) => url.clone(),
    };
    let mut node = Node::new(owned.plugin, json!({"type": "remote", "url": url}));
    node.set("oauth", Node::new(BUILT_IN, json!(false)));
    node.set("timeout", Node::new(BUILT_IN, json!(MCP_TIMEOUT_MS)));
    let headers = json!({"Authorization": format!("Bearer {{env:{}}}", server.token_variable)});
    node.set("headers", Node::new(owned.plugin, headers));
    node
}

fn provider(owned: &Owned<ProviderSpec>, file: &ConfigFile<'_>) -> Node {
    let spec = &owned.value;
    let models = file
        .config
        .models_of(&spec.name)
        .map(|model| (model.value.id.model().to_owned(), self::model(model)));
    let package = match spec.wire {
        ProviderWire::Anthropic => "@ai-sdk/anthropic",
        ProviderWire::OpenAiChat => "@ai-sdk/openai-compatible",
        ProviderWire::OpenAiResponses => "@ai-sdk/openai",
    };
    let mut node = Node::new(owned.plugin, json!({"npm": package, "name": spec.name}));
    // Whoever contributed the provider: the runtime reaches it through the gateway, with the run's key, or not at all.
    let options = json!({
        "baseURL": format!("{}/{}/v1", file.endpoints.gateway, spec.name),
        "apiKey": format!("{{env:{GATEWAY_KEY_VARIABLE}}}"),
        "headerTimeout": HTTP_TIMEOUT_MS,
        "chunkTimeout": HTTP_TIMEOUT_MS,
    });
    node.set("options", Node::new(BUILT_IN, options));
    node.set("models", Node::object(owned.plugin, models));
    node
}

fn model(owned: &Owned<ProviderModel>) -> Node {
    let model = &owned.value;
    let capabilities = model.capabilities;
    let output = capabilities.max_output.min(MAX_OUTPUT);
    let mut value = json!({
        "name": model.id.model(),
        "tool_call": true,
        "limit": {"context": capabilities.context, "output": output},
    });
    if model.facts.is_some() || capabilities.samples {
        value["temperature"] = json!(capabilities.samples);
    }
    if let Some(facts) = model.facts {
        value["reasoning"] = json!(facts.reasoning);
        value["cost"] = json!({
            "input": facts.input,
            "output": facts.output,
            "cache_read": facts.cache_read,
            "cache_write": facts.cache_write,
        });
    }
    Node::new(owned.plugin, value)
}

fn agent(owned: &Owned<AgentSpec>, file: &ConfigFile<'_>) -> Node {
    let spec = &owned.value;
    let prompt = match spec.role {
        AgentRole::Coordinator => file.coordinator_prompt,
        AgentRole::Reviewer => file.reviewer_prompt,
    };
    // The last rule that matches wins, so the denial of everything comes first.
    let mut permission = Node::new(
        BUILT_IN,
        json!({
            "*": "deny",
            "read": {"*": "allow", "*.git/*": "deny", ".git/*": "deny", "*/.git": "deny", ".git": "deny", "*.env": "deny", "*.env.*": "deny", "/proc/*": "deny"},
            "grep": "allow",
            "glob": "allow",
            "external_directory": "deny",
            "doom_loop": "allow",
        }),
    );
    for grant in file.config.tools.iter().filter(|grant| grant.value.agent == spec.name) {
        let name = grant.value.tool.as_str();
        // A permission that stands above is not given again: reading would lose its exceptions.
        if !permission.has(name) {
            permission.set(name, Node::new(grant.plugin, json!("allow")));
        }
    }
    let mut node = Node::object(owned.plugin, []);
    node.set("mode", Node::new(BUILT_IN, json!("primary")));
    node.set("description", Node::new(owned.plugin, json!(spec.description)));
    node.set("prompt", Node::new(owned.plugin, json!(format!("{{file:{prompt}}}"))));
    node.set("temperature", Node::new(BUILT_IN, json!(0.1)));
    node.set("permission", permission);
    node
}

#[cfg(test)]
#[path = "config_file_tests.rs"]
mod tests;

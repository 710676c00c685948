//! `opencode.json`: what the assembler's result looks like to OpenCode.
//!
//! The file can be read by anybody: keys are named, never written.

use conclave_engine::plugin::{AgentRole, AgentSpec, ProviderSpec, ProviderWire, RuntimeConfig};
use serde_json::{Map, Value, json};

/// What the file needs besides the contributions.
#[derive(Debug)]
pub struct ConfigFile<'a> {
    /// The assembled contributions.
    pub config: &'a RuntimeConfig,
    /// The prompt file of a role, relative to the configuration file.
    pub reviewer_prompt: &'a str,
    /// The coordinator's prompt file, relative to the configuration file.
    pub coordinator_prompt: &'a str,
}

/// How long OpenCode waits for a response's headers, and between its parts, in milliseconds: longer than the gateway
/// ever holds a request, shorter than OpenCode's own limit of 300 s, at which it would retry by itself.
const HTTP_TIMEOUT_MS: u64 = 280_000;
/// How long a tool of ours may take, in milliseconds: longer than a whole panel.
const MCP_TIMEOUT_MS: u64 = 1_800_000;

/// Limits for models that nobody knows: small enough for every current model.
const UNKNOWN_CONTEXT: u64 = 128_000;
const UNKNOWN_OUTPUT: u64 = 16_000;
/// The most tokens that one answer is asked for: a review needs no more, and a runaway answer costs no more.
const MOST_OUTPUT: u64 = 32_000;

/// The file's content.
pub fn render_config(file: &ConfigFile<'_>) -> Value {
    let providers: Map<String, Value> = file
        .config
        .providers
        .iter()
        .map(|owned| (owned.value.name.clone(), provider(&owned.value)))
        .collect();
    let names: Vec<&String> = providers.keys().collect();
    let servers: Map<String, Value> = file
        .config
        .mcp_servers
        .iter()
        .map(|owned| {
            let server = &owned.value;
            let value = json!({
                "type": "remote",
                "url": server.url,
                "oauth": false,
                "timeout": MCP_TIMEOUT_MS,
                "headers": {"Authorization": format!("Bearer {{env:{}}}", server.token_variable)},
            });
            (server.name.clone(), value)
        })
        .collect();
    let agents: Map<String, Value> = file
        .config
        .agents
        .iter()
        .map(|owned| (owned.value.name.clone(), agent(&owned.value, file)))
        .collect();
    json!({
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": false,
        "share": "disabled",
        "snapshot": false,
        "lsp": false,
        "formatter": false,
        "enabled_providers": names,
        "compaction": {"auto": false, "prune": false},
        "tool_output": {"max_bytes": 1_000_000, "max_lines": 20_000},
        "permission": {"*": "deny"},
        "provider": providers,
        "mcp": servers,
        "agent": agents,
    })
}

fn provider(spec: &ProviderSpec) -> Value {
    let models: Map<String, Value> = spec
        .models
        .iter()
        .map(|model| {
            let context = model.facts.map_or(UNKNOWN_CONTEXT, |facts| facts.context);
            let output = model
                .facts
                .map_or(UNKNOWN_OUTPUT, |facts| facts.max_output)
                .min(MOST_OUTPUT);
            let mut value = json!({
                "name": model.id.model(),
                "tool_call": true,
                "limit": {"context": context, "output": output},
            });
            if let Some(facts) = model.facts {
                value["cost"] = json!({
                    "input": facts.input,
                    "output": facts.output,
                    "cache_read": facts.cache_read,
                    "cache_write": facts.cache_write,
                });
            }
            (model.id.model().to_owned(), value)
        })
        .collect();
    let package = match spec.wire {
        ProviderWire::Anthropic => "@ai-sdk/anthropic",
        ProviderWire::OpenAiChat => "@ai-sdk/openai-compatible",
        ProviderWire::OpenAiResponses => "@ai-sdk/openai",
    };
    json!({
        "npm": package,
        "name": spec.name,
        "options": {
            "baseURL": spec.base_url,
            "apiKey": format!("{{env:{}}}", spec.key_variable),
            "headerTimeout": HTTP_TIMEOUT_MS,
            "chunkTimeout": HTTP_TIMEOUT_MS,
        },
        "models": models,
    })
}

fn agent(spec: &AgentSpec, file: &ConfigFile<'_>) -> Value {
    let prompt = match spec.role {
        AgentRole::Coordinator => file.coordinator_prompt,
        AgentRole::Reviewer => file.reviewer_prompt,
    };
    // The last rule that matches wins, so the denial of everything comes first.
    let mut permission = Map::new();
    permission.insert("*".into(), json!("deny"));
    permission.insert(
        "read".into(),
        json!({"*": "allow", "*.git/*": "deny", ".git/*": "deny", "*.env": "deny", "*.env.*": "deny", "/proc/*": "deny"}),
    );
    permission.insert("grep".into(), json!("allow"));
    permission.insert("glob".into(), json!("allow"));
    permission.insert("external_directory".into(), json!("deny"));
    permission.insert("doom_loop".into(), json!("allow"));
    for tool in &spec.tools {
        permission.insert(tool.clone(), json!("allow"));
    }
    json!({
        "mode": "primary",
        "description": spec.description,
        "prompt": format!("{{file:{prompt}}}"),
        "temperature": 0.1,
        "permission": permission,
    })
}

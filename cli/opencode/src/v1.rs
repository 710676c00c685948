//! The adapter to the server of OpenCode 1: configuration file, process, HTTP client, events, MCP server.
//!
//! One `opencode serve` child a run, reached over its public HTTP API only. It holds no secret but keys that are made
//! for the run, runs in a workspace without anything that could act, and ends with the run on every way out.

mod api;
mod config_file;
mod launch;
mod mcp;
mod runtime;

pub use config_file::{ConfigFile, Endpoints, ExplainedLine, explain, render_config};
pub use launch::Launched;
pub use mcp::{McpHandle, SPAWN_PATH, SUBMIT_PATH, serve_tools};
pub use runtime::{OpenCode, OpenCodeSettings};

/// The variable of the child's environment that holds the run's key for the model gateway.
pub const GATEWAY_KEY_VARIABLE: &str = "CONCLAVE_RUN_KEY";
/// The variable of the child's environment that holds the run's token for the MCP server.
pub const MCP_TOKEN_VARIABLE: &str = "CONCLAVE_RUN_TOKEN";

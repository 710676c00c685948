//! End to end: the real `conclave`, the real OpenCode, the real Workers in `workerd`, real git; only the model provider and
//! the forges are stand-ins, over real HTTP.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a broken fixture must stop the test, and some scenarios measure"
)]

#[macro_use]
mod support;

mod ai_gateway;
mod bad_input;
mod bounds;
mod broken_config;
mod certificates;
mod checkouts;
mod codex;
mod config_command;
mod conversation;
mod cost_by_tier;
mod demo;
mod doctor;
mod effort;
mod failure_table;
mod fullreview;
mod github_commands;
mod github_enterprise;
mod github_hostile;
mod github_review;
mod github_wiped;
mod github_words;
mod github_workers;
mod gitlab_review;
mod hook;
mod hostile_repository;
mod init;
mod init_dialogue;
mod installation;
mod live_configuration;
mod local_review;
mod memory;
mod model_calls;
mod model_faults;
mod no_wrong_approval;
mod noise;
mod odd_models;
mod odd_places;
mod on_request;
mod plan;
mod publishing;
mod read_only;
mod remote_config;
mod replay;
mod rereview;
mod resilience;
mod run_reports;
mod runtime_install;
mod runtimes;
mod same_as_ci;
mod sandbox;
mod sandbox_required;
mod shared_prompt;
mod signals;
mod telemetry;
mod terminal;
mod tight_limits;
#[cfg(feature = "otlp")]
mod tracing;
mod wire;
mod wire_faults;

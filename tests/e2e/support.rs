//! What every scenario needs.

mod acting;
mod config_service;
mod installation;
#[cfg(target_os = "linux")]
mod kernel;
mod pipeline;
mod program;
mod repository;
#[macro_use]
mod runtimes;
mod terminal;
mod usage;
mod words;
mod workers;
mod workflow;
mod wrapper;

pub(crate) use acting::{acting, is_asked_after_a_filter, provider_of};
pub(crate) use config_service::ConfigService;
pub(crate) use installation::{Component, Installation, JobToken};
#[cfg(target_os = "linux")]
pub(crate) use kernel::without;
pub(crate) use pipeline::{BOT, PROJECT, Pipeline, ProjectWithBot, in_pipeline};
pub(crate) use program::{
    BRIEF, Conclave, Outcome, PROVIDER_KEY, executable, nothing_left_running, opencode, provider, repository_root,
    runs, serving,
};
pub(crate) use repository::Repository;
pub(crate) use runtimes::{AgentRuntime, on, played, played_formats, plays_every_case};
pub(crate) use terminal::Terminal;
pub(crate) use usage::{crowd, used};
pub(crate) use words::{foreign_words, texts_in};
pub(crate) use workers::Workers;
pub(crate) use workflow::Workflow;
pub(crate) use wrapper::Wrapper;

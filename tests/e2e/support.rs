//! What every scenario needs.

mod program;
mod repository;
mod workers;

pub(crate) use program::{Conclave, PROVIDER_KEY, nothing_left_running, opencode, provider, repository_root};
pub(crate) use repository::Repository;
pub(crate) use workers::Workers;

//! D1: reading, writing and cleaning up. The statements that write an event are in its file in `events`.

mod findings_page;
mod health_page;
mod lost;
mod memory;
mod models_page;
mod overview_page;
mod projects;
mod query;
mod retention;
mod run;
mod runs;
mod size;
mod spans;
mod totals;
mod unclassified;
mod window;
mod write;

pub(crate) use findings_page::{FindingsPage, findings_page};
pub(crate) use health_page::{DayCount, HealthPage, health_page};
pub(crate) use memory::{forget, memory};
pub(crate) use models_page::{ModelsPage, UsageSum, models_page, usage_by_agent};
pub(crate) use overview_page::{OverviewPage, TierSum, overview_page};
pub(crate) use projects::{known_projects, projects};
pub(crate) use retention::{clean_up, oldest_accepted_ms};
pub(crate) use run::{RunDetail, SessionRow, UsageRow, run};
pub(crate) use runs::{Cursor, Ended, RunRow, RunSearch, runs};
pub(crate) use size::size_if_known;
pub(crate) use totals::totals;
pub(crate) use unclassified::unclassified;
pub(crate) use window::{Bins, Window, merged};
pub(crate) use write::{probe, ready, write};

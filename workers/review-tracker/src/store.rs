//! D1: the only module that knows its SQL.

mod batch;
mod counts;
mod memory;
mod metrics;
mod overview;
mod query;
mod retention;
mod rollups;
mod rows;
mod run;
mod runs;
mod spans;
mod statements;
mod write;

pub(crate) use batch::Batch;
pub(crate) use memory::{forget, memory};
pub(crate) use metrics::{AllTime, DurationOrCost, RunCount, all_time};
#[cfg(test)]
pub(crate) use metrics::{FindingCount, ModelUse, TierBin};
pub(crate) use overview::{DaySum, Overview, OverviewQuery, VerdictCount, overview};
pub(crate) use retention::{clean_up, oldest_accepted_ms};
pub(crate) use run::{FindingRow, RunDetail, SessionRow, UsageRow, run};
pub(crate) use runs::{Cursor, RunPage, RunRow, runs};
pub(crate) use write::{probe, write};

//! D1: the only module that knows SQL.

mod memory;
mod metrics;
mod overview;
mod query;
mod rows;
mod run;
mod runs;
mod statements;
mod write;

pub(crate) use memory::{forget, memory};
pub(crate) use metrics::{AllTime, DurationOrCost, RunCount, all_time};
#[cfg(test)]
pub(crate) use metrics::{FindingCount, ModelUse, TierBin};
pub(crate) use overview::{DaySum, Overview, OverviewQuery, VerdictCount, overview};
pub(crate) use run::{FindingRow, RunDetail, SessionRow, UsageRow, run};
pub(crate) use runs::{Cursor, RunPage, RunRow, runs};
pub(crate) use write::write;

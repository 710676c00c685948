//! `run_failed`: a review ended without a verdict because something failed.

use std::collections::BTreeMap;

use conclave_shared::telemetry::{FailureKind, RunFailed, RunStage};

use super::{
    Checked, Families, Kind, Meaning, Writer,
    limits::{MAX_DURATION_MS, count},
    rollup::PROJECTS,
    rows::word,
};

/// The place and the reason of a run's failure.
const FAILED: &str = "UPDATE runs SET failed_stage = j.value->>'$.of.stage', failed_kind = j.value->>'$.of.kind',
  merge_request = coalesce(j.value->>'$.of.merge_request', merge_request),
  duration_ms = coalesce(duration_ms, j.value->>'$.of.duration_ms')
  FROM json_each(?1) j WHERE runs.run_id = j.value->>'run_id'";

pub(super) const KIND: Kind = Kind {
    statements: &[FAILED],
    families,
    ..Kind::PLAIN
};

impl Meaning for RunFailed {
    fn check(&self) -> Checked {
        count("duration_ms", self.duration_ms, MAX_DURATION_MS)
    }

    fn merge_request(&self) -> Option<u64> {
        self.merge_request
    }

    fn write<'a>(&'a self, to: &mut Writer<'a, '_>) {
        fail(to, self);
    }
}

/// Writes and counts a failure.
pub(super) fn fail(to: &mut Writer<'_, '_>, failed: &RunFailed) {
    to.row(FAILED, failed);
    to.count("failed", &[word(failed.stage.as_str()), word(failed.kind.as_str())], 1);
    to.sum(&PROJECTS, [to.tier], &[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
}

/// Every stage and kind has a series from the beginning, because a rate does not see a series' first value. Both are closed lists.
fn families(to: &mut Families<'_>) {
    to.out.counter(
        "conclave_runs_failed",
        "Reviews that ended before a verdict, by stage and kind.",
    );
    let mut counts: BTreeMap<[&str; 2], u64> = BTreeMap::new();
    for row in to.all.counts.iter().filter(|row| row.kind == "failed") {
        *counts.entry([&row.a, &row.b]).or_default() += row.n;
    }
    for stage in RunStage::ALL {
        for kind in FailureKind::ALL {
            let [stage, kind] = [stage.as_str(), kind.as_str()];
            let count = counts.get(&[stage, kind]).copied().unwrap_or_default();
            to.out.sample(&[("stage", stage), ("kind", kind)], count);
        }
    }
    to.out.gauge(
        "conclave_runs_lost",
        "Reviews that began and did not report an end within their time limit, of those whose rows are kept.",
    );
    to.out.sample(&[], to.all.lost);
}

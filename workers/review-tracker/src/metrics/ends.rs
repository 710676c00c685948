//! Families about how reviews end: failures, lost reviews, causes of inconclusive verdicts, re-reviews.

use std::collections::BTreeMap;

use conclave_shared::telemetry::{FailureKind, RunStage};

use super::{
    exposition::{Exposition, Kind},
    render::{counted, single},
};
use crate::store::AllTime;

/// All of them.
pub(super) fn ends(out: &mut Exposition, all: &AllTime) {
    out.family(
        "conclave_runs_failed",
        Kind::Counter,
        None,
        "Reviews that ended before a verdict, by stage and kind.",
    );
    failed(out, all);
    out.family(
        "conclave_runs_lost",
        Kind::Gauge,
        None,
        "Reviews that began and did not report an end within their time limit, of those whose rows are kept.",
    );
    out.count("", &[], all.lost);
    out.family(
        "conclave_runs_unneeded",
        Kind::Counter,
        None,
        "Reviews that ended because there was nothing to review.",
    );
    single(out, all, "run_skipped");
    out.family(
        "conclave_inconclusive_runs",
        Kind::Counter,
        None,
        "Inconclusive reviews by cause.",
    );
    counted(out, all, "inconclusive", ["cause"], |[cause, ..]| [cause.to_owned()]);
    out.family(
        "conclave_merge_request_reviews",
        Kind::Counter,
        None,
        "Completed reviews of merge requests: the first one of each, and later ones.",
    );
    counted(out, all, "mr_review", ["review"], |[part, ..]| [part.to_owned()]);
}

/// Every stage and kind has a series from the beginning, because a rate does not see a series' first value. Both are closed lists.
fn failed(out: &mut Exposition, all: &AllTime) {
    let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for row in all.counts.iter().filter(|row| row.kind == "failed") {
        *counts.entry((&row.a, &row.b)).or_default() += row.n;
    }
    for stage in RunStage::ALL {
        for kind in FailureKind::ALL {
            let labels = [("stage", stage.as_str()), ("kind", kind.as_str())];
            let count = counts.get(&(stage.as_str(), kind.as_str()));
            out.count("_total", &labels, count.copied().unwrap_or_default());
        }
    }
}

//! Histograms from the bins of distributions.

use super::exposition::{Exposition, Kind};
use crate::{sketch, store::AllTime, store::RunCount};

/// Upper borders of the duration histogram in seconds, close together where reviews usually end.
const DURATION_BORDERS: [f64; 12] = [
    15.0, 30.0, 60.0, 120.0, 180.0, 240.0, 300.0, 450.0, 600.0, 900.0, 1800.0, 3600.0,
];

/// Upper borders of the cost histogram in US dollars.
const COST_BORDERS: [f64; 12] = [0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 25.0];

/// Upper borders of the delay of batches in seconds.
const DELAY_BORDERS: [f64; 10] = [0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0];

/// A distribution by tier, and how it is shown.
struct OfRuns {
    name: &'static str,
    unit: &'static str,
    help: &'static str,
    metric: &'static str,
    borders: &'static [f64],
    /// How many of the stored unit make one of the shown unit.
    scale: f64,
    sum: fn(&RunCount) -> f64,
}

const DURATION: OfRuns = OfRuns {
    name: "conclave_run_duration_seconds",
    unit: "seconds",
    help: "How long reviews took, from the start of the command to the verdict.",
    metric: "duration_ms",
    borders: &DURATION_BORDERS,
    scale: 1000.0,
    sum: |row| row.duration_ms,
};

const COST: OfRuns = OfRuns {
    name: "conclave_run_cost_usd",
    unit: "usd",
    help: "What reviews cost in US dollars.",
    metric: "cost_usd",
    borders: &COST_BORDERS,
    scale: 1.0,
    sum: |row| row.cost_usd,
};

/// Durations and costs of runs.
pub(super) fn runs(out: &mut Exposition, all: &AllTime) {
    for histogram in [DURATION, COST] {
        out.family(histogram.name, Kind::Histogram, Some(histogram.unit), histogram.help);
        for ((metric, tier), bins) in &all.distributions {
            if metric == histogram.metric {
                let sum: f64 = all.runs.iter().filter(|row| row.tier == *tier).map(histogram.sum).sum();
                one(
                    out,
                    &[("tier", tier)],
                    bins,
                    histogram.borders,
                    histogram.scale,
                    sum / histogram.scale,
                );
            }
        }
    }
}

/// How long batches waited. Their sum is as right as the bins are.
pub(super) fn delay(out: &mut Exposition, all: &AllTime) {
    out.family(
        "conclave_ingest_delay_seconds",
        Kind::Histogram,
        Some("seconds"),
        "How long batches of events waited from their acceptance until they were stored.",
    );
    for ((metric, _), bins) in &all.distributions {
        if metric == "lag_ms" {
            let of = |(bin, count): &(i32, u64)| sketch::value(*bin) * as_f64(*count);
            let sum: f64 = bins.iter().map(of).sum();
            one(out, &[], bins, &DELAY_BORDERS, 1000.0, sum / 1000.0);
        }
    }
}

fn one(
    out: &mut Exposition,
    labels: &[(&'static str, &str)],
    bins: &[(i32, u64)],
    borders: &[f64],
    scale: f64,
    sum: f64,
) {
    for border in borders {
        let le = format!("{border:?}");
        let with_border: Vec<(&'static str, &str)> = labels.iter().copied().chain([("le", le.as_str())]).collect();
        out.count("_bucket", &with_border, sketch::at_most(bins, border * scale));
    }
    let count = bins.iter().map(|(_, runs)| runs).sum();
    let everything: Vec<(&'static str, &str)> = labels.iter().copied().chain([("le", "+Inf")]).collect();
    out.count("_bucket", &everything, count);
    out.count("_count", labels, count);
    out.amount("_sum", labels, sum);
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
const fn as_f64(count: u64) -> f64 {
    count as f64
}

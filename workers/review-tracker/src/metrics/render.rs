//! From all-time sums to the exposition.

use std::collections::BTreeMap;

use conclave_shared::reviewer::ReviewerName;

use super::{exposition::Exposition, labels::Known};
use crate::{
    sketch,
    store::{AllTime, DurationOrCost, RunCount},
};

/// Reviewers and models beyond the standing ones that keep a series of their own.
const MAX_REVIEWERS: usize = 40;
const MAX_MODELS: usize = 60;

/// Upper borders of the duration histogram in seconds, close together where reviews usually end.
const DURATION_BORDERS: [f64; 12] = [
    15.0, 30.0, 60.0, 120.0, 180.0, 240.0, 300.0, 450.0, 600.0, 900.0, 1800.0, 3600.0,
];

/// Upper borders of the cost histogram in US dollars.
const COST_BORDERS: [f64; 12] = [0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 25.0];

/// Writes all families.
pub(crate) fn render(all: &AllTime) -> String {
    let mut out = Exposition::default();
    runs(&mut out, all);
    histogram(&mut out, all, &DURATION);
    histogram(&mut out, all, &COST);
    findings(&mut out, all);
    models(&mut out, all);
    let name = "conclave_telemetry_dropped";
    out.family(name, "counter", None, "Events that reviews could not send and dropped.");
    out.count(&format!("{name}_total"), &[], all.dropped);
    out.finish()
}

fn runs(out: &mut Exposition, all: &AllTime) {
    out.family(
        "conclave_runs",
        "counter",
        None,
        "Completed reviews by tier and verdict.",
    );
    for row in &all.runs {
        let labels = [("tier", row.tier.as_str()), ("verdict", row.verdict.as_str())];
        out.count("conclave_runs_total", &labels, row.runs);
    }
}

struct Histogram {
    name: &'static str,
    unit: &'static str,
    help: &'static str,
    metric: DurationOrCost,
    borders: &'static [f64],
    /// How many of the stored unit make one of the shown unit.
    scale: f64,
    sum: fn(&RunCount) -> f64,
}

const DURATION: Histogram = Histogram {
    name: "conclave_run_duration_seconds",
    unit: "seconds",
    help: "How long reviews took, from the start of the command to the verdict.",
    metric: DurationOrCost::DurationMs,
    borders: &DURATION_BORDERS,
    scale: 1000.0,
    sum: |row| row.duration_ms,
};

const COST: Histogram = Histogram {
    name: "conclave_run_cost_usd",
    unit: "usd",
    help: "What reviews cost in US dollars.",
    metric: DurationOrCost::CostUsd,
    borders: &COST_BORDERS,
    scale: 1.0,
    sum: |row| row.cost_usd,
};

fn histogram(out: &mut Exposition, all: &AllTime, histogram: &Histogram) {
    let name = histogram.name;
    out.family(name, "histogram", Some(histogram.unit), histogram.help);
    let mut tiers: BTreeMap<&str, Vec<(i32, u64)>> = BTreeMap::new();
    for bin in all.bins.iter().filter(|bin| bin.metric == histogram.metric) {
        tiers.entry(&bin.tier).or_default().push((bin.bin, bin.runs));
    }
    for (tier, bins) in tiers {
        for border in histogram.borders {
            let below = sketch::at_most(&bins, border * histogram.scale);
            let le = format!("{border:?}");
            out.count(&format!("{name}_bucket"), &[("tier", tier), ("le", &le)], below);
        }
        let count = bins.iter().map(|(_, runs)| runs).sum();
        out.count(&format!("{name}_bucket"), &[("tier", tier), ("le", "+Inf")], count);
        out.count(&format!("{name}_count"), &[("tier", tier)], count);
        let sum: f64 = all.runs.iter().filter(|row| row.tier == tier).map(histogram.sum).sum();
        out.amount(&format!("{name}_sum"), &[("tier", tier)], sum / histogram.scale);
    }
}

fn findings(out: &mut Exposition, all: &AllTime) {
    let name = "conclave_findings";
    out.family(
        name,
        "counter",
        None,
        "Judged findings by reviewer, severity and what the judge did.",
    );
    let standing: Vec<&str> = ReviewerName::STANDING
        .into_iter()
        .chain([ReviewerName::COORDINATOR])
        .collect();
    let known = Known::new(&standing, &all.reviewer_names, MAX_REVIEWERS);
    let mut sums: BTreeMap<[&str; 3], u64> = BTreeMap::new();
    for row in &all.findings {
        *sums
            .entry([known.label(&row.reviewer), &row.severity, &row.fate])
            .or_default() += row.findings;
    }
    for ([reviewer, severity, fate], count) in sums {
        let labels = [("reviewer", reviewer), ("severity", severity), ("fate", fate)];
        out.count(&format!("{name}_total"), &labels, count);
    }
}

fn models(out: &mut Exposition, all: &AllTime) {
    let known = Known::new(&[], &all.model_names, MAX_MODELS);
    let mut tokens: BTreeMap<&str, [u64; 5]> = BTreeMap::new();
    let mut costs: BTreeMap<&str, f64> = BTreeMap::new();
    for row in &all.models {
        let label = known.label(&row.model);
        let kinds = [row.input, row.output, row.reasoning, row.cache_read, row.cache_write];
        for (sum, tokens) in tokens.entry(label).or_default().iter_mut().zip(kinds) {
            *sum += tokens;
        }
        *costs.entry(label).or_default() += row.cost_usd;
    }
    let name = "conclave_tokens";
    out.family(
        name,
        "counter",
        None,
        "Tokens by model and kind; the kinds do not overlap.",
    );
    for (model, sums) in &tokens {
        for (kind, sum) in ["input", "output", "reasoning", "cache_read", "cache_write"]
            .iter()
            .zip(sums)
        {
            out.count(&format!("{name}_total"), &[("model", model), ("kind", kind)], *sum);
        }
    }
    let name = "conclave_cost_usd";
    out.family(name, "counter", Some("usd"), "Cost of model calls in US dollars.");
    for (model, cost) in costs {
        out.amount(&format!("{name}_total"), &[("model", model)], cost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{FindingCount, ModelUse, TierBin};

    #[test]
    fn an_empty_tracker_still_says_what_it_measures() {
        let text = render(&AllTime::default());
        assert_eq!(text.matches("# TYPE ").count(), 7);
        assert!(text.contains("\nconclave_telemetry_dropped_total 0\n"), "{text}");
        assert!(text.ends_with("# EOF\n"), "{text}");
    }

    #[test]
    fn histograms_are_cumulative_and_end_in_everything() {
        let all = AllTime {
            runs: vec![RunCount {
                tier: "full".to_owned(),
                verdict: "approved".to_owned(),
                runs: 3,
                duration_ms: 4_000_000.0,
                cost_usd: 3.5,
            }],
            bins: [(60_000.0, 2), (9_000_000.0, 1)]
                .map(|(value, runs)| TierBin {
                    metric: DurationOrCost::DurationMs,
                    tier: "full".to_owned(),
                    bin: sketch::bin(value),
                    runs,
                })
                .to_vec(),
            ..AllTime::default()
        };
        let text = render(&all);
        for line in [
            "conclave_runs_total{tier=\"full\",verdict=\"approved\"} 3",
            "conclave_run_duration_seconds_bucket{tier=\"full\",le=\"30.0\"} 0",
            "conclave_run_duration_seconds_bucket{tier=\"full\",le=\"60.0\"} 2",
            "conclave_run_duration_seconds_bucket{tier=\"full\",le=\"3600.0\"} 2",
            "conclave_run_duration_seconds_bucket{tier=\"full\",le=\"+Inf\"} 3",
            "conclave_run_duration_seconds_count{tier=\"full\"} 3",
            "conclave_run_duration_seconds_sum{tier=\"full\"} 4000.0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is missing in\n{text}");
        }
    }

    #[test]
    fn made_up_names_share_one_series() {
        let names: Vec<String> = (0..200).map(|index| format!("r{index:03}")).collect();
        let all = AllTime {
            findings: names
                .iter()
                .map(|name| FindingCount {
                    reviewer: name.clone(),
                    severity: "warning".to_owned(),
                    fate: "kept".to_owned(),
                    findings: 1,
                })
                .collect(),
            models: names
                .iter()
                .map(|name| ModelUse {
                    model: format!("p/{name}"),
                    input: 1,
                    output: 0,
                    reasoning: 0,
                    cache_read: 0,
                    cache_write: 0,
                    cost_usd: 0.5,
                })
                .collect(),
            model_names: names.iter().map(|name| format!("p/{name}")).collect(),
            reviewer_names: names,
            ..AllTime::default()
        };
        let text = render(&all);
        assert!(text.contains("conclave_findings_total{reviewer=\"other\",severity=\"warning\",fate=\"kept\"} 160\n"));
        assert!(text.contains("conclave_tokens_total{model=\"other\",kind=\"input\"} 140\n"));
        assert!(text.contains("conclave_cost_usd_total{model=\"other\"} 70.0\n"));
    }
}

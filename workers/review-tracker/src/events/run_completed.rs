//! `run_completed`: a review ended with a verdict.

use conclave_shared::{
    telemetry::{RunCompleted, RunFailed, RunStage},
    verdict::Verdict,
};

use super::{
    Checked, Families, Kind, Meaning, RunCount, Writer,
    limits::{MAX_COUNT, MAX_DURATION_MS, cost, count, counts, tokens},
    rollup::{PROJECTS, RUNS},
    rows::{WITHDRAWN, word},
    run_failed::fail,
};
use crate::sketch::float;

/// The end of a run. Without a known start, the run began its duration before its end.
const COMPLETED: &str = "UPDATE runs SET
  at_ms = CASE WHEN forge IS NULL THEN j.value->>'at_ms' - j.value->>'$.of.duration_ms' ELSE at_ms END,
  completed_ms = j.value->>'at_ms', tier = j.value->>'$.of.tier', verdict = j.value->>'$.of.verdict',
  merge_request = coalesce(j.value->>'$.of.merge_request', merge_request),
  duration_ms = j.value->>'$.of.duration_ms', cost_usd = j.value->>'$.of.cost_usd',
  input = j.value->>'$.of.tokens.input', output = j.value->>'$.of.tokens.output',
  reasoning = j.value->>'$.of.tokens.reasoning', cache_read = j.value->>'$.of.tokens.cache_read',
  cache_write = j.value->>'$.of.tokens.cache_write', files = j.value->>'$.of.files', lines = j.value->>'$.of.lines',
  filtered_files = j.value->>'$.of.filtered_files', critical = j.value->>'$.of.critical',
  warning = j.value->>'$.of.warning', suggestion = j.value->>'$.of.suggestion', degraded = j.value->>'$.of.degraded',
  not_read = j.value->>'$.of.coverage.not_read', cut = j.value->>'$.of.coverage.cut', gaps = j.value->>'$.of.coverage.gaps'
  FROM json_each(?1) j WHERE runs.run_id = j.value->>'run_id'";

/// Upper borders of the duration histogram in seconds, close together where reviews usually end.
const DURATION_BORDERS: [f64; 12] = [
    15.0, 30.0, 60.0, 120.0, 180.0, 240.0, 300.0, 450.0, 600.0, 900.0, 1800.0, 3600.0,
];
/// Upper borders of the cost histogram in US dollars.
const COST_BORDERS: [f64; 12] = [0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 25.0];

pub(super) const KIND: Kind = Kind {
    statements: &[COMPLETED],
    rollups: &[&RUNS],
    families,
};

impl Meaning for RunCompleted {
    fn check(&self) -> Checked {
        count("duration_ms", self.duration_ms, MAX_DURATION_MS)?;
        cost(self.cost_usd)?;
        tokens(&self.tokens)?;
        let sizes = [
            ("files", self.files),
            ("lines", self.lines),
            ("filtered_files", self.filtered_files),
            ("critical", self.critical),
            ("warning", self.warning),
            ("suggestion", self.suggestion),
        ];
        counts(sizes, MAX_COUNT)?;
        let coverage = self.coverage.unwrap_or_default();
        let missed = [
            ("coverage/not_read", coverage.not_read),
            ("coverage/cut", coverage.cut),
            ("coverage/gaps", coverage.gaps),
        ];
        counts(missed, MAX_COUNT)
    }

    fn tier(&self) -> Option<&'static str> {
        Some(self.tier.as_str())
    }

    fn merge_request(&self) -> Option<u64> {
        self.merge_request
    }

    fn write<'a>(&'a self, to: &mut Writer<'a, '_>) {
        to.row(COMPLETED, self);
        if to.only_rows {
            return;
        }
        if let Some(kind) = self.unpublished {
            let failed = RunFailed {
                stage: RunStage::Publish,
                kind,
                merge_request: self.merge_request,
                duration_ms: Some(self.duration_ms),
            };
            return fail(to, &failed);
        }
        if let Some(cause) = self.cause() {
            to.count("inconclusive", &[word(cause.as_str())], 1);
        }
        let tier = self.tier.as_str();
        let coverage = self.coverage.unwrap_or_default();
        let tokens = &self.tokens;
        let sums = [
            tokens.input,
            tokens.output,
            tokens.reasoning,
            tokens.cache_read,
            tokens.cache_write,
            self.files,
            self.lines,
            self.critical,
            self.warning,
            self.suggestion,
            u64::from(self.degraded),
            u64::from(coverage.not_read + coverage.cut + coverage.gaps > 0),
        ];
        let mut values = vec![1.0, float(self.duration_ms), self.cost_usd];
        values.extend(sums.map(float));
        to.sum(&RUNS, [tier, self.verdict.as_str()], &values);
        let inconclusive = u64::from(self.verdict == Verdict::Inconclusive);
        let findings = float(self.critical + self.warning + self.suggestion);
        let of_project = [
            1.0,
            float(inconclusive),
            0.0,
            self.cost_usd,
            findings,
            float(self.critical),
        ];
        to.sum(&PROJECTS, [tier], &of_project);
        to.distribution("duration_ms", tier, float(self.duration_ms));
        to.distribution("cost_usd", tier, self.cost_usd);
    }
}

fn families(to: &mut Families<'_>) {
    to.out
        .counter("conclave_runs", "Completed reviews by tier and verdict.");
    for row in &to.all.runs {
        to.out
            .sample(&[("tier", &row.tier), ("verdict", &row.verdict)], row.runs);
    }
    // Clients do not report that of themselves, so that mostly there is none.
    if to.all.counts.iter().any(|row| row.kind == WITHDRAWN) {
        to.counts(
            "conclave_runs_withdrawn",
            "Completed reviews that were reported as failed afterwards; conclave_runs has them too, as a counter never falls.",
            WITHDRAWN,
            ["tier", "verdict"],
            |_, [tier, verdict, _]| [tier, verdict],
        );
    }
    to.counts(
        "conclave_inconclusive_runs",
        "Inconclusive reviews by cause.",
        "inconclusive",
        ["cause"],
        |_, [cause, ..]| [cause],
    );
    to.counts(
        "conclave_merge_request_reviews",
        "Completed reviews of merge requests: the first one of each, and later ones.",
        "mr_review",
        ["review"],
        |_, [part, ..]| [part],
    );
    let by_tier = |to: &mut Families<'_>, metric: &str, borders: &[f64], scale: f64, sum: fn(&RunCount) -> f64| {
        for ((_, tier), bins) in to.all.distributions.iter().filter(|((name, _), _)| name == metric) {
            let sum: f64 = to.all.runs.iter().filter(|row| row.tier == *tier).map(sum).sum();
            to.out
                .distribution(&[("tier", tier)], bins, borders, scale, sum / scale);
        }
    };
    to.out.histogram(
        "conclave_run_duration_seconds",
        "How long reviews took, from the start of the command to the verdict.",
    );
    by_tier(to, "duration_ms", &DURATION_BORDERS, 1000.0, |row| row.duration_ms);
    to.out
        .histogram("conclave_run_cost_usd", "What reviews cost in US dollars.");
    by_tier(to, "cost_usd", &COST_BORDERS, 1.0, |row| row.cost_usd);
}

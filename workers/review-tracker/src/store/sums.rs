//! What is added to rollups: summed up before it is sent, so that the database has one row a sum and not one an event.

use std::collections::BTreeMap;

use conclave_shared::{
    severity::Severity,
    telemetry::{Event, EventBody, FindingEvent, RunCompleted, TokensByModel},
    verdict::Verdict,
};
use serde::Serialize;

use super::{counts, spans::week};
use crate::{clock::day, sketch};

/// Sums by what they are told apart by, in the order of the columns of their rollup.
#[derive(Debug, Default)]
pub(super) struct Sums(BTreeMap<String, Vec<f64>>);

impl Sums {
    /// Adds values to the sums of a key, which is a tuple.
    fn add(&mut self, key: &impl Serialize, values: &[f64]) {
        self.merge(key, values, |sum, value| sum + value);
    }

    fn merge(&mut self, key: &impl Serialize, values: &[f64], last: fn(f64, f64) -> f64) {
        // Tuples of texts and numbers always become JSON.
        let Ok(key) = serde_json::to_string(key) else { return };
        let Some(sums) = self.0.get_mut(&key) else {
            self.0.insert(key, values.to_vec());
            return;
        };
        let end = sums.len().saturating_sub(1);
        for (place, (sum, value)) in sums.iter_mut().zip(values).enumerate() {
            *sum = if place == end { last(*sum, *value) } else { *sum + value };
        }
    }

    /// The rows: arrays of the key and the sums.
    pub(super) fn rows(&self) -> Vec<String> {
        let row = |(key, sums): (&String, &Vec<f64>)| {
            let sums: String = sums.iter().map(|sum| format!(",{sum}")).collect::<Vec<_>>().concat();
            format!("{}{sums}]", key.trim_end_matches(']'))
        };
        self.0.iter().map(row).collect()
    }
}

/// What every sum is told apart by.
#[derive(Clone, Copy)]
struct Place<'a> {
    project: &'a str,
    day: i64,
    tier: &'static str,
}

/// The sums of all rollups.
#[derive(Debug, Default)]
pub(super) struct AllSums {
    pub(super) runs: Sums,
    pub(super) projects: Sums,
    pub(super) usage: Sums,
    pub(super) counts: Sums,
    pub(super) metrics: Sums,
    pub(super) bins: Sums,
    pub(super) hot_files: Sums,
}

impl AllSums {
    /// Adds an event. `tier` is that of its run, empty while that is not known.
    pub(super) fn event(&mut self, event: &Event, tier: &'static str, skewed: bool) {
        for count in counts::of(event, skewed) {
            let (kind, [a, b, c], [a_kind, b_kind, c_kind]) = count.key();
            let key = (
                &event.project,
                day(event.at_ms),
                tier,
                kind,
                a,
                b,
                c,
                a_kind,
                b_kind,
                c_kind,
            );
            self.counts.add(&key, &[float(count.n)]);
        }
        let at = Place {
            project: &event.project,
            day: day(event.at_ms),
            tier,
        };
        match &event.event {
            EventBody::RunCompleted(completed) => self.run(at, completed),
            EventBody::RunFailed(_) => self
                .projects
                .add(&(at.project, at.day, at.tier), &[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]),
            EventBody::ReviewerCompleted(session) => {
                for usage in &session.usage {
                    self.usage(at, &session.reviewer, usage);
                }
            }
            EventBody::Finding(finding) if counts::stands(finding) => self.hot_file(at, finding),
            EventBody::Metrics(metrics) => {
                for sample in &metrics.samples {
                    let values = [1.0, sample.value, sample.value];
                    let key = (at.project, at.day, at.tier, &sample.name);
                    self.metrics.merge(&key, &values, f64::max);
                }
            }
            _ => {}
        }
    }

    /// Adds how long a batch waited.
    pub(super) fn lag(&mut self, day: i64, milliseconds: i64) {
        let bin = sketch::bin(float(u64::try_from(milliseconds).unwrap_or_default()));
        self.bins.add(&("*", day, "lag_ms", "", bin), &[1.0]);
    }

    fn run(&mut self, Place { project, day, .. }: Place<'_>, run: &RunCompleted) {
        let tier = run.tier.as_str();
        let partial = run
            .coverage
            .is_some_and(|coverage| coverage.not_read + coverage.cut + coverage.gaps > 0);
        let tokens = &run.tokens;
        let counts = [
            tokens.input,
            tokens.output,
            tokens.reasoning,
            tokens.cache_read,
            tokens.cache_write,
            run.files,
            run.lines,
            run.critical,
            run.warning,
            run.suggestion,
            u64::from(run.degraded),
            u64::from(partial),
        ];
        let mut values = vec![1.0, float(run.duration_ms), run.cost_usd];
        values.extend(counts.map(float));
        self.runs.add(&(project, day, tier, run.verdict.as_str()), &values);
        let findings = run.critical + run.warning + run.suggestion;
        let inconclusive = u64::from(run.verdict == Verdict::Inconclusive);
        let of_project = [
            1.0,
            float(inconclusive),
            0.0,
            run.cost_usd,
            float(findings),
            float(run.critical),
        ];
        self.projects.add(&(project, day, tier), &of_project);
        for (metric, value) in [("duration_ms", float(run.duration_ms)), ("cost_usd", run.cost_usd)] {
            self.bins.add(&(project, day, metric, tier, sketch::bin(value)), &[1.0]);
        }
    }

    fn usage(&mut self, Place { project, day, tier }: Place<'_>, reviewer: &str, usage: &TokensByModel) {
        let tokens = &usage.tokens;
        let values = [
            float(usage.calls),
            float(tokens.input),
            float(tokens.output),
            float(tokens.reasoning),
            float(tokens.cache_read),
            float(tokens.cache_write),
            usage.cost_usd,
        ];
        let key = (project, day, tier, usage.model.as_str(), reviewer);
        self.usage.add(&key, &values);
    }

    fn hot_file(&mut self, Place { project, day, tier }: Place<'_>, finding: &FindingEvent) {
        let is = |severity| float(u64::from(finding.severity == severity));
        let values = [
            1.0,
            is(Severity::Critical),
            is(Severity::Warning),
            is(Severity::Suggestion),
        ];
        self.hot_files.add(&(project, week(day), tier, &finding.path), &values);
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "checked counts, and sums of a few thousand of them, stay below 2^53"
)]
const fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::Sums;

    #[test]
    fn rows_are_arrays_of_key_and_sums() {
        let mut sums = Sums::default();
        sums.add(&("a]\"", 1, "x"), &[1.0, 0.5]);
        sums.add(&("a]\"", 1, "x"), &[1.0, 0.25]);
        sums.merge(&("b", 1, "x]"), &[1.0, 7.0], f64::max);
        sums.merge(&("b", 1, "x]"), &[1.0, 3.0], f64::max);
        assert_eq!(sums.rows(), [r#"["a]\"",1,"x",2,0.75]"#, r#"["b",1,"x]",2,7]"#]);
    }
}

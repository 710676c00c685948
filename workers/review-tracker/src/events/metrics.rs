//! `metrics`: figures that a run measured of itself. They are only added up.

use std::collections::HashSet;

use conclave_shared::telemetry::{MAX_METRIC_NAME, MAX_METRIC_SAMPLES, Metrics, is_metric_name};

use super::{
    Checked, Kind, Meaning, Writer,
    rollup::{Key, Rollup},
};

const MAX_METRIC: f64 = 1e15;

/// Figures by name: how many, their sum, and the largest.
static METRICS: Rollup = Rollup::Table {
    table: "daily_metrics",
    keys: &[Key::Tier, Key::Name("name", "metric")],
    sums: "n, total",
    max: Some("largest"),
};

pub(super) const KIND: Kind = Kind {
    rollups: &[&METRICS],
    ..Kind::PLAIN
};

impl Meaning for Metrics {
    fn check(&self) -> Checked {
        if self.samples.len() > MAX_METRIC_SAMPLES {
            return Err(format!("`samples` has more than {MAX_METRIC_SAMPLES} figures"));
        }
        let mut names = HashSet::new();
        self.samples.iter().try_for_each(|sample| {
            if !is_metric_name(&sample.name) {
                return Err(format!(
                    "`samples/name` has to have 1 to {MAX_METRIC_NAME} of a-z, 0-9 and _, beginning with a letter"
                ));
            }
            if !names.insert(sample.name.as_str()) {
                return Err(format!("`samples` has `{}` twice", sample.name));
            }
            if (0.0..=MAX_METRIC).contains(&sample.value) {
                Ok(())
            } else {
                Err(format!(
                    "`samples/value` of `{}` is not between 0 and 10^15",
                    sample.name
                ))
            }
        })
    }

    fn write<'a>(&'a self, to: &mut Writer<'a, '_>) {
        for sample in &self.samples {
            to.name("metric", &sample.name);
            to.sum(&METRICS, [to.tier, &sample.name], &[1.0, sample.value, sample.value]);
        }
    }
}

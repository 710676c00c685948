//! Metrics as lines of the Worker's log, one line of JSON a family.
//!
//! A log has limits: 256 KB an invocation at Cloudflare, and locally a pipe. With thousands of combinations of models and agents
//! the lines were longer than the pipe, and the turn of the cron that wrote them waited forever for whoever waited for the turn to end.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::exposition::{Family, Kind, Number, Sample};

/// The most samples of a family. With more of them, those of all agents are added up.
const MAX_SAMPLES: usize = 100;
/// The most bytes of all lines together.
const MAX_BYTES: usize = 64_000;
/// Labels that are left out where there are too many samples.
const AGENTS: [&str; 2] = ["agent", "reviewer"];

/// What a sum is told apart by: its labels and its suffix.
type Key<'a> = (Vec<(&'a str, &'a str)>, &'a str);

/// The lines. Borders of histograms are left out, because their count and sum tell enough here, and so are series at zero.
pub(super) fn of(families: &[Family]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut left_out = Vec::new();
    let mut bytes = 0;
    for family in families {
        let samples = samples(family);
        if samples.is_empty() {
            continue;
        }
        let line = json!({ "message": "metrics", "metric": family.name, "samples": samples }).to_string();
        if bytes + line.len() > MAX_BYTES {
            left_out.push(family.name);
            continue;
        }
        bytes += line.len();
        lines.push(line);
    }
    if !left_out.is_empty() {
        lines.push(
            json!({ "message": "metrics", "left_out": left_out, "why": "too long for a log: see /metrics" })
                .to_string(),
        );
    }
    lines
}

fn samples(family: &Family) -> Vec<Value> {
    let shown = |sample: &&Sample| sample.suffix != "_bucket" && (sample.labels.is_empty() || !sample.value.is_zero());
    let samples: Vec<&Sample> = family.samples.iter().filter(shown).collect();
    let many = samples.len() > MAX_SAMPLES;
    let mut sums: BTreeMap<Key<'_>, Number> = BTreeMap::new();
    for sample in samples {
        let labels = sample
            .labels
            .iter()
            .filter(|(name, _)| !(many && AGENTS.contains(name)));
        let key = labels.map(|(name, value)| (*name, value.as_str())).collect();
        sums.entry((key, sample.suffix))
            .and_modify(|sum| *sum = sum.plus(sample.value))
            .or_insert(sample.value);
    }
    let value = |((labels, suffix), sum): (Key<'_>, Number)| {
        let labels = labels.into_iter().map(|(name, value)| (name.to_owned(), json!(value)));
        let mut fields: Map<String, Value> = labels.collect();
        let suffix = if family.kind == Kind::Histogram { suffix } else { "" };
        fields.insert(format!("value{suffix}"), sum.json());
        Value::Object(fields)
    };
    sums.into_iter().map(value).collect()
}

impl Number {
    fn is_zero(self) -> bool {
        match self {
            Self::Whole(value) => value == 0,
            Self::Fraction(value) => value == 0.0,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Whole(one), Self::Whole(other)) => Self::Whole(one + other),
            (Self::Fraction(one), Self::Fraction(other)) => Self::Fraction(one + other),
            (Self::Whole(whole), Self::Fraction(fraction)) | (Self::Fraction(fraction), Self::Whole(whole)) => {
                Self::Fraction(fraction + whole as f64)
            }
        }
    }

    fn json(self) -> Value {
        match self {
            Self::Whole(value) => json!(value),
            Self::Fraction(value) => json!(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::exposition::{Exposition, Kind};

    #[test]
    fn many_combinations_are_added_up_and_all_lines_together_are_short() {
        let mut all = Exposition::default();
        all.family("conclave_tokens", Kind::Counter, None, "Tokens.");
        for model in 0..31 {
            for agent in 0..26 {
                all.count(
                    "_total",
                    &[
                        ("model", &format!("p/{model}")),
                        ("agent", &format!("a{agent}")),
                        ("kind", "input"),
                    ],
                    2,
                );
            }
        }
        let lines = all.log_lines();
        assert_eq!(lines.len(), 1);
        assert!(
            lines[0].contains(r#"{"model":"p/7","kind":"input","value":52}"#),
            "{}",
            lines[0]
        );
        assert!(lines[0].len() < 4000, "{}", lines[0].len());
        for family in ["a", "b", "c"] {
            all.family(family, Kind::Gauge, None, "Long.");
            for index in 0..150 {
                all.count("", &[("model", &format!("{index:0>200}"))], 1);
            }
        }
        let lines = all.log_lines();
        assert!(lines.iter().map(String::len).sum::<usize>() <= super::MAX_BYTES + 200);
        assert!(lines[2].contains(r#""left_out":["b","c"]"#), "{}", lines[2]);
    }

    #[test]
    fn series_at_zero_are_not_written() {
        let mut all = Exposition::default();
        all.family("conclave_runs_failed", Kind::Counter, None, "Failed.");
        all.count("_total", &[("stage", "plan")], 0);
        all.family("conclave_runs_started", Kind::Counter, None, "Started.");
        all.count("_total", &[], 0);
        assert_eq!(
            all.log_lines(),
            [r#"{"message":"metrics","metric":"conclave_runs_started","samples":[{"value":0}]}"#]
        );
    }
}

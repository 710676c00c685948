//! Metrics as lines of the Worker's log, one line of JSON a family.
//!
//! A log has limits: 256 KB an invocation at Cloudflare, and locally a pipe. With thousands of combinations of models and agents
//! the lines were longer than the pipe, and the turn of the cron that wrote them and its reader waited for each other forever.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::{
    events::AGENTS,
    exposition::{Family, Kind, Number, Sample},
    sketch::float,
};

/// The most samples of a family. With more of them, those of all agents are added up.
const MAX_SAMPLES: usize = 100;
/// The most bytes of all lines together.
const MAX_BYTES: usize = 64_000;

/// The key of a sum: its labels and its suffix.
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
    let shown = |sample: &&Sample| sample.suffix != "_bucket" && (sample.labels.is_empty() || !is_zero(sample.value));
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
            .and_modify(|sum| *sum = plus(*sum, sample.value))
            .or_insert(sample.value);
    }
    let value = |((labels, suffix), sum): (Key<'_>, Number)| {
        let labels = labels.into_iter().map(|(name, value)| (name.to_owned(), json!(value)));
        let mut fields: Map<String, Value> = labels.collect();
        let suffix = if family.kind == Kind::Histogram { suffix } else { "" };
        let sum = match sum {
            Number::Whole(value) => json!(value),
            Number::Fraction(value) => json!(value),
        };
        fields.insert(format!("value{suffix}"), sum);
        Value::Object(fields)
    };
    sums.into_iter().map(value).collect()
}

fn is_zero(number: Number) -> bool {
    number == Number::Whole(0) || number == Number::Fraction(0.0)
}

fn plus(one: Number, other: Number) -> Number {
    match (one, other) {
        (Number::Whole(one), Number::Whole(other)) => Number::Whole(one + other),
        (Number::Fraction(one), Number::Fraction(other)) => Number::Fraction(one + other),
        (Number::Whole(whole), Number::Fraction(fraction)) | (Number::Fraction(fraction), Number::Whole(whole)) => {
            Number::Fraction(fraction + float(whole))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_BYTES, of};
    use crate::exposition::Exposition;

    #[test]
    fn many_combinations_are_added_up_and_all_lines_together_are_short() {
        let mut all = Exposition::default();
        all.counter("conclave_tokens", "Tokens.");
        for model in 0..31 {
            for agent in 0..26 {
                all.sample(
                    &[
                        ("model", &format!("p/{model}")),
                        ("agent", &format!("a{agent}")),
                        ("kind", "input"),
                    ],
                    2,
                );
            }
        }
        let lines = of(&all.families);
        assert_eq!(lines.len(), 1);
        assert!(
            lines[0].contains(r#"{"model":"p/7","kind":"input","value":52}"#),
            "{}",
            lines[0]
        );
        assert!(lines[0].len() < 4000, "{}", lines[0].len());
        for family in ["a", "b", "c"] {
            all.gauge(family, "Long.");
            for index in 0..150 {
                all.sample(&[("model", &format!("{index:0>200}"))], 1);
            }
        }
        let lines = of(&all.families);
        assert!(lines.iter().map(String::len).sum::<usize>() <= MAX_BYTES + 200);
        assert!(lines[2].contains(r#""left_out":["b","c"]"#), "{}", lines[2]);
    }

    #[test]
    fn the_log_has_the_same_figures() {
        let mut all = Exposition::default();
        all.counter("a_usd", "Money.");
        all.sample(&[], 3);
        all.sample(&[("m", "x\"y\\z\n")], 2.0);
        all.gauge("b_seconds", "Time.");
        all.sample(&[], 1.5);
        assert_eq!(
            of(&all.families),
            [
                r#"{"message":"metrics","metric":"a_usd","samples":[{"value":3},{"m":"x\"y\\z\n","value":2.0}]}"#,
                r#"{"message":"metrics","metric":"b_seconds","samples":[{"value":1.5}]}"#,
            ]
        );
    }

    #[test]
    fn series_at_zero_are_not_written() {
        let mut all = Exposition::default();
        all.counter("conclave_runs_failed", "Failed.");
        all.sample(&[("stage", "plan")], 0);
        all.counter("conclave_runs_started", "Started.");
        all.sample(&[], 0);
        assert_eq!(
            of(&all.families),
            [r#"{"message":"metrics","metric":"conclave_runs_started","samples":[{"value":0}]}"#]
        );
    }
}

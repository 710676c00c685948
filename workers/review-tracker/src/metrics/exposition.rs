//! Families of samples, in the formats in which they are read: `OpenMetrics` and the older text format of Prometheus, and
//! lines for the Worker's log.

use std::fmt::Write;

use super::log_lines;

/// How a family is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// Cumulative counts by upper border.
    Histogram,
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// In which format an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// `OpenMetrics` 1.0.
    OpenMetrics,
    /// What came before it, which `promtool check metrics` reads.
    Text,
}

impl Format {
    /// The one that an `Accept` header asks for; without one that says otherwise, `OpenMetrics`.
    pub(crate) fn accepted(header: &str) -> Self {
        let weight = |wanted: &str| {
            let ranges = header.split(',').filter_map(|range| {
                let mut parts = range.split(';').map(str::trim);
                let fits = parts.next()?.eq_ignore_ascii_case(wanted);
                let quality = parts.find_map(|part| part.strip_prefix("q="));
                fits.then(|| quality.map_or(Some(1.0), |quality| quality.parse::<f64>().ok()))?
            });
            ranges.fold(0.0, f64::max)
        };
        if weight("text/plain") > weight("application/openmetrics-text").max(weight("*/*")) {
            Self::Text
        } else {
            Self::OpenMetrics
        }
    }

    /// The media type.
    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// A sample's value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Whole(u64),
    Fraction(f64),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample {
    pub(super) suffix: &'static str,
    pub(super) labels: Vec<(&'static str, String)>,
    pub(super) value: Number,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    unit: Option<&'static str>,
    help: &'static str,
    pub(super) samples: Vec<Sample>,
}

/// Families one after another.
#[derive(Debug, Default)]
pub(crate) struct Exposition {
    families: Vec<Family>,
}

/// Names and values of a sample's labels.
pub(crate) type Labels<'a> = [(&'static str, &'a str)];

impl Exposition {
    /// Begins a family; the samples that follow are of it. `unit` is the last word of the name, where the family has one.
    pub(crate) fn family(&mut self, name: &'static str, kind: Kind, unit: Option<&'static str>, help: &'static str) {
        self.families.push(Family {
            name,
            kind,
            unit,
            help,
            samples: Vec::new(),
        });
    }

    /// Adds a sample with a whole number.
    pub(crate) fn count(&mut self, suffix: &'static str, labels: &Labels<'_>, value: u64) {
        self.add(suffix, labels, Number::Whole(value));
    }

    /// Adds a sample with a fraction.
    pub(crate) fn amount(&mut self, suffix: &'static str, labels: &Labels<'_>, value: f64) {
        self.add(suffix, labels, Number::Fraction(value));
    }

    fn add(&mut self, suffix: &'static str, labels: &Labels<'_>, value: Number) {
        if let Some(family) = self.families.last_mut() {
            family.samples.push(Sample {
                suffix,
                labels: labels
                    .iter()
                    .map(|(name, value)| (*name, (*value).to_owned()))
                    .collect(),
                value,
            });
        }
    }

    /// The text.
    pub(crate) fn text(&self, format: Format) -> String {
        let mut text = String::new();
        for family in &self.families {
            family.write(&mut text, format);
        }
        if format == Format::OpenMetrics {
            text.push_str("# EOF\n");
        }
        text
    }

    /// The same figures as lines of JSON, for the Worker's log: see [`super::log_lines`].
    pub(super) fn log_lines(&self) -> Vec<String> {
        log_lines::of(&self.families)
    }
}

impl Family {
    fn write(&self, text: &mut String, format: Format) {
        // The older format calls a counter by its samples' name, and knows no units.
        let suffix = if format == Format::Text && self.kind == Kind::Counter {
            "_total"
        } else {
            ""
        };
        let name = format!("{}{suffix}", self.name);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "# TYPE {name} {}", self.kind.as_str());
        if let Some(unit) = self.unit.filter(|_| format == Format::OpenMetrics) {
            let _ = writeln!(text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(text, "# HELP {name} {}", self.help);
        for sample in &self.samples {
            let labels = render_labels(&sample.labels);
            let _ = writeln!(text, "{}{}{labels} {}", self.name, sample.suffix, sample.value.text());
        }
    }
}

impl Number {
    fn text(self) -> String {
        match self {
            Self::Whole(value) => value.to_string(),
            Self::Fraction(value) => format!("{value:?}"),
        }
    }
}

fn render_labels(labels: &[(&'static str, String)]) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let pairs: Vec<String> = labels
        .iter()
        .map(|(name, value)| format!("{name}=\"{}\"", escape(value)))
        .collect();
    format!("{{{}}}", pairs.join(","))
}

fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Exposition {
        let mut exposition = Exposition::default();
        exposition.family("a_usd", Kind::Counter, Some("usd"), "Money.");
        exposition.count("_total", &[], 3);
        exposition.amount("_total", &[("m", "x\"y\\z\n")], 2.0);
        exposition.family("b_seconds", Kind::Gauge, Some("seconds"), "Time.");
        exposition.amount("", &[], 1.5);
        exposition
    }

    #[test]
    fn writes_families_and_escapes_label_values() {
        assert_eq!(
            sample().text(Format::OpenMetrics),
            "# TYPE a_usd counter\n# UNIT a_usd usd\n# HELP a_usd Money.\na_usd_total 3\n\
             a_usd_total{m=\"x\\\"y\\\\z\\n\"} 2.0\n# TYPE b_seconds gauge\n# UNIT b_seconds seconds\n\
             # HELP b_seconds Time.\nb_seconds 1.5\n# EOF\n"
        );
    }

    #[test]
    fn the_older_format_calls_counters_by_their_samples() {
        assert_eq!(
            sample().text(Format::Text),
            "# TYPE a_usd_total counter\n# HELP a_usd_total Money.\na_usd_total 3\na_usd_total{m=\"x\\\"y\\\\z\\n\"} 2.0\n\
             # TYPE b_seconds gauge\n# HELP b_seconds Time.\nb_seconds 1.5\n"
        );
    }

    #[test]
    fn the_log_has_the_same_figures() {
        assert_eq!(
            sample().log_lines(),
            [
                r#"{"message":"metrics","metric":"a_usd","samples":[{"value":3},{"m":"x\"y\\z\n","value":2.0}]}"#,
                r#"{"message":"metrics","metric":"b_seconds","samples":[{"value":1.5}]}"#,
            ]
        );
    }

    #[test]
    fn open_metrics_unless_the_other_one_is_preferred() {
        let prometheus = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
            text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        for (header, format) in [
            ("", Format::OpenMetrics),
            ("*/*", Format::OpenMetrics),
            (prometheus, Format::OpenMetrics),
            ("text/html", Format::OpenMetrics),
            ("text/plain", Format::Text),
            ("text/plain;version=0.0.4", Format::Text),
            ("text/plain;version=0.0.4;q=1,*/*;q=0.1", Format::Text),
        ] {
            assert_eq!(Format::accepted(header), format, "{header}");
        }
    }
}

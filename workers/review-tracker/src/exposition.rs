//! Families of samples as text: `OpenMetrics`, and the older format of Prometheus.

use std::fmt::Write;

use crate::sketch;

/// The type of a family.
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
    /// The format before it, which `promtool check metrics` reads.
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
pub(crate) enum Number {
    /// A count.
    Whole(u64),
    /// An amount.
    Fraction(f64),
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self::Fraction(value)
    }
}

/// One value of a family.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    /// The end of its name, behind the family's.
    pub(crate) suffix: &'static str,
    /// Its labels.
    pub(crate) labels: Vec<(&'static str, String)>,
    /// Its value.
    pub(crate) value: Number,
}

/// Samples of one name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Family {
    /// The name, whose last word is the unit where the family has one.
    pub(crate) name: &'static str,
    /// Its type.
    pub(crate) kind: Kind,
    help: &'static str,
    /// Its samples.
    pub(crate) samples: Vec<Sample>,
}

/// Families one after another.
#[derive(Debug, Default)]
pub(crate) struct Exposition {
    /// The families.
    pub(crate) families: Vec<Family>,
}

/// Names and values of a sample's labels.
pub(crate) type Labels<'a> = [(&'static str, &'a str)];

impl Exposition {
    /// Begins a counter; the samples that follow are of it.
    pub(crate) fn counter(&mut self, name: &'static str, help: &'static str) {
        self.family(Kind::Counter, name, help);
    }

    /// Begins a gauge.
    pub(crate) fn gauge(&mut self, name: &'static str, help: &'static str) {
        self.family(Kind::Gauge, name, help);
    }

    /// Begins a histogram, whose samples are distributions.
    pub(crate) fn histogram(&mut self, name: &'static str, help: &'static str) {
        self.family(Kind::Histogram, name, help);
    }

    fn family(&mut self, kind: Kind, name: &'static str, help: &'static str) {
        self.families.push(Family {
            name,
            kind,
            help,
            samples: Vec::new(),
        });
    }

    /// Adds a sample to a counter or a gauge.
    pub(crate) fn sample(&mut self, labels: &Labels<'_>, value: impl Into<Number>) {
        let is_counter = self.families.last().is_some_and(|family| family.kind == Kind::Counter);
        self.add(if is_counter { "_total" } else { "" }, labels, value.into());
    }

    /// Adds a distribution to a histogram, from its bins. So many of the bins' unit as `scale` says make one of the family's.
    pub(crate) fn distribution(
        &mut self,
        labels: &Labels<'_>,
        bins: &[(i32, u64)],
        borders: &[f64],
        scale: f64,
        sum: f64,
    ) {
        let count: u64 = bins.iter().map(|(_, count)| count).sum();
        let counts = borders
            .iter()
            .map(|border| (format!("{border:?}"), sketch::at_most(bins, border * scale)));
        for (border, count) in counts.chain([("+Inf".to_owned(), count)]) {
            let labels = [labels, &[("le", &border)]].concat();
            self.add("_bucket", &labels, count.into());
        }
        self.add("_count", labels, count.into());
        self.add("_sum", labels, sum.into());
    }

    fn add(&mut self, suffix: &'static str, labels: &Labels<'_>, value: Number) {
        let Some(family) = self.families.last_mut() else { return };
        let labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned()));
        family.samples.push(Sample {
            suffix,
            labels: labels.collect(),
            value,
        });
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
}

impl Family {
    fn unit(&self) -> Option<&'static str> {
        let (_, last) = self.name.rsplit_once('_')?;
        ["seconds", "bytes", "usd"].contains(&last).then_some(last)
    }

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
        if let Some(unit) = self.unit().filter(|_| format == Format::OpenMetrics) {
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
        exposition.counter("a_usd", "Money.");
        exposition.sample(&[], 3);
        exposition.sample(&[("m", "x\"y\\z\n")], 2.0);
        exposition.gauge("b_seconds", "Time.");
        exposition.sample(&[], 1.5);
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

//! The `OpenMetrics` text format, as far as it is used here.

use std::fmt::Write;

/// The format's media type.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A text under construction. Families have to be written one after another, each with its samples.
#[derive(Debug, Default)]
pub(crate) struct Exposition {
    text: String,
}

/// Names and values of a sample's labels.
pub(crate) type Labels<'a> = [(&'a str, &'a str)];

impl Exposition {
    /// Begins a family. `unit` is the last word of the name, where the family has one.
    pub(crate) fn family(&mut self, name: &str, kind: &str, unit: Option<&str>, help: &str) {
        self.line(format_args!("# TYPE {name} {kind}"));
        if let Some(unit) = unit {
            self.line(format_args!("# UNIT {name} {unit}"));
        }
        self.line(format_args!("# HELP {name} {help}"));
    }

    /// Adds a sample with a whole number.
    pub(crate) fn count(&mut self, name: &str, labels: &Labels<'_>, value: u64) {
        let labels = render_labels(labels);
        self.line(format_args!("{name}{labels} {value}"));
    }

    /// Adds a sample with a fraction.
    pub(crate) fn amount(&mut self, name: &str, labels: &Labels<'_>, value: f64) {
        let labels = render_labels(labels);
        self.line(format_args!("{name}{labels} {value:?}"));
    }

    /// The finished text.
    pub(crate) fn finish(mut self) -> String {
        self.text.push_str("# EOF\n");
        self.text
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{line}");
    }
}

fn render_labels(labels: &Labels<'_>) -> String {
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
    use super::Exposition;

    #[test]
    fn writes_families_and_escapes_label_values() {
        let mut exposition = Exposition::default();
        exposition.family("a_usd", "counter", Some("usd"), "Money.");
        exposition.count("a_usd_total", &[], 3);
        exposition.amount("a_usd_total", &[("m", "x\"y\\z\n")], 2.0);
        assert_eq!(
            exposition.finish(),
            "# TYPE a_usd counter\n# UNIT a_usd usd\n# HELP a_usd Money.\na_usd_total 3\n\
             a_usd_total{m=\"x\\\"y\\\\z\\n\"} 2.0\n# EOF\n"
        );
    }
}

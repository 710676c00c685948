//! Charts: which columns of a table are drawn, and how. Drawn by uPlot in `assets/charts.js`, from the table's own cells,
//! so that a chart can never show anything else than the table beside it, which is there without any script.

use conclave_worker_common::html::{Html, html};

/// The kinds of charts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Bars on top of each other.
    Stacked,
    /// Lines.
    Lines,
}

/// The unit of a chart's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Things.
    Count,
    /// US dollars.
    Usd,
    /// Milliseconds.
    Milliseconds,
}

/// A chart over the days in a table's first column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chart {
    pub(crate) kind: Kind,
    /// In what.
    pub(crate) unit: Unit,
    /// The columns, and the names of their colors in the style sheet.
    pub(crate) series: Vec<(usize, String)>,
}

impl Chart {
    /// The place that the chart is drawn into, with the same in words, and a legend with the names of the columns.
    pub(crate) fn figure<'a>(&self, title: &str, name: impl Fn(usize) -> Option<&'a str>) -> Html {
        let kind = match self.kind {
            Kind::Stacked => "stacked",
            Kind::Lines => "lines",
        };
        let unit = match self.unit {
            Unit::Count => "count",
            Unit::Usd => "usd",
            Unit::Milliseconds => "milliseconds",
        };
        let columns = self.series.iter().map(|(column, color)| format!("{column}:{color}"));
        let columns: Vec<String> = columns.collect();
        html! {
            figure.chart data-kind=(kind) data-unit=(unit) data-series=(columns.join(",")) {
                div.plot aria-hidden="true" {}
                figcaption {
                    span.hidden { "A chart of the table “" (title) "”, which follows." }
                    ul.legend aria-hidden="true" {
                        li.at {}
                        @for (column, color) in &self.series {
                            li { span class={ "key k-" (color) } {} (name(*column).unwrap_or_default()) " " output {} }
                        }
                    }
                }
            }
        }
    }
}

/// A bar from one share of the width to another, for a row of a timeline.
pub(crate) fn span(class: &str, from: f64, to: f64, label: &str) -> Html {
    let from = from.clamp(0.0, 1.0) * 100.0;
    let width = (to.clamp(0.0, 1.0) * 100.0 - from).max(0.6);
    let (from, width) = (format!("{:.3}%", from.min(99.4)), format!("{width:.3}%"));
    html! {
        svg.span role="img" aria-label=(label) width="100%" height="12" {
            rect.track width="100%" height="100%" rx="3" {}
            rect class={ "o-" (class) } x=(from) y="0" width=(width) height="100%" rx="3" {}
        }
    }
}

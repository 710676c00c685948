//! Charts: which columns of a table are drawn, and how. Drawn by uPlot in `assets/charts.js`, from the table's own cells,
//! so that a chart can never show anything else than the table beside it, which is there without any script.

use conclave_worker_common::html::{Html, html};

use super::{table::Table, texts};

/// How columns are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Bars on top of each other.
    Stacked,
    /// Lines.
    Lines,
}

/// What a chart's values are.
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
    /// How.
    pub(crate) kind: Kind,
    /// In what.
    pub(crate) unit: Unit,
    /// The columns, and the names of their colours in the style sheet.
    pub(crate) series: Vec<(usize, String)>,
}

impl Chart {
    /// The place that the chart is drawn into, with the same in words, and a legend.
    pub(crate) fn figure(&self, table: &Table) -> Html {
        let kind = match self.kind {
            Kind::Stacked => "stacked",
            Kind::Lines => "lines",
        };
        let unit = match self.unit {
            Unit::Count => "count",
            Unit::Usd => "usd",
            Unit::Milliseconds => "milliseconds",
        };
        let columns: Vec<String> = self
            .series
            .iter()
            .map(|(column, colour)| format!("{column}:{colour}"))
            .collect();
        let legend = self.series.iter().filter_map(|(column, colour)| {
            let name = &table.columns.get(*column)?.name;
            Some(html!(
                r#"<li><span class="key k-{}"></span>{} <output></output></li>"#,
                *colour,
                name
            ))
        });
        html!(
            r#"<figure class="chart" data-kind="{}" data-unit="{}" data-series="{}"><div class="plot" aria-hidden="true"></div>
<figcaption><span class="hidden">{}</span><ul class="legend" aria-hidden="true"><li class="at"></li>{}</ul></figcaption></figure>"#,
            kind,
            unit,
            columns.join(","),
            texts::chart_label(table.title),
            Html::join(legend),
        )
    }
}

/// A bar from one share of the width to another, for a row of a timeline.
pub(crate) fn span(class: &str, from: f64, to: f64, label: &str) -> Html {
    let from = from.clamp(0.0, 1.0) * 100.0;
    let width = (to.clamp(0.0, 1.0) * 100.0 - from).max(0.6);
    html!(
        r#"<svg class="span" role="img" aria-label="{}" width="100%" height="12"><rect class="track" width="100%" height="100%" rx="3"/>
<rect class="o-{}" x="{}%" y="0" width="{}%" height="100%" rx="3"/></svg>"#,
        label,
        class,
        format!("{:.3}", from.min(99.4)),
        format!("{width:.3}"),
    )
}

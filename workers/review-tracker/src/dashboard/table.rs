//! Tables: one description, shown as HTML, given as CSV, and drawn as a chart.

use conclave_worker_common::html::{Html, breakable, html};

use super::{chart::Chart, format, texts};

/// What a cell holds. The page shows it rounded, CSV and charts have it exactly.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    /// A text from anywhere.
    Text(String),
    /// A name in words of ours, and what stands for it in CSV.
    Named(String, String),
    /// A number of things.
    Count(u64),
    /// A large number of tokens.
    Tokens(u64),
    /// US dollars.
    Money(f64),
    /// A share of one.
    Share(f64),
    /// Milliseconds.
    Duration(f64),
    /// A day.
    Day(i64),
    /// A moment.
    Moment(i64),
    /// Markup, and what stands for it in CSV.
    Markup(Html, String),
    /// Nothing is known.
    Nothing,
}

impl Cell {
    /// A cell of something that may be unknown.
    pub(crate) fn or_nothing<T>(value: Option<T>, cell: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::Nothing, cell)
    }

    fn is_number(&self) -> bool {
        matches!(
            self,
            Self::Count(_) | Self::Tokens(_) | Self::Money(_) | Self::Share(_) | Self::Duration(_)
        )
    }

    fn html(&self, now_ms: i64) -> Html {
        match self {
            Self::Text(text) => breakable(text),
            Self::Named(name, _) => html!("{}", name),
            Self::Count(count) => html!("{}", format::count(*count)),
            Self::Tokens(count) => html!(
                r#"<span title="{}">{}</span>"#,
                format::count(*count),
                format::short(*count)
            ),
            Self::Money(amount) => html!("{}", format::money(*amount)),
            Self::Share(share) => html!("{}", format::percent(*share)),
            Self::Duration(milliseconds) => html!("{}", format::estimated_duration(*milliseconds)),
            Self::Day(day) => html!(
                r#"<time datetime="{}">{}</time>"#,
                format::iso_day(*day),
                format::day(*day)
            ),
            Self::Moment(at_ms) => html!(
                r#"<time datetime="{}">{}</time>"#,
                format::rfc3339(*at_ms),
                format::moment(*at_ms, now_ms)
            ),
            Self::Markup(markup, _) => markup.clone(),
            Self::Nothing => html!("{}", format::NOTHING),
        }
    }

    /// The value for a chart, where there is one.
    fn number(&self) -> Option<String> {
        match self {
            Self::Count(count) | Self::Tokens(count) => Some(count.to_string()),
            Self::Money(value) | Self::Share(value) | Self::Duration(value) => Some(value.to_string()),
            Self::Day(day) => Some((day * 86_400).to_string()),
            _ => None,
        }
    }

    fn csv(&self) -> String {
        match self {
            Self::Text(text) | Self::Markup(_, text) | Self::Named(_, text) => csv_text(text),
            Self::Count(_) | Self::Tokens(_) | Self::Money(_) | Self::Share(_) => self.number().unwrap_or_default(),
            Self::Duration(milliseconds) => format!("{:.3}", milliseconds / 1000.0),
            Self::Day(day) => format::iso_day(*day),
            Self::Moment(at_ms) => format::rfc3339(*at_ms),
            Self::Nothing => String::new(),
        }
    }
}

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    /// Its header.
    pub(crate) name: String,
    /// Whether it holds numbers.
    pub(crate) number: bool,
    /// Its name in CSV, with its unit.
    pub(crate) csv: String,
    /// Whether the page leaves it out.
    pub(crate) only_csv: bool,
}

impl Column {
    /// A column of words.
    pub(crate) fn words(name: &str, csv: &str) -> Self {
        Self {
            name: name.to_owned(),
            number: false,
            csv: csv.to_owned(),
            only_csv: false,
        }
    }

    /// A column for machines.
    pub(crate) fn only_csv(csv: &str) -> Self {
        Self {
            only_csv: true,
            ..Self::words("", csv)
        }
    }

    /// A column of numbers.
    pub(crate) fn number(name: &str, csv: &str) -> Self {
        Self {
            number: true,
            ..Self::words(name, csv)
        }
    }
}

/// A row.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Row {
    /// Its cells; the first one names the row.
    pub(crate) cells: Vec<Cell>,
    /// Where a click on it leads.
    pub(crate) href: Option<String>,
    /// What it is, for the style sheet.
    pub(crate) class: &'static str,
}

impl From<Vec<Cell>> for Row {
    fn from(cells: Vec<Cell>) -> Self {
        Self {
            cells,
            ..Self::default()
        }
    }
}

/// A table.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Table {
    /// Its name in addresses and in the style sheet; one a page.
    pub(crate) id: &'static str,
    /// Its heading.
    pub(crate) title: &'static str,
    /// What its figures mean.
    pub(crate) note: &'static str,
    /// Its columns.
    pub(crate) columns: Vec<Column>,
    /// Its rows.
    pub(crate) rows: Vec<Row>,
    /// The row of sums.
    pub(crate) sum: Option<Vec<Cell>>,
    /// How it is drawn, and then the table itself is folded away.
    pub(crate) chart: Option<Chart>,
    /// What is said when there are no rows.
    pub(crate) nothing: &'static str,
    /// What follows the table: the way to older rows.
    pub(crate) after: Html,
    /// Whether half of the width is enough.
    pub(crate) half: bool,
}

impl Table {
    /// The section of a page. `csv` is the table's address as CSV.
    pub(crate) fn section(&self, csv: &str, now_ms: i64) -> Html {
        let body = if self.rows.is_empty() {
            html!(r#"<p class="none">{}</p>"#, self.nothing)
        } else if let Some(chart) = &self.chart {
            html!(
                r#"{}<details class="data"><summary>{}</summary>{}</details>"#,
                chart.figure(self),
                texts::SHOW_TABLE,
                self.html(now_ms)
            )
        } else {
            self.html(now_ms)
        };
        let link = (!self.rows.is_empty()).then(|| {
            html!(
                r#"<a class="csv" href="{}" aria-label="{}" download>CSV</a>"#,
                csv,
                texts::csv_label(self.title)
            )
        });
        html!(
            r#"<section class="card c-{}{}" aria-labelledby="t-{}"><div class="title"><h2 id="t-{}">{}</h2>{}<span>{}</span></div>{}{}</section>"#,
            self.id,
            if self.half { " half" } else { "" },
            self.id,
            self.id,
            self.title,
            link,
            self.note,
            body,
            self.after,
        )
    }

    /// The table itself. On a phone the style sheet turns rows into cards, so every element has its role spelt out, and
    /// every cell the name of its column.
    pub(crate) fn html(&self, now_ms: i64) -> Html {
        let shown = self.columns.iter().filter(|column| !column.only_csv);
        let headers = shown.map(|column| {
            if column.number {
                html!(
                    r#"<th role="columnheader" scope="col" class="number">{}</th>"#,
                    column.name
                )
            } else {
                html!(r#"<th role="columnheader" scope="col">{}</th>"#, column.name)
            }
        });
        let sum = self.sum.as_ref().map(|cells| {
            html!(
                r#"<tfoot role="rowgroup">{}</tfoot>"#,
                self.row(&Row::from(cells.clone()), now_ms)
            )
        });
        html!(
            r#"<div class="scroll" tabindex="0" role="region" aria-labelledby="t-{}"><table class="{}" role="table" aria-labelledby="t-{}">
<thead role="rowgroup"><tr role="row">{}</tr></thead><tbody role="rowgroup">{}</tbody>{}</table></div>"#,
            self.id,
            self.id,
            self.id,
            Html::join(headers),
            Html::join(self.rows.iter().map(|row| self.row(row, now_ms))),
            sum,
        )
    }

    fn row(&self, row: &Row, now_ms: i64) -> Html {
        let cells = row
            .cells
            .iter()
            .zip(&self.columns)
            .filter(|(_, column)| !column.only_csv);
        let cells = cells.enumerate().map(|(position, (cell, column))| {
            let value = cell.number().filter(|_| self.chart.is_some());
            let value = value.map(|value| html!(r#" data-value="{}""#, value));
            if position == 0 {
                let shown = match &row.href {
                    Some(href) => html!(r#"<a href="{}">{}</a>"#, href, cell.html(now_ms)),
                    None => cell.html(now_ms),
                };
                return html!(r#"<th role="rowheader" scope="row"{}>{}</th>"#, value, shown);
            }
            let class = if cell.is_number() || column.number {
                "number"
            } else {
                "words"
            };
            html!(
                r#"<td role="cell" class="{}" data-name="{}"{}>{}</td>"#,
                class,
                column.name,
                value,
                cell.html(now_ms)
            )
        });
        html!(r#"<tr role="row" class="{}">{}</tr>"#, row.class, Html::join(cells))
    }

    /// The table as CSV (RFC 4180), the sums left out: they are for people.
    pub(crate) fn csv(&self) -> String {
        let line = |fields: Vec<String>| fields.join(",") + "\r\n";
        let header = line(self.columns.iter().map(|column| csv_text(&column.csv)).collect());
        let rows = self
            .rows
            .iter()
            .map(|row| line(row.cells.iter().map(Cell::csv).collect()));
        rows.fold(header, |text, row| text + &row)
    }
}

/// A text as a field. One that a spreadsheet would take for a formula gets an apostrophe in front, which makes it text.
fn csv_text(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if formula { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: Vec<Row>) -> Table {
        Table {
            id: "x",
            title: "X",
            columns: vec![Column::words("Name", "name"), Column::number("Cost", "cost_usd")],
            rows,
            ..Table::default()
        }
    }

    #[test]
    fn csv_has_exact_values_and_texts_stay_texts() {
        let names = ["a,b", "say \"x\"", "=1+1", "-2", "two\nlines", "plain", "@x", ""];
        let rows = names.map(|name| Row::from(vec![Cell::Text(name.to_owned()), Cell::Money(0.123_456)]));
        assert_eq!(
            table(rows.to_vec()).csv(),
            "name,cost_usd\r\n\"a,b\",0.123456\r\n\"say \"\"x\"\"\",0.123456\r\n'=1+1,0.123456\r\n'-2,0.123456\r\n\
             \"two\nlines\",0.123456\r\nplain,0.123456\r\n'@x,0.123456\r\n,0.123456\r\n"
        );
    }

    #[test]
    fn what_is_shown_is_escaped_and_named() {
        let row = Row {
            href: Some("/runs?\"".to_owned()),
            ..Row::from(vec![Cell::Text("<b>\"".to_owned()), Cell::Nothing])
        };
        let html = table(vec![row]).section("/?csv=x&a=1", 0);
        let html = html.as_str();
        assert!(html.contains("&lt;b&gt;&quot;") && !html.contains("<b>"), "{html}");
        assert!(
            html.contains("href=\"/runs?&quot;\"") && html.contains("/?csv=x&amp;a=1"),
            "{html}"
        );
        assert!(html.contains("data-name=\"Cost\""), "{html}");
        assert!(
            !html.contains("data-value"),
            "only what is drawn needs its values: {html}"
        );
    }

    #[test]
    fn a_table_without_rows_says_so_and_offers_no_file() {
        let empty = Table {
            nothing: "Nothing yet.",
            ..table(Vec::new())
        };
        let html = empty.section("/", 0);
        assert!(
            html.as_str().contains("Nothing yet.") && !html.as_str().contains("csv"),
            "{}",
            html.as_str()
        );
    }

    #[test]
    fn durations_are_seconds_and_days_are_iso_in_csv() {
        let cells = [
            Cell::Duration(61_500.0),
            Cell::Day(20_000),
            Cell::Moment(0),
            Cell::Nothing,
            Cell::Share(0.5),
        ];
        assert_eq!(
            cells.each_ref().map(Cell::csv),
            ["61.500", "2024-10-04", "1970-01-01T00:00:00Z", "", "0.5"]
        );
    }
}

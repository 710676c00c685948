//! Tables: one description, shown as HTML, given as CSV, and drawn as a chart.

use conclave_worker_common::html::{Html, breakable, html};

use super::{
    chart::{Chart, Kind, Unit},
    format,
};

/// A cell's content. The page shows it rounded, CSV and charts have it exactly.
#[derive(Debug, Clone)]
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
    /// A number without a unit of its own.
    Plain(f64),
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
    /// A text from anywhere.
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// A name in words of ours, and what stands for it in CSV.
    pub(crate) fn name(name: impl Into<String>, csv: impl Into<String>) -> Self {
        Self::Named(name.into(), csv.into())
    }

    /// Markup, and what stands for it in CSV.
    pub(crate) fn markup(markup: Html, csv: impl Into<String>) -> Self {
        Self::Markup(markup, csv.into())
    }

    /// A cell that is only in the file.
    pub(crate) fn only_csv(csv: impl Into<String>) -> Self {
        Self::markup(Html::default(), csv)
    }

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
        html! {
            @match self {
                Self::Text(text) => (breakable(text)),
                Self::Named(name, _) => (name),
                Self::Count(count) => (format::count(*count)),
                Self::Tokens(count) => span title=(format::count(*count)) { (format::short(*count)) },
                Self::Money(amount) => (format::money(*amount)),
                Self::Share(share) => (format::percent(*share)),
                Self::Duration(milliseconds) => (format::estimated_duration(*milliseconds)),
                Self::Plain(value) => (format::plain(*value)),
                Self::Day(day) => time datetime=(format::iso_day(*day)) { (format::day(*day)) },
                Self::Moment(at_ms) => time datetime=(format::rfc3339(*at_ms)) { (format::moment(*at_ms, now_ms)) },
                Self::Markup(markup, _) => (markup),
                Self::Nothing => (format::NOTHING),
            }
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
            Self::Plain(value) => value.to_string(),
            Self::Day(day) => format::iso_day(*day),
            Self::Moment(at_ms) => format::rfc3339(*at_ms),
            Self::Nothing => String::new(),
        }
    }
}

/// A column: its header, whether it holds numbers, its name in CSV with its unit, and whether the page leaves it out.
#[derive(Debug, Clone)]
struct Column {
    name: String,
    number: bool,
    csv: String,
    only_csv: bool,
}

/// A row. The first cell names it; a click on it may lead somewhere; the class is for the style sheet.
#[derive(Debug, Clone, Default)]
struct Row {
    cells: Vec<Cell>,
    href: Option<String>,
    class: Option<&'static str>,
}

/// A table of a page.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    /// Its name in addresses and in the style sheet; one a page.
    pub(crate) id: &'static str,
    /// Its heading.
    pub(crate) title: &'static str,
    note: &'static str,
    columns: Vec<Column>,
    rows: Vec<Row>,
    sum: Option<Row>,
    chart: Option<Chart>,
    nothing: &'static str,
    after: Html,
    half: bool,
}

/// A table that is being made: each column that is added is filled for all items.
#[derive(Debug)]
pub(crate) struct TableOf<T> {
    table: Table,
    items: Vec<T>,
    sum: Option<T>,
    series: Vec<(usize, String)>,
}

impl<T> TableOf<T> {
    /// A table with a row for each item.
    pub(crate) fn new(id: &'static str, title: &'static str, items: impl IntoIterator<Item = T>) -> Self {
        let items: Vec<T> = items.into_iter().collect();
        let rows = items.iter().map(|_| Row::default()).collect();
        Self {
            table: Table {
                id,
                title,
                rows,
                ..Table::default()
            },
            items,
            sum: None,
            series: Vec::new(),
        }
    }

    /// Explains the figures.
    pub(crate) const fn note(mut self, note: &'static str) -> Self {
        self.table.note = note;
        self
    }

    /// Says in place of the table that it has no rows.
    pub(crate) const fn nothing(mut self, nothing: &'static str) -> Self {
        self.table.nothing = nothing;
        self
    }

    /// Half of the width is enough.
    pub(crate) const fn half(mut self) -> Self {
        self.table.half = true;
        self
    }

    /// Follows the table: the way to older rows.
    pub(crate) fn after(mut self, after: Html) -> Self {
        self.table.after = after;
        self
    }

    /// Ends with a row of sums; the columns come afterwards.
    pub(crate) fn sum(mut self, sum: T) -> Self {
        self.sum = Some(sum);
        self.table.sum = Some(Row::default());
        self
    }

    /// Makes each row a link.
    pub(crate) fn href(mut self, href: impl Fn(&T) -> String) -> Self {
        for (item, row) in self.items.iter().zip(&mut self.table.rows) {
            row.href = Some(href(item));
        }
        self
    }

    /// Gives each row a class for the style sheet.
    pub(crate) fn class(mut self, class: impl Fn(&T) -> &'static str) -> Self {
        for (item, row) in self.items.iter().zip(&mut self.table.rows) {
            row.class = Some(class(item));
        }
        self
    }

    /// Adds a column of words.
    pub(crate) fn words(self, name: &str, csv: &str, cell: impl Fn(&T) -> Cell) -> Self {
        self.column(name, csv, (false, false), &cell)
    }

    /// Adds a column of numbers.
    pub(crate) fn number(self, name: &str, csv: &str, cell: impl Fn(&T) -> Cell) -> Self {
        self.column(name, csv, (true, false), &cell)
    }

    /// Adds a column for machines.
    pub(crate) fn only_csv(self, csv: &str, cell: impl Fn(&T) -> Cell) -> Self {
        self.column("", csv, (false, true), &cell)
    }

    /// Takes a trait object, so that the code of a hundred columns is one function.
    fn column(mut self, name: &str, csv: &str, (number, only_csv): (bool, bool), cell: &dyn Fn(&T) -> Cell) -> Self {
        let names_rows = self.table.columns.is_empty();
        for (item, row) in self.items.iter().zip(&mut self.table.rows) {
            row.cells.push(cell(item));
        }
        if let (Some(item), Some(row)) = (&self.sum, &mut self.table.sum) {
            let sum = || Cell::name("Sum", "");
            row.cells.push(if names_rows { sum() } else { cell(item) });
        }
        self.table.columns.push(Column {
            name: name.to_owned(),
            number,
            csv: csv.to_owned(),
            only_csv,
        });
        self
    }

    /// Draws the last column in a color of the style sheet, if there is a chart.
    pub(crate) fn drawn(mut self, color: &str) -> Self {
        let last = self.table.columns.len().saturating_sub(1);
        self.series.push((last, color.to_owned()));
        self
    }

    /// Draws the columns that have a color, if there is anything to draw; the table itself is folded away then.
    pub(crate) fn chart(mut self, kind: Kind, unit: Unit, several: bool) -> Self {
        let series = std::mem::take(&mut self.series);
        self.table.chart = several.then_some(Chart { kind, unit, series });
        self
    }

    /// The table.
    pub(crate) fn build(self) -> Table {
        self.table
    }
}

impl Table {
    /// Returns whether it has no row.
    pub(crate) const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns whether there is a chart to draw.
    pub(crate) const fn is_drawn(&self) -> bool {
        self.chart.is_some() && !self.is_empty()
    }

    /// The section of a page. `csv` is the table's address as CSV.
    pub(crate) fn section(&self, csv: &str, now_ms: i64) -> Html {
        let heading = format!("t-{}", self.id);
        html! {
            section class={ "card c-" (self.id) @if self.half { " half" } } aria-labelledby=(heading) {
                div.title {
                    h2 id=(heading) { (self.title) }
                    @if !self.is_empty() {
                        a.csv href=(csv) aria-label={ (self.title) " as CSV" } download { "CSV" }
                    }
                    span { (self.note) }
                }
                @if self.is_empty() {
                    p.none { (self.nothing) }
                } @else if let Some(chart) = &self.chart {
                    (chart.figure(self.title, |column| Some(self.columns.get(column)?.name.as_str())))
                    details.data { summary { "Figures as a table" } (self.html(&heading, now_ms)) }
                } @else {
                    (self.html(&heading, now_ms))
                }
                (self.after)
            }
        }
    }

    /// The table itself. On a phone the style sheet turns rows into cards, so every element has its role spelt out, and
    /// every cell the name of its column.
    fn html(&self, heading: &str, now_ms: i64) -> Html {
        html! {
            div.scroll tabindex="0" role="group" aria-labelledby=(heading) {
                table class=(self.id) role="table" aria-labelledby=(heading) {
                    thead role="rowgroup" {
                        tr role="row" {
                            @for column in self.columns.iter().filter(|column| !column.only_csv) {
                                th role="columnheader" scope="col" class=[column.number.then_some("number")] { (column.name) }
                            }
                        }
                    }
                    tbody role="rowgroup" { @for row in &self.rows { (self.row(row, now_ms)) } }
                    @if let Some(sum) = &self.sum { tfoot role="rowgroup" { (self.row(sum, now_ms)) } }
                }
            }
        }
    }

    fn row(&self, row: &Row, now_ms: i64) -> Html {
        let cells = row.cells.iter().zip(&self.columns);
        let value = |cell: &Cell| cell.number().filter(|_| self.chart.is_some());
        html! {
            tr role="row" class=[row.class] {
                @for (place, (cell, column)) in cells.filter(|(_, column)| !column.only_csv).enumerate() {
                    @if place == 0 {
                        th role="rowheader" scope="row" data-value=[value(cell)] {
                            @if let Some(href) = &row.href { a href=(href) { (cell.html(now_ms)) } }
                            @else { (cell.html(now_ms)) }
                        }
                    } @else {
                        @let class = if cell.is_number() || column.number { "number" } else { "words" };
                        td role="cell" class=(class) data-name=(column.name) data-value=[value(cell)] { (cell.html(now_ms)) }
                    }
                }
            }
        }
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

    fn table<const N: usize>(names: [&str; N]) -> TableOf<&str> {
        TableOf::new("x", "X", names).words("Name", "name", |name| Cell::text(name))
    }

    #[test]
    fn csv_has_exact_values_and_texts_stay_texts() {
        let names = ["a,b", "say \"x\"", "=1+1", "-2", "two\nlines", "plain", "@x", ""];
        let table = table(names).number("Cost", "cost_usd", |_| Cell::Money(0.123_456));
        assert_eq!(
            table.build().csv(),
            "name,cost_usd\r\n\"a,b\",0.123456\r\n\"say \"\"x\"\"\",0.123456\r\n'=1+1,0.123456\r\n'-2,0.123456\r\n\
             \"two\nlines\",0.123456\r\nplain,0.123456\r\n'@x,0.123456\r\n,0.123456\r\n"
        );
    }

    #[test]
    fn what_is_shown_is_escaped_and_named() {
        let table = table(["<b>\""]).number("Cost", "cost_usd", |_| Cell::Nothing);
        let html = table
            .href(|_| "/runs?\"".to_owned())
            .build()
            .section("/?csv=x&a=1", 0)
            .0;
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
        let html = table([]).nothing("Nothing yet.").build().section("/", 0).0;
        assert!(html.contains("Nothing yet.") && !html.contains("csv"), "{html}");
    }

    #[test]
    fn sums_stand_below_the_rows_and_in_no_file() {
        let table = TableOf::new("x", "X", [("a", 1), ("b", 2)])
            .sum(("all", 3))
            .words("Name", "name", |(name, _)| Cell::text(name))
            .number("Count", "count", |(_, count)| Cell::Count(*count))
            .build();
        assert_eq!(table.csv(), "name,count\r\na,1\r\nb,2\r\n");
        let html = table.section("/", 0).0;
        let (_, foot) = html.split_once("<tfoot").expect("sums");
        assert!(foot.contains(">Sum<") && foot.contains(">3<"), "{foot}");
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

//! `GET /health`: how the tracker itself is doing: what waits, what is stuck, what was lost.

use std::collections::HashMap;

use conclave_worker_common::{
    Outcome,
    html::{Html, html},
};
use worker::{Env, Request, Response, Router};

use super::{
    cells::{count_or_nothing, named},
    chart::{Chart, Kind, Unit},
    format,
    page::{Asked, Content, finished},
    periods::Periods,
    shown,
    summary::{figure, figures},
    table::{Cell, Column, Row, Table},
    texts,
};
use crate::{
    sketch,
    store::{self, DayCount, HealthPage, merged},
};

/// Where this page is. `/healthz`, for machines, asks nobody.
pub(crate) const PATH: &str = "/health";

/// Adds the page's routes.
pub(crate) fn routes(router: Router<'static, ()>) -> Router<'static, ()> {
    router.on_async(PATH, |request, context| async move {
        conclave_worker_common::finish(shown(page(&request, &context.env).await))
    })
}

async fn page(request: &Request, env: &Env) -> Outcome<Response> {
    let asked = Asked::of(request, env).await?;
    let query = asked.filter.query(asked.now_ms);
    let page = store::health_page(env, &query).await?;
    let periods = Periods::of(&query);
    let content = Content {
        title: texts::HEALTH,
        path: PATH,
        lead: lead(&page, asked.now_ms),
        tables: vec![
            lag(&page, periods),
            by_day(&page, periods),
            kinds(&page),
            verdicts(&page),
            run_figures(&page),
        ],
        tail: Html::default(),
        fields: Html::default(),
        own: Vec::new(),
        by_tier: false,
    };
    finished(&asked, env, content).await
}

fn lead(page: &HealthPage, now_ms: i64) -> Html {
    let all = merged(page.lag.iter().map(|(_, bins)| bins));
    let lag =
        |share| sketch::quantile(&all, share).map_or_else(|| format::NOTHING.to_owned(), format::estimated_duration);
    let sum = |days: &[DayCount]| -> u64 { days.iter().map(|day| day.events).sum() };
    let (newest, came) = page.newest.map_or_else(
        || (format::NOTHING.to_owned(), String::new()),
        |newest| {
            (
                format::moment(newest.at_ms, now_ms),
                texts::came(&format::moment(newest.received_ms, now_ms)),
            )
        },
    );
    figures(
        "six",
        [
            figure(texts::EVENTS, &format::count(sum(&page.days)), texts::EVENTS_DETAIL),
            figure(texts::NEWEST_EVENT, &newest, &came),
            figure(texts::LAG, &lag(0.5), &texts::p99(&lag(0.99))),
            figure(
                texts::DROPPED,
                &format::count(sum(&page.dropped)),
                texts::DROPPED_DETAIL,
            ),
            figure(texts::SKEWED, &format::count(sum(&page.skewed)), texts::SKEWED_DETAIL),
            figure(
                texts::MISMATCHES,
                &format::count(
                    page.verdicts
                        .iter()
                        .filter(|row| row.mismatch == "yes")
                        .map(|row| row.runs)
                        .sum(),
                ),
                texts::MISMATCHES_DETAIL,
            ),
        ],
    )
}

fn lag(page: &HealthPage, periods: Periods) -> Table {
    let rows = page.lag.iter().rev().map(|(day, bins)| {
        let quantile = |share| Cell::or_nothing(sketch::quantile(bins, share), Cell::Duration);
        Row::from(vec![Cell::Day(*day), quantile(0.5), quantile(0.95), quantile(0.99)])
    });
    Table {
        id: "lag",
        title: texts::LAG_BY_DAY,
        note: texts::LAG_NOTE,
        columns: vec![
            Column::words(texts::DAY, "day"),
            Column::number(texts::MEDIAN, "median_seconds"),
            Column::number("P95", "p95_seconds"),
            Column::number("P99", "p99_seconds"),
        ],
        rows: rows.collect(),
        chart: periods.several().then(|| Chart {
            kind: Kind::Lines,
            unit: Unit::Milliseconds,
            series: [(1, "1"), (2, "2"), (3, "3")]
                .map(|(column, colour)| (column, colour.to_owned()))
                .to_vec(),
        }),
        nothing: texts::NO_EVENTS_YET,
        ..Table::default()
    }
}

fn by_day(page: &HealthPage, periods: Periods) -> Table {
    let sums = |days: &[DayCount]| {
        days.iter().fold(HashMap::new(), |mut sums: HashMap<i64, u64>, day| {
            *sums.entry(periods.start_of(day.day)).or_default() += day.events;
            sums
        })
    };
    let (events, dropped, skewed) = (sums(&page.days), sums(&page.dropped), sums(&page.skewed));
    let of = |sums: &HashMap<i64, u64>, start| sums.get(&start).copied().unwrap_or_default();
    let rows = periods.starts().rev().map(|start| {
        Row::from(vec![
            Cell::Day(start),
            Cell::Count(of(&events, start)),
            Cell::Count(of(&dropped, start)),
            Cell::Count(of(&skewed, start)),
        ])
    });
    Table {
        id: "events",
        title: texts::EVENTS_BY_DAY,
        columns: vec![
            Column::words(texts::DAY, "day"),
            Column::number(texts::ACCEPTED, "accepted"),
            Column::number(texts::DROPPED, "dropped_by_reviews"),
            Column::number(texts::SKEWED, "clock_ahead"),
        ],
        rows: if page.days.is_empty() && page.dropped.is_empty() {
            Vec::new()
        } else {
            rows.collect()
        },
        chart: periods.several().then(|| Chart {
            kind: Kind::Stacked,
            unit: Unit::Count,
            series: vec![(1, "1".to_owned()), (2, "critical".to_owned())],
        }),
        nothing: texts::NO_EVENTS_YET,
        ..Table::default()
    }
}

fn kinds(page: &HealthPage) -> Table {
    Table {
        id: "kinds",
        title: texts::KINDS,
        columns: vec![
            Column::words(texts::KIND, "kind"),
            Column::number(texts::EVENTS, "events"),
        ],
        rows: page
            .kinds
            .iter()
            .map(|row| Row::from(vec![named(&row.kind), Cell::Count(row.events)]))
            .collect(),
        nothing: texts::NO_EVENTS_YET,
        half: true,
        ..Table::default()
    }
}

fn verdicts(page: &HealthPage) -> Table {
    let rows = page.verdicts.iter().map(|row| {
        let state = if row.mismatch == "yes" {
            Cell::Markup(
                html!(r#"<span class="verdict c-open">{}</span>"#, texts::DIFFERS),
                "yes".to_owned(),
            )
        } else {
            Cell::Named(texts::AS_ASKED.to_owned(), "no".to_owned())
        };
        let shown = if row.shown.is_empty() {
            Cell::Nothing
        } else {
            named(&row.shown)
        };
        Row::from(vec![named(&row.wanted), shown, state, count_or_nothing(row.runs)])
    });
    Table {
        id: "applied",
        title: texts::APPLIED,
        note: texts::APPLIED_NOTE,
        columns: vec![
            Column::words(texts::ASKED, "asked"),
            Column::words(texts::SEEN, "seen"),
            Column::words(texts::STATE, "mismatch"),
            Column::number(texts::REVIEWS, "reviews"),
        ],
        rows: rows.collect(),
        nothing: texts::NONE_APPLIED,
        half: true,
        ..Table::default()
    }
}

/// What runs measured of themselves.
fn run_figures(page: &HealthPage) -> Table {
    let rows = page.figures.iter().map(|figure| {
        let number = |value: f64| Cell::Markup(html!("{}", format::plain(value)), value.to_string());
        let mean = figure.total / super::cells::as_f64(figure.n.max(1));
        Row::from(vec![
            Cell::Text(figure.name.clone()),
            Cell::Count(figure.n),
            number(mean),
            number(figure.largest),
        ])
    });
    Table {
        id: "figures",
        title: texts::RUN_FIGURES,
        note: texts::RUN_FIGURES_NOTE,
        columns: vec![
            Column::words(texts::FIGURE, "name"),
            Column::number(texts::REVIEWS, "values"),
            Column::number(texts::AVERAGE, "average"),
            Column::number(texts::LARGEST, "largest"),
        ],
        rows: rows.collect(),
        nothing: texts::NO_FIGURES,
        ..Table::default()
    }
}

//! `GET /`: how reviews are doing.

use std::collections::HashMap;

use conclave_worker_common::{
    Outcome,
    html::{Html, html},
};
use worker::{Env, Request, Response};

use super::{
    cells::{VERDICTS, count_or_nothing, named, runs_table, share},
    chart::{Chart, Kind, Unit},
    cross::Cross,
    ends,
    filter::TIERS,
    format, layout,
    page::{Asked, Content, finished},
    periods::Periods,
    runs, summary,
    table::{Cell, Column, Row, Table},
    texts,
};
use crate::{
    sketch,
    store::{self, Bins, OverviewPage, RunSearch, TierSum},
};

/// Runs on the overview. The others are on their own page.
const LATEST: u32 = 10;

/// Answers with the overview.
pub(crate) async fn page(request: &Request, env: &Env) -> Outcome<Response> {
    let asked = Asked::of(request, env).await?;
    let query = asked.filter.query(asked.now_ms);
    let page = store::overview_page(env, &query).await?;
    if page.tiers.is_empty() && page.counts.started == 0 && store::projects(env).await?.is_empty() {
        let html = layout::signed_in(&asked, texts::OVERVIEW, "/", &empty(), false);
        return Ok(conclave_worker_common::page(200, &html)?);
    }
    let latest = store::runs(env, &query, &RunSearch::default(), None, LATEST).await?;
    let periods = Periods::of(&query);
    let mut latest_table = runs_table(&latest.runs, asked.now_ms);
    latest_table.title = texts::LATEST;
    latest_table.after = html!(
        r#"<nav class="pages" aria-label="{}"><a href="{}" rel="next">{}</a></nav>"#,
        texts::RUNS,
        asked.filter.href(runs::PATH, &[]),
        texts::ALL_RUNS,
    );
    let content = Content {
        title: texts::OVERVIEW,
        path: "/",
        lead: summary::overview(&page, periods, query.tier.is_none()),
        tables: vec![
            reviews(&page, periods),
            quantiles(&page),
            verdicts(&page),
            tiers(&page),
            ends::repositories(&page, &asked.filter),
            ends::causes(&page),
            ends::failed(&page),
            latest_table,
        ],
        tail: Html::default(),
        fields: Html::default(),
        own: Vec::new(),
    };
    finished(&asked, env, content).await
}

fn reviews(page: &OverviewPage, periods: Periods) -> Table {
    let days = page.days.iter();
    let sums = Cross::of(
        VERDICTS,
        days.map(|day| (periods.start_of(day.day), day.verdict.as_str(), day.runs)),
    );
    let mut costs: HashMap<i64, f64> = HashMap::new();
    for day in &page.days {
        *costs.entry(periods.start_of(day.day)).or_default() += day.cost_usd;
    }
    let columns = [
        Column::words(texts::DAY, "day"),
        Column::number(texts::REVIEWS, "reviews"),
    ]
    .into_iter()
    .chain(
        VERDICTS
            .iter()
            .map(|verdict| Column::number(&format::words(verdict), verdict)),
    )
    .chain([Column::number(texts::COST, "cost_usd")]);
    let series = VERDICTS
        .iter()
        .enumerate()
        .map(|(index, verdict)| (index + 2, (*verdict).to_owned()));
    Table {
        id: "reviews",
        title: texts::REVIEWS_BY_DAY,
        columns: columns.collect(),
        rows: if sums.is_empty() {
            Vec::new()
        } else {
            periods.rows(|start| {
                let counts = sums.get(&start);
                let mut cells = vec![Cell::Count(counts.iter().sum())];
                cells.extend(counts.map(Cell::Count));
                cells.push(Cell::Money(costs.get(&start).copied().unwrap_or_default()));
                cells
            })
        },
        chart: periods.several().then(|| Chart {
            kind: Kind::Stacked,
            unit: Unit::Count,
            series: series.collect(),
        }),
        nothing: texts::NOTHING_HERE_DETAIL,
        ..Table::default()
    }
}

fn verdicts(page: &OverviewPage) -> Table {
    let all: u64 = page.days.iter().map(|day| day.runs).sum();
    let rows = VERDICTS.map(|verdict| {
        let of = page.days.iter().filter(|day| day.verdict == verdict);
        let runs = of.map(|day| day.runs).sum();
        let mark = html!(
            r#"<span class="verdict v-{}">{}</span>"#,
            verdict,
            format::words(verdict)
        );
        Row::from(vec![
            Cell::Markup(mark, verdict.to_owned()),
            Cell::Count(runs),
            share(runs, all),
        ])
    });
    Table {
        id: "verdicts",
        title: texts::VERDICTS,
        columns: vec![
            Column::words(texts::VERDICT, "verdict"),
            Column::number(texts::REVIEWS, "reviews"),
            Column::number(texts::SHARE, "share"),
        ],
        rows: if all == 0 { Vec::new() } else { rows.to_vec() },
        nothing: texts::NOTHING_HERE_DETAIL,
        half: true,
        ..Table::default()
    }
}

/// The quantiles of the yardstick. Averages are exact, quantiles to within 1 %.
fn quantiles(page: &OverviewPage) -> Table {
    let all = summary::sums(&page.tiers);
    let row = |metric: &str, name: Cell, cell: fn(f64) -> Cell, average: Option<f64>| {
        let bins = summary::distribution(page, metric);
        let quantile = |share| Cell::or_nothing(sketch::quantile(&bins, share), cell);
        Row::from(vec![
            name,
            quantile(0.5),
            quantile(0.9),
            quantile(0.95),
            quantile(0.99),
            Cell::or_nothing(average, cell),
        ])
    };
    let cost = (all.runs > 0).then(|| all.cost_usd / super::cells::as_f64(all.runs));
    let rows = vec![
        row(
            "cost_usd",
            Cell::Named(texts::COST.to_owned(), "cost_usd".to_owned()),
            Cell::Money,
            cost,
        ),
        row(
            "duration_ms",
            Cell::Named(texts::DURATION.to_owned(), "duration_seconds".to_owned()),
            Cell::Duration,
            page.mean_duration_ms(),
        ),
    ];
    Table {
        id: "quantiles",
        title: texts::QUANTILES,
        note: texts::QUANTILES_NOTE,
        columns: vec![
            Column::words(texts::OF_A_REVIEW, "of"),
            Column::number(texts::MEDIAN, "median"),
            Column::number("P90", "p90"),
            Column::number("P95", "p95"),
            Column::number("P99", "p99"),
            Column::number(texts::AVERAGE, "average"),
        ],
        rows: if all.runs == 0 { Vec::new() } else { rows },
        nothing: texts::NOTHING_HERE_DETAIL,
        half: true,
        ..Table::default()
    }
}

fn tiers(page: &OverviewPage) -> Table {
    let none = Bins::new();
    let names = TIERS.into_iter();
    let mut rows: Vec<Row> = names
        .filter_map(|name| page.tiers.iter().find(|tier| tier.tier == name))
        .map(|tier| tier_row(tier, page, &none))
        .collect();
    let sums = summary::sums(&page.tiers);
    let failed: u64 = page.ends.failed.iter().map(|row| row.runs).sum();
    let ended = sums.runs + failed + page.counts.nothing_to_review;
    let unended = page.counts.started.saturating_sub(ended);
    if unended > 0 {
        let nothing = std::iter::repeat_n(Cell::Nothing, 8);
        rows.push(Row::from(
            [
                Cell::Named(texts::UNCLASSIFIED.to_owned(), "unclassified".to_owned()),
                Cell::Count(unended),
            ]
            .into_iter()
            .chain(nothing)
            .collect::<Vec<_>>(),
        ));
    }
    Table {
        id: "tiers",
        title: texts::TIERS,
        note: texts::TIERS_NOTE,
        columns: vec![
            Column::words(texts::TIER, "tier"),
            Column::number(texts::REVIEWS, "reviews"),
            Column::number(texts::AVERAGE_COST, "cost_usd_average"),
            Column::number(texts::MEDIAN_COST, "cost_usd_median"),
            Column::number(texts::P95_COST, "cost_usd_p95"),
            Column::number(texts::P99_COST, "cost_usd_p99"),
            Column::number(texts::MEDIAN_DURATION, "duration_seconds_median"),
            Column::number(texts::FINDINGS, "findings"),
            Column::number(texts::WITHOUT_COORDINATOR, "without_coordinator"),
            Column::number(texts::WITH_GAPS, "with_gaps"),
        ],
        rows,
        nothing: texts::NOTHING_HERE_DETAIL,
        ..Table::default()
    }
}

fn tier_row(tier: &TierSum, page: &OverviewPage, none: &Bins) -> Row {
    let bins = |metric: &str| {
        let key = (metric.to_owned(), tier.tier.clone());
        page.distributions.get(&key).unwrap_or(none)
    };
    let cost = |share| Cell::or_nothing(sketch::quantile(bins("cost_usd"), share), Cell::Money);
    Row::from(vec![
        named(&tier.tier),
        Cell::Count(tier.runs),
        Cell::Money(tier.cost_usd / super::cells::as_f64(tier.runs.max(1))),
        cost(0.5),
        cost(0.95),
        cost(0.99),
        Cell::or_nothing(sketch::quantile(bins("duration_ms"), 0.5), Cell::Duration),
        Cell::Count(tier.findings()),
        count_or_nothing(tier.degraded),
        count_or_nothing(tier.partial),
    ])
}

fn empty() -> Html {
    let steps = texts::EMPTY_STEPS.map(|(title, detail, code)| {
        let code = (!code.is_empty()).then(|| html!("<pre><code>{}</code></pre>", code));
        html!("<li><h2>{}</h2><p>{}</p>{}</li>", title, detail, code)
    });
    html!(
        r#"<section class="card empty">{}<h1>{}</h1><p class="lead">{}</p><ol>{}</ol></section>"#,
        conclave_worker_common::frame::logo(),
        texts::EMPTY_TITLE,
        texts::EMPTY_LEAD,
        Html::join(steps),
    )
}

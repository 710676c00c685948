//! `GET /models`: what models cost, who uses them, and how often another one had to stand in.

use std::collections::HashMap;

use conclave_worker_common::{
    Outcome,
    html::{Html, html},
};
use worker::{Env, Request, Response};

use super::{
    cells::{agent, ratio, run_link, share, sum_name},
    chart::{Chart, Kind, Unit},
    cross::Cross,
    format,
    page::{Asked, Content, finished},
    periods::Periods,
    summary::{figure, figures},
    table::{Cell, Column, Row, Table},
    texts,
};
use crate::store::{self, ModelsPage, UsageSum};

/// Where this page is.
pub(crate) const PATH: &str = "/models";

/// Models that have a colour of their own; the others are drawn as one.
const DRAWN: usize = 5;

/// How a session ends.
const OUTCOMES: [&str; 4] = ["ok", "failed", "timed_out", "skipped"];

/// Answers with the page.
pub(crate) async fn page(request: &Request, env: &Env) -> Outcome<Response> {
    let asked = Asked::of(request, env).await?;
    let query = asked.filter.query(asked.now_ms);
    let page = store::models_page(env, &query).await?;
    let content = Content {
        title: texts::MODELS,
        path: PATH,
        lead: lead(&page),
        tables: vec![
            days(&page, Periods::of(&query)),
            usage("models", texts::BY_MODEL, texts::MODEL, &page.models, |name| {
                Cell::Text(name.to_owned())
            }),
            usage("agents", texts::BY_AGENT, texts::AGENT, &page.agents, agent),
            sessions(&page),
            failbacks(&page),
            switches(&page),
            circuits(&page),
        ],
        tail: Html::default(),
        fields: Html::default(),
        own: Vec::new(),
    };
    finished(&asked, env, content).await
}

fn lead(page: &ModelsPage) -> Html {
    let all = page.models.iter().fold(UsageSum::default(), UsageSum::and);
    let failbacks: u64 = page.failbacks.iter().map(|row| row.failbacks).sum();
    let switched: u64 = page
        .failbacks
        .iter()
        .filter(|row| provider(&row.from_model) != provider(&row.to_model))
        .map(|row| row.failbacks)
        .sum();
    let or_nothing = |text: Option<String>| text.unwrap_or_else(|| format::NOTHING.to_owned());
    figures(
        "six",
        [
            figure(
                texts::COST,
                &format::money(all.cost_usd),
                &texts::counted(all.calls, "call"),
            ),
            figure(
                texts::TOKENS_IN,
                &format::short(all.input + all.cache_read + all.cache_write),
                texts::TOKENS_IN_DETAIL,
            ),
            figure(texts::TOKENS_OUT, &format::short(all.output), texts::TOKENS_OUT_DETAIL),
            figure(
                texts::CACHE_HIT_RATE,
                &or_nothing(hit_rate(&all).map(format::percent)),
                texts::CACHE_HIT_RATE_DETAIL,
            ),
            figure(
                texts::FAILBACKS,
                &format::count(failbacks),
                &texts::failbacks_each(ratio(failbacks, all.calls)),
            ),
            figure(texts::SWITCHES, &format::count(switched), texts::SWITCHES_DETAIL),
        ],
    )
}

fn hit_rate(usage: &UsageSum) -> Option<f64> {
    ratio(usage.cache_read, usage.cache_read + usage.input)
}

/// What stands before the first slash of a model's id.
fn provider(model: &str) -> &str {
    model.split_once('/').map_or(model, |(provider, _)| provider)
}

fn days(page: &ModelsPage, periods: Periods) -> Table {
    let drawn: Vec<&str> = page
        .models
        .iter()
        .take(DRAWN)
        .map(|model| model.name.as_str())
        .collect();
    let others = page.models.len() > DRAWN;
    let mut costs: HashMap<(i64, usize), f64> = HashMap::new();
    for day in &page.days {
        let column = drawn.iter().position(|model| *model == day.model).unwrap_or(DRAWN);
        *costs.entry((periods.start_of(day.day), column)).or_default() += day.cost_usd;
    }
    let places: Vec<usize> = (0..drawn.len()).chain(others.then_some(DRAWN)).collect();
    let named = drawn.iter().map(|model| Column::number(model, &format!("{model}_usd")));
    let other = others.then(|| Column::number(texts::OTHERS, "others_usd"));
    Table {
        id: "days",
        title: texts::COST_BY_DAY,
        columns: [Column::words(texts::DAY, "day")]
            .into_iter()
            .chain(named)
            .chain(other)
            .collect(),
        rows: if page.days.is_empty() {
            Vec::new()
        } else {
            periods.rows(|start| {
                let cost = |place: &usize| Cell::Money(costs.get(&(start, *place)).copied().unwrap_or_default());
                places.iter().map(cost).collect()
            })
        },
        chart: periods.several().then(|| Chart {
            kind: Kind::Stacked,
            unit: Unit::Usd,
            series: places
                .iter()
                .map(|place| (place + 1, format!("{}", place + 1)))
                .collect(),
        }),
        nothing: texts::NO_CALLS_YET,
        ..Table::default()
    }
}

fn usage(id: &'static str, title: &'static str, of: &str, rows: &[UsageSum], name: fn(&str) -> Cell) -> Table {
    let all = rows.iter().fold(UsageSum::default(), UsageSum::and);
    let row = |name: Cell, usage: &UsageSum| {
        let share = (all.cost_usd > 0.0).then(|| usage.cost_usd / all.cost_usd);
        Row::from(vec![
            name,
            Cell::Count(usage.calls),
            Cell::Tokens(usage.input),
            Cell::Tokens(usage.output),
            Cell::Tokens(usage.cache_read),
            Cell::Tokens(usage.cache_write),
            Cell::or_nothing(hit_rate(usage), Cell::Share),
            Cell::Money(usage.cost_usd),
            Cell::or_nothing(share, Cell::Share),
        ])
    };
    Table {
        id,
        title,
        columns: vec![
            Column::words(of, if id == "models" { "model" } else { "agent" }),
            Column::number(texts::CALLS, "calls"),
            Column::number(texts::INPUT, "input_tokens"),
            Column::number(texts::OUTPUT, "output_tokens"),
            Column::number(texts::CACHE_READ, "cache_read_tokens"),
            Column::number(texts::CACHE_WRITE, "cache_write_tokens"),
            Column::number(texts::CACHE_HIT_RATE, "cache_hit_rate"),
            Column::number(texts::COST, "cost_usd"),
            Column::number(texts::COST_SHARE, "cost_share"),
        ],
        rows: rows.iter().map(|usage| row(name(&usage.name), usage)).collect(),
        sum: Some(row(sum_name(), &all).cells),
        nothing: texts::NO_CALLS_YET,
        ..Table::default()
    }
}

fn sessions(page: &ModelsPage) -> Table {
    let rows = page.sessions.iter();
    let cross = Cross::of(
        OUTCOMES,
        rows.map(|row| (row.reviewer.as_str(), row.outcome.as_str(), row.sessions)),
    );
    let row = |name: Cell, counts: [u64; 4]| {
        let mut cells = vec![name];
        cells.extend(counts.map(Cell::Count));
        cells.push(share(counts[1] + counts[2], counts.iter().sum()));
        Row::from(cells)
    };
    Table {
        id: "sessions",
        title: texts::SESSIONS_BY_AGENT,
        columns: vec![
            Column::words(texts::AGENT, "agent"),
            Column::number("OK", "ok"),
            Column::number("Failed", "failed"),
            Column::number("Timed out", "timed_out"),
            Column::number("Skipped", "skipped"),
            Column::number(texts::FAILURE_RATE, "failure_rate"),
        ],
        rows: cross.rows().map(|(name, counts)| row(agent(name), counts)).collect(),
        sum: Some(row(sum_name(), cross.sum()).cells),
        nothing: texts::NO_SESSIONS_YET,
        half: true,
        ..Table::default()
    }
}

fn failbacks(page: &ModelsPage) -> Table {
    let rows = page.failbacks.iter().map(|row| {
        Row::from(vec![
            Cell::Text(row.from_model.clone()),
            Cell::Text(row.to_model.clone()),
            Cell::Named(texts::failback_reason(&row.reason), row.reason.clone()),
            Cell::Count(row.failbacks),
        ])
    });
    Table {
        id: "failbacks",
        title: texts::FAILBACKS,
        note: texts::FAILBACKS_NOTE,
        columns: vec![
            Column::words(texts::FROM_MODEL, "from"),
            Column::words(texts::TO_MODEL, "to"),
            Column::words(texts::REASON, "reason"),
            Column::number(texts::TIMES, "times"),
        ],
        rows: rows.collect(),
        nothing: texts::NO_FAILBACKS,
        half: true,
        ..Table::default()
    }
}

fn switches(page: &ModelsPage) -> Table {
    let rows = page.switches.iter().map(|row| {
        Row::from(vec![
            Cell::Moment(row.at_ms),
            agent(&row.reviewer),
            Cell::Text(row.from_model.clone()),
            Cell::Text(row.to_model.clone()),
            Cell::Named(texts::failback_reason(&row.reason), row.reason.clone()),
            run_link(row.run_id, &row.project),
        ])
    });
    Table {
        id: "switches",
        title: texts::SWITCHES,
        note: texts::LATEST_FIFTY,
        columns: vec![
            Column::words(texts::WHEN, "at"),
            Column::words(texts::AGENT, "agent"),
            Column::words(texts::FROM_MODEL, "from"),
            Column::words(texts::TO_MODEL, "to"),
            Column::words(texts::REASON, "reason"),
            Column::words(texts::REVIEW, "run_id"),
        ],
        rows: rows.collect(),
        nothing: texts::NO_SWITCHES,
        ..Table::default()
    }
}

fn circuits(page: &ModelsPage) -> Table {
    let rows = page.circuits.iter().map(|row| {
        let state = html!(
            r#"<span class="verdict c-{}">{}</span>"#,
            row.state,
            texts::circuit_state(&row.state)
        );
        Row::from(vec![
            Cell::Moment(row.at_ms),
            Cell::Text(row.model.clone()),
            Cell::Markup(state, row.state.clone()),
            run_link(row.run_id, &row.project),
        ])
    });
    Table {
        id: "circuits",
        title: texts::CIRCUITS,
        note: texts::LATEST_FIFTY,
        columns: vec![
            Column::words(texts::WHEN, "at"),
            Column::words(texts::MODEL, "model"),
            Column::words(texts::STATE, "state"),
            Column::words(texts::REVIEW, "run_id"),
        ],
        rows: rows.collect(),
        nothing: texts::NO_CIRCUITS,
        ..Table::default()
    }
}

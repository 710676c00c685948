//! `GET /models`: what models cost, who uses them, and how often another one took over.

use std::collections::HashMap;

use conclave_worker_common::{Outcome, html::Html};
use worker::{Env, Request, Response};

use super::{
    cells::{agent, failback_reason, mark, ratio, run_link, share},
    chart::{Kind, Unit},
    cross::Cross,
    figures::{figure, figures},
    format::{self, counted, or_nothing},
    page::{Asked, Content, MODELS, finished},
    periods::Periods,
    table::{Cell, Table, TableOf},
};
use crate::{
    events::Count,
    store::{self, ModelsPage, UsageSum},
};

/// Models that have a color of their own; the others are drawn as one.
const DRAWN: usize = 5;

/// The ways in which a session ends.
const OUTCOMES: [&str; 4] = ["ok", "failed", "timed_out", "skipped"];

const NO_CALLS: &str = "No model was asked in this period.";
const LATEST_FIFTY: &str = "The latest 50. Times are UTC.";

/// Answers with the page.
pub(crate) async fn page(request: &Request, env: &Env) -> Outcome<Response> {
    let asked = Asked::of(request, env).await?;
    let query = asked.filter.query(asked.now_ms);
    let page = store::models_page(env, &query).await?;
    let tables = vec![
        days(&page, Periods::of(&query)),
        usage("models", "By model", ("Model", "model"), &page.models, Cell::text),
        usage("agents", "By agent", ("Agent", "agent"), &page.agents, agent),
        sessions(&page),
        failbacks(&page),
        switches(&page),
        circuits(&page),
    ];
    finished(&asked, env, Content::new(MODELS, lead(&page), tables)).await
}

fn lead(page: &ModelsPage) -> Html {
    let all = UsageSum::total(&page.models);
    let failbacks: u64 = page.failbacks.iter().map(|row| row.n).sum();
    let between = page
        .failbacks
        .iter()
        .filter(|Count { a: from, b: to, .. }| provider(from) != provider(to));
    let switched = between.map(|row| row.n).sum();
    let of_calls = ratio(failbacks, all.calls).map(|rate| format!("{} of calls", format::percent(rate)));
    let read = all.input + all.cache_read + all.cache_write;
    figures(
        "six",
        [
            figure("Cost", format::money(all.cost_usd), counted(all.calls, "call")),
            figure("Tokens read", format::short(read), "from caches included"),
            figure("Tokens written", format::short(all.output), "reasoning included"),
            figure(
                "Cache hit rate",
                or_nothing(hit_rate(&all), format::percent),
                "of cacheable prompt tokens",
            ),
            figure("Failbacks", format::count(failbacks), of_calls.unwrap_or_default()),
            figure("Provider switches", format::count(switched), "to another provider"),
        ],
    )
}

fn hit_rate(usage: &UsageSum) -> Option<f64> {
    ratio(usage.cache_read, usage.cache_read + usage.input)
}

/// The text before the first slash of a model's id.
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
    let mut costs: HashMap<(i64, usize), f64> = HashMap::new();
    for day in &page.days {
        let column = drawn.iter().position(|model| *model == day.model).unwrap_or(DRAWN);
        *costs.entry((periods.start_of(day.day), column)).or_default() += day.cost_usd;
    }
    let columns = drawn.iter().map(|model| (*model, format!("{model}_usd")));
    let others = (page.models.len() > DRAWN).then(|| ("Others", "others_usd".to_owned()));
    let mut table = periods
        .table("days", "Cost by model", !page.days.is_empty())
        .nothing(NO_CALLS);
    for (place, (name, csv)) in columns.chain(others).enumerate() {
        let cost = |start: &i64| costs.get(&(*start, place)).copied().unwrap_or_default();
        table = table
            .number(name, &csv, |start| Cell::Money(cost(start)))
            .drawn(&(place + 1).to_string());
    }
    table.chart(Kind::Stacked, Unit::Usd, periods.several()).build()
}

fn usage(
    id: &'static str,
    title: &'static str,
    (of, csv): (&str, &str),
    rows: &[UsageSum],
    name: fn(&str) -> Cell,
) -> Table {
    let all = UsageSum::total(rows);
    let part = |usage: &UsageSum| (all.cost_usd > 0.0).then(|| usage.cost_usd / all.cost_usd);
    TableOf::new(id, title, rows)
        .nothing(NO_CALLS)
        .sum(&all)
        .words(of, csv, |usage| name(&usage.name))
        .number("Calls", "calls", |usage| Cell::Count(usage.calls))
        .number("Input", "input_tokens", |usage| Cell::Tokens(usage.input))
        .number("Output", "output_tokens", |usage| Cell::Tokens(usage.output))
        .number("Cache read", "cache_read_tokens", |usage| {
            Cell::Tokens(usage.cache_read)
        })
        .number("Cache write", "cache_write_tokens", |usage| {
            Cell::Tokens(usage.cache_write)
        })
        .number("Cache hit rate", "cache_hit_rate", |usage| {
            Cell::or_nothing(hit_rate(usage), Cell::Share)
        })
        .number("Cost", "cost_usd", |usage| Cell::Money(usage.cost_usd))
        .number("Share of cost", "cost_share", |usage| {
            Cell::or_nothing(part(usage), Cell::Share)
        })
        .build()
}

fn sessions(page: &ModelsPage) -> Table {
    let ended = page.sessions.iter();
    let cross = Cross::of(OUTCOMES, ended.map(|row| (row.a.as_str(), row.b.as_str(), row.n)));
    let all = |counts: &[u64; 4]| counts.iter().sum();
    TableOf::new("sessions", "How sessions end", cross.rows())
        .nothing("No session ended in this period.")
        .half()
        .sum(("", cross.sum()))
        .words("Agent", "agent", |(name, _)| agent(name))
        .number("OK", "ok", |(_, [ok, ..])| Cell::Count(*ok))
        .number("Failed", "failed", |(_, [_, failed, ..])| Cell::Count(*failed))
        .number("Timed out", "timed_out", |(_, [.., timed_out, _])| {
            Cell::Count(*timed_out)
        })
        .number("Skipped", "skipped", |(_, [.., skipped])| Cell::Count(*skipped))
        .number("Failed share", "failure_rate", |(_, counts)| {
            share(counts[1] + counts[2], all(counts))
        })
        .build()
}

fn failbacks(page: &ModelsPage) -> Table {
    TableOf::new("failbacks", "Failbacks", &page.failbacks)
        .note("Another model took over.")
        .nothing("No model was replaced by another in this period.")
        .half()
        .words("From", "from", |Count { a: from, .. }| Cell::text(from))
        .words("To", "to", |Count { b: to, .. }| Cell::text(to))
        .words("Reason", "reason", |Count { c: reason, .. }| failback_reason(reason))
        .number("Times", "times", |row| Cell::Count(row.n))
        .build()
}

fn switches(page: &ModelsPage) -> Table {
    TableOf::new("switches", "Provider switches", &page.switches)
        .note(LATEST_FIFTY)
        .nothing("No session went on with another provider in this period.")
        .words("When", "at", |row| Cell::Moment(row.at_ms))
        .words("Agent", "agent", |row| agent(&row.reviewer))
        .words("From", "from", |row| Cell::text(&row.from_model))
        .words("To", "to", |row| Cell::text(&row.to_model))
        .words("Reason", "reason", |row| failback_reason(&row.reason))
        .words("Review", "run_id", |row| run_link(row.run_id, &row.project))
        .build()
}

fn circuits(page: &ModelsPage) -> Table {
    TableOf::new("circuits", "Circuit history", &page.circuits)
        .note(LATEST_FIFTY)
        .nothing("No circuit changed in this period.")
        .words("When", "at", |row| Cell::Moment(row.at_ms))
        .words("Model", "model", |row| Cell::text(&row.model))
        .words("State", "state", |row| {
            Cell::markup(
                mark(&format!("c-{}", row.state), None, &format::words(&row.state)),
                &row.state,
            )
        })
        .words("Review", "run_id", |row| run_link(row.run_id, &row.project))
        .build()
}

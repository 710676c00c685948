//! `GET /health`: how the tracker itself is doing: what waits, what is stuck, what was lost.

use conclave_shared::telemetry::DatabaseSize;
use conclave_worker_common::{
    Outcome, allow, finish,
    html::{Html, html},
    not_found, refusal, same_origin, see_other,
};
use worker::{Env, Request, Response, Router};

use super::{
    cells::{count_or_nothing, mark, named},
    chart::{Kind, Unit},
    cross::Cross,
    figures::{figure, figures},
    format::{self, or_nothing},
    page::{Asked, Content, HEALTH, finished},
    periods::Periods,
    require_login, shown,
    table::{Cell, Table, TableOf},
};
use crate::{
    events::Count,
    outbox::{self, DeadLetter, LetterId, OutboxStatus},
    sketch::{self, float},
    store::{self, Bins, DayCount, HealthPage, merged},
};

/// Dead letters that are listed on the page.
const LISTED: usize = 50;

const NO_EVENTS: &str = "No event came in this period.";

/// Adds the page's routes.
pub(crate) fn routes(router: Router<'static, ()>) -> Router<'static, ()> {
    router
        .on_async(HEALTH.path, |request, context| async move {
            finish(shown(page(&request, &context.env).await))
        })
        .on_async("/health/dead-letters/:id/:action", |request, context| async move {
            let parameter = |name| context.param(name).cloned().unwrap_or_default();
            let (id, action) = (parameter("id"), parameter("action"));
            finish(shown(act(&request, &context.env, &id, &action).await))
        })
}

/// `POST /health/dead-letters/{id}/replay`, `…/all/replay` and `…/{id}/discard`, from the forms of the page.
async fn act(request: &Request, env: &Env, id: &str, action: &str) -> Outcome<Response> {
    allow(request, &["POST"])?;
    same_origin(request)?;
    require_login(request, env).await?;
    // A letter that is not there any more was replayed meanwhile: the page shows those that are.
    match (id, id.parse::<LetterId>(), action) {
        ("all", _, "replay") => drop(outbox::replay_all(env).await?),
        (_, Ok(id), "replay") => drop(outbox::replay(env, id).await?),
        (_, Ok(id), "discard") => drop(outbox::discard(env, id).await?),
        _ => return Err(refusal(&not_found(&request.path()))?),
    }
    Ok(see_other(HEALTH.path)?)
}

async fn page(request: &Request, env: &Env) -> Outcome<Response> {
    let asked = Asked::of(request, env).await?;
    let query = asked.filter.query(asked.now_ms);
    let page = store::health_page(env, &query).await?;
    let waiting = outbox::status_if_reachable(env).await;
    let periods = Periods::of(&query);
    let lead = html! {
        (waiting_figures(waiting.as_ref(), asked.database, asked.now_ms))
        (lead(&page, asked.now_ms))
    };
    let tables = vec![
        letters(waiting.as_ref()),
        lag(&page, periods),
        by_day(&page, periods),
        kinds(&page),
        verdicts(&page),
        run_figures(&page),
    ];
    finished(&asked, env, Content::new(HEALTH, lead, tables)).await
}

/// The events that wait now, whatever the filters say.
fn waiting_figures(waiting: Option<&OutboxStatus>, database: Option<DatabaseSize>, now_ms: i64) -> Html {
    let Some(waiting) = waiting else {
        let detail = "What waits to be stored cannot be read now. The reason is in the Worker's log; nothing is lost.";
        return html! { p.fault role="alert" { (detail) } };
    };
    let oldest = waiting.oldest_ms.map_or_else(
        || "everything is stored".to_owned(),
        |oldest| format!("the oldest for {}", format::duration((now_ms - oldest).max(0))),
    );
    let size = database.map(format::database_size).unwrap_or_default();
    html! {
        @if let Some(fault) = &waiting.fault {
            p.fault role="alert" { "The last write to the database failed and is tried again: " (fault) }
        }
        (figures("three", [
            figure("Waiting events", format::count(waiting.events), oldest),
            figure("Dead letters", format::count(waiting.dead), "batches that could not be stored"),
            figure("Database", or_nothing(database, |database| format!("{} %", database.percent())), size),
        ]))
    }
}

/// Batches that could not be stored, with what can be done about each.
fn letters(waiting: Option<&OutboxStatus>) -> Table {
    let letters: &[DeadLetter] = waiting.map_or(&[], |waiting| &waiting.dead_letters);
    let button = |id: &LetterId, action: &str, name: &str| {
        html! {
            form method="post" action={ "/health/dead-letters/" (id) "/" (action) } {
                button.quiet type="submit" aria-label={ (name) " letter " (id) } { (name) }
            }
        }
    };
    let all = html! {
        @if letters.len() > 1 {
            form.all method="post" action="/health/dead-letters/all/replay" { button type="submit" { "Replay all" } }
        }
    };
    TableOf::new("letters", "Dead letters", letters.iter().take(LISTED))
        .note("Batches that the database refused again and again. Replay them once the reason is gone.")
        .nothing("None: everything that was accepted is stored, or will be.")
        .after(all)
        .words("Letter", "id", |dead| Cell::Text(dead.id.to_string()))
        .words("Accepted", "accepted", |dead| Cell::Moment(dead.letter.received_ms))
        .number("Events", "events", |dead| Cell::Count(dead.letter.events))
        .number("Tried", "attempts", |dead| Cell::Count(dead.letter.attempts.into()))
        .words("What the database said", "fault", |dead| Cell::text(&dead.letter.fault))
        .words("Actions", "actions", |DeadLetter { id, .. }| {
            Cell::markup(
                html! { (button(id, "replay", "Replay")) (button(id, "discard", "Discard")) },
                "",
            )
        })
        .build()
}

fn lead(page: &HealthPage, now_ms: i64) -> Html {
    let all = merged(page.lag.iter().map(|(_, bins)| bins));
    let lag = |share| or_nothing(sketch::quantile(&all, share), format::estimated_duration);
    let sum = |days: &[DayCount]| format::count(days.iter().map(|day| day.n).sum());
    let newest = or_nothing(page.newest, |newest| format::moment(newest.at_ms, now_ms));
    let came = page.newest.map(|newest| format::moment(newest.received_ms, now_ms));
    let came = came.map(|came| format!("of all projects, came {came}, UTC"));
    let mismatches = page.verdicts.iter().filter(|row| row.c == "yes").map(|row| row.n);
    figures(
        "six",
        [
            figure("Events", sum(&page.days), "accepted and stored"),
            figure("Newest event", newest, came.unwrap_or_default()),
            figure("Ingest lag", lag(0.5), format!("median; 99% within {}", lag(0.99))),
            figure("Dropped", sum(&page.dropped), "by reviews that could not send them"),
            figure("Clock ahead", sum(&page.skewed), "counted when they came"),
            figure(
                "Verdicts not shown",
                format::count(mismatches.sum()),
                "as they were asked of the forge",
            ),
        ],
    )
}

fn lag(page: &HealthPage, periods: Periods) -> Table {
    let of = |start: i64| -> Bins {
        let days = page.lag.iter().filter(|(day, _)| periods.start_of(*day) == start);
        merged(days.map(|(_, bins)| bins))
    };
    let quantile = |start: &i64, share| Cell::or_nothing(sketch::quantile(&of(*start), share), Cell::Duration);
    periods
        .table("lag", "Ingest lag", !page.lag.is_empty())
        .note("From when a batch was accepted until it is in every figure, over all projects.")
        .nothing(NO_EVENTS)
        .number("Median", "median_seconds", |start| quantile(start, 0.5))
        .drawn("1")
        .number("P95", "p95_seconds", |start| quantile(start, 0.95))
        .drawn("2")
        .number("P99", "p99_seconds", |start| quantile(start, 0.99))
        .drawn("3")
        .chart(Kind::Lines, Unit::Milliseconds, periods.several())
        .build()
}

fn by_day(page: &HealthPage, periods: Periods) -> Table {
    const LISTS: [&str; 3] = ["accepted", "dropped", "skewed"];
    let lists = LISTS.into_iter().zip([&page.days, &page.dropped, &page.skewed]);
    let counts = lists.flat_map(|(list, days)| days.iter().map(move |day| (periods.start_of(day.day), list, day.n)));
    let sums = Cross::of(LISTS, counts);
    let count = |start: &i64, list: &str| Cell::Count(sums.of_label(LISTS, start, list));
    periods
        .table("events", "Events by day", !sums.is_empty())
        .nothing(NO_EVENTS)
        .number("Accepted", "accepted", |start| count(start, "accepted"))
        .drawn("1")
        .number("Dropped", "dropped_by_reviews", |start| count(start, "dropped"))
        .drawn("critical")
        .number("Clock ahead", "clock_ahead", |start| count(start, "skewed"))
        .chart(Kind::Stacked, Unit::Count, periods.several())
        .build()
}

fn kinds(page: &HealthPage) -> Table {
    TableOf::new("kinds", "Kinds of events", &page.kinds)
        .nothing(NO_EVENTS)
        .half()
        .words("Kind", "kind", |Count { a: kind, .. }| named(kind))
        .number("Events", "events", |row| Cell::Count(row.n))
        .build()
}

fn verdicts(page: &HealthPage) -> Table {
    TableOf::new("applied", "Verdicts on the forge", &page.verdicts)
        .note("What was asked, and what was seen afterwards.")
        .nothing("No verdict was put on a forge in this period.")
        .half()
        .words("Asked", "asked", |Count { a: wanted, .. }| named(wanted))
        .words("Seen", "seen", |Count { b: shown, .. }| named(shown))
        .words("State", "mismatch", |Count { c: mismatch, .. }| {
            match mismatch.as_str() {
                "yes" => Cell::markup(mark("c-open", None, "Differs"), "yes"),
                _ => Cell::name("As asked", "no"),
            }
        })
        .number("Reviews", "reviews", |row| count_or_nothing(row.n))
        .build()
}

/// The figures that runs measured of themselves.
fn run_figures(page: &HealthPage) -> Table {
    TableOf::new("measures", "Figures of the runs themselves", &page.figures)
        .note("What conclave measures of itself; the unit is the end of the name.")
        .nothing("No run reported figures of itself in this period.")
        .words("Figure", "name", |figure| Cell::text(&figure.name))
        .number("Reviews", "values", |figure| Cell::Count(figure.n))
        .number("Average", "average", |figure| {
            Cell::Plain(figure.total / float(figure.n.max(1)))
        })
        .number("Largest", "largest", |figure| Cell::Plain(figure.largest))
        .build()
}

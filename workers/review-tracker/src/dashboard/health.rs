//! `GET /health`: how the tracker itself is doing: what waits, what is stuck, what was lost.

use conclave_shared::telemetry::DatabaseSize;
use conclave_worker_common::{
    Outcome, Refusal, allow, finish,
    html::{Html, html},
    not_found, problem, same_origin, see_other,
};
use worker::{Env, Request, Response, Router, console_error};

use super::{
    cells::{count_or_nothing, named},
    chart::{Chart, Kind, Unit},
    cross::Cross,
    format,
    page::{Asked, Content, finished},
    periods::Periods,
    require_login, shown,
    summary::{figure, figures},
    table::{Cell, Column, Row, Table},
    texts,
};
use crate::{
    outbox::{self, DeadLetter, LetterId, OutboxStatus},
    sketch,
    store::{self, DayCount, HealthPage, merged},
};

/// Where this page is. `/healthz`, for machines, asks nobody.
pub(crate) const PATH: &str = "/health";

/// Dead letters that are listed on the page.
const LISTED: usize = 50;

/// Adds the page's routes.
pub(crate) fn routes(router: Router<'static, ()>) -> Router<'static, ()> {
    router
        .on_async(PATH, |request, context| async move {
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
    // What is not there any more was replayed by somebody else: the page shows what is.
    match (id, id.parse::<LetterId>(), action) {
        ("all", _, "replay") => drop(outbox::replay_all(env).await?),
        (_, Ok(id), "replay") => drop(outbox::replay(env, id).await?),
        (_, Ok(id), "discard") => drop(outbox::discard(env, id).await?),
        _ => return Err(Refusal::Answer(problem(&not_found(&request.path()))?)),
    }
    Ok(see_other(PATH)?)
}

async fn page(request: &Request, env: &Env) -> Outcome<Response> {
    let asked = Asked::of(request, env).await?;
    let query = asked.filter.query(asked.now_ms);
    let page = store::health_page(env, &query).await?;
    // Without the outbox the rest of the page is what an operator needs most.
    let waiting = outbox::status(env)
        .await
        .inspect_err(|error| console_error!("the outbox cannot be read: {error}"));
    let periods = Periods::of(&query);
    let content = Content {
        title: texts::HEALTH,
        path: PATH,
        lead: html!(
            "{}{}",
            waiting_figures(waiting.as_ref().ok(), asked.database, asked.now_ms),
            lead(&page, asked.now_ms)
        ),
        tables: vec![
            letters(waiting.as_ref().ok()),
            lag(&page, periods),
            by_day(&page, periods),
            kinds(&page),
            verdicts(&page),
            run_figures(&page),
        ],
        tail: Html::default(),
        fields: Html::default(),
        own: Vec::new(),
    };
    finished(&asked, env, content).await
}

/// What waits now, whatever the filters say.
fn waiting_figures(waiting: Option<&OutboxStatus>, database: Option<DatabaseSize>, now_ms: i64) -> Html {
    let Some(waiting) = waiting else {
        return html!(r#"<p class="fault" role="alert">{}</p>"#, texts::NO_OUTBOX);
    };
    let oldest = waiting.oldest_ms.map_or_else(
        || texts::NOTHING_WAITS.to_owned(),
        |oldest| texts::oldest_waits(&format::duration((now_ms - oldest).max(0))),
    );
    let fault = waiting.fault.as_deref().map_or_else(Html::default, |fault| {
        html!(r#"<p class="fault" role="alert">{}</p>"#, texts::write_fails(fault))
    });
    let (share, size) = database.map_or_else(
        || (format::NOTHING.to_owned(), String::new()),
        |database| (format!("{} %", database.percent()), texts::database_size(database)),
    );
    html!(
        "{}{}",
        fault,
        figures(
            "three",
            [
                figure(texts::WAITING, &format::count(waiting.events), &oldest),
                figure(
                    texts::DEAD_LETTERS,
                    &format::count(waiting.dead),
                    texts::DEAD_LETTERS_DETAIL
                ),
                figure(texts::DATABASE, &share, &size),
            ],
        )
    )
}

/// Batches that could not be stored, with what can be done about each.
fn letters(waiting: Option<&OutboxStatus>) -> Table {
    let letters: &[DeadLetter] = waiting.map_or(&[], |waiting| &waiting.dead_letters);
    let rows = letters.iter().take(LISTED).map(|dead| {
        let id = dead.id.to_string();
        let button = |action: &str, name: &str| {
            html!(
                r#"<form method="post" action="/health/dead-letters/{}/{}"><button class="quiet" type="submit" aria-label="{}">{}</button></form>"#,
                id,
                action,
                texts::action_on(name, &id),
                name,
            )
        };
        Row::from(vec![
            Cell::Text(id.clone()),
            Cell::Moment(dead.letter.received_ms),
            Cell::Count(dead.letter.events),
            Cell::Count(dead.letter.attempts.into()),
            Cell::Text(dead.letter.fault.clone()),
            Cell::Markup(
                html!("{}{}", button("replay", texts::REPLAY), button("discard", texts::DISCARD)),
                String::new(),
            ),
        ])
    });
    let all = (letters.len() > 1).then(|| {
        html!(
            r#"<form class="all" method="post" action="/health/dead-letters/all/replay"><button type="submit">{}</button></form>"#,
            texts::REPLAY_ALL
        )
    });
    Table {
        id: "letters",
        title: texts::DEAD_LETTERS,
        note: texts::DEAD_LETTERS_NOTE,
        columns: vec![
            Column::words(texts::LETTER, "id"),
            Column::words(texts::ACCEPTED, "accepted"),
            Column::number(texts::EVENTS, "events"),
            Column::number(texts::TRIED, "attempts"),
            Column::words(texts::FAULT, "fault"),
            Column::words(texts::ACTIONS, "actions"),
        ],
        rows: rows.collect(),
        nothing: texts::NO_LETTERS,
        after: all.unwrap_or_default(),
        ..Table::default()
    }
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
    let of = |start| {
        merged(
            page.lag
                .iter()
                .filter(|(day, _)| periods.start_of(*day) == start)
                .map(|(_, bins)| bins),
        )
    };
    let cells = |start| {
        let bins = of(start);
        let quantile = |share| Cell::or_nothing(sketch::quantile(&bins, share), Cell::Duration);
        vec![quantile(0.5), quantile(0.95), quantile(0.99)]
    };
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
        rows: if page.lag.is_empty() {
            Vec::new()
        } else {
            periods.rows(cells)
        },
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
    const KINDS: [&str; 3] = ["accepted", "dropped", "skewed"];
    let lists = KINDS.into_iter().zip([&page.days, &page.dropped, &page.skewed]);
    let counts = lists.flat_map(|(kind, days)| {
        let days = days.iter();
        days.map(move |day| (periods.start_of(day.day), kind, day.events))
    });
    let sums = Cross::of(KINDS, counts);
    Table {
        id: "events",
        title: texts::EVENTS_BY_DAY,
        columns: vec![
            Column::words(texts::DAY, "day"),
            Column::number(texts::ACCEPTED, "accepted"),
            Column::number(texts::DROPPED, "dropped_by_reviews"),
            Column::number(texts::SKEWED, "clock_ahead"),
        ],
        rows: if sums.is_empty() {
            Vec::new()
        } else {
            periods.rows(|start| sums.get(&start).map(Cell::Count).into())
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
        id: "measures",
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

//! The tables of a review's page: its sessions over time, its findings, and who stood in for whom.

use conclave_shared::pricing::TokenUsage;
use conclave_worker_common::html::{Html, breakable, html};

use super::{
    cells::{agent, duration, named, severity},
    chart, format,
    table::{Cell, Column, Row, Table},
    texts,
};
use crate::store::{CircuitChange, FailbackRow, RunDetail, SessionRow, UsageRow};

/// Sessions as bars over the time of the review, with their models, tokens and cost.
pub(crate) fn sessions(run: &RunDetail) -> Table {
    let window = Window::of(run);
    let rows = run.sessions.iter().map(|session| {
        let usage: Vec<&UsageRow> = run
            .usage
            .iter()
            .filter(|usage| usage.event_id == session.event_id)
            .collect();
        session_row(session, &usage, &window)
    });
    let all: Vec<&UsageRow> = run.usage.iter().collect();
    let mut sum = vec![Cell::Named(texts::SUM.to_owned(), String::new())];
    sum.extend(std::iter::repeat_n(Cell::Markup(Html::default(), String::new()), 4));
    sum.extend(amounts(&all));
    Table {
        id: "sessions",
        title: texts::SESSIONS,
        note: texts::SESSIONS_NOTE,
        columns: vec![
            Column::words(texts::REVIEWER, "reviewer"),
            Column::words(texts::OUTCOME, "outcome"),
            Column::words(texts::TIMELINE, "starts_after_seconds"),
            Column::number(texts::DURATION, "duration_seconds"),
            Column::words(texts::MODELS, "models"),
            Column::number(texts::TOKENS_IN, "tokens_in"),
            Column::number(texts::TOKENS_OUT, "tokens_out"),
            Column::number(texts::COST, "cost_usd"),
            Column::only_csv("attempts"),
            Column::only_csv("reported"),
            Column::only_csv("cache_read_tokens"),
        ],
        rows: rows.collect(),
        sum: (!run.sessions.is_empty()).then_some(sum),
        nothing: texts::NO_SESSIONS,
        ..Table::default()
    }
}

fn session_row(session: &SessionRow, usage: &[&UsageRow], window: &Window) -> Row {
    let start_ms = session.start_ms();
    let after_ms = (start_ms - window.start_ms).max(0);
    let label = texts::span_label(&format::duration(after_ms), &format::duration(session.duration_ms));
    let bar = chart::span(
        &session.outcome,
        window.share(start_ms),
        window.share(session.at_ms),
        &label,
    );
    let attempts =
        (session.attempts > 1).then(|| html!(r#"<span class="note">{}</span>"#, texts::attempts(session.attempts)));
    let outcome = html!(
        r#"<span class="outcome o-{}">{}</span>{}"#,
        session.outcome,
        texts::outcome(&session.outcome),
        attempts
    );
    let cached: u64 = usage.iter().map(|usage| usage.cache_read).sum();
    let mut cells = vec![
        agent(&session.reviewer),
        Cell::Markup(outcome, session.outcome.clone()),
        Cell::Markup(bar, seconds(after_ms)),
        duration(session.duration_ms),
        models(session, usage),
    ];
    cells.extend(amounts(usage));
    cells.extend([
        Cell::Count(session.attempts.into()),
        Cell::Count(session.findings),
        Cell::Tokens(cached),
    ]);
    Row::from(cells)
}

/// The models that answered, and before them those that were tried and did not.
fn models(session: &SessionRow, usage: &[&UsageRow]) -> Cell {
    let mut silent = session.tried();
    silent.dedup();
    silent.retain(|model| usage.iter().all(|usage| usage.model != *model));
    let tried = silent.iter().map(|model| {
        html!(
            r#"<li class="silent">{} <span class="note">{}</span></li>"#,
            breakable(model),
            texts::NO_ANSWER
        )
    });
    let used = usage.iter().map(|usage| {
        html!(
            r#"<li>{} <span class="note">{}</span></li>"#,
            breakable(&usage.model),
            texts::counted(usage.calls, "call")
        )
    });
    let items: Vec<Html> = tried.chain(used).collect();
    if items.is_empty() {
        return Cell::Nothing;
    }
    let names: Vec<&str> = usage.iter().map(|usage| usage.model.as_str()).collect();
    Cell::Markup(html!("<ul>{}</ul>", Html::join(items)), names.join(" "))
}

/// Tokens read with the share that was cached, tokens written, cost.
fn amounts(usage: &[&UsageRow]) -> [Cell; 3] {
    let mut tokens = TokenUsage::default();
    let mut cost = 0.0;
    for usage in usage {
        tokens += usage.tokens();
        cost += usage.cost_usd;
    }
    let read = tokens.input + tokens.cache_read + tokens.cache_write;
    let cached = tokens
        .cache_hit_rate()
        .map(|rate| html!(r#"<span class="note">{}</span>"#, texts::cached(&format::percent(rate))));
    let read_cell = html!("{}{}", format::short(read), cached);
    [
        Cell::Markup(read_cell, read.to_string()),
        Cell::Tokens(tokens.output + tokens.reasoning),
        Cell::Money(cost),
    ]
}

/// Findings with what the judge did.
pub(crate) fn findings(run: &RunDetail) -> Table {
    let rows = run.findings.iter().map(|finding| {
        let class = match finding.fate.as_str() {
            "kept" => "f-kept",
            "merged" => "f-merged",
            _ => "f-dropped",
        };
        Row {
            cells: vec![
                Cell::Text(finding.category.clone()),
                severity(&finding.severity),
                file(&finding.path),
                agent(&finding.reviewer),
                named(&finding.fate),
                Cell::or_nothing(finding.reason_code.as_deref(), named),
                Cell::or_nothing(finding.placement.as_deref(), |placement| {
                    Cell::Named(texts::placement(placement), placement.to_owned())
                }),
            ],
            href: None,
            class,
        }
    });
    Table {
        id: "findings",
        title: texts::FINDINGS,
        columns: vec![
            Column::words(texts::CATEGORY, "category"),
            Column::words(texts::SEVERITY, "severity"),
            Column::words(texts::FILE, "path"),
            Column::words(texts::REVIEWER, "reviewer"),
            Column::words(texts::FATE, "fate"),
            Column::words(texts::REASON, "reason"),
            Column::words(texts::PLACE, "placement"),
        ],
        rows: rows.collect(),
        nothing: texts::NO_FINDINGS,
        ..Table::default()
    }
}

fn file(path: &str) -> Cell {
    Cell::Markup(
        html!(r#"<span class="file">{}</span>"#, breakable(path)),
        path.to_owned(),
    )
}

/// What went otherwise than planned: stand-ins and circuits, in the order in which it happened.
pub(crate) fn incidents(run: &RunDetail) -> Table {
    let start_ms = Window::of(run).start_ms;
    let stand_in = |row: &FailbackRow| (row.at_ms, agent(&row.reviewer), texts::stand_in(row));
    let circuit = |row: &CircuitChange| (row.at_ms, Cell::Nothing, texts::circuit_changed(&row.model, &row.state));
    let mut all: Vec<(i64, Cell, String)> = run
        .failbacks
        .iter()
        .map(stand_in)
        .chain(run.circuits.iter().map(circuit))
        .collect();
    all.sort_by_key(|(at_ms, ..)| *at_ms);
    let rows = all
        .into_iter()
        .map(|(at_ms, who, what)| Row::from(vec![duration((at_ms - start_ms).max(0)), who, Cell::Text(what)]));
    Table {
        id: "incidents",
        title: texts::INCIDENTS,
        columns: vec![
            Column::words(texts::AFTER, "after_seconds"),
            Column::words(texts::AGENT, "agent"),
            Column::words(texts::WHAT, "what"),
        ],
        rows: rows.collect(),
        nothing: "",
        ..Table::default()
    }
}

/// Findings of earlier reviews that this one found settled.
pub(crate) fn settled(run: &RunDetail) -> Table {
    let rows = run.outcomes.iter().map(|row| {
        Row::from(vec![
            Cell::Text(row.category.clone()),
            severity(&row.severity),
            file(&row.path),
            agent(&row.reviewer),
            Cell::Named(texts::settled(&row.outcome), row.outcome.clone()),
        ])
    });
    Table {
        id: "settled",
        title: texts::SETTLED,
        columns: vec![
            Column::words(texts::CATEGORY, "category"),
            Column::words(texts::SEVERITY, "severity"),
            Column::words(texts::FILE, "path"),
            Column::words(texts::REVIEWER, "reviewer"),
            Column::words(texts::OUTCOME, "outcome"),
        ],
        rows: rows.collect(),
        nothing: "",
        ..Table::default()
    }
}

#[expect(clippy::cast_precision_loss, reason = "durations stay far below 2^53")]
fn seconds(milliseconds: i64) -> String {
    format!("{:.3}", milliseconds as f64 / 1000.0)
}

/// The time that the timeline covers: the whole run, and sessions that a client's clock put outside of it.
struct Window {
    start_ms: i64,
    end_ms: i64,
}

impl Window {
    fn of(run: &RunDetail) -> Self {
        let starts = run.sessions.iter().map(SessionRow::start_ms);
        let ends = run.sessions.iter().map(|session| session.at_ms);
        let end_ms = run.row.at_ms + run.row.duration_ms.unwrap_or_default();
        Self {
            start_ms: starts.fold(run.row.at_ms, i64::min),
            end_ms: ends.fold(end_ms, i64::max),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "drawn with a precision of a pixel")]
    fn share(&self, at_ms: i64) -> f64 {
        (at_ms - self.start_ms) as f64 / (self.end_ms - self.start_ms).max(1) as f64
    }
}

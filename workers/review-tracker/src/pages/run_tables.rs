//! The tables of a review's page: its sessions over time, its findings, and the models that took over.

use conclave_shared::pricing::TokenUsage;
use conclave_worker_common::html::{Html, breakable, html};

use super::{
    cells::{agent, duration, failback_reason_words, file, named, placement, severity},
    chart,
    format::{self, counted},
    table::{Cell, Table, TableOf},
};
use crate::store::{RunDetail, SessionRow, UsageRow};

/// A session with its usage; the sum of all has no session of its own.
type SessionUse<'a> = (Option<&'a SessionRow>, Vec<&'a UsageRow>);

/// Sessions as bars over the time of the review, with their models, tokens and cost.
pub(crate) fn sessions(run: &RunDetail) -> Table {
    let span = Span::of(run);
    let rows = run.sessions.iter().map(|session| {
        let usage = run.usage.iter().filter(|usage| usage.event_id == session.event_id);
        (Some(session), usage.collect())
    });
    let sum: SessionUse<'_> = (None, run.usage.iter().collect());
    let of = |(session, _): &SessionUse<'_>, cell: &dyn Fn(&SessionRow) -> Cell| {
        session.map_or_else(|| Cell::only_csv(""), cell)
    };
    let table = TableOf::new("sessions", "Sessions", rows.collect::<Vec<SessionUse<'_>>>())
        .note("Bars run from a session's first prompt to its end, over the time of the review.")
        .nothing("No session has ended yet.");
    let table = if run.sessions.is_empty() { table } else { table.sum(sum) };
    table
        .words("Reviewer", "reviewer", |row| {
            of(row, &|session| agent(&session.reviewer))
        })
        .words("Outcome", "outcome", |row| of(row, &outcome))
        .words("Timeline", "starts_after_seconds", |row| {
            of(row, &|session| span.bar(session))
        })
        .number("Duration", "duration_seconds", |row| {
            of(row, &|session| duration(session.duration_ms))
        })
        .words("Models", "models", |row| of(row, &|session| models(session, &row.1)))
        .number("Tokens read", "tokens_in", |(_, usage)| {
            let tokens = tokens(usage.iter().copied());
            let read = tokens.input + tokens.cache_read + tokens.cache_write;
            let cached = tokens.cache_hit_rate().map(format::cached);
            let markup = html! { (format::short(read)) @if let Some(cached) = cached { span.note { (cached) } } };
            Cell::markup(markup, read.to_string())
        })
        .number("Tokens written", "tokens_out", |(_, usage)| {
            let tokens = tokens(usage.iter().copied());
            Cell::Tokens(tokens.output + tokens.reasoning)
        })
        .number("Cost", "cost_usd", |(_, usage)| {
            // The sum of nothing is a negative zero.
            Cell::Money(usage.iter().fold(0.0, |sum, usage| sum + usage.cost_usd))
        })
        .only_csv("attempts", |row| {
            of(row, &|session| Cell::Count(session.attempts.into()))
        })
        .only_csv("reported", |row| of(row, &|session| Cell::Count(session.findings)))
        .only_csv("cache_read_tokens", |(_, usage)| {
            Cell::Tokens(tokens(usage.iter().copied()).cache_read)
        })
        .build()
}

fn outcome(session: &SessionRow) -> Cell {
    let name = match session.outcome.as_str() {
        "ok" => "OK".to_owned(),
        other => format::words(other),
    };
    let markup = html! {
        span class={ "outcome o-" (session.outcome) } { (name) }
        @if session.attempts > 1 { span.note { (session.attempts) " attempts" } }
    };
    Cell::markup(markup, &session.outcome)
}

/// The models that answered, and before them those that were tried and did not.
fn models(session: &SessionRow, usage: &[&UsageRow]) -> Cell {
    let mut silent = session.tried();
    silent.dedup();
    silent.retain(|model| usage.iter().all(|usage| usage.model != *model));
    if silent.is_empty() && usage.is_empty() {
        return Cell::Nothing;
    }
    let markup = html! {
        ul {
            @for model in &silent { li.silent { (breakable(model)) " " span.note { "no answer" } } }
            @for usage in usage { li { (breakable(&usage.model)) " " span.note { (counted(usage.calls, "call")) } } }
        }
    };
    let names: Vec<&str> = usage.iter().map(|usage| usage.model.as_str()).collect();
    Cell::markup(markup, names.join(" "))
}

/// The tokens of all.
pub(crate) fn tokens<'a>(usage: impl IntoIterator<Item = &'a UsageRow>) -> TokenUsage {
    usage.into_iter().fold(TokenUsage::default(), |mut sum, usage| {
        sum += usage.tokens();
        sum
    })
}

/// Findings with what the judge did.
pub(crate) fn findings(run: &RunDetail) -> Table {
    TableOf::new("findings", "Findings", &run.findings)
        .nothing("No finding was reported: the panel had nothing to say, or has not got there yet.")
        .class(|finding| match finding.fate.as_str() {
            "kept" => "f-kept",
            "merged" => "f-merged",
            _ => "f-dropped",
        })
        .words("Category", "category", |finding| Cell::text(&finding.category))
        .words("Severity", "severity", |finding| severity(&finding.severity))
        .words("File", "path", |finding| file(&finding.path))
        .words("Reviewer", "reviewer", |finding| agent(&finding.reviewer))
        .words("Judged", "fate", |finding| named(&finding.fate))
        .words("Reason", "reason", |finding| {
            Cell::or_nothing(finding.reason_code.as_deref(), named)
        })
        .words("Place", "placement", |finding| {
            Cell::or_nothing(finding.placement.as_deref(), placement)
        })
        .build()
}

/// Fallback models and circuits, in the order in which it happened.
pub(crate) fn incidents(run: &RunDetail) -> Table {
    let start_ms = Span::of(run).start_ms;
    let failbacks = run.failbacks.iter().map(|row| {
        let reason = failback_reason_words(&row.reason).to_lowercase();
        let what = format!("{} took over from {}: {reason}", row.to_model, row.from_model);
        (row.at_ms, agent(&row.reviewer), what)
    });
    let circuits = run.circuits.iter().map(|row| {
        let state = format::words(&row.state).to_lowercase();
        (row.at_ms, Cell::Nothing, format!("{}: circuit {state}", row.model))
    });
    let mut all: Vec<(i64, Cell, String)> = failbacks.chain(circuits).collect();
    all.sort_by_key(|(at_ms, ..)| *at_ms);
    TableOf::new("incidents", "Retries and fallback models", all)
        .words("After", "after_seconds", |(at_ms, ..)| {
            duration((at_ms - start_ms).max(0))
        })
        .words("Agent", "agent", |(_, agent, _)| agent.clone())
        .words("What", "what", |(.., what)| Cell::text(what))
        .build()
}

/// Findings of earlier reviews that this one found settled.
pub(crate) fn settled(run: &RunDetail) -> Table {
    TableOf::new("settled", "Settled findings of earlier reviews", &run.outcomes)
        .words("Category", "category", |row| Cell::text(&row.category))
        .words("Severity", "severity", |row| severity(&row.severity))
        .words("File", "path", |row| file(&row.path))
        .words("Reviewer", "reviewer", |row| agent(&row.reviewer))
        .words("Outcome", "outcome", |row| match row.outcome.as_str() {
            "resolved" => Cell::name("Resolved by a person", "resolved"),
            other => named(other),
        })
        .build()
}

/// The time that the timeline covers: the whole run, and sessions that a client's clock put outside of it.
struct Span {
    start_ms: i64,
    end_ms: i64,
}

impl Span {
    fn of(run: &RunDetail) -> Self {
        let starts = run.sessions.iter().map(SessionRow::start_ms);
        let ends = run.sessions.iter().map(|session| session.at_ms);
        let end_ms = run.row.at_ms + run.row.duration_ms.unwrap_or_default();
        Self {
            start_ms: starts.fold(run.row.at_ms, i64::min),
            end_ms: ends.fold(end_ms, i64::max),
        }
    }

    /// A session as a bar, and in the file the seconds after which it starts.
    #[expect(clippy::cast_precision_loss, reason = "durations stay far below 2^53")]
    fn bar(&self, session: &SessionRow) -> Cell {
        let share = |at_ms: i64| (at_ms - self.start_ms) as f64 / (self.end_ms - self.start_ms).max(1) as f64;
        let after_ms = (session.start_ms() - self.start_ms).max(0);
        let label = format!(
            "starts after {}, takes {}",
            format::duration(after_ms),
            format::duration(session.duration_ms)
        );
        let bar: Html = chart::span(
            &session.outcome,
            share(session.start_ms()),
            share(session.at_ms),
            &label,
        );
        Cell::markup(bar, format!("{:.3}", after_ms as f64 / 1000.0))
    }
}

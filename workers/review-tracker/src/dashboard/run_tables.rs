//! The tables of a review's page: its sessions over time, and its findings.

use conclave_shared::{pricing::TokenUsage, reviewer::ReviewerName};
use conclave_worker_common::html::{Html, breakable, html};

use super::{
    chart, format,
    runs_table::{header, or_nothing},
    texts,
};
use crate::store::{FindingRow, RunDetail, SessionRow, UsageRow};

/// Sessions with their models, tokens and cost.
pub(crate) fn sessions(run: &RunDetail) -> Html {
    if run.sessions.is_empty() {
        return section(
            texts::SESSIONS,
            "",
            &html!(r#"<p class="none">{}</p>"#, texts::NO_SESSIONS),
        );
    }
    let window = Window::of(run);
    let rows = run.sessions.iter().map(|session| {
        let usage: Vec<&UsageRow> = run
            .usage
            .iter()
            .filter(|usage| usage.event_id == session.event_id)
            .collect();
        session_row(session, &usage, &window)
    });
    let headers = [
        (texts::REVIEWER, false),
        (texts::OUTCOME, false),
        (texts::TIMELINE, false),
        (texts::DURATION, true),
        (texts::MODELS, false),
        (texts::TOKENS_IN, true),
        (texts::TOKENS_OUT, true),
        (texts::COST, true),
    ]
    .map(|(name, number)| header(name, number));
    let all: Vec<&UsageRow> = run.usage.iter().collect();
    let table = html!(
        r#"<div class="scroll" tabindex="0" role="region" aria-label="{}"><table class="sessions" role="table"><thead role="rowgroup"><tr role="row">{}</tr></thead><tbody role="rowgroup">{}</tbody>
<tfoot role="rowgroup"><tr role="row"><th role="rowheader" scope="row" colspan="5">{}</th>{}</tr></tfoot></table></div>"#,
        texts::SESSIONS,
        Html::join(headers),
        Html::join(rows),
        texts::SUM,
        amounts(&all),
    );
    section(texts::SESSIONS, texts::SESSIONS_NOTE, &table)
}

fn session_row(session: &SessionRow, usage: &[&UsageRow], window: &Window) -> Html {
    let start_ms = session.at_ms - session.duration_ms;
    let label = texts::span_label(
        &format::duration((start_ms - window.start_ms).max(0)),
        &format::duration(session.duration_ms),
    );
    let attempts =
        (session.attempts > 1).then(|| html!(r#"<span class="note">{}</span>"#, texts::attempts(session.attempts)));
    html!(
        r#"<tr role="row"><th role="rowheader" scope="row">{}</th><td role="cell" class="ended"><span class="outcome o-{}">{}</span>{}</td>
<td role="cell" class="timeline">{}</td><td role="cell" class="number time">{}</td><td role="cell" class="models">{}</td>{}</tr>"#,
        display_name(&session.reviewer),
        session.outcome,
        texts::outcome(&session.outcome),
        attempts,
        chart::span(
            &session.outcome,
            window.share(start_ms),
            window.share(session.at_ms),
            &label
        ),
        format::duration(session.duration_ms),
        models(usage),
        amounts(usage),
    )
}

fn models(usage: &[&UsageRow]) -> Html {
    if usage.is_empty() {
        return html!("{}", format::NOTHING);
    }
    let items = usage.iter().map(|usage| {
        html!(
            r#"<li>{} <span class="note">{}</span></li>"#,
            breakable(&usage.model),
            texts::calls(usage.calls),
        )
    });
    html!("<ul>{}</ul>", Html::join(items))
}

/// Tokens read with the share that was cached, tokens written, cost.
fn amounts(usage: &[&UsageRow]) -> Html {
    let mut tokens = TokenUsage::default();
    let mut cost = 0.0;
    for usage in usage {
        tokens += usage.tokens();
        cost += usage.cost_usd;
    }
    let cached = tokens
        .cache_hit_rate()
        .map(|rate| html!(r#"<span class="note">{}</span>"#, texts::cached(&format::percent(rate))));
    html!(
        r#"<td role="cell" class="number" data-name="{}">{}{}</td><td role="cell" class="number" data-name="{}">{}</td><td role="cell" class="number" data-name="{}">{}</td>"#,
        texts::TOKENS_IN,
        format::short(tokens.input + tokens.cache_read + tokens.cache_write),
        cached,
        texts::TOKENS_OUT,
        format::short(tokens.output + tokens.reasoning),
        texts::COST,
        format::money(cost),
    )
}

/// Findings with what the judge did.
pub(crate) fn findings(run: &RunDetail) -> Html {
    if run.findings.is_empty() {
        return section(
            texts::FINDINGS,
            "",
            &html!(r#"<p class="none">{}</p>"#, texts::NO_FINDINGS),
        );
    }
    let headers = [
        texts::SEVERITY,
        texts::CATEGORY,
        texts::FILE,
        texts::REVIEWER,
        texts::FATE,
        texts::REASON,
    ]
    .map(|name| header(name, false));
    let table = html!(
        r#"<div class="scroll" tabindex="0" role="region" aria-label="{}"><table class="findings" role="table"><thead role="rowgroup"><tr role="row">{}</tr></thead><tbody role="rowgroup">{}</tbody></table></div>"#,
        texts::FINDINGS,
        Html::join(headers),
        Html::join(run.findings.iter().map(finding_row)),
    );
    section(texts::FINDINGS, "", &table)
}

fn finding_row(finding: &FindingRow) -> Html {
    html!(
        r#"<tr role="row" class="f-{}"><td role="cell" class="how-bad"><span class="severity s-{}"><span class="mark" aria-hidden="true"></span>{}</span></td>
<th role="rowheader" scope="row">{}</th><td role="cell" class="file">{}</td><td role="cell" class="who">{}</td><td role="cell" class="fate">{}</td><td role="cell" class="why">{}</td></tr>"#,
        finding.fate,
        finding.severity,
        format::words(&finding.severity),
        finding.category,
        breakable(&finding.path),
        display_name(&finding.reviewer),
        format::words(&finding.fate),
        or_nothing(finding.reason_code.as_deref().map(format::words)),
    )
}

fn display_name(reviewer: &str) -> String {
    ReviewerName::new(reviewer).map_or_else(|_| reviewer.to_owned(), |name| format::words(&name.display_name()))
}

fn section(title: &str, note: &str, body: &Html) -> Html {
    html!(
        r#"<section class="card"><div class="title"><h2>{}</h2><span>{}</span></div>{}</section>"#,
        title,
        note,
        body,
    )
}

/// The time that the timeline covers: the whole run, and sessions that a client's clock put outside of it.
struct Window {
    start_ms: i64,
    end_ms: i64,
}

impl Window {
    fn of(run: &RunDetail) -> Self {
        let starts = run.sessions.iter().map(|session| session.at_ms - session.duration_ms);
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

//! The table of runs. On a phone the style sheet turns its rows into cards, so every element has its role spelt out.

use conclave_worker_common::html::{Html, breakable, html};

use super::{format, texts};
use crate::store::RunRow;

/// How long a review without an end is taken to be going on. No review's limits add up to more.
const LONGEST_RUN_MS: i64 = 2 * 3_600_000;

/// Header texts and whether the column holds numbers, in order.
const COLUMNS: [(&str, bool); 8] = [
    (texts::PROJECT, false),
    (texts::STARTED, false),
    (texts::TIER, false),
    (texts::VERDICT, false),
    (texts::FINDINGS, false),
    (texts::FILES, true),
    (texts::DURATION, true),
    (texts::COST, true),
];

/// The table.
pub(crate) fn table(runs: &[RunRow], now_ms: i64) -> Html {
    let headers = COLUMNS.map(|(name, number)| header(name, number));
    html!(
        r#"<table class="runs" role="table"><thead role="rowgroup"><tr role="row">{}</tr></thead>
<tbody role="rowgroup">{}</tbody></table>"#,
        Html::join(headers),
        Html::join(runs.iter().map(|run| row(run, now_ms))),
    )
}

/// A column's header.
pub(crate) fn header(name: &str, number: bool) -> Html {
    if number {
        html!(r#"<th role="columnheader" scope="col" class="number">{}</th>"#, name)
    } else {
        html!(r#"<th role="columnheader" scope="col">{}</th>"#, name)
    }
}

fn row(run: &RunRow, now_ms: i64) -> Html {
    let state = if run.verdict.is_some() { "ended" } else { "open" };
    html!(
        r#"<tr role="row" class="{}"><th role="rowheader" scope="row"><a href="/runs/{}"><span class="path">{}</span> <span class="mr">{}</span></a></th>
<td role="cell" class="when"><time datetime="{}">{}</time></td>
<td role="cell" class="tiers">{}</td>
<td role="cell" class="verdicts">{}</td>
<td role="cell" class="found">{}</td>
<td role="cell" class="number files" data-name="{}">{}</td>
<td role="cell" class="number time" data-name="{}">{}</td>
<td role="cell" class="number money" data-name="{}">{}</td></tr>"#,
        state,
        run.run_id,
        breakable(&run.project),
        merge_request(run),
        format::rfc3339(run.at_ms),
        format::moment(run.at_ms, now_ms),
        tier(run),
        verdict(run, now_ms),
        findings(run),
        texts::FILES,
        or_nothing(run.files.map(format::count)),
        texts::DURATION,
        or_nothing(run.duration_ms.map(format::duration)),
        texts::COST,
        or_nothing(run.cost_usd.map(format::money)),
    )
}

/// The merge request's number as GitLab writes it.
pub(crate) fn merge_request(run: &RunRow) -> String {
    run.merge_request
        .map_or_else(|| texts::LOCAL.to_owned(), |number| format!("!{number}"))
}

/// A verdict as a coloured mark with its name; without one, whether the review may still be going on.
pub(crate) fn verdict(run: &RunRow, now_ms: i64) -> Html {
    match &run.verdict {
        Some(verdict) => html!(
            r#"<span class="verdict v-{}">{}</span>"#,
            verdict,
            format::words(verdict)
        ),
        None if now_ms - run.at_ms < LONGEST_RUN_MS => {
            html!(r#"<span class="verdict v-running">{}</span>"#, texts::RUNNING)
        }
        None => html!(
            r#"<span class="verdict v-none" title="{}">{}</span>"#,
            texts::NO_END_DETAIL,
            texts::NO_END,
        ),
    }
}

/// The tier as a chip.
pub(crate) fn tier(run: &RunRow) -> Html {
    run.tier
        .as_ref()
        .map_or_else(Html::default, |tier| html!(r#"<span class="chip">{}</span>"#, tier))
}

/// Findings by severity: a mark of its own shape and a number each, the severity in words for whoever cannot see it.
pub(crate) fn findings(run: &RunRow) -> Html {
    let (Some(critical), Some(warning), Some(suggestion)) = (run.critical, run.warning, run.suggestion) else {
        return html!("{}", format::NOTHING);
    };
    if critical + warning + suggestion == 0 {
        return html!(r#"<span class="none">{}</span>"#, texts::NONE);
    }
    let counts = [("critical", critical), ("warning", warning), ("suggestion", suggestion)];
    Html::join(counts.into_iter().filter(|(_, count)| *count > 0).map(|(severity, count)| {
        html!(
            r#"<span class="severity s-{}" title="{}"><span class="mark" aria-hidden="true"></span>{}<span class="hidden"> {} </span></span>"#,
            severity,
            texts::severity_count(count, severity),
            format::count(count),
            severity,
        )
    }))
}

/// A text, or a dash.
pub(crate) fn or_nothing(text: Option<String>) -> String {
    text.unwrap_or_else(|| format::NOTHING.to_owned())
}

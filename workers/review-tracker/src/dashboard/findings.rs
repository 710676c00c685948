//! `GET /findings`: what reviewers find, what the judge keeps of it, and what becomes of that.

use std::collections::BTreeSet;

use conclave_worker_common::{
    Outcome,
    html::{Html, html},
};
use worker::{Env, Request, Response};

use super::{
    cells::{SEVERITIES, agent, named, severity_columns, severity_counts, share, sum_name},
    chart::{Chart, Kind, Unit},
    cross::Cross,
    format,
    page::{Asked, Content, finished},
    periods::Periods,
    summary::{figure, figures},
    table::{Cell, Column, Row, Table},
    texts,
};
use crate::store::{self, FindingsPage, HotFile, UsageSum};

/// Where this page is.
pub(crate) const PATH: &str = "/findings";

/// What the judge does with a finding.
const FATES: [&str; 3] = ["kept", "merged", "dropped"];
/// How a finding is settled.
const OUTCOMES: [&str; 3] = ["fixed", "resolved", "rejected"];

/// Answers with the page.
pub(crate) async fn page(request: &Request, env: &Env) -> Outcome<Response> {
    let asked = Asked::of(request, env).await?;
    let query = asked.filter.query(asked.now_ms);
    let page = store::findings_page(env, &query).await?;
    let agents = store::usage_by_agent(env, &query).await?;
    let content = Content {
        title: texts::FINDINGS,
        path: PATH,
        lead: lead(&page),
        tables: vec![
            days(&page, Periods::of(&query)),
            reviewers(&page, &agents),
            judged(&page),
            outcomes(&page),
            hot(&page.hot),
            categories(&page),
            reasons(&page),
            removed(&page),
            placements(&page),
        ],
        tail: Html::default(),
        fields: Html::default(),
        own: Vec::new(),
    };
    finished(&asked, env, content).await
}

fn fate_sum(page: &FindingsPage, fate: &str) -> u64 {
    page.judged
        .iter()
        .filter(|row| row.fate == fate)
        .map(|row| row.findings)
        .sum()
}

fn outcome_sum(page: &FindingsPage, outcome: &str) -> u64 {
    page.outcomes
        .iter()
        .filter(|row| row.outcome == outcome)
        .map(|row| row.findings)
        .sum()
}

fn lead(page: &FindingsPage) -> Html {
    let reported: u64 = page.judged.iter().map(|row| row.findings).sum();
    let settled: u64 = page.outcomes.iter().map(|row| row.findings).sum();
    let part =
        |part, whole| super::cells::ratio(part, whole).map_or_else(|| format::NOTHING.to_owned(), format::percent);
    let of_reported = |fate: &str, name, detail: &str| figure(name, &part(fate_sum(page, fate), reported), detail);
    let of_settled = |outcome: &str, name| {
        let count = outcome_sum(page, outcome);
        figure(name, &part(count, settled), &texts::counted(count, "finding"))
    };
    let removed = |wanted: fn(&str) -> bool| -> u64 {
        let rows = page.removed.iter().filter(|row| wanted(&row.severity));
        rows.map(|row| row.findings).sum()
    };
    let (all_removed, critical_removed) = (removed(|_| true), removed(|severity| severity == "critical"));
    let judged = figures(
        "three",
        [
            figure(
                texts::REMOVED_BY_JUDGE,
                &format::count(all_removed),
                &texts::counted(all_removed, "finding"),
            ),
            figure(
                texts::REMOVED_CRITICAL,
                &format::count(critical_removed),
                texts::REMOVED_CRITICAL_DETAIL,
            ),
            figure(
                texts::REMOVED_SHARE,
                &part(all_removed, reported),
                texts::REMOVED_SHARE_DETAIL,
            ),
        ],
    );
    let reported = figures(
        "six",
        [
            figure(texts::REPORTED, &format::count(reported), texts::REPORTED_DETAIL),
            of_reported("kept", texts::KEPT, &texts::counted(fate_sum(page, "kept"), "finding")),
            of_reported(
                "dropped",
                texts::DROPPED_BY_JUDGE,
                &texts::counted(fate_sum(page, "dropped"), "finding"),
            ),
            of_settled("fixed", texts::FIXED),
            of_settled("resolved", texts::RESOLVED),
            of_settled("rejected", texts::REJECTED),
        ],
    );
    html!("{}{}", reported, judged)
}

fn days(page: &FindingsPage, periods: Periods) -> Table {
    let days = page.days.iter();
    let sums = Cross::of(
        SEVERITIES,
        days.map(|day| (periods.start_of(day.day), day.severity.as_str(), day.findings)),
    );
    Table {
        id: "days",
        title: texts::FINDINGS_BY_DAY,
        columns: [vec![Column::words(texts::DAY, "day")], severity_columns().into()].concat(),
        rows: if sums.is_empty() {
            Vec::new()
        } else {
            periods.rows(|start| sums.get(&start).map(Cell::Count).into())
        },
        chart: periods.several().then(|| Chart {
            kind: Kind::Stacked,
            unit: Unit::Count,
            // The worst at the bottom, where its size can be compared.
            series: SEVERITIES
                .iter()
                .zip(1..)
                .map(|(severity, column)| (column, (*severity).to_owned()))
                .collect(),
        }),
        nothing: texts::NO_FINDINGS_YET,
        ..Table::default()
    }
}

/// The table of the yardstick: who finds what, and with how many tokens.
fn reviewers(page: &FindingsPage, agents: &[UsageSum]) -> Table {
    let kept = page.judged.iter().filter(|row| row.fate == "kept");
    let found = Cross::of(
        SEVERITIES,
        kept.map(|row| (row.reviewer.as_str(), row.severity.as_str(), row.findings)),
    );
    let names: BTreeSet<&str> = found
        .rows()
        .map(|(name, _)| *name)
        .chain(agents.iter().map(|agent| agent.name.as_str()))
        .collect();
    let mut names: Vec<&str> = names.into_iter().collect();
    // Findings first, the coordinator, who has none, last.
    names.sort_by_key(|name| std::cmp::Reverse(found.get(name).iter().sum::<u64>()));
    let usage = |name: &str| agents.iter().find(|agent| agent.name == name);
    let mut rows: Vec<Row> = names
        .into_iter()
        .map(|name| reviewer_row(agent(name), found.get(&name), usage(name)))
        .collect();
    let mut sums = found.sum();
    let counted = [page.counted.critical, page.counted.warning, page.counted.suggestion];
    let mut unclassified = [0; 3];
    for ((rest, counted), sum) in unclassified.iter_mut().zip(counted).zip(&mut sums) {
        *rest = counted.saturating_sub(*sum);
        *sum += *rest;
    }
    if unclassified.iter().any(|count| *count > 0) {
        let name = Cell::Named(texts::UNCLASSIFIED.to_owned(), "unclassified".to_owned());
        rows.push(reviewer_row(name, unclassified, None));
    }
    let used = agents.iter().fold(UsageSum::default(), UsageSum::and);
    Table {
        id: "reviewers",
        title: texts::BY_REVIEWER,
        note: texts::BY_REVIEWER_NOTE,
        columns: [
            vec![Column::words(texts::REVIEWER, "reviewer")],
            severity_columns().into(),
            vec![
                Column::number(texts::TOTAL, "total"),
                Column::number(texts::INPUT, "input_tokens"),
                Column::number(texts::OUTPUT, "output_tokens"),
                Column::number(texts::CACHE_READ, "cache_read_tokens"),
                Column::number(texts::CACHE_WRITE, "cache_write_tokens"),
            ],
        ]
        .concat(),
        sum: Some(reviewer_row(sum_name(), sums, Some(&used)).cells),
        rows,
        nothing: texts::NO_FINDINGS_YET,
        ..Table::default()
    }
}

fn reviewer_row(name: Cell, counts: [u64; 3], usage: Option<&UsageSum>) -> Row {
    let tokens = |kind: fn(&UsageSum) -> u64| Cell::or_nothing(usage, |usage| Cell::Tokens(kind(usage)));
    let used = vec![
        tokens(|usage| usage.input),
        tokens(|usage| usage.output),
        tokens(|usage| usage.cache_read),
        tokens(|usage| usage.cache_write),
    ];
    Row::from([vec![name], severity_counts(counts), used].concat())
}

/// A table of reviewers by what became of their findings, with its sums.
fn by_reviewer(cross: &Cross<&str, 3>, row: impl Fn(Cell, [u64; 3]) -> Row) -> Table {
    Table {
        rows: cross.rows().map(|(name, counts)| row(agent(name), counts)).collect(),
        sum: Some(row(sum_name(), cross.sum()).cells),
        half: true,
        ..Table::default()
    }
}

fn judged(page: &FindingsPage) -> Table {
    let rows = page.judged.iter();
    let cross = Cross::of(
        FATES,
        rows.map(|row| (row.reviewer.as_str(), row.fate.as_str(), row.findings)),
    );
    let row = |name: Cell, counts: [u64; 3]| {
        let all = counts.iter().sum();
        let mut cells = vec![name, Cell::Count(all)];
        cells.extend(counts.map(Cell::Count));
        cells.push(share(counts[0], all));
        Row::from(cells)
    };
    Table {
        id: "judged",
        title: texts::JUDGED,
        note: texts::JUDGED_NOTE,
        columns: vec![
            Column::words(texts::REVIEWER, "reviewer"),
            Column::number(texts::REPORTED, "reported"),
            Column::number("Kept", "kept"),
            Column::number("Merged", "merged"),
            Column::number("Dropped", "dropped"),
            Column::number(texts::KEPT_SHARE, "kept_share"),
        ],
        nothing: texts::NO_FINDINGS_YET,
        ..by_reviewer(&cross, row)
    }
}

fn outcomes(page: &FindingsPage) -> Table {
    let rows = page.outcomes.iter();
    let cross = Cross::of(
        OUTCOMES,
        rows.map(|row| (row.reviewer.as_str(), row.outcome.as_str(), row.findings)),
    );
    let row = |name: Cell, counts: [u64; 3]| {
        let all = counts.iter().sum();
        let mut cells = vec![name];
        cells.extend(counts.map(Cell::Count));
        cells.extend([share(counts[0], all), share(counts[2], all)]);
        Row::from(cells)
    };
    Table {
        id: "outcomes",
        title: texts::OUTCOMES,
        note: texts::OUTCOMES_NOTE,
        columns: vec![
            Column::words(texts::REVIEWER, "reviewer"),
            Column::number("Fixed", "fixed"),
            Column::number("Resolved", "resolved"),
            Column::number("Rejected", "rejected"),
            Column::number(texts::FIXED_SHARE, "fixed_share"),
            Column::number(texts::REJECTED_SHARE, "rejected_share"),
        ],
        nothing: texts::NO_OUTCOMES_YET,
        ..by_reviewer(&cross, row)
    }
}

fn hot(files: &[HotFile]) -> Table {
    let rows = files.iter().map(|file| {
        let name = vec![
            Cell::Markup(
                html!(
                    r#"<span class="file">{}</span>"#,
                    conclave_worker_common::html::breakable(&file.path)
                ),
                file.path.clone(),
            ),
            Cell::Text(file.project.clone()),
        ];
        Row::from([name, severity_counts([file.critical, file.warning, file.suggestion])].concat())
    });
    Table {
        id: "hot",
        title: texts::HOT_FILES,
        note: texts::HOT_FILES_NOTE,
        columns: [
            vec![
                Column::words(texts::FILE, "path"),
                Column::words(texts::PROJECT, "project"),
            ],
            severity_columns().into(),
            vec![Column::number(texts::TOTAL, "total")],
        ]
        .concat(),
        rows: rows.collect(),
        nothing: texts::NO_FINDINGS_YET,
        ..Table::default()
    }
}

fn categories(page: &FindingsPage) -> Table {
    let rows = page.categories.iter().map(|row| {
        let name = vec![Cell::Text(row.category.clone())];
        Row::from([name, severity_counts([row.critical, row.warning, row.suggestion])].concat())
    });
    Table {
        id: "categories",
        title: texts::CATEGORIES,
        columns: [
            vec![Column::words(texts::CATEGORY, "category")],
            severity_columns().into(),
            vec![Column::number(texts::TOTAL, "total")],
        ]
        .concat(),
        rows: rows.collect(),
        nothing: texts::NO_FINDINGS_YET,
        half: true,
        ..Table::default()
    }
}

fn reasons(page: &FindingsPage) -> Table {
    let rows = page.reasons.iter().map(|row| {
        let reason = if row.reason.is_empty() {
            Cell::Nothing
        } else {
            named(&row.reason)
        };
        Row::from(vec![named(&row.fate), reason, Cell::Count(row.findings)])
    });
    Table {
        id: "reasons",
        title: texts::REASONS,
        columns: vec![
            Column::words(texts::FATE, "fate"),
            Column::words(texts::REASON, "reason"),
            Column::number(texts::FINDINGS, "findings"),
        ],
        rows: rows.collect(),
        nothing: texts::NOTHING_DROPPED,
        half: true,
        ..Table::default()
    }
}

fn removed(page: &FindingsPage) -> Table {
    let rows = page.removed.iter().map(|row| {
        let reason = if row.reason.is_empty() {
            Cell::Nothing
        } else {
            named(&row.reason)
        };
        Row::from(vec![
            named(&row.severity),
            reason,
            named(&row.refutation),
            Cell::Count(row.findings),
        ])
    });
    Table {
        id: "removed",
        title: texts::REMOVED,
        note: texts::REMOVED_NOTE,
        columns: vec![
            Column::words(texts::SEVERITY, "severity"),
            Column::words(texts::REASON, "reason"),
            Column::words(texts::REFUTED_BY, "refutation"),
            Column::number(texts::FINDINGS, "findings"),
        ],
        rows: rows.collect(),
        nothing: texts::NOTHING_DROPPED,
        half: true,
        ..Table::default()
    }
}

fn placements(page: &FindingsPage) -> Table {
    let all: u64 = page.placements.iter().map(|row| row.findings).sum();
    let rows = page.placements.iter().map(|row| {
        let name = Cell::Named(texts::placement(&row.placement), row.placement.clone());
        Row::from(vec![name, Cell::Count(row.findings), share(row.findings, all)])
    });
    Table {
        id: "placements",
        title: texts::PLACEMENTS,
        columns: vec![
            Column::words(texts::PLACE, "placement"),
            Column::number(texts::FINDINGS, "findings"),
            Column::number(texts::SHARE, "share"),
        ],
        rows: rows.collect(),
        nothing: texts::NOTHING_POSTED,
        half: true,
        ..Table::default()
    }
}

//! `GET /findings`: what reviewers find, what the judge keeps of it, and what becomes of that.

use std::collections::{BTreeSet, HashMap};

use conclave_worker_common::{
    Outcome,
    html::{Html, html},
};
use worker::{Env, Request, Response};

use super::{
    cells::{SEVERITIES, agent, count_or_nothing, named, share},
    chart::{Chart, Kind, Unit},
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
            placements(&page),
        ],
        tail: Html::default(),
        fields: Html::default(),
        own: Vec::new(),
        by_tier: false,
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
    figures(
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
    )
}

fn days(page: &FindingsPage, periods: Periods) -> Table {
    let mut sums: HashMap<(i64, &str), u64> = HashMap::new();
    for day in &page.days {
        *sums
            .entry((periods.start_of(day.day), day.severity.as_str()))
            .or_default() += day.findings;
    }
    let rows = periods.starts().rev().map(|start| {
        let counts = SEVERITIES.map(|severity| Cell::Count(sums.get(&(start, severity)).copied().unwrap_or_default()));
        Row::from([Cell::Day(start)].into_iter().chain(counts).collect::<Vec<_>>())
    });
    let columns = SEVERITIES.map(|severity| Column::number(&format::words(severity), severity));
    Table {
        id: "days",
        title: texts::FINDINGS_BY_DAY,
        columns: [Column::words(texts::DAY, "day")].into_iter().chain(columns).collect(),
        rows: if page.days.is_empty() {
            Vec::new()
        } else {
            rows.collect()
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
    let kept = |reviewer: &str, severity: &str| -> u64 {
        let rows = page
            .judged
            .iter()
            .filter(|row| row.fate == "kept" && row.severity == severity);
        rows.filter(|row| row.reviewer == reviewer)
            .map(|row| row.findings)
            .sum()
    };
    let names: BTreeSet<&str> = page
        .judged
        .iter()
        .filter(|row| row.fate == "kept")
        .map(|row| row.reviewer.as_str())
        .chain(agents.iter().map(|agent| agent.name.as_str()))
        .collect();
    let mut sums = [0; 3];
    let mut lines: Vec<(u64, Row)> = names
        .into_iter()
        .map(|name| {
            let counts = SEVERITIES.map(|severity| kept(name, severity));
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum += count;
            }
            let usage = agents.iter().find(|agent| agent.name == name);
            (counts.iter().sum(), reviewer_row(agent(name), counts, usage))
        })
        .collect();
    // Findings first, the coordinator, who has none, last.
    lines.sort_by_key(|(findings, _)| std::cmp::Reverse(*findings));
    let mut rows: Vec<Row> = lines.into_iter().map(|(_, row)| row).collect();
    let counted = [page.counted.critical, page.counted.warning, page.counted.suggestion];
    let mut unclassified = counted;
    for (rest, known) in unclassified.iter_mut().zip(sums) {
        *rest = rest.saturating_sub(known);
    }
    if unclassified.iter().any(|count| *count > 0) {
        let name = Cell::Named(texts::UNCLASSIFIED.to_owned(), "unclassified".to_owned());
        rows.push(reviewer_row(name, unclassified, None));
    }
    for (sum, rest) in sums.iter_mut().zip(unclassified) {
        *sum += rest;
    }
    let used = agents.iter().fold(UsageSum::default(), UsageSum::and);
    Table {
        id: "reviewers",
        title: texts::BY_REVIEWER,
        note: texts::BY_REVIEWER_NOTE,
        columns: vec![
            Column::words(texts::REVIEWER, "reviewer"),
            Column::number("Critical", "critical"),
            Column::number("Warning", "warning"),
            Column::number("Suggestion", "suggestion"),
            Column::number(texts::TOTAL, "total"),
            Column::number(texts::INPUT, "input_tokens"),
            Column::number(texts::OUTPUT, "output_tokens"),
            Column::number(texts::CACHE_READ, "cache_read_tokens"),
            Column::number(texts::CACHE_WRITE, "cache_write_tokens"),
        ],
        sum: Some(reviewer_row(Cell::Named(texts::SUM.to_owned(), "sum".to_owned()), sums, Some(&used)).cells),
        rows,
        nothing: texts::NO_FINDINGS_YET,
        ..Table::default()
    }
}

fn reviewer_row(name: Cell, counts: [u64; 3], usage: Option<&UsageSum>) -> Row {
    let tokens = |kind: fn(&UsageSum) -> u64| Cell::or_nothing(usage, |usage| Cell::Tokens(kind(usage)));
    let mut cells = vec![name];
    cells.extend(counts.map(count_or_nothing));
    cells.extend([
        count_or_nothing(counts.iter().sum()),
        tokens(|usage| usage.input),
        tokens(|usage| usage.output),
        tokens(|usage| usage.cache_read),
        tokens(|usage| usage.cache_write),
    ]);
    Row::from(cells)
}

fn judged(page: &FindingsPage) -> Table {
    let names: BTreeSet<&str> = page.judged.iter().map(|row| row.reviewer.as_str()).collect();
    let of = |reviewer: &str, fate: &str| -> u64 {
        let rows = page
            .judged
            .iter()
            .filter(|row| row.reviewer == reviewer && row.fate == fate);
        rows.map(|row| row.findings).sum()
    };
    let row = |name: Cell, counts: [u64; 3]| {
        let all = counts.iter().sum();
        let mut cells = vec![name, Cell::Count(all)];
        cells.extend(counts.map(Cell::Count));
        cells.push(share(counts[0], all));
        Row::from(cells)
    };
    let all = FATES.map(|fate| fate_sum(page, fate));
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
        rows: names
            .into_iter()
            .map(|name| row(agent(name), FATES.map(|fate| of(name, fate))))
            .collect(),
        sum: Some(row(Cell::Named(texts::SUM.to_owned(), String::new()), all).cells),
        nothing: texts::NO_FINDINGS_YET,
        half: true,
        ..Table::default()
    }
}

fn outcomes(page: &FindingsPage) -> Table {
    let names: BTreeSet<&str> = page.outcomes.iter().map(|row| row.reviewer.as_str()).collect();
    let of = |reviewer: &str, outcome: &str| -> u64 {
        let rows = page
            .outcomes
            .iter()
            .filter(|row| row.reviewer == reviewer && row.outcome == outcome);
        rows.map(|row| row.findings).sum()
    };
    let row = |name: Cell, counts: [u64; 3]| {
        let all = counts.iter().sum();
        let mut cells = vec![name];
        cells.extend(counts.map(Cell::Count));
        cells.extend([share(counts[0], all), share(counts[2], all)]);
        Row::from(cells)
    };
    let all = OUTCOMES.map(|outcome| outcome_sum(page, outcome));
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
        rows: names
            .into_iter()
            .map(|name| row(agent(name), OUTCOMES.map(|outcome| of(name, outcome))))
            .collect(),
        sum: Some(row(Cell::Named(texts::SUM.to_owned(), String::new()), all).cells),
        nothing: texts::NO_OUTCOMES_YET,
        half: true,
        ..Table::default()
    }
}

fn hot(files: &[HotFile]) -> Table {
    let rows = files.iter().map(|file| {
        Row::from(vec![
            Cell::Markup(
                html!(
                    r#"<span class="file">{}</span>"#,
                    conclave_worker_common::html::breakable(&file.path)
                ),
                file.path.clone(),
            ),
            Cell::Text(file.project.clone()),
            count_or_nothing(file.critical),
            count_or_nothing(file.warning),
            count_or_nothing(file.suggestion),
            Cell::Count(file.findings),
        ])
    });
    Table {
        id: "hot",
        title: texts::HOT_FILES,
        note: texts::HOT_FILES_NOTE,
        columns: vec![
            Column::words(texts::FILE, "path"),
            Column::words(texts::PROJECT, "project"),
            Column::number("Critical", "critical"),
            Column::number("Warning", "warning"),
            Column::number("Suggestion", "suggestion"),
            Column::number(texts::TOTAL, "total"),
        ],
        rows: rows.collect(),
        nothing: texts::NO_FINDINGS_YET,
        ..Table::default()
    }
}

fn categories(page: &FindingsPage) -> Table {
    let rows = page.categories.iter().map(|row| {
        let counts = [row.critical, row.warning, row.suggestion];
        let mut cells = vec![Cell::Text(row.category.clone())];
        cells.extend(counts.map(count_or_nothing));
        cells.push(Cell::Count(counts.iter().sum()));
        Row::from(cells)
    });
    Table {
        id: "categories",
        title: texts::CATEGORIES,
        columns: vec![
            Column::words(texts::CATEGORY, "category"),
            Column::number("Critical", "critical"),
            Column::number("Warning", "warning"),
            Column::number("Suggestion", "suggestion"),
            Column::number(texts::TOTAL, "total"),
        ],
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

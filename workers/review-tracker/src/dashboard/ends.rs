//! Tables of the overview about how reviews end: failures, causes of inconclusive verdicts, and repositories.

use conclave_worker_common::html::{breakable, html};

use super::{
    cells::{count_or_nothing, named, share},
    filter::Filter,
    table::{Cell, Column, Row, Table},
    texts,
};
use crate::store::OverviewPage;

/// Failed reviews by stage and kind.
pub(crate) fn failed(page: &OverviewPage) -> Table {
    let rows = page.ends.failed.iter();
    let rows = rows.map(|row| Row::from(vec![named(&row.stage), named(&row.kind), Cell::Count(row.runs)]));
    Table {
        id: "failed",
        title: texts::FAILED_BY_STAGE,
        note: texts::FAILED_BY_STAGE_NOTE,
        columns: vec![
            Column::words(texts::STAGE, "stage"),
            Column::words(texts::REASON, "kind"),
            Column::number(texts::REVIEWS, "reviews"),
        ],
        rows: rows.collect(),
        nothing: texts::NONE_FAILED,
        half: true,
        ..Table::default()
    }
}

/// Inconclusive reviews by cause. What was counted before causes were kept is unknown.
pub(crate) fn causes(page: &OverviewPage) -> Table {
    let days = page.days.iter().filter(|day| day.verdict == "inconclusive");
    let all: u64 = days.map(|day| day.runs).sum();
    let known: u64 = page.ends.causes.iter().map(|row| row.runs).sum();
    let unknown = Some(all.saturating_sub(known)).filter(|runs| *runs > 0);
    let counted = page.ends.causes.iter().map(|row| (row.cause.as_str(), row.runs));
    let rows = counted
        .chain(unknown.map(|runs| ("unknown", runs)))
        .map(|(cause, runs)| Row::from(vec![named(cause), Cell::Count(runs), share(runs, all.max(known))]));
    Table {
        id: "inconclusive",
        title: texts::INCONCLUSIVE_BY_CAUSE,
        note: texts::INCONCLUSIVE_BY_CAUSE_NOTE,
        columns: vec![
            Column::words(texts::CAUSE, "cause"),
            Column::number(texts::REVIEWS, "reviews"),
            Column::number(texts::SHARE, "share"),
        ],
        rows: rows.collect(),
        nothing: texts::NONE_INCONCLUSIVE,
        half: true,
        ..Table::default()
    }
}

/// The repositories with the most reviews.
pub(crate) fn repositories(page: &OverviewPage, filter: &Filter) -> Table {
    let rows = page.ends.projects.iter().map(|row| {
        let only = Filter {
            project: Some(row.project.clone()),
            ..filter.clone()
        };
        let name = html!(r#"<span class="path">{}</span>"#, breakable(&row.project));
        Row {
            cells: vec![
                Cell::Markup(name, row.project.clone()),
                Cell::Count(row.runs),
                count_or_nothing(row.inconclusive),
                count_or_nothing(row.failed),
                count_or_nothing(row.findings),
                count_or_nothing(row.critical),
                Cell::Money(row.cost_usd),
                Cell::or_nothing(
                    (row.runs > 0).then(|| row.cost_usd / super::cells::as_f64(row.runs)),
                    Cell::Money,
                ),
                Cell::Day(row.last_day),
            ],
            href: Some(only.href("/", &[])),
            class: "",
        }
    });
    Table {
        id: "repositories",
        title: texts::REPOSITORIES,
        note: texts::REPOSITORIES_NOTE,
        columns: vec![
            Column::words(texts::REPOSITORY, "project"),
            Column::number(texts::REVIEWS, "reviews"),
            Column::number(texts::INCONCLUSIVE, "inconclusive"),
            Column::number(texts::FAILED, "failed"),
            Column::number(texts::FINDINGS, "findings"),
            Column::number(texts::CRITICAL, "critical"),
            Column::number(texts::COST, "cost_usd"),
            Column::number(texts::AVERAGE_COST, "cost_usd_average"),
            Column::words(texts::LAST_REVIEW, "last_day"),
        ],
        rows: rows.collect(),
        nothing: texts::NOTHING_HERE_DETAIL,
        ..Table::default()
    }
}

//! `GET /findings`: what reviewers find, what the judge keeps of it, and what becomes of that.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use conclave_worker_common::{
    Outcome,
    html::{Html, html},
};
use worker::{Env, Request, Response};

use super::{
    cells::{SEVERITIES, agent, file, named, placement, ratio, share, unclassified},
    chart::{Kind, Unit},
    cross::Cross,
    figures::{figure, figures},
    format::{self, counted, or_nothing},
    page::{Asked, Content, FINDINGS, finished},
    periods::Periods,
    table::{Cell, Table, TableOf},
};
use crate::{
    events::Count,
    store::{self, FindingsPage, UsageSum},
};

/// The fates of a finding: what the judge does with it.
const FATES: [&str; 3] = ["kept", "merged", "dropped"];
/// The ways to settle a finding.
const OUTCOMES: [&str; 3] = ["fixed", "resolved", "rejected"];

const NONE_REPORTED: &str = "No finding was reported in this period.";
const NONE_DROPPED: &str = "Nothing was merged or dropped in this period.";

/// Answers with the page.
pub(crate) async fn page(request: &Request, env: &Env) -> Outcome<Response> {
    let asked = Asked::of(request, env).await?;
    let query = asked.filter.query(asked.now_ms);
    let page = store::findings_page(env, &query).await?;
    let agents = store::usage_by_agent(env, &query).await?;
    let found = page.judged.iter();
    let fates = Cross::of(FATES, found.map(|row| (row.a.as_str(), row.c.as_str(), row.n)));
    let found = page.outcomes.iter();
    let settled = Cross::of(OUTCOMES, found.map(|row| (row.a.as_str(), row.c.as_str(), row.n)));
    let tables = vec![
        days(&page, Periods::of(&query)),
        reviewers(&page, &agents),
        judged(&fates),
        outcomes(&settled),
        hot(&page),
        categories(&page),
        reasons(&page),
        removed(&page),
        placements(&page),
    ];
    let lead = lead(&page, fates.sum(), settled.sum());
    finished(&asked, env, Content::new(FINDINGS, lead, tables)).await
}

fn lead(page: &FindingsPage, fates: [u64; 3], outcomes: [u64; 3]) -> Html {
    let (reported, settled) = (fates.iter().sum(), outcomes.iter().sum());
    let [kept, _, dropped] = fates;
    let [fixed, resolved, rejected] = outcomes;
    let percent = |part, whole| or_nothing(ratio(part, whole), format::percent);
    let part = |name, part, whole| figure(name, percent(part, whole), counted(part, "finding"));
    let removed: u64 = page.removed.iter().map(|row| row.n).sum();
    let critical = page.removed.iter().filter(|row| row.a == "critical");
    let criticals = critical.clone().map(|row| row.n).sum();
    let found = figures(
        "six",
        [
            figure("Reported", format::count(reported), "by reviewers, before the judge"),
            part("Kept by the judge", kept, reported),
            part("Dropped by the judge", dropped, reported),
            part("Fixed", fixed, settled),
            part("Resolved by people", resolved, settled),
            part("Rejected", rejected, settled),
        ],
    );
    let judged = figures(
        "three",
        [
            figure(
                "Removed by the judge",
                format::count(removed),
                counted(removed, "finding"),
            ),
            figure("Critical ones removed", format::count(criticals), why_removed(critical)),
            figure("Share removed", percent(removed, reported), "of all reported findings"),
        ],
    );
    html! { (found) (judged) }
}

/// The reasons of removed findings, the most frequent first: those that code refutes, and the others by the judge's word for them.
fn why_removed<'a>(rows: impl Iterator<Item = &'a Count>) -> String {
    let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
    for row in rows {
        let (word, refutation) = (&row.b, row.c.as_str());
        let reason = match refutation {
            "" | "none" if word.is_empty() => "without a reason".to_owned(),
            "" | "none" => format::words(word).to_lowercase(),
            _ => "refuted by code".to_owned(),
        };
        *reasons.entry(reason).or_default() += row.n;
    }
    let mut reasons: Vec<(String, u64)> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, n)| Reverse(*n));
    let reasons = reasons
        .into_iter()
        .map(|(reason, n)| format!("{} {reason}", format::count(n)));
    let shown = reasons.collect::<Vec<_>>().join(", ");
    if shown.is_empty() {
        "by reason below".to_owned()
    } else {
        shown
    }
}

fn days(page: &FindingsPage, periods: Periods) -> Table {
    let days = page.days.iter();
    let sums = Cross::of(
        SEVERITIES,
        days.map(|day| (periods.start_of(day.day), day.severity.as_str(), day.n)),
    );
    let mut table = periods
        .table("days", "Findings that stand", !sums.is_empty())
        .nothing(NONE_REPORTED);
    // The worst at the bottom, where its size can be compared.
    for severity in SEVERITIES {
        table = table
            .number(&format::words(severity), severity, |start| {
                Cell::Count(sums.of_label(SEVERITIES, start, severity))
            })
            .drawn(severity);
    }
    table.chart(Kind::Stacked, Unit::Count, periods.several()).build()
}

/// The table of the yardstick: who finds what, and with how many tokens.
fn reviewers(page: &FindingsPage, agents: &[UsageSum]) -> Table {
    type Row<'a> = (Cell, [u64; 3], Option<&'a UsageSum>);
    let kept = page.judged.iter().filter(|row| row.c == "kept");
    let found = Cross::of(SEVERITIES, kept.map(|row| (row.a.as_str(), row.b.as_str(), row.n)));
    let names = found.rows().map(|(name, _)| name);
    let names: BTreeSet<&str> = names.chain(agents.iter().map(|agent| agent.name.as_str())).collect();
    let mut names: Vec<&str> = names.into_iter().collect();
    // Findings first, the coordinator, who has none, last.
    names.sort_by_key(|name| Reverse(found.get(name).iter().sum::<u64>()));
    let usage = |name: &str| agents.iter().find(|agent| agent.name == name);
    let mut sums = found.sum();
    let counted = [page.counted.critical, page.counted.warning, page.counted.suggestion];
    let mut rest = [0; 3];
    for ((rest, counted), sum) in rest.iter_mut().zip(counted).zip(&mut sums) {
        *rest = counted.saturating_sub(*sum);
        *sum += *rest;
    }
    let used = UsageSum::total(agents);
    let rows = names
        .into_iter()
        .map(|name| (agent(name), found.get(&name), usage(name)));
    let rows = rows.chain((rest != [0; 3]).then(|| (unclassified(), rest, None)));
    let tokens =
        |(.., usage): &Row<'_>, kind: fn(&UsageSum) -> u64| Cell::or_nothing(*usage, |usage| Cell::Tokens(kind(usage)));
    TableOf::new("reviewers", "By reviewer and severity", rows)
        .note("Findings that stand, and tokens. Unclassified: counted by a review and reported by no reviewer.")
        .nothing(NONE_REPORTED)
        .sum((Cell::Nothing, sums, Some(&used)))
        .words("Reviewer", "reviewer", |(name, ..)| name.clone())
        .severities(|(_, counts, _)| *counts)
        .number("Input", "input_tokens", |row| tokens(row, |usage| usage.input))
        .number("Output", "output_tokens", |row| tokens(row, |usage| usage.output))
        .number("Cache read", "cache_read_tokens", |row| {
            tokens(row, |usage| usage.cache_read)
        })
        .number("Cache write", "cache_write_tokens", |row| {
            tokens(row, |usage| usage.cache_write)
        })
        .build()
}

fn judged(fates: &Cross<&str, 3>) -> Table {
    let all = |counts: &[u64; 3]| counts.iter().sum::<u64>();
    TableOf::new("judged", "What the judge does", fates.rows())
        .note("Merged: another report of a finding that stands.")
        .nothing(NONE_REPORTED)
        .half()
        .sum(("", fates.sum()))
        .words("Reviewer", "reviewer", |(name, _)| agent(name))
        .number("Reported", "reported", |(_, counts)| Cell::Count(all(counts)))
        .number("Kept", "kept", |(_, [kept, ..])| Cell::Count(*kept))
        .number("Merged", "merged", |(_, [_, merged, _])| Cell::Count(*merged))
        .number("Dropped", "dropped", |(_, [.., dropped])| Cell::Count(*dropped))
        .number("Kept share", "kept_share", |(_, counts)| share(counts[0], all(counts)))
        .build()
}

fn outcomes(settled: &Cross<&str, 3>) -> Table {
    let all = |counts: &[u64; 3]| counts.iter().sum::<u64>();
    TableOf::new("outcomes", "What becomes of findings", settled.rows())
        .note("Of those that were settled in this period.")
        .nothing("No finding was settled in this period.")
        .half()
        .sum(("", settled.sum()))
        .words("Reviewer", "reviewer", |(name, _)| agent(name))
        .number("Fixed", "fixed", |(_, [fixed, ..])| Cell::Count(*fixed))
        .number("Resolved", "resolved", |(_, [_, resolved, _])| Cell::Count(*resolved))
        .number("Rejected", "rejected", |(_, [.., rejected])| Cell::Count(*rejected))
        .number("Fixed share", "fixed_share", |(_, counts)| {
            share(counts[0], all(counts))
        })
        .number("Rejected share", "rejected_share", |(_, counts)| {
            share(counts[2], all(counts))
        })
        .build()
}

fn hot(page: &FindingsPage) -> Table {
    TableOf::new("hot", "Hot files", &page.hot)
        .note("The most findings that stand, by whole weeks, at most the last 14.")
        .nothing(NONE_REPORTED)
        .words("File", "path", |row| file(&row.path))
        .words("Project", "project", |row| Cell::text(&row.project))
        .severities(|row| [row.critical, row.warning, row.suggestion])
        .build()
}

fn categories(page: &FindingsPage) -> Table {
    TableOf::new("categories", "Categories", &page.categories)
        .nothing(NONE_REPORTED)
        .half()
        .words("Category", "category", |row| Cell::text(&row.category))
        .severities(|row| [row.critical, row.warning, row.suggestion])
        .build()
}

fn reasons(page: &FindingsPage) -> Table {
    TableOf::new("reasons", "Why findings do not stand", &page.reasons)
        .nothing(NONE_DROPPED)
        .half()
        .words("Judged", "fate", |Count { b: fate, .. }| named(fate))
        .words("Reason", "reason", |Count { c: reason, .. }| named(reason))
        .number("Findings", "findings", |row| Cell::Count(row.n))
        .build()
}

fn removed(page: &FindingsPage) -> Table {
    TableOf::new("removed", "What judges removed", &page.removed)
        .note("By the judge. Refuted by: the code that shows it to be wrong.")
        .nothing(NONE_DROPPED)
        .half()
        .words("Severity", "severity", |Count { a: severity, .. }| named(severity))
        .words("Reason", "reason", |Count { b: reason, .. }| named(reason))
        .words("Refuted by", "refutation", |Count { c: refutation, .. }| {
            named(refutation)
        })
        .number("Findings", "findings", |row| Cell::Count(row.n))
        .build()
}

fn placements(page: &FindingsPage) -> Table {
    let all: u64 = page.placements.iter().map(|row| row.n).sum();
    TableOf::new("placements", "Where findings were posted", &page.placements)
        .nothing("Nothing was posted in this period.")
        .half()
        .words("Place", "placement", |Count { a: place, .. }| placement(place))
        .number("Findings", "findings", |row| Cell::Count(row.n))
        .number("Share", "share", |row| share(row.n, all))
        .build()
}

//! `GET /`: how reviews are doing.

use std::collections::HashMap;

use conclave_worker_common::{
    Outcome, frame,
    html::{Html, breakable, html},
    page as answer,
};
use worker::{Env, Request, Response};

use super::{
    cells::{NOTHING_HERE, VERDICTS, count_or_nothing, mark, named, ratio, runs_table, share, unclassified},
    chart::{Kind, Unit},
    cross::Cross,
    figures::{figure, figures},
    filter::{Filter, TIERS},
    format::{self, counted, or_nothing},
    page::{Asked, Content, OVERVIEW, RUNS, finished},
    periods::Periods,
    table::{Cell, Table, TableOf},
};
use crate::{
    events::Count,
    sketch::{self, float},
    store::{self, Bins, OverviewPage, RunSearch, TierSum, merged},
};

/// Runs on the overview. The others are on their own page.
const LATEST: u32 = 10;

/// Title, explanation and what to type, while no review has reported.
const FIRST_STEPS: [(&str, &str, &str); 3] = [
    (
        "Let reviews in",
        "Give this Worker a token that they report with.",
        "npx wrangler secret put INGEST_TOKENS -e review-tracker",
    ),
    (
        "Tell reviews where to report",
        "Set two variables, in CI or in your shell: this page's address and that token.",
        "CONCLAVE_TRACKER_URL\nCONCLAVE_TRACKER_TOKEN",
    ),
    (
        "Review something",
        "Open a merge request, or review a working tree. The review is listed here as soon as it starts.",
        "",
    ),
];

/// Answers with the overview.
pub(crate) async fn page(request: &Request, env: &Env) -> Outcome<Response> {
    let asked = Asked::of(request, env).await?;
    let query = asked.filter.query(asked.now_ms);
    let page = store::overview_page(env, &query).await?;
    if page.tiers.is_empty() && page.count("started") == 0 && store::projects(env).await?.is_empty() {
        let html = asked.document(OVERVIEW.title, OVERVIEW.path, &empty(), false);
        return Ok(answer(200, html)?);
    }
    let latest = store::runs(env, &query, &RunSearch::default(), None, LATEST).await?;
    let periods = Periods::of(&query);
    let all_runs = html! {
        nav.pages aria-label=(RUNS.title) {
            a href=(asked.filter.href(RUNS.path, &[])) rel="next" { "All reviews" }
        }
    };
    let tables = vec![
        reviews(&page, periods),
        quantiles(&page),
        verdicts(&page),
        tiers(&page),
        repositories(&page, &asked.filter),
        causes(&page),
        failed(&page),
        runs_table("Latest reviews", &latest.runs, asked.now_ms)
            .after(all_runs)
            .build(),
    ];
    let lead = lead(&page, periods, query.tier.is_none());
    finished(&asked, env, Content::new(OVERVIEW, lead, tables)).await
}

/// The sums of all tiers.
fn sums(tiers: &[TierSum]) -> TierSum {
    tiers.iter().fold(TierSum::default(), |mut all, tier| {
        all.runs += tier.runs;
        all.duration_ms += tier.duration_ms;
        all.cost_usd += tier.cost_usd;
        all.input += tier.input;
        all.output += tier.output;
        all.cache_read += tier.cache_read;
        all.cache_write += tier.cache_write;
        all.critical += tier.critical;
        all.warning += tier.warning;
        all.suggestion += tier.suggestion;
        all
    })
}

/// The distribution of a metric over all tiers that were read.
fn distribution(page: &OverviewPage, metric: &str) -> Bins {
    let of_metric = page.distributions.iter().filter(|((name, _), _)| name == metric);
    merged(of_metric.map(|(_, bins)| bins))
}

/// Completed runs with a verdict.
fn runs_with(page: &OverviewPage, verdict: &str) -> u64 {
    let days = page.days.iter().filter(|day| day.verdict == verdict);
    days.map(|day| day.runs).sum()
}

fn lead(page: &OverviewPage, periods: Periods, all_tiers: bool) -> Html {
    let all = sums(&page.tiers);
    let durations = distribution(page, "duration_ms");
    let costs = distribution(page, "cost_usd");
    let duration = |share| or_nothing(sketch::quantile(&durations, share), format::estimated_duration);
    let percent = |part, whole| or_nothing(ratio(part, whole), format::percent);
    let mean_cost = |count: u64| or_nothing((count > 0).then(|| all.cost_usd / float(count)), format::money);
    let mean = |part, whole| or_nothing(ratio(part, whole), |mean| format!("{mean:.1}"));
    let inconclusive = runs_with(page, "inconclusive");
    let merge_requests = page.count("merge_request");
    let skipped = page.count("break_glass");
    let (first, again) = (
        page.reviews_of_merge_requests("first"),
        page.reviews_of_merge_requests("again"),
    );
    let failed: u64 = page.failed.iter().map(|row| row.n).sum();
    let of_reviews = |part: u64, whole: u64| format!("{} of {}", format::count(part), counted(whole, "review"));
    let tokens = all.input + all.output + all.cache_read + all.cache_write;
    figures(
        "twelve",
        [
            figure(
                "Reviews",
                format::count(all.runs),
                format!(
                    "{} a day, {} new merge requests",
                    per_day(all.runs, periods.days()),
                    format::count(merge_requests)
                ),
            ),
            figure(
                "Cost",
                format::money(all.cost_usd),
                format!(
                    "{} average, {} median",
                    mean_cost(all.runs),
                    or_nothing(sketch::quantile(&costs, 0.5), format::money)
                ),
            ),
            figure(
                "Median duration",
                duration(0.5),
                format!("90% within {}", duration(0.9)),
            ),
            figure(
                "Cache hit rate",
                percent(all.cache_read, all.cache_read + all.input),
                format!("of {} tokens in all", format::short(tokens)),
            ),
            figure(
                "Findings per review",
                mean(all.findings(), all.runs),
                format!("{} in all", format::count(all.findings())),
            ),
            figure("Cost per finding", mean_cost(all.findings()), "that stands in a review"),
            figure(
                "Inconclusive",
                percent(inconclusive, all.runs),
                counted(inconclusive, "review"),
            ),
            if all_tiers {
                let detail = format!("of merge requests, {} skipped", counted(skipped, "review"));
                figure("Break glass", percent(skipped, merge_requests), detail)
            } else {
                figure("Break glass", format::NOTHING, "skipped reviews have no tier")
            },
            figure(
                "Reviews per merge request",
                mean(first + again, first),
                counted(first + again, "review"),
            ),
            figure(
                "Re-reviews",
                percent(again, first + again),
                of_reviews(again, first + again),
            ),
            figure(
                "Failed reviews",
                percent(failed, all.runs + failed),
                of_reviews(failed, all.runs + failed),
            ),
            figure(
                "Lost reviews",
                format::count(page.lost),
                "no end within their time limit",
            ),
        ],
    )
}

fn per_day(count: u64, days: i64) -> String {
    let rate = ratio(count, u64::try_from(days).unwrap_or(1)).unwrap_or_default();
    if count > 0 && rate < 0.1 {
        "<0.1".to_owned()
    } else if rate < 10.0 {
        format!("{rate:.1}")
    } else {
        format!("{rate:.0}")
    }
}

fn reviews(page: &OverviewPage, periods: Periods) -> Table {
    let days = page.days.iter();
    let sums = Cross::of(
        VERDICTS,
        days.map(|day| (periods.start_of(day.day), day.verdict.as_str(), day.runs)),
    );
    let mut costs: HashMap<i64, f64> = HashMap::new();
    for day in &page.days {
        *costs.entry(periods.start_of(day.day)).or_default() += day.cost_usd;
    }
    let mut table = periods
        .table("reviews", "Reviews by verdict", !sums.is_empty())
        .nothing(NOTHING_HERE)
        .number("Reviews", "reviews", |start| Cell::Count(sums.get(start).iter().sum()));
    for verdict in VERDICTS {
        table = table
            .number(&format::words(verdict), verdict, |start| {
                Cell::Count(sums.of_label(VERDICTS, start, verdict))
            })
            .drawn(verdict);
    }
    table
        .number("Cost", "cost_usd", |start| {
            Cell::Money(costs.get(start).copied().unwrap_or_default())
        })
        .chart(Kind::Stacked, Unit::Count, periods.several())
        .build()
}

/// The quantiles of the yardstick. Averages are exact, quantiles to within 1 %.
fn quantiles(page: &OverviewPage) -> Table {
    type Row = (&'static str, &'static str, Bins, fn(f64) -> Cell, Option<f64>);
    let all = sums(&page.tiers);
    let mean = |sum: f64| (all.runs > 0).then(|| sum / float(all.runs));
    let rows: [Row; 2] = [
        (
            "Cost",
            "cost_usd",
            distribution(page, "cost_usd"),
            Cell::Money,
            mean(all.cost_usd),
        ),
        (
            "Duration",
            "duration_seconds",
            distribution(page, "duration_ms"),
            Cell::Duration,
            mean(all.duration_ms),
        ),
    ];
    let quantile = |(_, _, bins, cell, _): &Row, share| Cell::or_nothing(sketch::quantile(bins, share), cell);
    TableOf::new("quantiles", "A review", rows.into_iter().filter(|_| all.runs > 0))
        .note("Quantiles are right to within 1%.")
        .nothing(NOTHING_HERE)
        .half()
        .words("Of a review", "of", |(name, csv, ..)| Cell::name(*name, *csv))
        .number("Median", "median", |row| quantile(row, 0.5))
        .number("P90", "p90", |row| quantile(row, 0.9))
        .number("P95", "p95", |row| quantile(row, 0.95))
        .number("P99", "p99", |row| quantile(row, 0.99))
        .number("Average", "average", |(.., cell, average)| {
            Cell::or_nothing(*average, cell)
        })
        .build()
}

fn verdicts(page: &OverviewPage) -> Table {
    let all: u64 = page.days.iter().map(|day| day.runs).sum();
    TableOf::new("verdicts", "Verdicts", VERDICTS.into_iter().filter(|_| all > 0))
        .nothing(NOTHING_HERE)
        .half()
        .words("Verdict", "verdict", |verdict| {
            Cell::markup(mark(&format!("v-{verdict}"), None, &format::words(verdict)), *verdict)
        })
        .number("Reviews", "reviews", |verdict| Cell::Count(runs_with(page, verdict)))
        .number("Share", "share", |verdict| share(runs_with(page, verdict), all))
        .build()
}

/// A row a tier, and one for the reviews that began and have not reported an end.
fn tiers(page: &OverviewPage) -> Table {
    let failed: u64 = page.failed.iter().map(|row| row.n).sum();
    let ended = sums(&page.tiers).runs + failed + page.count("run_skipped");
    let open = page.count("started").saturating_sub(ended);
    let known = TIERS
        .iter()
        .filter_map(|name| page.tiers.iter().find(|tier| tier.tier == *name));
    let rows = known.map(Some).chain((open > 0).then_some(None));
    let of = |tier: Option<&TierSum>, cell: fn(&TierSum) -> Cell| Cell::or_nothing(tier, cell);
    let quantile = |tier: Option<&TierSum>, metric: &str, share, cell: fn(f64) -> Cell| {
        let key = tier.map(|tier| (metric.to_owned(), tier.tier.clone()));
        let bins = key.and_then(|key| page.distributions.get(&key));
        Cell::or_nothing(bins.and_then(|bins| sketch::quantile(bins, share)), cell)
    };
    TableOf::new("tiers", "By tier", rows)
        .note("Unclassified: reviews that began and have not reported an end.")
        .nothing(NOTHING_HERE)
        .words("Tier", "tier", |tier| {
            tier.map_or_else(unclassified, |tier| named(&tier.tier))
        })
        .number("Reviews", "reviews", |tier| {
            Cell::Count(tier.map_or(open, |tier| tier.runs))
        })
        .number("Average cost", "cost_usd_average", |tier| {
            of(*tier, |tier| Cell::Money(tier.cost_usd / float(tier.runs.max(1))))
        })
        .number("Median cost", "cost_usd_median", |tier| {
            quantile(*tier, "cost_usd", 0.5, Cell::Money)
        })
        .number("P95 cost", "cost_usd_p95", |tier| {
            quantile(*tier, "cost_usd", 0.95, Cell::Money)
        })
        .number("P99 cost", "cost_usd_p99", |tier| {
            quantile(*tier, "cost_usd", 0.99, Cell::Money)
        })
        .number("Median duration", "duration_seconds_median", |tier| {
            quantile(*tier, "duration_ms", 0.5, Cell::Duration)
        })
        .number("Findings", "findings", |tier| {
            of(*tier, |tier| Cell::Count(tier.findings()))
        })
        .number("No coordinator", "without_coordinator", |tier| {
            of(*tier, |tier| count_or_nothing(tier.degraded))
        })
        .number("With gaps", "with_gaps", |tier| {
            of(*tier, |tier| count_or_nothing(tier.partial))
        })
        .build()
}

/// The repositories with the most reviews.
fn repositories(page: &OverviewPage, filter: &Filter) -> Table {
    TableOf::new("repositories", "Repositories", &page.projects)
        .note("The 50 with the most reviews. A click shows one alone.")
        .nothing(NOTHING_HERE)
        .href(|row| {
            let only = Filter {
                project: Some(row.project.clone()),
                ..filter.clone()
            };
            only.href(OVERVIEW.path, &[])
        })
        .words("Repository", "project", |row| {
            Cell::markup(html! { span.path { (breakable(&row.project)) } }, &row.project)
        })
        .number("Reviews", "reviews", |row| Cell::Count(row.runs))
        .number("Inconclusive", "inconclusive", |row| count_or_nothing(row.inconclusive))
        .number("Failed", "failed", |row| count_or_nothing(row.failed))
        .number("Lost", "lost", |row| count_or_nothing(row.lost))
        .number("Findings", "findings", |row| count_or_nothing(row.findings))
        .number("Critical", "critical", |row| count_or_nothing(row.critical))
        .number("Cost", "cost_usd", |row| Cell::Money(row.cost_usd))
        .number("Average cost", "cost_usd_average", |row| {
            Cell::or_nothing((row.runs > 0).then(|| row.cost_usd / float(row.runs)), Cell::Money)
        })
        .words("Last review", "last_day", |row| Cell::Day(row.last_day))
        .build()
}

/// Inconclusive reviews by cause. What was counted before causes were kept is unknown.
fn causes(page: &OverviewPage) -> Table {
    let all = runs_with(page, "inconclusive");
    let known: u64 = page.causes.iter().map(|row| row.n).sum();
    let unknown = Some(("unknown", all.saturating_sub(known))).filter(|(_, runs)| *runs > 0);
    let counted = page.causes.iter().map(|Count { a: cause, n, .. }| (cause.as_str(), *n));
    TableOf::new("inconclusive", "Inconclusive reviews by cause", counted.chain(unknown))
        .note("Unknown: counted before causes were kept.")
        .nothing("No review was inconclusive in this period.")
        .half()
        .words("Cause", "cause", |(cause, _)| named(cause))
        .number("Reviews", "reviews", |(_, runs)| Cell::Count(*runs))
        .number("Share", "share", |(_, runs)| share(*runs, all.max(known)))
        .build()
}

/// Failed reviews by stage and kind.
fn failed(page: &OverviewPage) -> Table {
    TableOf::new("failed", "Failed reviews by stage", &page.failed)
        .note("Reviews that ended before a verdict was posted.")
        .nothing("No review failed in this period.")
        .half()
        .words("Stage", "stage", |Count { a: stage, .. }| named(stage))
        .words("Reason", "kind", |Count { b: kind, .. }| named(kind))
        .number("Reviews", "reviews", |row| Cell::Count(row.n))
        .build()
}

fn empty() -> Html {
    html! {
        section class="card empty" {
            (frame::logo())
            h1 { "No review has reported here yet" }
            p.lead {
                "Each review reports to this tracker what it cost, how long it took and what it found. It never sends code, prompts or \
                 names of people, and a tracker that is down never holds up a review."
            }
            ol {
                @for (title, detail, code) in FIRST_STEPS {
                    li {
                        h2 { (title) }
                        p { (detail) }
                        @if !code.is_empty() { pre { code { (code) } } }
                    }
                }
            }
        }
    }
}

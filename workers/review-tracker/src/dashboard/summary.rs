//! The figures at the head of a page.

use conclave_worker_common::html::{Html, html};

use super::{
    cells::{as_f64, ratio},
    format,
    periods::Periods,
    texts,
};
use crate::{
    sketch,
    store::{Bins, OverviewPage, TierSum, merged},
};

/// One figure: what it is, its value, and a word about it.
pub(crate) fn figure(name: &str, value: &str, detail: &str) -> Html {
    html!(
        r#"<div class="figure"><dt>{}</dt><dd><strong>{}</strong><span>{}</span></dd></div>"#,
        name,
        value,
        detail,
    )
}

/// Figures side by side.
pub(crate) fn figures(class: &str, figures: impl IntoIterator<Item = Html>) -> Html {
    html!(
        r#"<div role="group" aria-label="{}"><dl class="figures {}">{}</dl></div>"#,
        texts::FIGURES,
        class,
        Html::join(figures),
    )
}

/// The sums of all tiers.
pub(crate) fn sums(tiers: &[TierSum]) -> TierSum {
    tiers.iter().fold(TierSum::default(), |mut all, tier| {
        all.runs += tier.runs;
        all.cost_usd += tier.cost_usd;
        all.input += tier.input;
        all.output += tier.output;
        all.cache_read += tier.cache_read;
        all.cache_write += tier.cache_write;
        all.critical += tier.critical;
        all.warning += tier.warning;
        all.suggestion += tier.suggestion;
        all.degraded += tier.degraded;
        all.partial += tier.partial;
        all
    })
}

/// The distribution of a metric over all tiers that were read.
pub(crate) fn distribution(page: &OverviewPage, metric: &str) -> Bins {
    merged(
        page.distributions
            .iter()
            .filter(|((name, _), _)| name == metric)
            .map(|(_, bins)| bins),
    )
}

/// The figures of the overview.
pub(crate) fn overview(page: &OverviewPage, periods: Periods, all_tiers: bool) -> Html {
    let all = sums(&page.tiers);
    let durations = distribution(page, "duration_ms");
    let costs = distribution(page, "cost_usd");
    let duration = |share| or_nothing(sketch::quantile(&durations, share).map(format::estimated_duration));
    let inconclusive = page
        .days
        .iter()
        .filter(|day| day.verdict == "inconclusive")
        .map(|day| day.runs)
        .sum();
    let merge_requests = page.counts.merge_requests;
    let mean = |count: u64| (count > 0).then(|| all.cost_usd / as_f64(count));
    figures(
        "twelve",
        [
            figure(
                texts::REVIEWS,
                &format::count(all.runs),
                &texts::reviews_of(&per_day(all.runs, periods.days()), &format::count(merge_requests)),
            ),
            figure(
                texts::COST,
                &format::money(all.cost_usd),
                &texts::cost_each(
                    &or_nothing(mean(all.runs).map(format::money)),
                    &or_nothing(sketch::quantile(&costs, 0.5).map(format::money)),
                ),
            ),
            figure(
                texts::MEDIAN_DURATION,
                &duration(0.5),
                &texts::ninety_percent(&duration(0.9)),
            ),
            figure(
                texts::CACHE_HIT_RATE,
                &or_nothing(ratio(all.cache_read, all.cache_read + all.input).map(format::percent)),
                &texts::of_tokens(&format::short(
                    all.input + all.output + all.cache_read + all.cache_write,
                )),
            ),
            figure(
                texts::FINDINGS_A_REVIEW,
                &or_nothing(ratio(all.findings(), all.runs).map(|mean| format!("{mean:.1}"))),
                &texts::findings_in_all(&format::count(all.findings())),
            ),
            figure(
                texts::COST_A_FINDING,
                &or_nothing(mean(all.findings()).map(format::money)),
                texts::COST_A_FINDING_DETAIL,
            ),
            figure(
                texts::INCONCLUSIVE,
                &or_nothing(ratio(inconclusive, all.runs).map(format::percent)),
                &texts::counted(inconclusive, "review"),
            ),
            if all_tiers {
                let share = ratio(page.counts.break_glass, merge_requests);
                figure(
                    texts::BREAK_GLASS,
                    &or_nothing(share.map(format::percent)),
                    &texts::break_glass_detail(page.counts.break_glass),
                )
            } else {
                figure(texts::BREAK_GLASS, format::NOTHING, texts::SKIPPED_HAVE_NO_TIER)
            },
        ]
        .into_iter()
        .chain(ends(page, all.runs)),
    )
}

/// The figures about how reviews end, and how often a merge request is reviewed.
fn ends(page: &OverviewPage, completed: u64) -> [Html; 4] {
    let ends = &page.ends;
    let reviews = ends.first_reviews + ends.re_reviews;
    let failed: u64 = ends.failed.iter().map(|row| row.runs).sum();
    let per_request = ratio(reviews, ends.first_reviews).map(|mean| format!("{mean:.1}"));
    [
        figure(
            texts::REVIEWS_PER_REQUEST,
            &or_nothing(per_request),
            &texts::counted(reviews, "review"),
        ),
        figure(
            texts::RE_REVIEWS,
            &or_nothing(ratio(ends.re_reviews, reviews).map(format::percent)),
            &texts::of_reviews(ends.re_reviews, reviews),
        ),
        figure(
            texts::FAILED_REVIEWS,
            &or_nothing(ratio(failed, completed + failed).map(format::percent)),
            &texts::of_reviews(failed, completed + failed),
        ),
        figure(
            texts::LOST_REVIEWS,
            &format::count(ends.lost),
            texts::LOST_REVIEWS_DETAIL,
        ),
    ]
}

fn or_nothing(text: Option<String>) -> String {
    text.unwrap_or_else(|| format::NOTHING.to_owned())
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

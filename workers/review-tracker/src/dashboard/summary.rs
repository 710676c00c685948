//! The figures at the head of the overview, from sums and distributions.

use conclave_shared::pricing::TokenUsage;
use conclave_worker_common::html::{Html, html};

use super::{format, texts};
use crate::{sketch, store::Overview};

/// The figures of a window.
pub(crate) fn figures(overview: &Overview, days: u16) -> Html {
    let runs: u64 = overview.days.iter().map(|day| day.runs).sum();
    let cost: f64 = overview.days.iter().map(|day| day.cost_usd).sum();
    let findings: u64 = overview.days.iter().map(|day| day.findings).sum();
    let tokens = TokenUsage {
        input: overview.days.iter().map(|day| day.input).sum(),
        cache_read: overview.days.iter().map(|day| day.cache_read).sum(),
        ..TokenUsage::default()
    };
    let duration = |share| sketch::quantile(&overview.durations, share).map(format::estimated_duration);
    let median_cost = sketch::quantile(&overview.costs, 0.5).map(format::money);
    Html::join([
        figure(
            texts::REVIEWS,
            &format::count(runs),
            &texts::reviews_a_day(&per(runs, days)),
        ),
        figure(
            texts::COST,
            &format::money(cost),
            &texts::cost_each(
                &or_nothing(mean(cost, runs).map(format::money)),
                &or_nothing(median_cost),
            ),
        ),
        figure(
            texts::MEDIAN_DURATION,
            &or_nothing(duration(0.5)),
            &texts::ninety_percent(&or_nothing(duration(0.9))),
        ),
        figure(
            texts::CACHE_HIT_RATE,
            &or_nothing(tokens.cache_hit_rate().map(format::percent)),
            texts::CACHE_HIT_RATE_DETAIL,
        ),
        figure(
            texts::FINDINGS_A_REVIEW,
            &or_nothing(mean(as_f64(findings), runs).map(|mean| format!("{mean:.1}"))),
            &texts::findings_in_all(&format::count(findings)),
        ),
    ])
}

fn figure(name: &str, value: &str, detail: &str) -> Html {
    html!(
        r#"<div class="figure"><dt>{}</dt><dd><strong>{}</strong><span>{}</span></dd></div>"#,
        name,
        value,
        detail,
    )
}

fn or_nothing(text: Option<String>) -> String {
    text.unwrap_or_else(|| format::NOTHING.to_owned())
}

fn mean(sum: f64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum / as_f64(count))
}

fn per(count: u64, days: u16) -> String {
    let rate = as_f64(count) / f64::from(days);
    if count > 0 && rate < 0.1 {
        "<0.1".to_owned()
    } else if rate < 10.0 {
        format!("{rate:.1}")
    } else {
        format!("{rate:.0}")
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
const fn as_f64(count: u64) -> f64 {
    count as f64
}

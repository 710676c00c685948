//! Charts as SVG made here: no library, no script, and every length a percentage, so that they fit any width.

use std::collections::HashMap;

use conclave_worker_common::html::{Html, html};

use super::{format, texts};
use crate::store::{DaySum, OverviewQuery, VerdictCount};

/// Verdicts in the order in which they are shown, from good to bad to unknown.
pub(crate) const VERDICTS: [&str; 5] = [
    "approved",
    "approved_with_comments",
    "minor_issues",
    "significant_concerns",
    "inconclusive",
];

/// Share of a day's width that its bar fills.
const BAR: f64 = 0.72;

/// Reviews a day, one bar a day of the window, also for days without any.
#[expect(clippy::cast_precision_loss, reason = "drawn with a precision of a pixel")]
pub(crate) fn days(query: &OverviewQuery, days: &[DaySum]) -> Html {
    let by_day: HashMap<i64, &DaySum> = days.iter().map(|day| (day.day, day)).collect();
    let most = days.iter().map(|day| day.runs).max().unwrap_or(0);
    let top = nice_top(most);
    let width = 100.0 / (query.last_day - query.first_day + 1) as f64;
    let bars = (query.first_day..=query.last_day)
        .enumerate()
        .map(|(position, number)| {
            let day = by_day.get(&number);
            let runs = day.map_or(0, |day| day.runs);
            let height = runs as f64 / top as f64 * 100.0;
            let left = position as f64 * width;
            let label = texts::day_label(
                &format::day(number),
                runs,
                &format::money(day.map_or(0.0, |day| day.cost_usd)),
            );
            html!(
                r#"<g><title>{}</title><rect class="hit" x="{}%" y="0" width="{}%" height="100%"/>
<rect class="bar" x="{}%" y="{}%" width="{}%" height="{}%" rx="2"/></g>"#,
                label,
                fixed(left),
                fixed(width),
                fixed(left + width * (1.0 - BAR) / 2.0),
                fixed(100.0 - height),
                fixed(width * BAR),
                fixed(height),
            )
        });
    let middle = query.first_day + (query.last_day - query.first_day) / 2;
    html!(
        r#"<div class="chart"><div class="scale" aria-hidden="true"><span>{}</span><span>{}</span><span>0</span></div>
<svg class="plot" role="img" aria-label="{}" width="100%" height="100%">
<line x1="0" x2="100%" y1="0.5" y2="0.5"/><line x1="0" x2="100%" y1="50%" y2="50%"/>
{}<line class="base" x1="0" x2="100%" y1="100%" y2="100%"/></svg>
<div class="dates" aria-hidden="true"><span>{}</span><span>{}</span><span>{}</span></div></div>"#,
        format::short(top),
        format::short(top / 2),
        texts::chart_label(&format::day(query.first_day), &format::day(query.last_day), most),
        Html::join(bars),
        format::day(query.first_day),
        format::day(middle),
        format::day(query.last_day),
    )
}

/// Shares of the verdicts: a bar in parts and a list with the same figures.
#[expect(clippy::cast_precision_loss, reason = "drawn with a precision of a pixel")]
pub(crate) fn verdicts(counts: &[VerdictCount]) -> Html {
    let total: u64 = counts.iter().map(|count| count.runs).sum();
    let runs = |verdict: &str| {
        counts
            .iter()
            .find(|count| count.verdict == verdict)
            .map_or(0, |count| count.runs)
    };
    let mut left = 0.0;
    let mut parts = Vec::new();
    let mut items = Vec::new();
    for verdict in VERDICTS {
        let share = runs(verdict) as f64 / total.max(1) as f64;
        parts.push(html!(
            r#"<rect class="v-{}" x="{}%" y="0" width="{}%" height="100%"/>"#,
            verdict,
            fixed(left),
            fixed(share * 100.0),
        ));
        left += share * 100.0;
        items.push(html!(
            r#"<li class="v-{}"><span class="name">{}</span><span class="number">{}</span><span class="share">{}</span></li>"#,
            verdict,
            format::words(verdict),
            format::count(runs(verdict)),
            format::percent(share),
        ));
    }
    html!(
        r#"<svg class="stack" width="100%" height="10" aria-hidden="true" focusable="false">{}</svg><ul class="legend">{}</ul>"#,
        Html::join(parts),
        Html::join(items),
    )
}

/// A bar from one share of the width to another, for the timeline of a run.
pub(crate) fn span(class: &str, from: f64, to: f64, label: &str) -> Html {
    let from = from.clamp(0.0, 1.0) * 100.0;
    let width = (to.clamp(0.0, 1.0) * 100.0 - from).max(0.6);
    html!(
        r#"<svg class="span" role="img" aria-label="{}" width="100%" height="12"><rect class="track" width="100%" height="100%" rx="3"/>
<rect class="o-{}" x="{}%" y="0" width="{}%" height="100%" rx="3"/></svg>"#,
        label,
        class,
        fixed(from.min(99.4)),
        fixed(width),
    )
}

/// The smallest round and even number that is not below the greatest value.
fn nice_top(most: u64) -> u64 {
    let mut unit = 1;
    loop {
        let steps: &[u64] = if unit == 1 {
            &[2, 4, 6, 8, 10]
        } else {
            &[1, 2, 3, 4, 5, 6, 8, 10]
        };
        if let Some(step) = steps.iter().find(|step| *step * unit >= most) {
            return step * unit;
        }
        unit *= 10;
    }
}

fn fixed(value: f64) -> String {
    format!("{value:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_ends_just_above_the_greatest_value_and_halves() {
        for (most, top) in [
            (0, 2),
            (1, 2),
            (3, 4),
            (11, 20),
            (26, 30),
            (98, 100),
            (101, 200),
            (4_374, 5_000),
        ] {
            assert_eq!(nice_top(most), top);
        }
    }

    #[test]
    fn every_day_of_the_window_has_a_bar() {
        let query = OverviewQuery {
            project: None,
            tier: None,
            first_day: 20_000,
            last_day: 20_006,
        };
        let day = DaySum {
            day: 20_003,
            runs: 4,
            ..DaySum::default()
        };
        let html = days(&query, &[day]);
        assert_eq!(html.as_str().matches("class=\"bar\"").count(), 7);
        assert!(html.as_str().contains("height=\"100.000%\""), "{}", html.as_str());
    }

    #[test]
    fn a_bar_stays_inside_whatever_the_clock_says() {
        for (from, to) in [(-3.0, 7.0), (0.999_999, 1.0), (1.0, 1.0), (2.0, 1.0)] {
            let html = span("ok", from, to, "x");
            assert!(!html.as_str().contains("\"-"), "{}", html.as_str());
        }
    }
}

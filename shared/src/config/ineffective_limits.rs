//! Limits that cannot take effect, because another one is shorter.

use std::collections::BTreeMap;

use super::{Limits, ReviewerSettings, TimeLimit, TimeLimitOverrides};
use crate::reviewer::ReviewerName;

/// The reviewer that has twice as long as the others.
const CODE_QUALITY: &str = "code_quality";

/// Pairs of limits of which the first ends inside of the second.
const WITHIN: [(&str, &str); 16] = [
    ("connect_seconds", "headers_seconds"),
    ("headers_seconds", "hold_seconds"),
    ("headers_seconds", "first_sign_seconds"),
    ("headers_seconds", "stall_seconds"),
    ("idle_seconds", "first_sign_seconds"),
    ("idle_seconds", "stall_seconds"),
    ("hold_seconds", "reviewer_seconds"),
    ("hold_seconds", "coordinator_seconds"),
    ("first_sign_seconds", "reviewer_seconds"),
    ("first_sign_seconds", "coordinator_seconds"),
    ("stall_seconds", "reviewer_seconds"),
    ("stall_seconds", "coordinator_seconds"),
    ("reviewer_seconds", "panel_seconds"),
    ("retry_floor_seconds", "panel_seconds"),
    ("panel_seconds", "run_seconds"),
    ("coordinator_seconds", "run_seconds"),
];

/// The limits that are set and cannot take effect, because another one is shorter.
///
/// Defaults are fitted to each other, so one that is longer than another says nothing. A value that is the default counts as set only
/// where `overrides` name it: a document has a value for every limit.
pub fn ineffective(
    limits: &Limits,
    reviewers: &BTreeMap<String, ReviewerSettings>,
    overrides: &[&TimeLimitOverrides],
) -> Vec<String> {
    let set = |name: &str| {
        let limit = TimeLimit::named(name)?;
        let value = limit.of(limits);
        let is_set = value != limit.default() || overrides.iter().any(|over| over.sets(limit.name));
        is_set.then_some(value)
    };
    let mut lines = Vec::new();
    for (inner, outer) in WITHIN {
        if let (Some(value), Some(around)) = (set(inner), TimeLimit::named(outer).map(|limit| limit.of(limits)))
            && value > around
        {
            lines.push(line(inner, value, outer, around));
        }
    }
    let panel = limits.panel_seconds;
    let of_code_quality = reviewers.get(CODE_QUALITY);
    let twice = limits.reviewer(CODE_QUALITY, of_code_quality).as_secs();
    let is_its_own = of_code_quality.is_some_and(|settings| settings.timeout_seconds.is_some());
    if set("reviewer_seconds").is_some_and(|value| value <= panel) && twice > panel && !is_its_own {
        lines.push(format!(
            "twice reviewer_seconds ({twice} s), which {CODE_QUALITY} has, cannot take effect: panel_seconds ({panel} s) is shorter"
        ));
    }
    for (name, settings) in reviewers {
        // The coordinator's limit is `coordinator_seconds`.
        let Some(timeout) = settings.timeout_seconds.filter(|_| name != ReviewerName::COORDINATOR) else {
            continue;
        };
        let own = format!("reviewers.{name}.timeout_seconds");
        if timeout > panel {
            lines.push(line(&own, timeout, "panel_seconds", panel));
        }
        let inside = WITHIN.into_iter().filter(|(_, outer)| *outer == "reviewer_seconds");
        for (inner, _) in inside {
            if let Some(value) = set(inner).filter(|value| *value > timeout) {
                lines.push(line(&format!("{inner} of {name}"), value, &own, timeout));
            }
        }
    }
    lines
}

fn line(inner: &str, value: u64, outer: &str, around: u64) -> String {
    format!("the limit {inner} ({value} s) cannot take effect: {outer} ({around} s) is shorter")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::limits::faults;

    /// The lines for limits that a job has set.
    fn said(overrides: &str, reviewers: &str) -> Vec<String> {
        let overrides: TimeLimitOverrides = overrides.parse().expect("valid");
        let mut limits = Limits::default();
        overrides.lay_over(&mut limits);
        let reviewers: BTreeMap<String, ReviewerSettings> = serde_json::from_str(reviewers).expect("valid");
        ineffective(&limits, &reviewers, &[&overrides])
    }

    #[test]
    fn every_default_is_in_its_range_and_fits_the_others() {
        assert_eq!(faults(&Limits::default()), []);
        assert_eq!(ineffective(&Limits::default(), &BTreeMap::new(), &[]), [""; 0]);
        for (inner, outer) in WITHIN {
            assert!(
                TimeLimit::named(inner).is_some() && TimeLimit::named(outer).is_some(),
                "{inner} {outer}"
            );
        }
    }

    #[test]
    fn a_limit_that_another_one_cuts_short_is_named() {
        for (overrides, reviewers, expected) in [
            (
                "headers=300,first_sign=300,hold=300",
                "{}",
                "the limit headers_seconds (300 s) cannot take effect: stall_seconds (180 s) is shorter",
            ),
            (
                "stall=700,reviewer=700",
                "{}",
                "the limit stall_seconds (700 s) cannot take effect: coordinator_seconds (600 s) is shorter",
            ),
            (
                "first_sign=700,reviewer=700",
                "{}",
                "the limit first_sign_seconds (700 s) cannot take effect: coordinator_seconds (600 s) is shorter",
            ),
            (
                "reviewer=1000",
                "{}",
                "twice reviewer_seconds (2000 s), which code_quality has, cannot take effect: panel_seconds (1500 s) is shorter",
            ),
            (
                "stall=200",
                r#"{"security":{"timeout_seconds":120}}"#,
                "the limit stall_seconds of security (200 s) cannot take effect: reviewers.security.timeout_seconds (120 s) is shorter",
            ),
            (
                "tool_calls=9",
                r#"{"security":{"timeout_seconds":1600}}"#,
                "the limit reviewers.security.timeout_seconds (1600 s) cannot take effect: panel_seconds (1500 s) is shorter",
            ),
            (
                "run=1200,panel=1500",
                "{}",
                "the limit panel_seconds (1500 s) cannot take effect: run_seconds (1200 s) is shorter",
            ),
        ] {
            assert_eq!(said(overrides, reviewers), [expected], "{overrides} {reviewers}");
        }
    }

    #[test]
    fn nothing_is_said_of_limits_that_fit_and_of_those_that_nobody_set() {
        for (overrides, reviewers) in [
            (
                "headers=700,hold=700,first_sign=700,stall=700,reviewer=700,coordinator=700",
                "{}",
            ),
            ("reviewer=1000", r#"{"code_quality":{"timeout_seconds":1200}}"#),
            ("tool_calls=9", r#"{"security":{"timeout_seconds":60}}"#),
            ("tool_calls=9", r#"{"coordinator":{"timeout_seconds":9000}}"#),
            ("run=1200", "{}"),
        ] {
            assert_eq!(said(overrides, reviewers), [""; 0], "{overrides} {reviewers}");
        }
    }
}

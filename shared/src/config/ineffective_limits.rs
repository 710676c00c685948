//! Limits that cannot take effect, because another one is shorter.

use std::collections::BTreeMap;

use super::{Limits, ReviewerSettings, TimeLimit};

/// Pairs of limits of which the first ends inside of the second.
const WITHIN: [(&str, &str); 14] = [
    ("connect_seconds", "headers_seconds"),
    ("headers_seconds", "hold_seconds"),
    ("headers_seconds", "first_sign_seconds"),
    ("headers_seconds", "stall_seconds"),
    ("idle_seconds", "first_sign_seconds"),
    ("idle_seconds", "stall_seconds"),
    ("hold_seconds", "reviewer_seconds"),
    ("hold_seconds", "coordinator_seconds"),
    ("first_sign_seconds", "reviewer_seconds"),
    ("stall_seconds", "reviewer_seconds"),
    ("reviewer_seconds", "panel_seconds"),
    ("retry_floor_seconds", "panel_seconds"),
    ("panel_seconds", "run_seconds"),
    ("coordinator_seconds", "run_seconds"),
];

/// The limits that are set and cannot take effect, because another one is shorter. Defaults are fitted to each other, so one
/// that is longer than another says nothing.
pub fn ineffective(limits: &Limits, reviewers: &BTreeMap<String, ReviewerSettings>) -> Vec<String> {
    let value = |name: &str| TimeLimit::named(name).map(|limit| (limit.of(limits), limit.default()));
    let mut lines = Vec::new();
    for (inner, outer) in WITHIN {
        if let (Some((seconds, default)), Some((around, _))) = (value(inner), value(outer))
            && seconds != default
            && seconds > around
        {
            lines.push(format!(
                "the limit {inner} ({seconds} s) cannot take effect: {outer} ({around} s) is shorter"
            ));
        }
    }
    for (name, settings) in reviewers {
        if let Some(seconds) = settings
            .timeout_seconds
            .filter(|seconds| *seconds > limits.panel_seconds)
        {
            lines.push(format!(
                "the limit reviewers.{name}.timeout_seconds ({seconds} s) cannot take effect: panel_seconds ({} s) is shorter",
                limits.panel_seconds
            ));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{TimeLimitOverrides, limits::faults};

    #[test]
    fn every_default_is_in_its_range_and_fits_the_others() {
        assert_eq!(faults(&Limits::default()), []);
        assert_eq!(ineffective(&Limits::default(), &BTreeMap::new()), [""; 0]);
        for (inner, outer) in WITHIN {
            assert!(
                TimeLimit::named(inner).is_some() && TimeLimit::named(outer).is_some(),
                "{inner} {outer}"
            );
        }
    }

    #[test]
    fn a_limit_that_another_one_cuts_short_is_named() {
        let mut limits = Limits::default();
        let overrides: TimeLimitOverrides = "headers=900,hold=1000".parse().expect("valid");
        overrides.lay_over(&mut limits);
        let said = ineffective(&limits, &BTreeMap::new());
        assert!(
            said.contains(
                &"the limit headers_seconds (900 s) cannot take effect: stall_seconds (180 s) is shorter".to_owned()
            ),
            "{said:?}"
        );
        let whole: TimeLimitOverrides = "first_sign=900,stall=900,reviewer=1000,coordinator=1000"
            .parse()
            .expect("valid");
        whole.lay_over(&mut limits);
        assert_eq!(ineffective(&limits, &BTreeMap::new()), [""; 0]);
    }
}

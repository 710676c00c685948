//! The same data divided in many ways, always by whole groups: what one division says may be its luck.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// In how many ways the groups are halved.
const HALVES: usize = 200;

/// A part of the data to tune on, and the other part.
pub(crate) struct Split<'a, T> {
    pub(crate) tune: Vec<&'a T>,
    pub(crate) rest: Vec<&'a T>,
}

/// Each group once as the rest.
pub(crate) fn leaving_one_out<T>(all: &[T], group: impl Fn(&T) -> &str) -> Vec<Split<'_, T>> {
    let groups: BTreeSet<&str> = all.iter().map(&group).collect();
    let groups = groups.into_iter();
    groups.map(|name| split(all, |one| group(one) != name)).collect()
}

/// The groups in halves, in many ways, which are the same in every run.
pub(crate) fn halves<T>(all: &[T], group: impl Fn(&T) -> &str) -> Vec<Split<'_, T>> {
    let groups: BTreeSet<&str> = all.iter().map(&group).collect();
    let mut groups: Vec<&str> = groups.into_iter().collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap_or(0) % below
    };
    (0..HALVES)
        .map(|_| {
            for last in (1..groups.len()).rev() {
                groups.swap(last, random(last + 1));
            }
            let tune: BTreeSet<&str> = groups[..groups.len() / 2].iter().copied().collect();
            split(all, |one| tune.contains(group(one)))
        })
        .collect()
}

fn split<T>(all: &[T], is_tuned: impl Fn(&T) -> bool) -> Split<'_, T> {
    let (tune, rest) = all.iter().partition(|one| is_tuned(one));
    Split { tune, rest }
}

/// Mean, and the worst, of what was measured on the rests; `worst` says which of two is worse.
#[expect(clippy::cast_precision_loss, reason = "a count of splits")]
pub(crate) fn summary(values: &[f64], worst: fn(f64, f64) -> f64) -> Value {
    let round = |value: f64| (value * 10.0).round() / 10.0;
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    json!({"mean": round(mean), "worst": values.iter().copied().reduce(worst).map(round)})
}

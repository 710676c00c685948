//! What the specification says of spans.

use std::{
    collections::HashMap,
    time::{SystemTime, UNIX_EPOCH},
};

use crate::CollectedSpan;

/// A day, in nanoseconds: no clock of a test is further off.
const DAY: u64 = 86_400_000_000_000;

/// What can be said of one span.
pub(crate) fn alone(span: &CollectedSpan) -> Result<(), String> {
    let id = |text: &str, digits: usize| text.len() == digits && text.contains(|digit| digit != '0');
    if !id(&span.trace_id, 32) {
        return Err(format!("{}: the trace id {:?} is none", span.name, span.trace_id));
    }
    if !id(&span.span_id, 16) {
        return Err(format!("{}: the span id {:?} is none", span.name, span.span_id));
    }
    if !span.parent_span_id.is_empty() && !id(&span.parent_span_id, 16) {
        return Err(format!(
            "{}: the parent id {:?} is none",
            span.name, span.parent_span_id
        ));
    }
    if span.name.trim().is_empty() || !(1..=5).contains(&span.kind) || !(0..=2).contains(&span.status) {
        return Err(format!("{span:?}: name, kind or status is none"));
    }
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos();
    let now = u64::try_from(now).unwrap_or(u64::MAX);
    if span.end < span.start || span.start.abs_diff(now) > DAY || span.end.abs_diff(now) > DAY {
        return Err(format!(
            "{}: the times {} and {} cannot be",
            span.name, span.start, span.end
        ));
    }
    Ok(())
}

/// What can be said only of all spans together.
pub(crate) fn whole(spans: &[CollectedSpan]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut known: HashMap<(&str, &str), &CollectedSpan> = HashMap::new();
    for span in spans {
        if known.insert((&span.trace_id, &span.span_id), span).is_some() {
            problems.push(format!("{}: the span id {} came twice", span.name, span.span_id));
        }
    }
    for span in spans.iter().filter(|span| !span.parent_span_id.is_empty()) {
        match known.get(&(span.trace_id.as_str(), span.parent_span_id.as_str())) {
            None if span.parent_is_remote => {}
            None => problems.push(format!("{}: its parent {} never came", span.name, span.parent_span_id)),
            Some(parent) if parent.start > span.start => {
                problems.push(format!("{} began before its parent {}", span.name, parent.name));
            }
            Some(_) => {}
        }
    }
    problems
}

//! What a document that changed during a run means for it, in lines for the review's account.

use std::{collections::BTreeMap, fmt::Write};

use super::{ConfigDocument, ModelTier, TIME_LIMITS};
use crate::model::ModelId;

/// Limits that count once, before or at the start of a run.
const AT_THE_START: [&str; 4] = ["connect_seconds", "start_seconds", "forge_seconds", "fetch_seconds"];

/// The differences between two documents in force, each as one line. Switches of providers are not among them: whoever acts on
/// them reports them.
pub fn changes(before: &ConfigDocument, after: &ConfigDocument) -> Vec<String> {
    let mut lines = Vec::new();
    models(&mut lines, before, after);
    limits(&mut lines, before, after);
    for model in differing(&before.prices, &after.prices) {
        lines.push(format!("the price of {model} has changed"));
    }
    later(&mut lines, before, after);
    lines
}

fn models(lines: &mut Vec<String>, before: &ConfigDocument, after: &ConfigDocument) {
    for tier in ModelTier::ALL {
        if before.models.of(tier) != after.models.of(tier) {
            lines.push(format!(
                "the {} models are {} now",
                tier.as_str(),
                list(after.models.of(tier))
            ));
        }
    }
    for name in differing(&before.reviewers, &after.reviewers) {
        let of = |document: &ConfigDocument| document.reviewers.get(name).cloned().unwrap_or_default();
        let (earlier, now) = (of(before), of(after));
        if earlier.models != now.models {
            lines.push(format!("the models of {name} are {} now", list(&now.models)));
        }
        if earlier.timeout_seconds != now.timeout_seconds {
            let seconds = now
                .timeout_seconds
                .map_or_else(|| "that of all".to_owned(), |seconds| format!("{seconds} s"));
            lines.push(format!("the time limit of {name} is {seconds} now"));
        }
        if earlier.enabled != now.enabled {
            let on = if now.enabled == Some(false) { "off" } else { "on" };
            lines.push(format!("{name} is switched {on} from the next review on"));
        }
    }
    for model in differing(&before.failback, &after.failback) {
        lines.push(match after.failback.get(model) {
            Some(Some(next)) => format!("the fallback model of {model} is {next} now"),
            Some(None) => format!("{model} has no fallback model now"),
            None => format!("the fallback model of {model} is the built-in one now"),
        });
    }
}

fn limits(lines: &mut Vec<String>, before: &ConfigDocument, after: &ConfigDocument) {
    let (earlier, now) = (&before.limits, &after.limits);
    let mut line = |name: &str, was: String, is: String| {
        if was != is {
            let when = if AT_THE_START.contains(&name) {
                "from the next review on"
            } else {
                "now"
            };
            lines.push(format!("the limit {name} is {is} {when}, it was {was}"));
        }
    };
    for limit in TIME_LIMITS {
        let seconds = |limits| format!("{} s", limit.of(limits));
        line(limit.name, seconds(earlier), seconds(now));
    }
    line("sessions", earlier.sessions.to_string(), now.sessions.to_string());
    line("tool_calls", earlier.tool_calls.to_string(), now.tool_calls.to_string());
    let (was, is) = (earlier.breaker, now.breaker);
    line("breaker.failures", was.failures.to_string(), is.failures.to_string());
    line("breaker.window", was.window.to_string(), is.window.to_string());
    line(
        "breaker.failure_percent",
        was.failure_percent.to_string(),
        is.failure_percent.to_string(),
    );
    line(
        "breaker.open_seconds",
        was.open_seconds.to_string(),
        is.open_seconds.to_string(),
    );
    let (was, is) = (earlier.budget, now.budget);
    line("budget.run_usd", amount(was.run_usd), amount(is.run_usd));
    line("budget.run_tokens", amount(was.run_tokens), amount(is.run_tokens));
    line("budget.run_calls", amount(was.run_calls), amount(is.run_calls));
    line(
        "budget.merge_request_usd",
        amount(was.merge_request_usd),
        amount(is.merge_request_usd),
    );
}

/// What decides the panel, which is not decided again.
fn later(lines: &mut Vec<String>, before: &ConfigDocument, after: &ConfigDocument) {
    let panel = [
        ("the risk rules have", before.risk != after.risk),
        ("the panels have", before.panels != after.panels),
    ];
    for (what, _) in panel.iter().filter(|(_, changed)| *changed) {
        lines.push(format!("{what} changed, from the next review on"));
    }
}

/// The keys whose values differ, in order.
fn differing<'d, V: PartialEq>(before: &'d BTreeMap<String, V>, after: &'d BTreeMap<String, V>) -> Vec<&'d str> {
    let gone = before.keys().filter(|key| !after.contains_key(*key));
    let changed = after.iter().filter(|(key, value)| before.get(*key) != Some(*value));
    let mut keys: Vec<&str> = gone.chain(changed.map(|(key, _)| key)).map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

fn list(models: &[ModelId]) -> String {
    let mut text = String::new();
    for (index, model) in models.iter().enumerate() {
        let _ = write!(text, "{}{model}", if index > 0 { ", " } else { "" });
    }
    if text.is_empty() {
        text.push_str("the built-in ones");
    }
    text
}

fn amount<N: ToString>(limit: Option<N>) -> String {
    limit.map_or_else(|| "without limit".to_owned(), |limit| limit.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> ConfigDocument {
        serde_json::from_str(text).expect("valid")
    }

    #[test]
    fn each_change_is_a_line_and_what_counts_later_says_so() {
        let before = document(r#"{"schema_version":1,"failback":{"a/one":"a/two"}}"#);
        let after = document(
            r#"{"schema_version":1,"revision":4,"models":{"standard":["b/new"]},
                "reviewers":{"security":{"models":["b/new","a/one"],"timeout_seconds":60,"enabled":false}},
                "failback":{"b/new":null},"prices":{"b/new":{"as_of":"2026-11-01","input":1,"output":2}},
                "limits":{"sessions":2,"idle_seconds":600,"start_seconds":90,"budget":{"run_usd":2.5}},
                "panels":{"lite":["security"]},"providers":{"a":{"enabled":false}}}"#,
        );
        assert_eq!(
            changes(&before, &after),
            [
                "the standard models are b/new now",
                "the models of security are b/new, a/one now",
                "the time limit of security is 60 s now",
                "security is switched off from the next review on",
                "the fallback model of a/one is the built-in one now",
                "b/new has no fallback model now",
                "the limit idle_seconds is 600 s now, it was 75 s",
                "the limit start_seconds is 90 s from the next review on, it was 60 s",
                "the limit sessions is 2 now, it was 7",
                "the limit budget.run_usd is 2.5 now, it was without limit",
                "the price of b/new has changed",
                "the panels have changed, from the next review on",
            ]
        );
        assert_eq!(changes(&after, &after), [""; 0]);
    }
}

//! What a document that changed during a run means for it, in lines for the review's account.

use std::collections::BTreeMap;

use super::{ConfigDocument, Limits, ModelTier, TIME_LIMITS};
use crate::model::ModelId;

/// Limits that count once, before or at the start of a run.
const AT_THE_START: [&str; 3] = ["connect_seconds", "start_seconds", "forge_seconds"];
/// The limit that the document cannot set, because it counts before the document is read.
const NEVER: &str = "fetch_seconds";

/// The differences between two documents in force, each as one line. Switches of providers are not among them: whoever acts on
/// them reports them.
pub fn changes(before: &ConfigDocument, after: &ConfigDocument) -> Vec<String> {
    let mut lines = Vec::new();
    models(&mut lines, before, after);
    efforts(&mut lines, before, after);
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

fn efforts(lines: &mut Vec<String>, before: &ConfigDocument, after: &ConfigDocument) {
    if before.effort != after.effort {
        let now = if after.effort.is_empty() {
            "the built-in ones".to_owned()
        } else {
            after.effort.to_string()
        };
        lines.push(format!("the efforts of sessions and models that begin now are {now}"));
    }
    for name in differing(&before.reviewers, &after.reviewers) {
        let of = |document: &ConfigDocument| document.reviewers.get(name).and_then(|settings| settings.effort);
        if of(before) != of(after) {
            let now = of(after).map_or_else(|| "that of its class".to_owned(), |effort| effort.to_string());
            lines.push(format!(
                "the effort of {name} is {now} from its next session or model on"
            ));
        }
    }
    for model in differing(&before.capabilities, &after.capabilities) {
        lines.push(format!("what {model} takes has changed"));
    }
}

/// A limit's value in words.
type Shown = fn(&Limits) -> String;

/// The limits that are not times.
const COUNTS: [(&str, Shown); 10] = [
    ("sessions", |limits| limits.sessions.to_string()),
    ("tool_calls", |limits| limits.tool_calls.to_string()),
    ("breaker.failures", |limits| limits.breaker.failures.to_string()),
    ("breaker.window", |limits| limits.breaker.window.to_string()),
    ("breaker.failure_percent", |limits| {
        limits.breaker.failure_percent.to_string()
    }),
    ("breaker.open_seconds", |limits| limits.breaker.open_seconds.to_string()),
    ("budget.run_usd", |limits| amount(limits.budget.run_usd)),
    ("budget.run_tokens", |limits| amount(limits.budget.run_tokens)),
    ("budget.run_calls", |limits| amount(limits.budget.run_calls)),
    ("budget.merge_request_usd", |limits| {
        amount(limits.budget.merge_request_usd)
    }),
];

fn limits(lines: &mut Vec<String>, before: &ConfigDocument, after: &ConfigDocument) {
    let mut line = |name: &str, shown: &dyn Fn(&Limits) -> String| {
        let (was, is) = (shown(&before.limits), shown(&after.limits));
        if was != is {
            let when = if name == NEVER {
                "without effect (it counts in --limits only)"
            } else if AT_THE_START.contains(&name) {
                "from the next review on"
            } else {
                "now"
            };
            lines.push(format!("the limit {name} is {is} {when}, it was {was}"));
        }
    };
    for limit in TIME_LIMITS {
        line(limit.name, &|limits| format!("{} s", limit.of(limits)));
    }
    for (name, shown) in COUNTS {
        line(name, &shown);
    }
}

/// The parts that decide the panel, which is not decided again.
fn later(lines: &mut Vec<String>, before: &ConfigDocument, after: &ConfigDocument) {
    for (what, changed) in [
        ("the risk rules have", before.risk != after.risk),
        ("the panels have", before.panels != after.panels),
    ] {
        if changed {
            lines.push(format!("{what} changed, from the next review on"));
        }
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
    if models.is_empty() {
        return "the built-in ones".to_owned();
    }
    let names: Vec<&str> = models.iter().map(ModelId::as_str).collect();
    names.join(", ")
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
                "limits":{"sessions":2,"idle_seconds":600,"start_seconds":90,"fetch_seconds":90,"budget":{"run_usd":2.5}},
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
                "the limit fetch_seconds is 90 s without effect (it counts in --limits only), it was 300 s",
                "the limit sessions is 2 now, it was 7",
                "the limit budget.run_usd is 2.5 now, it was without limit",
                "the price of b/new has changed",
                "the panels have changed, from the next review on",
            ]
        );
        assert_eq!(changes(&after, &after), [""; 0]);
    }
}

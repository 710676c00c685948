//! When a model is left alone, and what a run may use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ConfigFault;

/// When a model is left alone, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BreakerLimits {
    /// After this many failures in a row.
    pub failures: u32,
    /// How many of the last calls are looked at.
    pub window: u32,
    /// Also if this share of them has failed, in percent.
    pub failure_percent: u32,
    /// How long, in seconds; then one call tries it.
    pub open_seconds: u64,
}

impl Default for BreakerLimits {
    fn default() -> Self {
        Self {
            failures: 5,
            window: 20,
            failure_percent: 50,
            open_seconds: 120,
        }
    }
}

impl BreakerLimits {
    /// What is wrong with them.
    pub(super) fn faults(&self) -> Vec<ConfigFault> {
        let between = |name: &str, value: u64, least: u64, most: u64| {
            (!(least..=most).contains(&value)).then(|| ConfigFault {
                pointer: format!("/limits/breaker/{name}"),
                detail: format!("is {value}; it must be between {least} and {most}"),
            })
        };
        [
            between("failures", self.failures.into(), 1, 1000),
            between("window", self.window.into(), 1, 1000),
            between("failure_percent", self.failure_percent.into(), 1, 100),
            between("open_seconds", self.open_seconds, 1, 3600),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// What a run, and all runs of its merge request, may use. What is left out has no limit.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BudgetLimits {
    /// The price of the run, in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_usd: Option<f64>,
    /// The tokens of the run, of all kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_tokens: Option<u64>,
    /// The model calls of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_calls: Option<u64>,
    /// The price of all runs of the merge request together, in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge_request_usd: Option<f64>,
}

impl BudgetLimits {
    /// Lays other limits over these: what they leave out stays.
    pub(super) fn amend(&mut self, over: Self) {
        self.run_usd = over.run_usd.or(self.run_usd);
        self.run_tokens = over.run_tokens.or(self.run_tokens);
        self.run_calls = over.run_calls.or(self.run_calls);
        self.merge_request_usd = over.merge_request_usd.or(self.merge_request_usd);
    }

    /// What is wrong with them.
    pub(super) fn faults(&self) -> Vec<ConfigFault> {
        let fault = |name: &str| ConfigFault {
            pointer: format!("/limits/budget/{name}"),
            detail: "must be greater than 0; leave it out for no limit".to_owned(),
        };
        let amounts = [("run_usd", self.run_usd), ("merge_request_usd", self.merge_request_usd)];
        let counts = [("run_tokens", self.run_tokens), ("run_calls", self.run_calls)];
        let bad_amount = |amount: f64| !amount.is_finite() || amount <= 0.0;
        let amounts = amounts.iter().filter(|(_, amount)| amount.is_some_and(bad_amount));
        let counts = counts.iter().filter(|(_, count)| *count == Some(0));
        amounts
            .map(|(name, _)| fault(name))
            .chain(counts.map(|(name, _)| fault(name)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{ConfigDocument, validate};

    fn pointers(limits: &str) -> Vec<String> {
        let text = format!(r#"{{"schema_version":1,"limits":{limits}}}"#);
        let document: ConfigDocument = serde_json::from_str(&text).expect("readable");
        validate(&document).into_iter().map(|fault| fault.pointer).collect()
    }

    #[test]
    fn what_is_left_out_keeps_its_default_or_has_no_limit() {
        let text = r#"{"schema_version":1,"limits":{"breaker":{"failures":3},"budget":{"run_usd":1.5}}}"#;
        let document: ConfigDocument = serde_json::from_str(text).expect("valid");
        let limits = &document.limits;
        assert_eq!((limits.breaker.failures, limits.breaker.open_seconds), (3, 120));
        assert_eq!((limits.budget.run_usd, limits.budget.run_calls), (Some(1.5), None));
        assert_eq!(limits.tool_calls, 200);
        assert!(validate(&document).is_empty());
        let again = serde_json::to_string(&document).expect("JSON");
        assert_eq!(serde_json::from_str::<ConfigDocument>(&again).expect("valid"), document);
    }

    #[test]
    fn every_fault_is_named_with_its_place() {
        let breaker = r#"{"breaker":{"failures":0,"window":1001,"failure_percent":101,"open_seconds":0}}"#;
        assert_eq!(
            pointers(breaker),
            ["failures", "window", "failure_percent", "open_seconds"].map(|name| format!("/limits/breaker/{name}"))
        );
        let budget = r#"{"budget":{"run_usd":0,"run_tokens":0,"run_calls":0,"merge_request_usd":-1}}"#;
        assert_eq!(
            pointers(budget),
            ["run_usd", "merge_request_usd", "run_tokens", "run_calls"].map(|name| format!("/limits/budget/{name}"))
        );
        assert_eq!(pointers(r#"{"tool_calls":0}"#), ["/limits/tool_calls"]);
    }
}

//! The limits of a review: names, defaults, ranges, and how some are laid over others.
//!
//! This is the only place where time limits stand. The document, `.conclave.toml` and `--limits` call them by these names, the
//! documentation's table is made of them, and every wait of a run that can be long takes its limit from here.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BreakerLimits, BudgetLimits, ConfigFault};
use crate::nearest::nearest;

/// One day: no run is longer.
const DAY: u64 = 86_400;
/// One hour: no request is longer.
const HOUR: u64 = 3600;
/// The name of the one limit of a job that is not a time.
const TOOL_CALLS: &str = "tool_calls";

/// A time limit that can be set.
#[derive(Debug, Clone, Copy)]
pub struct TimeLimit {
    /// Its name, in seconds.
    pub name: &'static str,
    /// Minimum.
    pub min: u64,
    /// Maximum.
    pub max: u64,
    doc: &'static str,
    get: fn(&Limits) -> u64,
}

impl TimeLimit {
    /// What it limits.
    pub const fn describe(&self) -> &'static str {
        self.doc.trim_ascii()
    }

    /// Its value.
    pub fn of(&self, limits: &Limits) -> u64 {
        (self.get)(limits)
    }

    /// Its value where nobody sets it.
    pub fn default(&self) -> u64 {
        self.of(&Limits::default())
    }

    /// The limit of this name; `_seconds` may be left out.
    pub fn named(name: &str) -> Option<&'static Self> {
        TIME_LIMITS
            .iter()
            .find(|limit| limit.name == name || limit.name.strip_suffix("_seconds") == Some(name))
    }

    fn fault(&self, seconds: u64) -> Option<String> {
        let Self { min, max, .. } = self;
        (!(*min..=*max).contains(&seconds)).then(|| format!("is {seconds}; it must be between {min} and {max} seconds"))
    }
}

macro_rules! time_limits {
    ($($(#[doc = $doc:literal])+ $name:ident: $min:expr, $max:expr, $default:expr;)+) => {
        /// All time limits.
        pub const TIME_LIMITS: &[TimeLimit] = &[$(TimeLimit {
            name: stringify!($name),
            min: $min,
            max: $max,
            doc: concat!($($doc),+),
            get: |limits| limits.$name,
        }),+];

        /// Limits of a project or of a job, times in seconds; what is left out stays.
        #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(default)]
        #[schemars(deny_unknown_fields)]
        pub struct TimeLimitOverrides {
            $(
                $(#[doc = $doc])+
                #[serde(skip_serializing_if = "Option::is_none")]
                #[schemars(range(min = $min, max = $max))]
                pub $name: Option<u64>,
            )+
            /// Maximum number of tool calls of one session; more where it has many patches to read.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schemars(range(min = 1))]
            pub tool_calls: Option<u32>,
        }

        impl TimeLimitOverrides {
            /// The names of all.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name),)+ TOOL_CALLS];

            /// Sets one; `false` if there is none of this name.
            pub fn set(&mut self, name: &str, seconds: u64) -> bool {
                match name {
                    $(stringify!($name) => self.$name = Some(seconds),)+
                    _ => return false,
                }
                true
            }

            /// Returns whether the time of this name is among these.
            pub(super) fn sets(&self, name: &str) -> bool {
                match name {
                    $(stringify!($name) => self.$name.is_some(),)+
                    _ => false,
                }
            }

            /// Lays these over limits.
            pub fn lay_over(&self, limits: &mut Limits) {
                $(limits.$name = self.$name.unwrap_or(limits.$name);)+
                limits.tool_calls = self.tool_calls.unwrap_or(limits.tool_calls);
            }
        }

        /// Time and size limits of a run; all times in seconds. What is left out keeps its default.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default)]
        pub struct Limits {
            $(
                $(#[doc = $doc])+
                pub $name: u64,
            )+
            /// Maximum number of reviewers at once; the coordinator comes on top.
            pub sessions: u32,
            /// Maximum number of tool calls of one session; more where it has many patches to read.
            pub tool_calls: u32,
            /// When calls to a failing model stop, and for how long.
            pub breaker: BreakerLimits,
            /// What a run, and all runs of its merge request, may use.
            pub budget: BudgetLimits,
        }

        impl Default for Limits {
            fn default() -> Self {
                Self {
                    $($name: $default,)+
                    sessions: 7,
                    tool_calls: 200,
                    breaker: BreakerLimits::default(),
                    budget: BudgetLimits::default(),
                }
            }
        }

        /// Limits of some projects; what is left out stays as it is.
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(default)]
        pub struct LimitOverrides {
            $(
                $(#[doc = $doc])+
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $name: Option<u64>,
            )+
            /// Maximum number of reviewers at once.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub sessions: Option<u32>,
            /// Maximum number of tool calls of one session; more where it has many patches to read.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub tool_calls: Option<u32>,
            /// When calls to a failing model stop; the four numbers belong together.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub breaker: Option<BreakerLimits>,
            /// What a run may use.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub budget: Option<BudgetLimits>,
        }

        impl LimitOverrides {
            /// Returns whether nothing is overridden.
            pub fn is_empty(&self) -> bool {
                *self == Self::default()
            }

            /// Lays these over limits.
            pub(super) fn lay_over(&self, limits: &mut Limits) {
                $(limits.$name = self.$name.unwrap_or(limits.$name);)+
                limits.sessions = self.sessions.unwrap_or(limits.sessions);
                limits.tool_calls = self.tool_calls.unwrap_or(limits.tool_calls);
                limits.breaker = self.breaker.unwrap_or(limits.breaker);
                limits.budget.amend(self.budget.unwrap_or_default());
            }
        }
    };
}

time_limits! {
    /// One reviewer's attempt (`code_quality` has twice as long).
    reviewer_seconds: 1, DAY, 300;
    /// All reviewers together; then every session is aborted.
    panel_seconds: 1, DAY, 1500;
    /// The coordinator's own time after the reviewers are done.
    coordinator_seconds: 1, DAY, 600;
    /// A session that showed no sign of life since it was prompted.
    first_sign_seconds: 1, DAY, 60;
    /// A session that was alive and went silent.
    stall_seconds: 1, DAY, 180;
    /// A retry starts only if at least this much of `panel_seconds` is left.
    retry_floor_seconds: 0, DAY, 120;
    /// The whole run; then it ends in good order, with what is known by then.
    run_seconds: 1, DAY, 2400;
    /// Connecting to a model provider.
    connect_seconds: 1, HOUR, 10;
    /// A provider's response headers, from the request on.
    headers_seconds: 1, HOUR, 75;
    /// The pause between two parts of a provider's answer.
    idle_seconds: 1, HOUR, 75;
    /// All attempts of one model call together, until its answer begins.
    hold_seconds: 1, HOUR, 200;
    /// The start of OpenCode, until it answers.
    start_seconds: 1, HOUR, 60;
    /// One request to the forge. What is asked before the document is there has the limit of `--limits`, or the default.
    forge_seconds: 1, HOUR, 30;
    /// Fetching commits that the checkout lacks; of `--limits` only, because it comes before all settings.
    fetch_seconds: 1, HOUR, 300;
}

impl FromStr for TimeLimitOverrides {
    type Err = String;

    /// Reads `NAME=NUMBER`, several with commas between them.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut overrides = Self::default();
        let mut set: Vec<(&str, &str)> = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, seconds) = part
                .split_once('=')
                .ok_or_else(|| format!("`{part}` is not NAME=NUMBER, as in reviewer_seconds=600"))?;
            let name = name.trim();
            let limit = TimeLimit::named(name);
            let whole = limit.map_or(name, |limit| limit.name);
            if let Some((_, earlier)) = set.iter().find(|(name, _)| *name == whole) {
                return Err(format!(
                    "{whole} is named twice, with `{earlier}` and `{part}`: leave one of them out"
                ));
            }
            set.push((whole, part));
            if name == TOOL_CALLS {
                let calls = seconds.trim().parse().ok().filter(|calls| *calls > 0);
                let calls = calls.ok_or_else(|| format!("`{part}`: the calls must be a whole number from 1"))?;
                overrides.tool_calls = Some(calls);
                continue;
            }
            let limit = limit.ok_or_else(|| unknown(name))?;
            let seconds: u64 = seconds.trim().trim_end_matches('s').parse().map_err(|_| {
                let TimeLimit { min, max, .. } = limit;
                format!("`{part}`: the seconds must be a whole number from {min} to {max}")
            })?;
            if let Some(fault) = limit.fault(seconds) {
                return Err(format!("{} {fault}", limit.name));
            }
            overrides.set(limit.name, seconds);
        }
        Ok(overrides)
    }
}

impl fmt::Display for TimeLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name)
    }
}

fn unknown(name: &str) -> String {
    let names = || TIME_LIMITS.iter().map(|limit| limit.name).chain([TOOL_CALLS]);
    match nearest(name, names()) {
        Some(near) => format!("`{name}` is not a limit; did you mean `{near}`?"),
        None => format!(
            "`{name}` is not a limit: those are {}",
            names().collect::<Vec<_>>().join(", ")
        ),
    }
}

/// The limits that are outside of their range.
pub(super) fn faults(limits: &Limits) -> Vec<ConfigFault> {
    let faulty = TIME_LIMITS.iter().filter_map(|limit| {
        Some(ConfigFault {
            pointer: format!("/limits/{}", limit.name),
            detail: limit.fault(limit.of(limits))?,
        })
    });
    faulty.collect()
}

/// The longest that a model call can be held back, and be silent after that, by the ranges: who waits for the gateway has to
/// wait longer.
pub const MAX_CALL_SECONDS: u64 = 2 * HOUR;

/// The longest that a run can be, by the ranges.
pub const MAX_RUN_SECONDS: u64 = DAY;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_of_the_document_is_one_of_these() {
        let document = serde_json::to_value(Limits::default()).expect("JSON");
        let named: Vec<&str> = document
            .as_object()
            .expect("an object")
            .keys()
            .filter(|name| name.ends_with("_seconds"))
            .map(String::as_str)
            .collect();
        let mut known: Vec<&str> = TIME_LIMITS.iter().map(|limit| limit.name).collect();
        known.sort_unstable();
        let mut named_sorted = named.clone();
        named_sorted.sort_unstable();
        assert_eq!(named_sorted, known);
    }

    #[test]
    fn limits_are_read_by_name_and_laid_over_others() {
        let overrides: TimeLimitOverrides = "idle_seconds=600, headers=900s,tool_calls=500".parse().expect("valid");
        let mut limits = Limits::default();
        overrides.lay_over(&mut limits);
        assert_eq!(
            (limits.idle_seconds, limits.headers_seconds, limits.tool_calls),
            (600, 900, 500)
        );
        assert_eq!(limits.run_seconds, Limits::default().run_seconds);
        for (text, said) in [
            ("idle", "`idle` is not NAME=NUMBER"),
            ("tool_calls=0", "a whole number from 1"),
            ("tool_cals=9", "did you mean `tool_calls`?"),
            ("idel_seconds=3", "did you mean `idle_seconds`?"),
            ("idle_seconds=long", "a whole number from 1 to 3600"),
            (
                "idle_seconds=1,headers=2,idle=1s",
                "idle_seconds is named twice, with `idle_seconds=1` and `idle=1s`",
            ),
            ("tool_calls=1,tool_calls=2", "tool_calls is named twice"),
            (
                "idle_seconds=0",
                "idle_seconds is 0; it must be between 1 and 3600 seconds",
            ),
        ] {
            let error = text.parse::<TimeLimitOverrides>().expect_err(text);
            assert!(error.contains(said), "{error}");
        }
    }
}

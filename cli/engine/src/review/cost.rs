//! What was paid, as far as it is known.

use conclave_shared::telemetry::TokensByModel;

/// What some models cost. A model without a known price did not cost nothing: it is not known what it cost; and neither is what an
/// answer cost of which the provider did not say what it used.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    /// What is known, in US dollars.
    pub usd: f64,
    /// True if something of unknown price comes on top.
    pub more: bool,
}

impl Cost {
    /// What this use cost.
    pub fn of(usage: &[TokensByModel]) -> Self {
        Self {
            // From a plain zero: the sum of no prices would be a negative one.
            usd: usage.iter().fold(0.0, |sum, entry| sum + entry.cost_usd),
            more: usage
                .iter()
                .any(|entry| entry.uncounted > 0 || (entry.unpriced && entry.tokens.total() > 0)),
        }
    }

    /// In words, with so many digits behind the point.
    pub fn text(self, digits: usize) -> String {
        match (self.more, self.usd > 0.0) {
            (false, _) => format!("${:.digits$}", self.usd),
            (true, false) => "cost unknown".to_owned(),
            (true, true) => format!("at least ${:.digits$}", self.usd),
        }
    }
}

/// The tokens of some models, as far as they were counted. Of answers without any count nothing is known, which is not 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CountedTokens {
    /// The number of those that were counted.
    pub known: u64,
    /// True if tokens that were not counted come on top.
    pub more: bool,
}

impl CountedTokens {
    /// The tokens of these models.
    pub fn of(usage: &[TokensByModel]) -> Self {
        Self {
            known: usage
                .iter()
                .fold(0_u64, |sum, entry| sum.saturating_add(entry.tokens.total())),
            more: usage.iter().any(|entry| entry.uncounted > 0),
        }
    }

    /// Their number in words, written so.
    pub fn number(self, written: impl Fn(u64) -> String) -> String {
        match (self.more, self.known) {
            (true, 0) => "unknown".to_owned(),
            (true, known) => format!("at least {}", written(known)),
            (false, known) => written(known),
        }
    }

    /// The same with what they are.
    pub fn text(self, written: impl Fn(u64) -> String) -> String {
        if self.more && self.known == 0 {
            "tokens unknown".to_owned()
        } else {
            format!("{} tokens", self.number(written))
        }
    }
}

#[cfg(test)]
mod tests {
    use conclave_shared::pricing::TokenUsage;

    use super::*;

    fn usage(cost_usd: f64, output: u64, unpriced: bool) -> TokensByModel {
        TokensByModel {
            model: "a/b".parse().expect("a model"),
            tokens: TokenUsage {
                output,
                ..TokenUsage::default()
            },
            cost_usd,
            calls: 1,
            unpriced,
            uncounted: 0,
            estimated_usd: 0.0,
        }
    }

    #[test]
    fn what_is_not_known_is_not_nothing() {
        let text = |usage: &[TokensByModel]| Cost::of(usage).text(2);
        assert_eq!(text(&[]), "$0.00");
        assert_eq!(text(&[usage(0.125, 5, false)]), "$0.12");
        assert_eq!(text(&[usage(0.0, 5, true)]), "cost unknown");
        assert_eq!(text(&[usage(0.25, 5, false), usage(0.0, 5, true)]), "at least $0.25");
        // A model that was asked in vain cost nothing; one with the price 0 is free.
        assert_eq!(text(&[usage(0.0, 0, true)]), "$0.00");
        assert_eq!(text(&[usage(0.0, 5, false)]), "$0.00");
        let uncounted = |cost_usd| TokensByModel {
            uncounted: 1,
            ..usage(cost_usd, 0, false)
        };
        assert_eq!(text(&[uncounted(0.0)]), "cost unknown");
        assert_eq!(text(&[uncounted(0.25)]), "at least $0.25");
        let tokens = |usage: &[TokensByModel]| CountedTokens::of(usage).text(|count| count.to_string());
        assert_eq!(tokens(&[]), "0 tokens");
        assert_eq!(tokens(&[usage(0.0, 0, true)]), "0 tokens");
        assert_eq!(tokens(&[uncounted(0.0)]), "tokens unknown");
        assert_eq!(tokens(&[uncounted(0.0), usage(0.25, 5, false)]), "at least 5 tokens");
    }
}

//! Reservations: what calls in flight are likely to use, so that those that start at the same time do not spend a budget together
//! that has room for one of them.

use std::sync::Arc;

use conclave_engine::ports::SessionId;
use conclave_resilience::budget::{BudgetLevel, Used};
use conclave_shared::{model::ModelId, pricing::TokenUsage};
use tokio::sync::watch;

use super::UsageAccounting;
use crate::{errors::Rejection, lock::locked};

/// Bytes that make a token of a prompt, as a rule. Too many reserved tokens would only make calls wait for each other.
const BYTES_OF_A_RESERVED_TOKEN: u64 = 4;

/// Tokens of a modest answer.
const ANSWER: u64 = 1_000;

/// The part of the budget that is kept for a call in flight, until this is dropped.
pub(crate) struct Reservation {
    accounting: Arc<UsageAccounting>,
    usd: f64,
    tokens: u64,
}

/// The sum of the reservations of all calls in flight.
#[derive(Default)]
pub(super) struct Reserved {
    calls: u64,
    usd: f64,
    tokens: u64,
}

impl UsageAccounting {
    /// Reserves what a call is likely to use; nothing while it has to wait, because there is no room for it beside the calls in
    /// flight. A call that is alone always goes, as long as the budget is not spent: it is not refused for an estimate.
    pub(crate) fn reserve(
        self: &Arc<Self>,
        session: &SessionId,
        model: &ModelId,
        request_bytes: usize,
    ) -> Result<Option<Reservation>, Rejection> {
        let facts = self.facts(model);
        let mut state = locked(&self.state);
        let (level, event) = state.level();
        let account = state.accounts.get(session).and_then(|accounts| accounts.get(model));
        let likely = likely(request_bytes, account.map_or(0, |account| account.cached));
        let usd = facts.map_or(0.0, |facts| facts.cost_usd(&likely));
        let tokens = likely.total();
        let reserved = &state.reserved;
        let in_all = state.used(Used {
            usd: reserved.usd + usd,
            tokens: reserved.tokens.saturating_add(tokens),
            calls: 0,
        });
        let fits = reserved.calls == 0 || !matches!(state.budget.level(&in_all), BudgetLevel::Spent(_));
        let is_spent = matches!(level, BudgetLevel::Spent(_));
        if fits && !is_spent {
            let reserved = &mut state.reserved;
            reserved.calls += 1;
            reserved.usd += usd;
            reserved.tokens = reserved.tokens.saturating_add(tokens);
        }
        drop(state);
        if let Some(event) = event {
            self.events.record(event);
        }
        if is_spent {
            return Err(Rejection::BudgetSpent);
        }
        Ok(fits.then(|| Reservation {
            accounting: Arc::clone(self),
            usd,
            tokens,
        }))
    }

    /// Changes whenever a reservation ends, or the budget is another one.
    pub(crate) fn released(&self) -> watch::Receiver<()> {
        self.released.subscribe()
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut state = locked(&self.accounting.state);
        let reserved = &mut state.reserved;
        reserved.calls = reserved.calls.saturating_sub(1);
        reserved.tokens = reserved.tokens.saturating_sub(self.tokens);
        // What was added and taken away again may leave a rest of rounding.
        reserved.usd = if reserved.calls == 0 {
            0.0
        } else {
            reserved.usd - self.usd
        };
        drop(state);
        self.accounting.released.send_replace(());
    }
}

/// The likely usage of a call. Of a session whose provider caches prompts, it reads again what its last call sent.
fn likely(request_bytes: usize, cached: u64) -> TokenUsage {
    let bytes = u64::try_from(request_bytes).unwrap_or(u64::MAX);
    let prompt = bytes.div_ceil(BYTES_OF_A_RESERVED_TOKEN);
    let cache_read = cached.min(prompt);
    TokenUsage {
        input: prompt - cache_read,
        cache_read,
        output: ANSWER,
        ..TokenUsage::default()
    }
    .believed()
}

#[cfg(test)]
mod tests {
    use conclave_resilience::budget::Budget;
    use conclave_shared::pricing;

    use super::*;
    use crate::event::Events;

    fn accounting(budget: Budget) -> Arc<UsageAccounting> {
        let events = Arc::new(Events::new(Arc::new(|_| ())));
        Arc::new(UsageAccounting::new(budget, Arc::new(pricing::facts), None, events))
    }

    /// Reserves for a call of 4,000 tokens with an answer of 1,000.
    fn reserve(accounting: &Arc<UsageAccounting>) -> Result<Option<Reservation>, Rejection> {
        let model: ModelId = "anthropic/claude-opus-5-5".parse().expect("a model");
        accounting.reserve(&SessionId("ses_a".to_owned()), &model, 16_000)
    }

    #[test]
    fn calls_start_beside_each_other_only_as_far_as_the_budget_has_room_for_them() {
        let tokens = |limit| Budget {
            run_tokens: Some(limit),
            ..Budget::default()
        };
        for (budget, at_once) in [
            (Budget::default(), 9),
            (tokens(100_000), 9),
            (tokens(11_000), 2),
            (tokens(3), 1),
        ] {
            let accounting = accounting(budget);
            let mut held: Vec<Reservation> = Vec::new();
            while held.len() < 9
                && let Ok(Some(reservation)) = reserve(&accounting)
            {
                held.push(reservation);
            }
            assert_eq!(held.len(), at_once, "{budget:?}");
            // One that ends makes room for another.
            let released = accounting.released();
            held.pop();
            assert!(released.has_changed().expect("it is there"));
            assert!(reserve(&accounting).is_ok_and(|reservation| reservation.is_some()));
        }
    }

    #[test]
    fn a_budget_in_dollars_keeps_the_price_of_the_calls_in_flight() {
        let model = "anthropic/claude-opus-5-5".parse().expect("a model");
        let price = pricing::facts(&model).expect("known").cost_usd(&likely(16_000, 0));
        let accounting = accounting(Budget {
            run_usd: Some(price * 2.5),
            ..Budget::default()
        });
        let held: Vec<_> = (0..3).filter_map(|_| reserve(&accounting).ok().flatten()).collect();
        assert_eq!(held.len(), 2);
    }

    #[test]
    fn what_a_provider_has_cached_is_reserved_at_its_price() {
        let read = likely(16_000, 3_000);
        assert_eq!((read.input, read.cache_read, read.output), (1_000, 3_000, 1_000));
        assert_eq!(likely(16_000, 9_000).total(), 5_000);
    }

    #[test]
    fn nothing_is_reserved_of_a_spent_budget() {
        let accounting = accounting(Budget {
            run_tokens: Some(0),
            ..Budget::default()
        });
        assert!(matches!(reserve(&accounting), Err(Rejection::BudgetSpent)));
    }
}

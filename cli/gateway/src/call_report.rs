//! One request to a provider, reported when it ends, on whichever way.

use std::{fmt, sync::Arc, time::Instant};

use conclave_engine::ports::{CallOutcome, ModelCall, RunTrace};
use conclave_shared::{model::ModelId, pricing::TokenUsage};

use crate::{
    config::Prices,
    sessions::{Session, now},
};

/// Who is told of every request to a provider.
#[derive(Clone, Default)]
pub struct CallListener(Option<Arc<dyn RunTrace>>);

impl CallListener {
    /// Tells this one.
    pub fn new(trace: Arc<dyn RunTrace>) -> Self {
        Self(Some(trace))
    }

    /// The report of a request that begins now, if anybody wants one.
    pub(crate) fn begin(&self, asked: &ModelId, prices: &Prices) -> Option<CallReport> {
        self.0.as_ref().map(|trace| CallReport {
            trace: Arc::clone(trace),
            asked: asked.clone(),
            prices: prices.clone(),
            began: now(),
            outcome: CallOutcome::default(),
        })
    }
}

impl fmt::Debug for CallListener {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CallListener")
    }
}

/// A request under way.
pub(crate) struct CallReport {
    trace: Arc<dyn RunTrace>,
    asked: ModelId,
    prices: Prices,
    began: Instant,
    pub(crate) outcome: CallOutcome,
}

impl fmt::Debug for CallReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CallReport")
    }
}

impl CallReport {
    /// Reports the request with what it used.
    pub(crate) fn send(self, session: &Session, model: &ModelId, tokens: TokenUsage) {
        let cost_usd = self.prices.facts(model).map_or(0.0, |facts| facts.cost_usd(&tokens));
        self.trace.call_ended(&ModelCall {
            session: session.id.clone(),
            reviewer: session.reviewer(),
            asked: self.asked,
            model: model.clone(),
            tokens,
            cost_usd,
            duration: now().saturating_duration_since(self.began),
            outcome: self.outcome,
        });
    }
}

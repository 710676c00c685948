//! Models that refuse what they are sent about thinking, sampling and caching.

use std::{collections::HashMap, sync::Mutex};

use conclave_shared::model::ModelId;

use crate::lock::locked;

/// The models of which a call was refused for a parameter of thinking, sampling or caching: whether the same call was answered without.
#[derive(Debug, Default)]
pub(crate) struct RefusedParameters(Mutex<HashMap<ModelId, bool>>);

impl RefusedParameters {
    fn known(&self, model: &ModelId) -> Option<bool> {
        locked(&self.0).get(model).copied()
    }

    /// Returns whether the model is asked without them.
    pub(crate) fn are_left_out(&self, model: &ModelId) -> bool {
        self.known(model) == Some(true)
    }

    /// Returns whether a refusal may be due to them: to leave them out has not been tried in vain.
    pub(crate) fn may_be_the_cause(&self, model: &ModelId) -> bool {
        self.known(model) != Some(false)
    }

    /// Notes whether a call was answered without them. Returns whether this is the first answer.
    pub(crate) fn tried(&self, model: &ModelId, answered: bool) -> bool {
        let mut known = locked(&self.0);
        let before = known.entry(model.clone()).or_default();
        let is_first = answered && !*before;
        *before |= answered;
        is_first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_more_than_a_refusal_and_is_news_once() {
        let refused = RefusedParameters::default();
        let model: ModelId = "a/one".parse().expect("a model");
        assert!(!refused.are_left_out(&model) && refused.may_be_the_cause(&model));
        assert!(!refused.tried(&model, false));
        assert!(!refused.are_left_out(&model) && !refused.may_be_the_cause(&model));
        assert!(refused.tried(&model, true));
        assert!(!refused.tried(&model, true) && !refused.tried(&model, false));
        assert!(refused.are_left_out(&model) && refused.may_be_the_cause(&model));
    }
}

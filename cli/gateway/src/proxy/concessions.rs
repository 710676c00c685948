//! Models that refuse a part or the form of what they are sent: thinking, sampling, caching, earlier thoughts, the order of messages.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Mutex,
};

use conclave_resilience::classify::Concession;
use conclave_shared::model::ModelId;

use crate::lock::locked;

/// The concessions with which models were asked after a refusal: whether the same call was answered so.
#[derive(Debug, Default)]
pub(crate) struct Concessions(Mutex<HashMap<(ModelId, Concession), bool>>);

impl Concessions {
    /// Those that the model needs, with which it is asked from the beginning.
    pub(crate) fn of(&self, model: &ModelId) -> BTreeSet<Concession> {
        let tried = locked(&self.0);
        let helped = tried.iter().filter(|((known, _), helped)| known == model && **helped);
        helped.map(|((_, concession), _)| *concession).collect()
    }

    /// Returns whether a concession may help: it has not been tried in vain.
    pub(crate) fn may_help(&self, model: &ModelId, concession: Concession) -> bool {
        locked(&self.0).get(&(model.clone(), concession)) != Some(&false)
    }

    /// Notes whether a call was answered with it. Returns whether this is the first answer.
    pub(crate) fn tried(&self, model: &ModelId, concession: Concession, answered: bool) -> bool {
        let mut tried = locked(&self.0);
        let helped = tried.entry((model.clone(), concession)).or_default();
        let is_first = answered && !*helped;
        *helped |= answered;
        is_first
    }
}

#[cfg(test)]
mod tests {
    use Concession::{NoParameters, NoThoughts};

    use super::*;

    #[test]
    fn an_answer_counts_more_than_a_refusal_and_is_news_once() {
        let concessions = Concessions::default();
        let model: ModelId = "a/one".parse().expect("a model");
        let of = || Vec::from_iter(concessions.of(&model));
        assert!(of().is_empty() && concessions.may_help(&model, NoParameters));
        assert!(!concessions.tried(&model, NoParameters, false));
        assert!(of().is_empty() && !concessions.may_help(&model, NoParameters));
        assert!(concessions.may_help(&model, NoThoughts), "each is tried for itself");
        assert!(concessions.tried(&model, NoParameters, true));
        assert!(!concessions.tried(&model, NoParameters, true) && !concessions.tried(&model, NoParameters, false));
        assert!(of() == [NoParameters] && concessions.may_help(&model, NoParameters));
    }
}

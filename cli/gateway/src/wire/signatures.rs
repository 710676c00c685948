//! The makers of reasoning blocks.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Mutex,
};

use conclave_shared::model::ModelId;

use crate::lock::locked;

/// The models that made the reasoning blocks of a session, by the signatures of the blocks.
#[derive(Debug, Default)]
pub(crate) struct Signatures(Mutex<HashMap<u64, ModelId>>);

impl Signatures {
    /// Notes the maker of these blocks.
    pub(crate) fn add(&self, signatures: &[String], maker: &ModelId) {
        let made = signatures.iter().map(|signature| (hash(signature), maker.clone()));
        locked(&self.0).extend(made);
    }

    /// The maker of the block with this signature, if it came through here.
    pub(super) fn maker(&self, signature: &str) -> Option<ModelId> {
        locked(&self.0).get(&hash(signature)).cloned()
    }

    /// Returns whether the history may hold reasoning of a model other than this one.
    pub(super) fn has_others_than(&self, model: &ModelId) -> bool {
        locked(&self.0).values().any(|maker| maker != model)
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn makers_of_reasoning_are_remembered() {
        let model = |name: &str| name.parse().expect("a model");
        let signatures = Signatures::default();
        signatures.add(&["c2ln".to_owned()], &model("a/one"));
        assert_eq!(signatures.maker("c2ln"), Some(model("a/one")));
        assert_eq!(signatures.maker("other"), None);
        assert!(signatures.has_others_than(&model("a/two")));
        assert!(!signatures.has_others_than(&model("a/one")));
    }
}

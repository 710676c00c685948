//! Whom to ask instead.

/// The entries of `chain` that may silently stand in for `current`, best first: those behind it that are of the same
/// provider.
///
/// Only what comes later in the chain counts, so that a weaker model is never replaced by a stronger, dearer one that
/// has already failed, and a walk along the chain ends. For something that the chain does not name nothing stands in.
pub fn stand_ins<'a, T, P>(chain: &'a [T], current: &T, provider: impl Fn(&T) -> P) -> impl Iterator<Item = &'a T>
where
    T: PartialEq,
    P: PartialEq,
{
    let home = provider(current);
    let behind = chain
        .iter()
        .position(|model| model == current)
        .map_or(chain.len(), |at| at + 1);
    chain
        .get(behind..)
        .unwrap_or_default()
        .iter()
        .filter(move |model| provider(model) == home)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<'a>(chain: &'a [&'a str], current: &'a str) -> Vec<&'a str> {
        stand_ins(chain, &current, |model| model.split('/').next().map(str::to_owned))
            .copied()
            .collect()
    }

    #[test]
    fn later_models_of_the_same_provider_stand_in() {
        let chain = ["a/one", "b/one", "a/two", "b/two", "a/three"];
        assert_eq!(of(&chain, "a/one"), ["a/two", "a/three"]);
        assert_eq!(of(&chain, "b/one"), ["b/two"]);
        assert_eq!(of(&chain, "a/three"), [""; 0]);
    }

    #[test]
    fn nothing_stands_in_for_a_model_that_the_chain_does_not_name() {
        assert_eq!(of(&["a/one", "a/two"], "a/zero"), [""; 0]);
        assert_eq!(of(&[], "a/one"), [""; 0]);
    }
}

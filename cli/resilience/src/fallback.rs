//! The models to ask instead of a failing one.

/// The fallback models for `current` in its chain, best first: those behind it that are of the same provider.
///
/// Only what comes later in the chain counts, so that a weaker model is never replaced by a stronger, dearer one that
/// has already failed, and a walk along the chain ends. A model that the chain does not name has no fallback.
pub fn fallbacks<'a, T: PartialEq>(
    chain: &'a [T],
    current: &T,
    provider: impl Fn(&T) -> &str,
) -> impl Iterator<Item = &'a T> {
    let home = provider(current);
    let behind = chain.iter().skip_while(move |model| *model != current).skip(1);
    behind.filter(move |model| provider(model) == home)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<'a>(chain: &'a [&'a str], current: &'a str) -> Vec<&'a str> {
        fallbacks(chain, &current, |model| model.split('/').next().unwrap_or_default())
            .copied()
            .collect()
    }

    #[test]
    fn later_models_of_the_same_provider_are_fallbacks() {
        let chain = ["a/one", "b/one", "a/two", "b/two", "a/three"];
        assert_eq!(of(&chain, "a/one"), ["a/two", "a/three"]);
        assert_eq!(of(&chain, "b/one"), ["b/two"]);
        assert_eq!(of(&chain, "a/three"), [""; 0]);
    }

    #[test]
    fn a_model_that_the_chain_does_not_name_has_no_fallback() {
        assert_eq!(of(&["a/one", "a/two"], "a/zero"), [""; 0]);
        assert_eq!(of(&[], "a/one"), [""; 0]);
    }
}

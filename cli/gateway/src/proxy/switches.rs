//! Providers that an operator has switched off.

use std::collections::BTreeMap;

use conclave_shared::config::ProviderSwitch;
use tokio::sync::watch;

/// The switches as they stand.
#[derive(Debug)]
pub(crate) struct Switches(watch::Sender<BTreeMap<String, ProviderSwitch>>);

fn is_off(switches: &BTreeMap<String, ProviderSwitch>, provider: &str) -> bool {
    switches.get(provider).is_some_and(|switch| !switch.enabled)
}

impl Switches {
    /// The switches as they stand at the start, of which nothing is reported.
    pub(crate) fn new(switches: BTreeMap<String, ProviderSwitch>) -> Self {
        Self(watch::Sender::new(switches))
    }

    /// Takes over all switches; returns those that mean something else than before.
    pub(crate) fn set(&self, switches: &BTreeMap<String, ProviderSwitch>) -> Vec<(String, ProviderSwitch)> {
        let before = self.0.send_replace(switches.clone());
        let flipped = switches
            .iter()
            .filter(|(provider, _)| is_off(&before, provider) != is_off(switches, provider))
            .map(|(provider, switch)| (provider.clone(), switch.clone()));
        // A switch that is gone leaves its provider on.
        let gone = before.iter().filter_map(|(provider, switch)| {
            let on = ProviderSwitch {
                enabled: true,
                reason: None,
            };
            (!switch.enabled && !switches.contains_key(provider)).then(|| (provider.clone(), on))
        });
        flipped.chain(gone).collect()
    }

    /// Returns whether the provider may not be used.
    pub(crate) fn is_off(&self, provider: &str) -> bool {
        is_off(&self.0.borrow(), provider)
    }

    /// Returns once the provider is off.
    pub(crate) async fn off(&self, provider: &str) {
        let mut switches = self.0.subscribe();
        if switches.wait_for(|switches| is_off(switches, provider)).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_changes_are_reported_and_a_wait_for_one_ends() {
        let switch = |enabled| ProviderSwitch { enabled, reason: None };
        let of = |list: &[(&str, bool)]| -> BTreeMap<String, ProviderSwitch> {
            list.iter()
                .map(|(name, on)| ((*name).to_owned(), switch(*on)))
                .collect()
        };
        let switches = Switches::new(BTreeMap::new());
        assert_eq!(switches.set(&of(&[("a", true)])), []);
        let waiting = switches.off("a");
        let (off, flipped) = tokio::join!(waiting, async { switches.set(&of(&[("a", false), ("b", true)])) });
        assert_eq!((off, flipped), ((), vec![("a".to_owned(), switch(false))]));
        assert!(switches.is_off("a") && !switches.is_off("b") && !switches.is_off("c"));
        assert_eq!(switches.set(&of(&[("a", false)])), []);
        assert_eq!(switches.set(&of(&[])), [("a".to_owned(), switch(true))]);
        assert!(!switches.is_off("a"));
    }
}

//! From stored texts to the configuration in force. Pure, and it cannot fail: what cannot be read becomes a warning.

use conclave_shared::config::{ConfigDocument, EffectiveConfig, ProviderSwitch, validate};

use crate::{
    keys::{DOCUMENT, PROVIDER_PREFIX},
    store::Stored,
    texts,
};

/// Merges the stored document with the provider switches. A switch's own key wins over the document: it is what an
/// operator flips in a hurry.
pub(crate) fn merge(stored: &Stored) -> EffectiveConfig {
    let mut warnings = Vec::new();
    let mut config = stored.document.as_deref().map_or_else(ConfigDocument::default, |text| {
        read_document(text).unwrap_or_else(|reason| {
            warnings.push(texts::ignored_document(DOCUMENT, &reason));
            ConfigDocument::default()
        })
    });
    for (key, text) in &stored.switches {
        match read_switch(key, text) {
            Ok((provider, switch)) => {
                config.providers.insert(provider, switch);
            }
            Err(reason) => warnings.push(texts::ignored_switch(key, &reason)),
        }
    }
    if stored.more_switches {
        warnings.push(texts::too_many_switches());
    }
    EffectiveConfig { config, warnings }
}

fn read_document(text: &str) -> Result<ConfigDocument, String> {
    let document: ConfigDocument = serde_json::from_str(text).map_err(|error| texts::unreadable(&error))?;
    let faults = validate(&document);
    if faults.is_empty() {
        Ok(document)
    } else {
        Err(texts::faults(&faults))
    }
}

fn read_switch(key: &str, text: &str) -> Result<(String, ProviderSwitch), String> {
    let provider = key.strip_prefix(PROVIDER_PREFIX).unwrap_or_default();
    if provider.is_empty() || provider.contains('/') {
        return Err(texts::not_a_provider());
    }
    let switch = serde_json::from_str(text).map_err(|error| texts::unreadable(&error))?;
    Ok((provider.to_owned(), switch))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(document: Option<&str>, switches: &[(&str, &str)]) -> Stored {
        Stored {
            document: document.map(str::to_owned),
            switches: switches
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
            more_switches: false,
        }
    }

    #[test]
    fn an_empty_store_is_the_default_document_without_warnings() {
        let effective = merge(&Stored::default());
        assert_eq!(effective.config, ConfigDocument::default());
        assert_eq!(effective.warnings, Vec::<String>::new());
    }

    #[test]
    fn a_switch_of_its_own_key_wins_over_the_document() {
        let document = r#"{"schema_version":1,"revision":7,"providers":{"anthropic":{"enabled":true}}}"#;
        let effective = merge(&stored(
            Some(document),
            &[("provider/anthropic", r#"{"enabled":false,"reason":"incident 7"}"#)],
        ));
        assert_eq!(effective.config.revision, 7);
        assert!(!effective.config.providers["anthropic"].enabled);
        assert!(effective.warnings.is_empty());
    }

    #[test]
    fn bad_values_are_left_out_and_named_while_good_ones_count() {
        let effective = merge(&stored(
            Some(r#"{"schema_version":1,"limits":{"sessions":0},"failback":{"x":null}}"#),
            &[
                ("provider/", r#"{"enabled":false}"#),
                ("provider/anthropic", "off"),
                ("provider/openai", r#"{"enabled":false}"#),
            ],
        ));
        assert_eq!(effective.config.limits, ConfigDocument::default().limits);
        assert_eq!(effective.config.providers.len(), 1);
        assert!(!effective.config.providers["openai"].enabled);
        assert_eq!(effective.warnings.len(), 3);
        assert!(
            effective.warnings[0].starts_with("config/document: "),
            "{:?}",
            effective.warnings
        );
        assert!(
            effective.warnings[0].contains("/limits/sessions"),
            "{:?}",
            effective.warnings
        );
        assert!(
            effective.warnings[0].contains("/failback/x"),
            "{:?}",
            effective.warnings
        );
        assert!(
            effective.warnings[1].starts_with("provider/: "),
            "{:?}",
            effective.warnings
        );
        assert!(
            effective.warnings[2].starts_with("provider/anthropic: "),
            "{:?}",
            effective.warnings
        );
    }

    #[test]
    fn a_document_from_the_future_is_not_guessed_at() {
        let effective = merge(&stored(Some(r#"{"schema_version":2,"revision":3}"#), &[]));
        assert_eq!(effective.config, ConfigDocument::default());
        assert!(
            effective.warnings[0].contains("/schema_version"),
            "{:?}",
            effective.warnings
        );
    }
}

//! The environment, read once.

use std::{collections::BTreeMap, ffi::OsString};

use conclave_shared::redact::Redactor;

/// The environment as text; variables that are no UTF-8 are none of ours.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    variables: BTreeMap<String, String>,
}

/// Words in a variable's name that make its value a secret.
const SECRET_WORDS: [&str; 6] = ["TOKEN", "SECRET", "PASSWORD", "API_KEY", "CREDENTIAL", "PRIVATE_KEY"];

impl Environment {
    pub(crate) fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        Self {
            variables: variables.into_iter().filter_map(text).collect(),
        }
    }

    /// A variable's value; an empty one counts as not set, as CI systems cannot unset.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.variables
            .get(name)
            .map(|value| value.trim())
            .filter(|value| !value.is_empty())
    }

    /// Replaces the value of every variable whose name says that it is secret.
    pub(crate) fn redactor(&self) -> Redactor {
        let secret = |name: &str| SECRET_WORDS.iter().any(|word| name.to_ascii_uppercase().contains(word));
        Redactor::new(
            self.variables
                .iter()
                .filter(|(name, _)| secret(name))
                .map(|(_, value)| value.trim().to_owned()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_names_and_empty_is_unset() {
        let environment = Environment::new([
            ("GITLAB_TOKEN".into(), "very-secret-value".into()),
            ("EMPTY".into(), "  ".into()),
            ("HOME".into(), "/home/somebody".into()),
        ]);
        assert_eq!(environment.get("EMPTY"), None);
        assert_eq!(
            environment.redactor().redact("very-secret-value in /home/somebody"),
            "[redacted] in /home/somebody"
        );
    }
}

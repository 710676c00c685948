//! The environment, read once.

pub(crate) mod ci;
pub(crate) mod names;
mod npm;
pub(crate) mod providers;
mod proxies;
pub(crate) mod services;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    sync::{Arc, OnceLock},
};

use camino::Utf8PathBuf;
use conclave_job_token::JobToken;
use conclave_shared::redact::Redactor;
use secrecy::SecretString;

pub(crate) use self::{npm::NamedRegistry, proxies::NamedProxy};
use crate::exit::Failure;

/// The environment as text; variables that are no UTF-8 are none of ours.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    variables: BTreeMap<String, String>,
    /// Nothing beside these counts, not even the system's proxies.
    sealed: bool,
    /// The tokens that a job of GitHub asks for, once for the whole run.
    workflow_token: Arc<OnceLock<JobToken>>,
}

/// Words in a variable's name that make its value a secret.
const SECRET_WORDS: [&str; 6] = ["TOKEN", "SECRET", "PASSWORD", "API_KEY", "CREDENTIAL", "PRIVATE_KEY"];

impl Environment {
    pub(crate) fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        Self {
            variables: variables.into_iter().filter_map(text).collect(),
            ..Self::default()
        }
    }

    /// These variables alone. What a library would read of the environment by itself does not count either.
    pub(crate) fn only(&self, names: &[&str]) -> Self {
        let kept = self.variables.iter().filter(|(name, _)| names.contains(&name.as_str()));
        Self {
            variables: kept.map(|(name, value)| (name.clone(), value.clone())).collect(),
            sealed: true,
            ..Self::default()
        }
    }

    /// Returns whether the system's proxies count.
    pub(crate) const fn has_system_proxy(&self) -> bool {
        !self.sealed
    }

    /// The same with another value for a variable, which an argument has given.
    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let mut variables = self.variables.clone();
        variables.insert(name.to_owned(), value.to_owned());
        Self {
            variables,
            sealed: self.sealed,
            workflow_token: Arc::clone(&self.workflow_token),
        }
    }

    /// A variable's value; an empty one counts as not set, as CI systems cannot unset.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.variables
            .get(name)
            .map(|value| value.trim())
            .filter(|value| !value.is_empty())
    }

    /// A directory of the user's as XDG has it: the variable's, else the one below `HOME`. A relative one is ignored, as the
    /// specification says: it would be in the code under review. Nothing for a user without a home.
    pub(crate) fn user_directory(&self, variable: &str, below_home: &str) -> Option<Utf8PathBuf> {
        let absolute = |name| self.get(name).map(Utf8PathBuf::from).filter(|path| path.is_absolute());
        absolute(variable).or_else(|| Some(absolute("HOME")?.join(below_home)))
    }

    /// The names of all variables that are set.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str)
    }

    /// `PATH`, or where programs usually are.
    pub(crate) fn path(&self) -> &str {
        self.get("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin")
    }

    /// A variable's value, or that it has to be set, and to what.
    pub(crate) fn required(&self, name: &str, hint: &str) -> Result<&str, Failure> {
        self.get(name)
            .ok_or_else(|| Failure::Settings(format!("{name} is not set: {hint}")))
    }

    /// A variable's value, which is a secret.
    pub(crate) fn secret(&self, name: &str) -> Option<SecretString> {
        self.get(name).map(SecretString::from)
    }

    /// Replaces the value of every variable whose name says that it is secret.
    pub(crate) fn redactor(&self) -> Redactor {
        let values = self.variables.iter().filter(|(name, _)| is_secret(name));
        let values = values.map(|(_, value)| value.trim().to_owned());
        // Keys of collectors are in a list of headers, whose name says nothing of it.
        let headers = self.get(names::OTLP_HEADERS).unwrap_or_default();
        let headers = headers
            .split(',')
            .flat_map(|pair| {
                let value = pair.split_once('=').map_or(pair, |(_, value)| value).trim();
                [value.to_owned(), decoded(value)]
            })
            .map(|value| value.trim_start_matches("Bearer ").to_owned());
        Redactor::new(values.chain(headers))
    }
}

/// Returns whether a variable's name says that its value is secret.
fn is_secret(name: &str) -> bool {
    SECRET_WORDS.iter().any(|word| name.to_ascii_uppercase().contains(word))
}

/// A list of headers as OpenTelemetry writes it: `name=value`, commas between, values percent-encoded.
#[cfg(feature = "otlp")]
pub(crate) fn header_list(text: &str) -> Option<Vec<(String, String)>> {
    text.split(',')
        .map(str::trim)
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=')?;
            let name = name.trim();
            let known = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
            (!name.is_empty() && name.chars().all(known)).then(|| (name.to_owned(), decoded(value.trim())))
        })
        .collect()
}

fn decoded(value: &str) -> String {
    percent_encoding::percent_decode_str(value)
        .decode_utf8_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_collectors_are_secrets_too() {
        let headers = "x-honeycomb-team=hc-key-of-the-team,authorization=Bearer%20bt-key-of-others";
        let environment = Environment::new([("OTEL_EXPORTER_OTLP_HEADERS".into(), headers.into())]);
        let said = environment
            .redactor()
            .redact("hc-key-of-the-team, bt-key-of-others and x-honeycomb-team");
        assert_eq!(said, "[redacted], [redacted] and x-honeycomb-team");
    }

    #[test]
    fn directories_of_the_user_are_absolute_or_those_below_home() {
        let directory = |variables: &[(&str, &str)]| {
            let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            Environment::new(variables).user_directory("XDG_STATE_HOME", ".local/state")
        };
        let (home, below) = (("HOME", "/home/me"), Some(Utf8PathBuf::from("/home/me/.local/state")));
        assert_eq!(
            directory(&[("XDG_STATE_HOME", "/state"), home]),
            Some(Utf8PathBuf::from("/state"))
        );
        assert_eq!(directory(&[home]), below);
        for relative in ["rel", "./rel", "~/rel"] {
            assert_eq!(directory(&[("XDG_STATE_HOME", relative), home]), below, "{relative}");
            assert_eq!(directory(&[("XDG_STATE_HOME", relative)]), None, "{relative}");
        }
        assert_eq!(directory(&[("HOME", "rel")]), None);
    }

    #[cfg(feature = "otlp")]
    #[test]
    fn header_lists_are_read() {
        let read = header_list("a=1, authorization=Bearer%20x%3D=,").expect("a list");
        assert_eq!(
            read,
            [("a".into(), "1".into()), ("authorization".into(), "Bearer x==".into())]
        );
        for text in ["just-a-key", "a b=c", "=x"] {
            assert_eq!(header_list(text), None, "{text}");
        }
    }

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

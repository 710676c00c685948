//! The registry that npm is set to.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
};

use camino::{Utf8Path, Utf8PathBuf};
use nix::libc::O_NONBLOCK;

use super::{Environment, is_secret, names};
use crate::exit::Failure;

/// The user's file of npm's settings, below the home.
const SETTINGS: &str = ".npmrc";
/// Maximum length of it, in bytes.
const MAX_BYTES: u64 = 64 << 10;

/// A registry of packages, and what names it.
pub(crate) struct NamedRegistry {
    /// Its address, which may have a password in it.
    pub(crate) address: String,
    /// The variable or the file.
    pub(crate) setting: String,
}

impl Environment {
    /// The registry of packages that npm would ask, if it is set to one: by its variable, else by the user's file. A project's own file
    /// does not count, because the author of the change under review can write it.
    pub(crate) fn npm_registry(&self) -> Result<Option<NamedRegistry>, Failure> {
        // As npm reads it, in any letters.
        let others = self
            .names()
            .filter(|name| name.eq_ignore_ascii_case(names::NPM_REGISTRY));
        let mut spellings = std::iter::once(names::NPM_REGISTRY).chain(others);
        if let Some((name, address)) = spellings.find_map(|name| Some((name, self.get(name)?))) {
            return Ok(Some(NamedRegistry {
                address: address.to_owned(),
                setting: name.to_owned(),
            }));
        }
        let Some(file) = self.npm_settings() else {
            return Ok(None);
        };
        let text = match read(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unusable(&format!("failed to read {file}: {error}"))),
        };
        let Some(registry) = registry_in(&text) else {
            return Ok(None);
        };
        match self.expanded(registry) {
            Ok(address) => Ok(Some(NamedRegistry {
                address,
                setting: file.into_string(),
            })),
            Err(name) => Err(unusable(&format!(
                "`registry` in {file} needs {name}, which is not set, or is a secret"
            ))),
        }
    }

    /// The user's file, unless it is one of the checkout.
    fn npm_settings(&self) -> Option<Utf8PathBuf> {
        let home = self
            .get("HOME")
            .map(Utf8PathBuf::from)
            .filter(|path| path.is_absolute())?;
        let is_checked_out = self.job_checkout().is_some_and(|checkout| home.starts_with(checkout));
        (!is_checked_out).then(|| home.join(SETTINGS))
    }

    /// A value with those of variables in place of `${NAME}`; the variable's name where there is none to put in. A secret stays where
    /// it is: the address is for a server.
    fn expanded<'a>(&self, value: &'a str) -> Result<String, &'a str> {
        let mut expanded = String::new();
        let mut rest = value;
        while let Some((before, behind)) = rest.split_once("${") {
            let Some((name, behind)) = behind.split_once('}') else {
                break;
            };
            let value = self.get(name).filter(|_| !is_secret(name)).ok_or(name)?;
            expanded.push_str(before);
            expanded.push_str(value);
            rest = behind;
        }
        expanded.push_str(rest);
        Ok(expanded)
    }
}

fn unusable(problem: &str) -> Failure {
    Failure::Settings(format!(
        "{problem}. Correct it, or name the registry with --registry or in {}",
        names::NPM_REGISTRY
    ))
}

/// Reads a file that may be anything.
fn read(file: &Utf8Path) -> io::Result<String> {
    let file = File::options().read(true).custom_flags(O_NONBLOCK).open(file)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    let mut text = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        let large = format!("it has more than {} KB", MAX_BYTES >> 10);
        return Err(io::Error::new(io::ErrorKind::InvalidData, large));
    }
    // A comment may be in any encoding.
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The registry in a file of npm's settings: the last one, without those of sections.
fn registry_in(text: &str) -> Option<&str> {
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    let values = lines.take_while(|line| !line.starts_with('[')).filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == "registry").then(|| plain(value.trim()))
    });
    values.last().filter(|value| !value.is_empty())
}

/// A value without quotes, or without the comment behind it.
fn plain(value: &str) -> &str {
    for quote in ['"', '\''] {
        let quoted = value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        if let Some(quoted) = quoted {
            return quoted;
        }
    }
    value.split([';', '#']).next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The registry that npm is set to with these variables and this file in the home.
    fn registry(variables: &[(&str, &str)], file: Option<&str>) -> Result<Option<String>, String> {
        let named = named_registry(variables, file)?;
        Ok(named.map(|named| named.address))
    }

    /// The same, with what names it.
    fn named_registry(variables: &[(&str, &str)], file: Option<&str>) -> Result<Option<NamedRegistry>, String> {
        let home = tempfile::tempdir().expect("a directory");
        if let Some(text) = file {
            std::fs::write(home.path().join(SETTINGS), text).expect("a file");
        }
        let home = home.path().to_str().expect("UTF-8");
        let own = ("HOME", home);
        // A variable may name the home itself.
        let all = variables
            .iter()
            .chain([&own])
            .map(|(name, value)| ((*name).into(), value.replace("HOME", home).into()));
        Environment::new(all).npm_registry().map_err(|error| error.to_string())
    }

    #[test]
    fn npms_order_decides_between_its_variable_and_the_users_file() {
        let set = |name| [(name, "https://variable.example")];
        let file = Some("registry=https://file.example/npm/\n");
        let is = |registry: Result<Option<String>, String>, expected: Option<&str>| {
            assert_eq!(registry, Ok(expected.map(str::to_owned)));
        };
        for name in ["npm_config_registry", "NPM_CONFIG_REGISTRY"] {
            is(registry(&set(name), file), Some("https://variable.example"));
            is(registry(&[(name, "")], file), Some("https://file.example/npm/"));
        }
        let both = [
            ("NPM_CONFIG_REGISTRY", "https://capitals.example"),
            set("npm_config_registry")[0],
        ];
        is(registry(&both, None), Some("https://variable.example"));
        is(registry(&[], file), Some("https://file.example/npm/"));
        is(registry(&[], None), None);
        // What a job has checked out is the author's.
        for checkout in ["HOME", "/"] {
            is(registry(&[("CI_PROJECT_DIR", checkout)], file), None);
        }
    }

    #[test]
    fn what_names_the_registry_is_known() {
        let setting = |variables: &[(&str, &str)]| {
            let named = named_registry(variables, Some("registry=here")).expect("readable");
            named.expect("a registry").setting
        };
        assert_eq!(setting(&[("NPM_CONFIG_REGISTRY", "there")]), "NPM_CONFIG_REGISTRY");
        assert_eq!(setting(&[("npm_config_registry", "there")]), "npm_config_registry");
        assert!(setting(&[]).ends_with("/.npmrc"));
    }

    #[test]
    fn the_users_file_is_read_as_npm_reads_it() {
        for (text, expected) in [
            ("; registry=https://no.example\n#registry=https://no.example", None),
            ("@scope:registry=https://no.example\n//no.example/:_authToken=t", None),
            ("registry =\n", None),
            ("[section]\nregistry=https://no.example", None),
            (
                "\u{feff}registry = \"https://a.example\"\r\n",
                Some("https://a.example"),
            ),
            ("registry='https://a.example'", Some("https://a.example")),
            (
                "registry=https://b.example\nregistry=https://a.example ; ours",
                Some("https://a.example"),
            ),
            ("registry=https://${NAME}.example/${NAME}", Some("https://a.example/a")),
        ] {
            let found = registry(&[("NAME", "a")], Some(text));
            assert_eq!(found, Ok(expected.map(str::to_owned)), "{text}");
        }
    }

    #[test]
    fn a_secret_is_not_put_into_an_address_and_what_cannot_be_read_is_named() {
        let variables = [("NPM_TOKEN", "very-secret-value")];
        for (text, name) in [
            ("registry=https://a.example/${NPM_TOKEN}", "NPM_TOKEN"),
            ("registry=https://a.example/${UNSET}", "UNSET"),
        ] {
            let error = registry(&variables, Some(text)).expect_err(text);
            assert!(
                error.contains(&format!(
                    "/.npmrc needs {name}, which is not set, or is a secret. Correct it"
                )),
                "{error}"
            );
            assert!(
                !error.contains("very-secret-value") && error.contains("--registry"),
                "{error}"
            );
        }
        let error = registry(&[], Some(&"#".repeat(70_000))).expect_err("too large");
        assert!(
            error.contains("failed to read /") && error.contains("more than 64 KB"),
            "{error}"
        );
    }
}

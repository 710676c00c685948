//! Places that a person can open from the terminal: OSC 8 hyperlinks.
//!
//! <https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda>

use std::io::IsTerminal;

use camino::{Utf8Path, Utf8PathBuf};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::{
    env::{Environment, names},
    output::paint::link,
};

/// What stays as it is in the path of an address.
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// How places become links, if they do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Links(Option<Form>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Form {
    /// The working tree.
    root: Utf8PathBuf,
    /// The address, with `{path}` and `{line}`.
    address: String,
}

impl Links {
    /// No links.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// Links into the working tree at `root`, if standard output is a terminal that can show them.
    pub(crate) fn into_tree(root: &Utf8Path, environment: &Environment) -> Self {
        if std::io::stdout().is_terminal() && are_shown(environment) {
            Self::at(root, environment)
        } else {
            Self::none()
        }
    }

    fn at(root: &Utf8Path, environment: &Environment) -> Self {
        let of_terminal = || match (environment.get("TERM_PROGRAM"), environment.get("TERM")) {
            (Some("vscode"), _) => "vscode://file{path}:{line}",
            // It takes the line from the fragment; others would look for a file of that name.
            (_, Some("xterm-kitty")) => "file://{path}#{line}",
            _ => "file://{path}",
        };
        let address = environment.get(names::EDITOR_LINK).unwrap_or_else(of_terminal);
        Self(Some(Form {
            root: root.to_owned(),
            address: address.to_owned(),
        }))
    }

    /// The text, which opens this place if it is there and the terminal can do that.
    pub(crate) fn place(&self, text: &str, path: &str, line: u32) -> String {
        let Some(form) = &self.0 else { return text.to_owned() };
        let path = form.root.join(path);
        if !path.is_file() {
            return text.to_owned();
        }
        let address = form
            .address
            .replace("{path}", &utf8_percent_encode(path.as_str(), PATH).to_string())
            .replace("{line}", &line.to_string());
        link(text, &address)
    }

    /// The text, which opens an address of the web.
    pub(crate) fn web(&self, text: &str, address: &str) -> String {
        let plain = address.chars().all(|character| character.is_ascii_graphic());
        if self.0.is_some() && plain && address.starts_with("https://") {
            link(text, address)
        } else {
            text.to_owned()
        }
    }
}

/// Returns whether the terminal is one that is known to show links. Others print the address as text, or nothing at
/// all.
fn are_shown(environment: &Environment) -> bool {
    let is = |name: &str, values: &[&str]| environment.get(name).is_some_and(|value| values.contains(&value));
    if let Some(forced) = environment.get("FORCE_HYPERLINK") {
        return forced != "0";
    }
    if environment.get("NO_COLOR").is_some() || is("TERM", &["dumb"]) {
        return false;
    }
    // Terminals of GNOME and others on its library, since 0.50.
    let vte = environment.get("VTE_VERSION").and_then(|version| version.parse().ok());
    vte.is_some_and(|version: u32| version >= 5000)
        || is(
            "TERM_PROGRAM",
            &[
                "vscode",
                "iTerm.app",
                "WezTerm",
                "ghostty",
                "Hyper",
                "zed",
                "rio",
                "Tabby",
                "WarpTerminal",
            ],
        )
        || is(
            "TERM",
            &["xterm-kitty", "xterm-ghostty", "alacritty", "foot", "contour"],
        )
        || ["WT_SESSION", "KONSOLE_VERSION", "DOMTERM"]
            .iter()
            .any(|name| environment.get(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        Environment::new(variables.iter().map(|(name, value)| (name.into(), value.into())))
    }

    #[test]
    fn only_terminals_that_are_known_to_show_links_get_them() {
        for (variables, expected) in [
            (&[][..], false),
            (&[("TERM", "xterm-256color")], false),
            (&[("TERM", "xterm-kitty")], true),
            (&[("VTE_VERSION", "7200")], true),
            (&[("VTE_VERSION", "4800")], false),
            (&[("TERM_PROGRAM", "vscode")], true),
            (&[("TERM_PROGRAM", "vscode"), ("NO_COLOR", "1")], false),
            (&[("TERM_PROGRAM", "Apple_Terminal")], false),
            (&[("FORCE_HYPERLINK", "1")], true),
            (&[("TERM", "xterm-kitty"), ("FORCE_HYPERLINK", "0")], false),
        ] {
            assert_eq!(are_shown(&environment(variables)), expected, "{variables:?}");
        }
    }

    #[test]
    fn a_place_that_is_there_is_opened_at_its_line_where_the_terminal_takes_one() {
        let root = tempfile::tempdir().expect("a directory");
        let root = Utf8Path::from_path(root.path()).expect("UTF-8");
        std::fs::write(root.join("a b.rs"), "").expect("a file");
        let of = |variables: &[(&str, &str)]| Links::at(root, &environment(variables)).place("a b.rs:7", "a b.rs", 7);
        let shown = |address: &str| link("a b.rs:7", address);
        assert_eq!(of(&[]), shown(&format!("file://{root}/a%20b.rs")));
        assert_eq!(
            of(&[("TERM_PROGRAM", "vscode")]),
            shown(&format!("vscode://file{root}/a%20b.rs:7"))
        );
        assert_eq!(
            of(&[("CONCLAVE_EDITOR_LINK", "idea://open?file={path}&line={line}")]),
            shown(&format!("idea://open?file={root}/a%20b.rs&line=7"))
        );
        let links = Links::at(root, &environment(&[]));
        assert_eq!(links.place("gone.rs:1", "gone.rs", 1), "gone.rs:1");
        assert_eq!(Links::none().place("a b.rs:7", "a b.rs", 7), "a b.rs:7");
    }

    #[test]
    fn an_address_cannot_end_the_sequence_that_it_stands_in() {
        let links = Links::at(Utf8Path::new("/"), &Environment::default());
        assert_eq!(links.web("rule", "https://example.org/\x1b\\x"), "rule");
        assert_eq!(links.web("rule", "javascript:1"), "rule");
        assert_eq!(
            links.web("rule", "https://example.org/r"),
            link("rule", "https://example.org/r")
        );
    }
}

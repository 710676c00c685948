//! Reading a command line, and what the environment says of it.

use std::ffi::OsString;

use clap::{
    ArgAction, ArgMatches, CommandFactory, FromArgMatches,
    error::{ContextKind, ContextValue, ErrorKind},
    parser::ValueSource,
};
use conclave_shared::nearest::nearest;

use super::Arguments;
use crate::env::{Environment, names};

/// The first part of the names of variables of ours.
const PREFIX: &str = "CONCLAVE_";
/// Beginnings of names behind it that are none of this program's: those of the GitLab component, and of the project's own scripts.
const OTHERS: [&str; 9] = [
    "INPUT_", "VAULT_", "TEST_", "BENCH_", "UPDATE_", "WRITE_", "BUILD_", "ROOT", "TOOLS",
];

impl Arguments {
    /// Reads a command line, and what the environment says of it. CI systems cannot unset a variable, so an empty one counts
    /// as not set; an empty argument is a mistake, as of a script whose variable is empty: as a path it would mean "here".
    pub(crate) fn read(
        arguments: impl IntoIterator<Item = OsString>,
        environment: &Environment,
    ) -> Result<Self, clap::Error> {
        let given: Vec<OsString> = arguments.into_iter().collect();
        let mut command = command_for(&given, environment);
        let matches = command
            .try_get_matches_from_mut(&given)
            .map_err(|error| with_variable(error, &given, environment))?;
        if let Some(error) = empty_argument(&mut command, &matches) {
            return Err(error);
        }
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }
}

/// The command as it is read where this command line is given in this environment.
fn command_for(given: &[OsString], environment: &Environment) -> clap::Command {
    let is_unset = |argument: &clap::Arg, name: &str| {
        environment.get(name).is_none() || yields(argument.get_id().as_str(), given, environment)
    };
    prepared(Arguments::command(), &is_unset)
}

/// Returns whether an argument's variable does not count, because of another argument that excludes it: what the command line says
/// counts more than any variable, and a file that is named more than a registry.
fn yields(id: &str, given: &[OsString], environment: &Environment) -> bool {
    match id {
        "registry" => is_given(given, "--tarball") || environment.get("CONCLAVE_TARBALL").is_some(),
        "tarball" => is_given(given, "--registry"),
        _ => false,
    }
}

/// Returns whether a flag stands on the command line.
fn is_given(given: &[OsString], flag: &str) -> bool {
    let mut words = given.iter().filter_map(|argument| argument.to_str());
    words.any(|argument| argument.split('=').next() == Some(flag))
}

/// The command without the variables that are unset, with switches whose variables can be written as CI systems do, and with
/// values that begin with a minus; and so all commands below it.
fn prepared(command: clap::Command, is_unset: &impl Fn(&clap::Arg, &str) -> bool) -> clap::Command {
    let command = command.mut_args(|argument| {
        let name = argument.get_env().and_then(|name| name.to_str());
        let is_unset = name.is_some_and(|name| is_unset(&argument, name));
        let argument = if is_unset { argument.env(None::<&str>) } else { argument };
        if matches!(argument.get_action(), ArgAction::SetTrue) {
            argument.value_parser(switch)
        } else if argument.get_action().takes_values() && argument.get_long().is_some() {
            // `-1` is a number out of its range, and no flag.
            argument.allow_negative_numbers(true)
        } else {
            argument
        }
    });
    command.mut_subcommands(|below| prepared(below, is_unset))
}

/// Reads what a switch's variable says.
pub(crate) fn switch(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" | "t" | "y" => Ok(true),
        "false" | "0" | "no" | "off" | "f" | "n" => Ok(false),
        _ => Err("`true` or `false` is needed (1, 0, yes, no, on and off mean the same)".to_owned()),
    }
}

/// Returns the error for an argument of the command line that has an empty value, with the usage of its own command.
fn empty_argument(command: &mut clap::Command, matches: &ArgMatches) -> Option<clap::Error> {
    let is_empty = |argument: &&clap::Arg| {
        let id = argument.get_id().as_str();
        let values = matches.try_get_raw(id).ok().flatten();
        values.is_some_and(|mut values| values.any(std::ffi::OsStr::is_empty))
            && matches.value_source(id) == Some(ValueSource::CommandLine)
    };
    let empty = command.get_arguments().find(is_empty).map(ToString::to_string);
    if let Some(empty) = empty {
        let problem = format!("'{empty}' is empty: give it a value, or leave it out");
        return Some(command.error(ErrorKind::InvalidValue, problem));
    }
    let (name, below) = matches.subcommand()?;
    empty_argument(command.find_subcommand_mut(name)?, below)
}

/// An error about a value that came from a variable names the variable, too.
fn with_variable(mut error: clap::Error, given: &[OsString], environment: &Environment) -> clap::Error {
    let Some(ContextValue::String(shown)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let flag = shown.split([' ', '=', '[']).next().unwrap_or_default().to_owned();
    let Some(long) = flag.strip_prefix("--") else {
        return error;
    };
    let variable = format!("{PREFIX}{}", long.to_uppercase().replace('-', "_"));
    if !is_given(given, &flag) && environment.get(&variable).is_some() {
        let _ = error.insert(
            ContextKind::InvalidArg,
            ContextValue::String(format!("{variable} ({flag})")),
        );
    }
    error
}

/// An error about arguments as a sentence for a place of its own: without its mark, and without the usage.
pub(crate) fn problem_of(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    text.split("\n\n").next().unwrap_or(text).trim_end().to_owned()
}

/// A text about arguments, in which the variable stands before a flag that it alone has given.
pub(crate) fn with_variables(text: &str, given: &[OsString], environment: &Environment) -> String {
    let mut named = text.to_owned();
    for word in text.split(|c: char| c.is_whitespace() || "`('\"".contains(c)) {
        let Some(rest) = word.strip_prefix("--") else { continue };
        let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '-');
        let flag = &word[..end.map_or(word.len(), |end| end + 2)];
        let variable = format!("{PREFIX}{}", flag[2..].to_uppercase().replace('-', "_"));
        if !is_given(given, flag) && environment.get(&variable).is_some() && !named.contains(&variable) {
            named = named.replacen(flag, &format!("{variable} ({flag})"), 1);
        }
    }
    named
}

/// The variables with values that a review would refuse, each with what is wrong, and the environment without them.
pub(crate) fn refused_variables(environment: &Environment) -> (Vec<String>, Environment) {
    let mut problems = Vec::new();
    let mut environment = environment.clone();
    for command in ["local", "review"] {
        // One is named at a time.
        while let Err(error) = Arguments::read(["conclave", command].map(OsString::from), &environment) {
            let Some(ContextValue::String(shown)) = error.get(ContextKind::InvalidArg) else {
                break;
            };
            let variable = shown.split(' ').next().unwrap_or_default();
            if environment.get(variable).is_none() {
                break;
            }
            environment = environment.with(variable, "");
            problems.push(problem_of(&error));
        }
    }
    (problems, environment)
}

/// Warnings about variables whose names nothing reads, and that are near to a name that something reads.
pub(crate) fn mistaken_variables(environment: &Environment) -> Vec<String> {
    let mut known: Vec<String> = names::ALL.iter().map(|(name, _)| (*name).to_owned()).collect();
    variables_of(&Arguments::command(), &mut known);
    let known: Vec<String> = known
        .iter()
        .filter_map(|name| name.strip_prefix(PREFIX))
        .map(str::to_ascii_lowercase)
        .collect();
    let mistake = |name: &str| {
        let own = name.strip_prefix(PREFIX)?;
        if OTHERS.iter().any(|other| own.starts_with(other)) || known.contains(&own.to_ascii_lowercase()) {
            return None;
        }
        let meant = nearest(own, known.iter().map(String::as_str))?.to_ascii_uppercase();
        Some(format!(
            "{name} has no effect, because Conclave reads no such variable: is {PREFIX}{meant} meant?"
        ))
    };
    environment.names().filter_map(mistake).collect()
}

/// The variables of all arguments of a command, and of those below it.
fn variables_of(command: &clap::Command, found: &mut Vec<String>) {
    let named = command.get_arguments().filter_map(clap::Arg::get_env);
    found.extend(named.map(|name| name.to_string_lossy().into_owned()));
    for below in command.get_subcommands() {
        variables_of(below, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        Environment::new(variables.iter().map(|(name, value)| ((*name).into(), (*value).into())))
    }

    fn refusal(line: &[&str]) -> String {
        let given = std::iter::once(&"conclave").chain(line).map(OsString::from);
        let error = Arguments::read(given, &Environment::default()).expect_err("refused");
        error.to_string()
    }

    #[test]
    fn an_empty_argument_is_named_whatever_it_is() {
        for (line, named) in [
            (&["local", "--output="][..], "'--output <DIR>' is empty"),
            (&["local", "--reports", ""], "'--reports <DIR>' is empty"),
            (&["local", "--record", ""], "'--record <DIR>' is empty"),
            (&["local", "--repo="], "'--repo <PATH>' is empty"),
            (&["plan", "--prompts="], "'--prompts <DIR>' is empty"),
            (&["local", "--replay-models="], "'--replay-models <FILE>' is empty"),
            (&["hook", "install", "--repo="], "'--repo <PATH>' is empty"),
            (&["runtime", "install", "--tarball", ""], "'--tarball <FILE>' is empty"),
            (&["replay", ""], "'<RUN_DIR>' is empty"),
        ] {
            let text = refusal(line);
            let words = line
                .iter()
                .take_while(|word| !word.starts_with('-') && !word.is_empty());
            let command: Vec<&str> = words.copied().collect();
            let usage = format!("Usage: conclave {} ", command.join(" "));
            assert!(
                text.contains(named) && text.contains("leave it out") && text.contains(&usage),
                "{line:?}: {text}"
            );
        }
    }

    #[test]
    fn a_registry_and_a_file_exclude_each_other_on_the_command_line_alone() {
        let (registry, tarball) = (["--registry", "https://a.example"], ["--tarball", "a.tgz"]);
        let text = refusal(&[&["runtime", "install"][..], &registry, &tarball].concat());
        assert!(text.contains("cannot be used with"), "{text}");
        // The variables that count beside them, where both are set.
        let set = environment(&[
            ("CONCLAVE_REGISTRY", "https://b.example"),
            ("CONCLAVE_TARBALL", "b.tgz"),
        ]);
        let counting = |line: &[&str], set: &Environment| {
            let given: Vec<OsString> = line.iter().map(OsString::from).collect();
            let command = command_for(&given, set);
            let runtime = command.find_subcommand("runtime").expect("a command");
            let install = runtime.find_subcommand("install").expect("a command");
            let found = install.get_arguments().filter_map(clap::Arg::get_env);
            found
                .map(|name| name.to_string_lossy().into_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(counting(&tarball, &set), ["CONCLAVE_TARBALL"]);
        assert_eq!(counting(&["--tarball=a.tgz"], &set), ["CONCLAVE_TARBALL"]);
        assert_eq!(counting(&registry, &set), [""; 0]);
        assert_eq!(counting(&[], &set), ["CONCLAVE_TARBALL"]);
        let alone = environment(&[("CONCLAVE_REGISTRY", "https://b.example")]);
        assert_eq!(counting(&[], &alone), ["CONCLAVE_REGISTRY"]);
        assert_eq!(counting(&tarball, &alone), [""; 0]);
    }

    #[test]
    fn a_number_that_is_none_or_out_of_range_gets_the_range() {
        for (flag, range) in [
            ("--agents", "a whole number from 1 to 64 is needed"),
            ("--max-cost-usd", "greater than 0"),
            ("--max-calls", "a whole number of at least 1 is needed"),
        ] {
            // A negative number is not taken for a flag.
            for number in ["-1", "0", "x"] {
                let text = refusal(&["local", flag, number]);
                assert!(text.contains(range) && !text.contains("tip:"), "{text}");
            }
        }
        for number in ["1.5", "1k", "99999999999999999999"] {
            let text = refusal(&["local", "--max-tokens", number]);
            assert!(text.contains("a whole number of at least 1 is needed"), "{text}");
        }
        let largest = [
            "conclave",
            "local",
            "--max-tokens",
            "18446744073709551615",
            "--agents=64",
        ];
        Arguments::read(largest.map(OsString::from), &Environment::default()).expect("within the ranges");
    }

    #[test]
    fn a_switch_that_cannot_be_read_gets_the_values_that_can() {
        for (value, is_read) in [
            ("maybe", false),
            ("2", false),
            ("YES", true),
            ("off", true),
            ("0", true),
        ] {
            let read = switch(value);
            assert_eq!(read.is_ok(), is_read, "{value}: {read:?}");
            let said = read.err().unwrap_or_default();
            assert!(is_read || said.contains("`true` or `false` is needed"), "{said}");
        }
    }

    #[test]
    fn a_value_from_a_variable_is_called_by_it() {
        let error = |given: &[&str]| {
            let line = ["conclave", "local", "--agents", "many"].map(OsString::from);
            let error = Arguments::read(line, &Environment::default()).expect_err("refused");
            let given: Vec<OsString> = given.iter().map(OsString::from).collect();
            with_variable(error, &given, &environment(&[("CONCLAVE_AGENTS", "many")])).to_string()
        };
        let of_variable = error(&["conclave", "local"]);
        assert!(
            of_variable.contains("'many' for 'CONCLAVE_AGENTS (--agents)'"),
            "{of_variable}"
        );
        for given in [&["local", "--agents", "many"][..], &["local", "--agents=many"]] {
            let of_flag = error(given);
            assert!(of_flag.contains("'--agents <N>'"), "{of_flag}");
        }
    }

    #[test]
    fn a_flag_in_a_text_is_called_by_the_variable_that_has_given_it() {
        let environment = environment(&[("CONCLAVE_OUTPUT", "/x"), ("CONCLAVE_MAX_CALLS", "1")]);
        for (text, given, expected) in [
            (
                "no room. Name another with --output",
                &["local"][..],
                "no room. Name another with CONCLAVE_OUTPUT (--output)",
            ),
            (
                "--max-calls: `--output`, --output",
                &["local"],
                "CONCLAVE_MAX_CALLS (--max-calls): `CONCLAVE_OUTPUT (--output)`, --output",
            ),
            ("with --output", &["local", "--output=/y"], "with --output"),
            ("--output (CONCLAVE_OUTPUT)", &["local"], "--output (CONCLAVE_OUTPUT)"),
            ("--reports -- x", &["local"], "--reports -- x"),
        ] {
            let given: Vec<OsString> = given.iter().map(OsString::from).collect();
            assert_eq!(with_variables(text, &given, &environment), expected);
        }
    }

    #[test]
    fn a_misspelled_variable_finds_its_name_and_those_of_others_none() {
        let said = |name: &str| mistaken_variables(&environment(&[(name, "x")]));
        for (name, meant) in [
            ("CONCLAVE_STAGD", "CONCLAVE_STAGED"),
            ("CONCLAVE_MODEL", "CONCLAVE_MODELS"),
            ("CONCLAVE_CONFIG_URI", "CONCLAVE_CONFIG_URL"),
        ] {
            let said = said(name);
            assert!(
                said.len() == 1 && said[0].contains(&format!("is {meant} meant?")),
                "{said:?}"
            );
        }
        for name in [
            "CONCLAVE_STAGED",
            "CONCLAVE_CA_FILE",
            "CONCLAVE_INPUT_AGENT",
            "CONCLAVE_TEST_ALL",
            "CONCLAVE_XYZZY",
            "MODEL",
        ] {
            assert_eq!(said(name), [] as [&str; 0], "{name}");
        }
    }
}

//! The reference of everything that can be set, made of the program itself: `docs/configuration.md`.

use std::fmt::Write;

use clap::CommandFactory;
use conclave_shared::config::TIME_LIMITS;
use serde_json::Value;

use crate::{args::Arguments, env::names, exit::Exit};

const INTRODUCTION: &str = "# Configuration reference

Made of the program by a test: change the program, then run `CONCLAVE_WRITE_DOCS=1 cargo nextest run -p conclave reference`.

What is set for a job (arguments, then variables) counts more than the repository's `.conclave.toml`, and both count more than the document of all reviews;
but for budgets, of which an operator's are the most that a job can have. An empty variable counts as not set, because CI systems cannot unset one.
";

/// The whole document.
fn document() -> String {
    let mut text = INTRODUCTION.to_owned();
    text.push_str("\n## Commands and flags\n\nEvery flag has a variable; a switch's takes `true` or `false`, and `1`, `0`, `yes`, `no`, `on` and `off` mean the same; that of `--require-sandbox` takes a level. An argument wins over its variable. A value that cannot be read is an error before the review, from either of them.\n");
    let mut command = Arguments::command();
    command.build();
    commands(&mut text, &command, "conclave");
    text.push_str(
        "\n## Environment variables\n\nBesides those of the flags.\n\n| variable | description |\n|---|---|\n",
    );
    for (name, description) in names::ALL {
        let _ = writeln!(text, "| `{name}` | {} |", description.trim());
    }
    text.push_str("\n## Exit codes\n\n| exit code | means |\n|---|---|\n");
    for (exit, meaning) in Exit::ALL {
        let _ = writeln!(text, "| {} | {} |", exit.code(), meaning.trim());
    }
    text.push_str(
        "\n## Time limits\n\nBy these names in `limits` of the document of all reviews, in `[limits]` of `.conclave.toml`, and with `--limits`; see [time limits](models.md#time-limits).\n\n| limit | by default | from | to | limits |\n|---|---|---|---|---|\n",
    );
    for limit in TIME_LIMITS {
        let (name, default) = (limit.name, limit.default());
        let _ = writeln!(
            text,
            "| `{name}` | {default} s | {} s | {} s | {} |",
            limit.min,
            limit.max,
            cell(limit.describe())
        );
    }
    let toml = include_str!("../../docs/schema/conclave-toml.schema.json");
    text.push_str("\n## .conclave.toml\n\nAt the root of a repository; read from the target branch. The [JSON Schema](schema/conclave-toml.schema.json) helps editors.\n");
    schema(&mut text, toml);
    let config = include_str!("../../docs/schema/config-document.schema.json");
    text.push_str("\n## The document of all reviews\n\nStored by `conclave config apply`, see [operating the Workers](operating.md#changing-the-configuration). The [JSON Schema](schema/config-document.schema.json) is the whole truth.\n");
    schema(&mut text, config);
    text
}

/// A heading and a table a command, those below it included.
fn commands(text: &mut String, command: &clap::Command, path: &str) {
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        let path = format!("{path} {}", below.get_name());
        let about = below.get_about().map(ToString::to_string).unwrap_or_default();
        let _ = write!(text, "\n### `{path}`\n\n{about}.\n");
        let arguments: Vec<&clap::Arg> = below
            .get_arguments()
            .filter(|argument| argument.get_id() != "help")
            .collect();
        if !arguments.is_empty() {
            text.push_str("\n| argument | variable | does |\n|---|---|---|\n");
        }
        for argument in arguments {
            let variable = argument.get_env().map(|name| format!("`{}`", name.to_string_lossy()));
            let values: Vec<String> = argument
                .get_possible_values()
                .iter()
                .filter(|value| !value.is_hide_set())
                .map(|value| value.get_name().to_owned())
                .collect();
            let takes_value = argument.get_action().takes_values();
            let value = match (takes_value, values.is_empty()) {
                (false, _) => String::new(),
                (true, false) => values.join("\\|"),
                (true, true) => argument
                    .get_value_names()
                    .map(|names| names.join(" "))
                    .unwrap_or_default(),
            };
            let shown = match argument.get_long() {
                Some(long) if value.is_empty() => format!("--{long}"),
                Some(long) if argument.is_require_equals_set() => format!("--{long}[={value}]"),
                Some(long) => format!("--{long} {value}"),
                None => value,
            };
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            let default = argument.get_default_values().first().filter(|_| takes_value);
            let default = default.map(|value| format!(" (by default `{}`)", value.to_string_lossy()));
            let _ = writeln!(
                text,
                "| `{shown}` | {} | {}{} |",
                variable.unwrap_or_default(),
                cell(&help),
                default.unwrap_or_default()
            );
        }
        commands(text, below, &path);
    }
}

/// A table of a schema's keys, nested ones with their paths.
fn schema(text: &mut String, schema: &str) {
    let root: Value = serde_json::from_str(schema).expect("a published schema is JSON");
    text.push_str("\n| key | is | by default | means |\n|---|---|---|---|\n");
    let mut seen = Vec::new();
    rows(text, &root, &root, "", &mut seen);
}

fn rows(text: &mut String, root: &Value, object: &Value, path: &str, seen: &mut Vec<String>) {
    let properties = object["properties"].as_object();
    for (name, property) in properties.into_iter().flatten() {
        let path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        let resolved = resolve(root, property);
        let default = property.get("default").or_else(|| resolved.get("default"));
        let shown = default.filter(|default| {
            !default.is_object() && **default != Value::Null && **default != Value::Array(Vec::new())
        });
        let described = property["description"]
            .as_str()
            .or_else(|| resolved["description"].as_str())
            .unwrap_or_default();
        let described = described.split("\n\n").next().unwrap_or_default();
        let _ = writeln!(
            text,
            "| `{path}` | {} | {} | {} |",
            cell(&kind(root, property)),
            shown.map(|default| format!("`{default}`")).unwrap_or_default(),
            cell(described)
        );
        // What is below a list or a map has its own rows once; a project's own limits are the same again.
        for (below, mark) in [
            (resolved, ""),
            (resolve(root, &resolved["items"]), "[]"),
            (resolve(root, &resolved["additionalProperties"]), ".NAME"),
        ] {
            let key = format!("{below}");
            if below["properties"].is_object() && !seen.contains(&key) {
                seen.push(key);
                rows(text, root, below, &format!("{path}{mark}"), seen);
            }
        }
    }
}

/// What a reference leads to.
fn resolve<'a>(root: &'a Value, value: &'a Value) -> &'a Value {
    let reference = value["$ref"].as_str().or_else(|| value["allOf"][0]["$ref"].as_str());
    let reference = reference.or_else(|| {
        let variants = value["anyOf"].as_array()?;
        variants.iter().find_map(|variant| variant["$ref"].as_str())
    });
    match reference {
        Some(reference) => root.pointer(reference.trim_start_matches('#')).unwrap_or(value),
        None => value,
    }
}

/// A property's type in words.
fn kind(root: &Value, property: &Value) -> String {
    let resolved = resolve(root, property);
    let choices = |value: &Value| {
        let listed = value["enum"].as_array().or_else(|| value["items"]["enum"].as_array())?;
        Some(
            listed
                .iter()
                .filter_map(Value::as_str)
                .map(|choice| format!("`{choice}`"))
                .collect::<Vec<_>>(),
        )
    };
    let one_of = resolved["oneOf"].as_array().map(|variants| {
        let named = variants.iter().filter_map(|variant| variant["const"].as_str());
        named.map(|choice| format!("`{choice}`")).collect::<Vec<_>>()
    });
    let choices = choices(property)
        .or_else(|| choices(resolved))
        .or(one_of.filter(|named| !named.is_empty()));
    let name = match (&resolved["type"], resolved["additionalProperties"].is_object()) {
        (_, true) => "table by name".to_owned(),
        (Value::String(name), _) => name.clone(),
        (Value::Array(names), _) => {
            let names = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            names.collect::<Vec<_>>().join(" or ")
        }
        _ => "any".to_owned(),
    };
    let name = match name.as_str() {
        "object" => "table",
        "array" => "list",
        "string" => "text",
        "integer" => "whole number",
        "boolean" => "`true` or `false`",
        other => other,
    };
    match choices {
        Some(choices) if name == "list" => format!("list of {}", choices.join(", ")),
        Some(choices) => choices.join(", "),
        None => name.to_owned(),
    }
}

/// Text that stays in its cell.
fn cell(text: &str) -> String {
    let unescaped = text.replace("\\|", "|");
    unescaped.replace('|', "\\|").replace('\n', " ")
}

#[test]
fn the_published_reference_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/configuration.md");
    let now = document();
    if std::env::var_os("CONCLAVE_WRITE_DOCS").is_some() {
        std::fs::write(path, &now).expect("the file can be written");
    }
    let published = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        published == now,
        "docs/configuration.md is old: run this test with CONCLAVE_WRITE_DOCS=1"
    );
}

#[test]
fn the_reference_has_everything() {
    let text = document();
    for part in [
        "### `conclave review`",
        "### `conclave config provider`",
        "| `--max-inline N` | `CONCLAVE_MAX_INLINE` |",
        "| `--gate off\\|block` | `CONCLAVE_GATE` |",
        "| `GITLAB_TOKEN` |",
        "| 143 |",
        "| `review.strictness` | `relaxed`, `standard`, `strict` |",
        "| `limits.budget.run_usd` |",
        "| `reviewers.NAME.models` |",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

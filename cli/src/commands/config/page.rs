//! The configuration of all reviews in the terminal.

use std::{collections::BTreeMap, fmt::Write};

use chrono::{DateTime, Utc};
use conclave_plugin_reviewer_config::{HistoryEntry, without_revision};
use conclave_shared::{
    config::{
        ClassEfforts, ConfigDocument, ConfigFault, EffectiveConfig, Limits, MAX_CHAIN, ModelSource, NO_CLASSES, Preset,
        RouteInput, default_failback, explain_route, known_providers,
    },
    model::ModelId,
    reviewer::ReviewerName,
};
use serde_json::Value;

use crate::output::{
    layout::{clean, columns},
    paint::Paint,
    table::{rows, section},
};

/// What is in force.
pub(crate) fn config(answer: &EffectiveConfig, project: Option<&str>) -> String {
    let config = &answer.config;
    let width = columns();
    let mut text = String::new();
    let revision = match config.revision {
        0 => "no revision yet: built-in defaults, and what was written to KV by hand".to_owned(),
        revision => format!("revision {revision}"),
    };
    let of = project.map_or_else(|| "all projects".to_owned(), clean);
    let _ = writeln!(text, "{} {of}, {revision}", "Configuration of".bold());
    for warning in &answer.warnings {
        let _ = writeln!(text, "{} {}", "Warning:".yellow().bold(), clean(warning));
    }
    section(&mut text, "Providers");
    text.push_str(&rows(providers(config).into_iter(), width));
    section(&mut text, "Reviewers");
    text.push_str(&rows(reviewers(config).into_iter(), width));
    let limits = limits(&config.limits);
    if !limits.is_empty() {
        section(&mut text, "Limits other than the built-in ones");
        text.push_str(&rows(limits.into_iter(), width));
    }
    if !config.panels.is_empty() {
        section(&mut text, "Panels other than the built-in ones");
        let panels = config.panels.iter();
        let panels = panels.map(|(tier, panel)| [format!("  {}", clean(tier)), clean(&panel.join(", "))]);
        text.push_str(&rows(panels, width));
    }
    if !config.failback.is_empty() {
        section(&mut text, "Stand-ins other than the built-in ones");
        text.push_str(&config_failback(&config.failback));
        text.push('\n');
    }
    if !config.capabilities.is_empty() {
        section(&mut text, "Capabilities other than those of the registry");
        let capabilities = config.capabilities.iter();
        let capabilities = capabilities.map(|(model, of_model)| {
            let corrected = serde_json::to_string(of_model).unwrap_or_default();
            [format!("  {}", clean(model)), clean(&corrected)]
        });
        text.push_str(&rows(capabilities, width));
    }
    if !config.prices.is_empty() {
        section(
            &mut text,
            "Prices other than the built-in ones, US dollars per million tokens",
        );
        let prices = config.prices.iter().map(|(model, price)| {
            let figures = format!("input {}, output {}", price.input, price.output);
            [
                format!("  {}", clean(model)),
                figures,
                format!("as of {}", clean(&price.as_of)),
            ]
        });
        text.push_str(&rows(prices, width));
    }
    text.trim_end().to_owned()
}

fn providers(config: &ConfigDocument) -> Vec<[String; 3]> {
    let names = known_providers(config);
    let rows = names.iter().map(|name| {
        let switch = config.providers.get(name);
        let state = if switch.is_none_or(|switch| switch.enabled) {
            "on".green()
        } else {
            "off".red().bold()
        };
        let reason = switch.and_then(|switch| switch.reason.as_deref()).unwrap_or_default();
        [format!("  {}", clean(name)), state, clean(reason)]
    });
    rows.collect()
}

fn reviewers(config: &ConfigDocument) -> Vec<[String; 3]> {
    // Which keys a job has, only the job knows.
    let credentials = known_providers(config);
    let names = ReviewerName::STANDING
        .iter()
        .copied()
        .chain([ReviewerName::COORDINATOR]);
    let rows = names.map(|name| {
        let explained = explain_route(
            name,
            RouteInput {
                document: config,
                preset: Preset::Current,
                credentials: &credentials,
                trivial: false,
                classes: &NO_CLASSES,
            },
        );
        let left = explained.considered.iter().filter(|model| model.skipped.is_none());
        let left: Vec<&str> = left.map(|considered| considered.model.as_str()).collect();
        let models = if left.is_empty() {
            "no model is left".red()
        } else {
            left.join(", ")
        };
        let settings = config.reviewers.get(name);
        let mut remarks = Vec::new();
        if settings.is_some_and(|settings| settings.enabled == Some(false)) {
            remarks.push("taken off every panel".yellow());
        }
        remarks.extend(
            settings
                .and_then(|settings| settings.timeout_seconds)
                .map(|seconds| format!("{seconds} s")),
        );
        if explained.effort != ClassEfforts::default().of(explained.tier, false) {
            remarks.push(format!("effort {}", explained.effort));
        }
        match explained.source {
            ModelSource::Preset => {}
            ModelSource::Class => remarks.push("named for its class".to_owned()),
            ModelSource::Remote => remarks.push("named for it".to_owned()),
        }
        let name = ReviewerName::new(name).map_or_else(|_| name.to_owned(), |name| name.display_name());
        [format!("  {name}"), models, remarks.join("; ")]
    });
    rows.collect()
}

/// The limits that are not the built-in ones, with what those are.
fn limits(limits: &Limits) -> Vec<[String; 2]> {
    fn walk(path: &str, now: &Value, built_in: &Value, rows: &mut Vec<[String; 2]>) {
        match now {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let place = if path.is_empty() {
                        name.clone()
                    } else {
                        format!("{path}.{name}")
                    };
                    walk(&place, value, &built_in[name], rows);
                }
            }
            now if now == built_in => {}
            now => {
                let usual = match built_in {
                    Value::Null => "without a limit otherwise".to_owned(),
                    value => format!("{value} otherwise"),
                };
                rows.push([format!("  {path}"), format!("{now} ({usual})")]);
            }
        }
    }
    let json = |limits: &Limits| serde_json::to_value(limits).unwrap_or_default();
    let mut rows = Vec::new();
    walk("", &json(limits), &json(&Limits::default()), &mut rows);
    rows
}

/// Chains of stand-ins.
pub(crate) fn config_failback(chains: &BTreeMap<String, Option<ModelId>>) -> String {
    if chains.is_empty() {
        return "  Every model has its built-in fallback model.".to_owned();
    }
    let lines = chains.iter().map(|(model, next)| {
        let next = next.as_ref().map_or("no fallback model", ModelId::as_str);
        format!("  {} → {}", clean(model), clean(next))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The whole chain of one model, built-in links included.
pub(crate) fn config_chain(model: &ModelId, chains: &BTreeMap<String, Option<ModelId>>) -> String {
    let mut line = format!("  {model}");
    let mut current = model.clone();
    for _ in 0..MAX_CHAIN {
        let next = match chains.get(current.as_str()) {
            Some(next) => next.clone(),
            None => default_failback(&current),
        };
        let Some(next) = next else { break };
        let _ = write!(line, " → {next}");
        current = next;
    }
    if current == *model {
        line.push_str(" → no fallback model");
    }
    line
}

/// What is wrong with a document, a line each.
pub(crate) fn config_faults(faults: &[ConfigFault]) -> String {
    let lines = faults.iter().map(|fault| match fault.pointer.as_str() {
        "" => format!("  {}", clean(&fault.detail)),
        pointer => format!("  {}: {}", clean(pointer), clean(&fault.detail)),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Who changed what, when and why.
pub(crate) fn config_history(history: &[HistoryEntry], before: Option<u64>) -> String {
    if history.is_empty() {
        return match before {
            Some(before) => format!("There is no revision before {before}."),
            None => "Nothing was written yet.".to_owned(),
        };
    }
    let lines = history.iter().map(|entry| {
        let who = if entry.who.is_empty() { "(no name)" } else { &entry.who };
        [
            entry.revision.to_string(),
            moment(entry.at_ms),
            clean(who),
            clean(&entry.action),
            clean(entry.why.as_deref().unwrap_or_default()),
        ]
    });
    let head = ["revision", "when (UTC)", "who", "what", "why"].map(str::to_owned);
    rows([head].into_iter().chain(lines), columns()).trim_end().to_owned()
}

fn moment(at_ms: i64) -> String {
    let at: DateTime<Utc> = DateTime::from_timestamp_millis(at_ms).unwrap_or_default();
    at.format("%Y-%m-%d %H:%M").to_string()
}

/// The difference between two documents, as a patch. The order of fields and the revision are no difference.
pub(crate) fn json_diff(before: &Value, after: &Value) -> String {
    let text = |value: &Value| {
        let mut value = without_revision(value);
        value.sort_all_objects();
        format!("{value:#}\n")
    };
    let (before, after) = (text(before), text(after));
    let patch = diffy::create_patch(&before, &after).to_string();
    // The two lines of file names say nothing here.
    patch
        .lines()
        .skip(2)
        .fold(String::new(), |text, line| text + line + "\n")
}

/// A patch in the colours of one.
pub(crate) fn colored_diff(patch: &str) -> String {
    let lines = patch.lines().map(|line| {
        let line = clean(line);
        match line.as_bytes().first() {
            Some(b'+') => line.green(),
            Some(b'-') => line.red(),
            Some(b'@') => line.dimmed(),
            _ => line,
        }
    });
    lines.fold(String::new(), |text, line| text + &line + "\n")
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;

//! Everything that a person sees in the terminal: the only door to standard output and standard error.

mod plan;
mod progress;
mod terminal;

pub(crate) use plan::plan;
pub(crate) use progress::{Lines, gateway_lines, plan_line};
pub(crate) use terminal::review;

use std::io::Write;

use conclave_shared::redact::Redactor;
use owo_colors::OwoColorize;
use serde::Serialize;
use serde_json::Value;

/// Prints a result on standard output.
pub(crate) fn print(text: &str) {
    // A closed pipe (`| head`) is no failure of the review.
    let _ = writeln!(anstream::stdout(), "{text}");
}

/// Tells the person something on standard error.
pub(crate) fn note(text: &str, redactor: &Redactor) {
    let _ = writeln!(anstream::stderr(), "{}", redactor.redact(text));
}

/// Tells the person why the command failed.
pub(crate) fn error(text: &str, redactor: &Redactor) {
    let _ = writeln!(
        anstream::stderr(),
        "{} {}",
        "error:".red().bold(),
        redactor.redact(text)
    );
}

/// A review or a plan as JSON, without secrets in any of its texts.
pub(crate) fn json(document: &impl Serialize, redactor: &Redactor) -> String {
    let mut value = serde_json::to_value(document).unwrap_or(Value::Null);
    redact_strings(&mut value, redactor);
    format!("{value:#}\n")
}

fn redact_strings(value: &mut Value, redactor: &Redactor) {
    match value {
        Value::String(text) => *text = redactor.redact(text),
        Value::Array(items) => items.iter_mut().for_each(|item| redact_strings(item, redactor)),
        Value::Object(fields) => fields.values_mut().for_each(|field| redact_strings(field, redactor)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

//! Findings that came as JSON, although XML was asked for.

use serde_json::{Deserializer, Map, Value};

use super::{
    scan::{RawFinding, ScanOutcome},
    tags::{FIELDS, field},
};

/// Other names that models give our fields.
const ALIASES: [(&str, &str); 14] = [
    ("path", "file"),
    ("filename", "file"),
    ("filepath", "file"),
    ("startline", "line"),
    ("linestart", "line"),
    ("linenumber", "line"),
    ("lineend", "end_line"),
    ("message", "claim"),
    ("issue", "claim"),
    ("quote", "evidence"),
    ("snippet", "evidence"),
    ("code", "evidence"),
    ("failurescenario", "scenario"),
    ("type", "category"),
];

/// How many places are tried at which JSON might begin. Prose and code have brackets of their own.
const MOST_STARTS: usize = 400;
/// How deep a list of findings may lie in other objects.
const DEEPEST: usize = 4;

/// Reads findings that are written as JSON: a list of objects, an object that holds such a list, or one finding, with
/// prose or a fence around it. `None` if there is no such thing. Of several the last counts.
pub(super) fn scan(text: &str) -> Option<ScanOutcome> {
    let text = text.trim();
    let mut last = None;
    // Entries of a list that cannot be read as one.
    let mut loose = ScanOutcome::default();
    let mut position = 0;
    let whole = unfenced(text);
    for _ in 0..MOST_STARTS {
        let Some(start) = text[position..].find(['{', '[']) else {
            break;
        };
        let start = position + start;
        let (value, length) = match parse(&text[start..]) {
            Parsed::Whole(value, length) => (value, length),
            Parsed::CutOff => {
                if let Some(outcome) = cut_off(&text[start..]) {
                    return Some(outcome);
                }
                position = start + 1;
                continue;
            }
            Parsed::Not => {
                position = start + 1;
                continue;
            }
        };
        position = start + length;
        if let Some(finding) = value.as_object().and_then(finding)
            && text[..start].trim_end().ends_with(['[', ','])
        {
            loose.findings.push(finding);
            continue;
        }
        // `[]` in prose is code; as the whole answer it is one.
        let is_all = whole.len() == length;
        if let Some(outcome) = findings_of(&value, is_all, 0) {
            last = Some(outcome);
        }
    }
    last.or_else(|| {
        let found = !loose.findings.is_empty();
        loose.faults.push(BROKEN.to_owned());
        found.then_some(loose)
    })
}

/// A list that ends too early, or is no JSON in the middle.
const BROKEN: &str = "the JSON of the findings is broken or cut off";

enum Parsed {
    Whole(Value, usize),
    CutOff,
    Not,
}

fn parse(text: &str) -> Parsed {
    let mut values = Deserializer::from_str(text).into_iter::<Value>();
    match values.next() {
        Some(Ok(value)) => Parsed::Whole(value, values.byte_offset().max(1)),
        Some(Err(error)) if error.is_eof() => Parsed::CutOff,
        _ => Parsed::Not,
    }
}

/// The whole findings of a list that ends in the middle.
fn cut_off(text: &str) -> Option<ScanOutcome> {
    let mut outcome = ScanOutcome::default();
    let mut position = 1;
    for _ in 0..MOST_STARTS {
        let Some(start) = text.get(position..).and_then(|rest| rest.find('{')) else {
            break;
        };
        let start = position + start;
        position = start + 1;
        if let Parsed::Whole(Value::Object(object), length) = parse(&text[start..])
            && let Some(finding) = finding(&object)
        {
            outcome.findings.push(finding);
            position = start + length;
        }
    }
    let known = FIELDS.iter().any(|field| text.contains(&format!("\"{field}\"")));
    if outcome.findings.is_empty() && !known && !text.contains("\"findings\"") {
        return None;
    }
    outcome.faults.push(BROKEN.to_owned());
    Some(outcome)
}

fn findings_of(value: &Value, is_all: bool, depth: usize) -> Option<ScanOutcome> {
    match value {
        Value::Array(items) => {
            if items.is_empty() {
                return is_all.then(ScanOutcome::default);
            }
            let findings: Vec<Option<RawFinding>> =
                items.iter().map(|item| item.as_object().and_then(finding)).collect();
            if findings.iter().all(Option::is_none) {
                return None;
            }
            let mut outcome = ScanOutcome::default();
            for (index, finding) in findings.into_iter().enumerate() {
                match finding {
                    Some(finding) => outcome.findings.push(finding),
                    None => outcome
                        .faults
                        .push(format!("entry {} of the JSON list is no finding", index + 1)),
                }
            }
            Some(outcome)
        }
        Value::Object(object) => {
            if let Some((_, list)) = object.iter().find(|(name, _)| name.eq_ignore_ascii_case("findings")) {
                return match list {
                    Value::Null => Some(ScanOutcome::default()),
                    list => findings_of(list, true, depth + 1),
                };
            }
            if let Some(finding) = finding(object) {
                return Some(ScanOutcome {
                    findings: vec![finding],
                    faults: Vec::new(),
                });
            }
            if depth >= DEEPEST {
                return None;
            }
            object
                .values()
                .filter(|value| value.is_object() || value.is_array())
                .find_map(|value| findings_of(value, false, depth + 1))
        }
        _ => None,
    }
}

/// An object as a finding, if it says at least where and what.
fn finding(object: &Map<String, Value>) -> Option<RawFinding> {
    let mut finding = RawFinding::default();
    for (name, value) in object {
        if let Some(inner) = value
            .as_object()
            .filter(|_| name.to_ascii_lowercase().starts_with("second"))
        {
            for (name, value) in inner {
                if let (Some(field), Some(text)) = (second(name), text_of(value)) {
                    finding.push(field, text);
                }
            }
        } else if let (Some(field), Some(text)) = (field_of(name), text_of(value)) {
            finding.push(field, text);
        }
    }
    (finding.has("claim") && (finding.has("file") || finding.has("evidence"))).then_some(finding)
}

fn field_of(name: &str) -> Option<&'static str> {
    field(name).or_else(|| {
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let (_, meant) = ALIASES.iter().find(|(alias, _)| plain.eq_ignore_ascii_case(alias))?;
        Some(*meant)
    })
}

fn second(name: &str) -> Option<&'static str> {
    match field_of(name)? {
        "file" => Some("second_file"),
        "line" => Some("second_line"),
        "evidence" => Some("second_evidence"),
        _ => None,
    }
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Bool(yes) => Some(if *yes { "yes" } else { "no" }.to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(items) => {
            let lines: Vec<String> = items.iter().filter_map(text_of).collect();
            Some(lines.join("\n"))
        }
        Value::Object(_) => Some(value.to_string()),
    }
}

/// The text without a fence around it.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let Some(inside) = text.strip_prefix("```").and_then(|inside| inside.strip_suffix("```")) else {
        return text;
    };
    inside.split_once('\n').map_or(text, |(_, inside)| inside.trim())
}

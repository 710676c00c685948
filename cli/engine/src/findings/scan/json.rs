//! Findings that came as JSON, although XML was asked for.

use serde_json::{Deserializer, Map, Value};

use super::{AMONG_WORDS, Lines, RawFinding, ScanOutcome, join, raw_finding::JSON, stands_alone_at_the_end, traces};
use crate::{
    findings::{
        tags::{FIELDS, field, field_of, is_rank},
        written::shorten,
    },
    json::repeated_name,
};

/// How many places are tried at which JSON might begin. Prose and code have brackets of their own.
const MAX_STARTS: usize = 400;
/// How deep a list of findings may lie in other objects.
const MAX_DEPTH: usize = 4;

/// Reads findings that are written as JSON: a list of objects, an object that holds such a list, or one finding, with
/// prose or a fence around it. `None` if there is no such thing. Of several the last counts if it repeats the others. The text begins
/// in line `first` of the answer.
pub(super) fn scan(text: &str, first: usize) -> Option<ScanOutcome> {
    let (lines, before) = (Lines::of(text), text.len() - text.trim_start().len());
    let text = text.trim();
    let line_at = |place: usize| first - 1 + lines.at(before + place);
    let mut lists: Vec<ScanOutcome> = Vec::new();
    // Entries of a list that cannot be read as one, and where it breaks.
    let mut loose = ScanOutcome::default();
    let (mut breaks, mut first_loose) = (None, None);
    let mut faults = Vec::new();
    let mut position = 0;
    let (mut is_last, mut last) = (true, first);
    let whole = unfenced(text);
    for _ in 0..MAX_STARTS {
        let Some(start) = text[position..].find(['{', '[']) else {
            break;
        };
        let start = position + start;
        let is_entry = text[..start].trim_end().ends_with(['[', ',']);
        let (value, length) = match parse(&text[start..]) {
            Parsed::Whole(value, length) => (value, length),
            Parsed::CutOff => {
                if let Some(outcome) = cut_off(&text[start..], |place| line_at(start + place)) {
                    last = line_at(start);
                    lists.push(outcome);
                    break;
                }
                position = start + 1;
                continue;
            }
            Parsed::Not => {
                breaks = breaks.or(is_entry.then_some(start));
                position = start + 1;
                continue;
            }
        };
        position = start + length;
        if is_entry && let Some(mut finding) = value.as_object().and_then(finding) {
            finding.stands_in(JSON, line_at(start));
            loose.findings.push(finding);
            first_loose = first_loose.or(Some(start));
            continue;
        }
        // `[]` in prose is code; as the whole answer it is one.
        let is_all = whole.len() == length;
        if let Some(mut outcome) = findings_of(&value, is_all, 0) {
            last = line_at(start);
            for finding in &mut outcome.findings {
                finding.stands_in(JSON, last);
            }
            for fault in &mut outcome.faults {
                *fault = format!("{fault} (in the JSON that begins in line {last} of the answer)");
            }
            if let Some((name, line)) = repeated_name(&text[start..position]) {
                faults.push(format!(
                    "the JSON of the findings has the name `{}` twice in one object (line {} of the answer)",
                    shorten(&name),
                    last - 1 + line
                ));
            }
            is_last = stands_alone_at_the_end(text, start, position);
            lists.push(outcome);
        }
    }
    if !loose.findings.is_empty() {
        let begins = first_loose.unwrap_or_default();
        last = line_at(begins);
        loose.faults.push(broken(line_at(breaks.unwrap_or(begins))));
        lists.push(loose);
    }
    if lists.is_empty() {
        return None;
    }
    faults.extend(lists.iter_mut().flat_map(|list| std::mem::take(&mut list.faults)));
    let missing: usize = lists.iter().map(|list| list.lost).sum();
    let mut outcome = join(lists.into_iter().map(|list| list.findings).collect(), last);
    outcome.lost = missing;
    if faults.iter().any(|fault| fault.starts_with(BROKEN)) {
        let seen = traces::count(text).saturating_sub(outcome.findings.len());
        outcome.lost = outcome.lost.max(seen);
    }
    outcome.faults.splice(0..0, faults);
    if !is_last && outcome.findings.is_empty() {
        outcome
            .faults
            .push(format!("the empty list in line {last} {AMONG_WORDS}"));
    }
    Some(outcome)
}

/// A list that ends too early, or is no JSON in the middle.
const BROKEN: &str = "the JSON of the findings is broken or cut off";

/// The fault of a list of which the entry that begins in this line, or what follows it, cannot be read.
fn broken(line: usize) -> String {
    format!("{BROKEN} (line {line} of the answer)")
}

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

/// How much of the text is one JSON value, with the white space before it; `None` if it does not begin with a list or an
/// object.
pub(super) fn length(text: &str) -> Option<usize> {
    let inside = text.trim_start();
    match parse(inside) {
        Parsed::Whole(Value::Array(_) | Value::Object(_), length) => Some(text.len() - inside.len() + length),
        _ => None,
    }
}

/// Returns whether the tag at this place stands inside of JSON that is the answer, or holds findings.
pub(super) fn is_around(answer: &str, tag: Option<usize>) -> bool {
    let Some(tag) = tag else { return false };
    let mut position = 0;
    for _ in 0..MAX_STARTS {
        let Some(start) = answer[position..tag].find(['{', '[']) else {
            return false;
        };
        let start = position + start;
        match parse(&answer[start..]) {
            Parsed::Whole(value, length) => {
                if start + length > tag && findings_of(&value, false, 0).is_some() {
                    return true;
                }
                position = (start + length).min(tag);
            }
            // Broken JSON is not an answer in tags because it quotes some.
            Parsed::CutOff | Parsed::Not if is_about_findings(&answer[start..tag]) => return true,
            Parsed::CutOff | Parsed::Not => position = start + 1,
        }
    }
    false
}

/// Returns whether the beginning of some JSON has the names of a finding.
fn is_about_findings(text: &str) -> bool {
    let key = |name: &str| text.contains(&format!("\"{name}\""));
    key("findings") || (key("severity") && (key("claim") || key("evidence")))
}

/// The whole findings of a list that ends in the middle, of which the places stand in these lines of the answer.
fn cut_off(text: &str, line_at: impl Fn(usize) -> usize) -> Option<ScanOutcome> {
    let mut outcome = ScanOutcome::default();
    let mut position = 1;
    // What begins behind the last whole finding.
    let mut half = None;
    for _ in 0..MAX_STARTS {
        let Some(start) = text.get(position..).and_then(|rest| rest.find('{')) else {
            break;
        };
        let start = position + start;
        position = start + 1;
        if let Parsed::Whole(Value::Object(object), length) = parse(&text[start..])
            && let Some(mut finding) = finding(&object)
        {
            finding.stands_in(JSON, line_at(start));
            outcome.findings.push(finding);
            position = start + length;
            half = None;
        } else {
            half = half.or(Some(start));
        }
    }
    let known = FIELDS.iter().any(|field| text.contains(&format!("\"{field}\"")));
    if outcome.findings.is_empty() && !known && !text.contains("\"findings\"") {
        return None;
    }
    outcome.faults.push(broken(line_at(half.unwrap_or(text.len()))));
    Some(outcome)
}

/// The finding that JSON was telling when it broke off, as far as it came.
pub(super) fn half(text: &str) -> Option<RawFinding> {
    let mut position = 0;
    for _ in 0..MAX_STARTS {
        let start = position + text.get(position..)?.find(['{', '['])?;
        let length = match parse(&text[start..]) {
            Parsed::Whole(_, length) => length,
            Parsed::CutOff => match half_of(&text[start..]) {
                Some(half) => return Some(half),
                None => 1,
            },
            Parsed::Not => 1,
        };
        position = start + length;
    }
    None
}

/// The innermost object that is open where JSON is cut off and says how bad something is, or what.
fn half_of(json: &str) -> Option<RawFinding> {
    let (mut open, mut in_text, mut is_escaped) = (Vec::new(), false, false);
    // Where the last member ends that is whole.
    let mut whole = 0;
    for (at, character) in json.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = in_text,
            '"' => in_text = !in_text,
            _ if in_text => {}
            '{' | '[' => {
                open.push(at);
                whole = at + 1;
            }
            '}' | ']' => {
                open.pop();
                whole = at + 1;
            }
            ',' => whole = at,
            _ => {}
        }
    }
    let told = &json[..json.len() - usize::from(is_escaped)];
    let told = [
        format!("{told}{}", if in_text { "\"" } else { "" }),
        json[..whole].to_owned(),
    ];
    let is_object = |at: usize| json[at..].starts_with('{');
    open.iter().enumerate().rev().find_map(|(level, start)| {
        let ends = open[level..].iter().rev();
        let ends: String = ends.map(|at| if is_object(*at) { '}' } else { ']' }).collect();
        let closed = |told: &String| serde_json::from_str::<Map<String, Value>>(&format!("{}{ends}", &told[*start..]));
        let half = fields_of(&told.iter().find_map(|told| closed(told).ok())?);
        (half.has("severity") || half.has("claim")).then_some(half)
    })
}

fn findings_of(value: &Value, is_all: bool, depth: usize) -> Option<ScanOutcome> {
    match value {
        Value::Array(items) => {
            if items.is_empty() {
                return is_all.then(ScanOutcome::default);
            }
            let findings: Vec<Option<RawFinding>> =
                items.iter().map(|item| item.as_object().and_then(finding)).collect();
            let is_list = findings.iter().any(Option::is_some);
            let unread = items.iter().zip(&findings).filter(|(_, finding)| finding.is_none());
            // Among findings whatever says how bad it is may be one.
            let may_be_finding =
                |object: &Map<String, Value>| is_half(object) || (is_list && names(object, "severity"));
            let lost = unread
                .filter(|(item, _)| item.as_object().is_some_and(may_be_finding))
                .count();
            if !is_list && lost == 0 {
                return None;
            }
            let mut outcome = ScanOutcome {
                lost,
                ..ScanOutcome::default()
            };
            for (index, finding) in findings.into_iter().enumerate() {
                match finding {
                    Some(finding) => outcome.findings.push(finding),
                    None => outcome
                        .faults
                        .push(format!("entry {} of the JSON list is not a finding", index + 1)),
                }
            }
            Some(outcome)
        }
        Value::Object(object) => {
            if let Some(finding) = finding(object) {
                return Some(ScanOutcome {
                    findings: vec![finding],
                    ..ScanOutcome::default()
                });
            }
            if depth >= MAX_DEPTH {
                return None;
            }
            // What else holds findings belongs to them: `{"critical": [...], "warnings": [...]}`.
            let mut all: Option<ScanOutcome> = None;
            for (name, value) in object {
                let is_list = name.eq_ignore_ascii_case("findings");
                let outcome = match value {
                    Value::Null if is_list => Some(ScanOutcome::default()),
                    value => findings_of(value, is_list, depth + 1),
                };
                if let Some(outcome) = outcome {
                    let all = all.get_or_insert_default();
                    all.findings.extend(outcome.findings);
                    all.faults.extend(outcome.faults);
                    all.lost += outcome.lost;
                } else if is_list {
                    all.get_or_insert_default()
                        .faults
                        .push("the JSON list of findings holds something else".to_owned());
                }
            }
            all.or_else(|| {
                is_half(object).then(|| ScanOutcome {
                    lost: 1,
                    ..ScanOutcome::fault("an object of the JSON says how bad something is, and is not a finding")
                })
            })
        }
        _ => None,
    }
}

/// Returns whether an object that is not a finding says how bad something is, and what or where.
fn is_half(object: &Map<String, Value>) -> bool {
    names(object, "severity") && ["claim", "file", "evidence"].iter().any(|field| names(object, field))
}

/// Returns whether an object has this field, whatever it calls it.
fn names(object: &Map<String, Value>, field: &str) -> bool {
    object.keys().any(|name| field_of(name) == Some(field))
}

/// An object as a finding, if it says at least where and what.
fn finding(object: &Map<String, Value>) -> Option<RawFinding> {
    let finding = fields_of(object);
    (finding.has("claim") && (finding.has("file") || finding.has("evidence"))).then_some(finding)
}

/// The fields of a finding that an object has.
fn fields_of(object: &Map<String, Value>) -> RawFinding {
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
        } else if let Some(inner) = value.as_object().filter(|inner| is_place_or_code(name, inner)) {
            // `{"evidence": {"code": …, "line": 4}}`
            let own = inner
                .iter()
                .filter_map(|(name, value)| Some((field_of(name)?, text_of(value)?)));
            for (field, text) in own.filter(|(field, _)| !is_given(object, field)) {
                finding.push(field, text);
            }
        } else if let (Some(field), Some(text)) = (field_of(name), text_of(value))
            && !is_named_better(object, name, field)
        {
            finding.push(field, text);
        }
    }
    for (_, value) in object.iter().filter(|(name, _)| is_rank(name)) {
        finding.also_severe(value.as_str().unwrap_or_default());
    }
    // What others call its description is the claim where nothing else is.
    if !finding.has("claim") {
        let described = |name: &str| {
            ["description", "problem", "title"]
                .iter()
                .any(|alias| name.eq_ignore_ascii_case(alias))
        };
        let words = object.iter().find(|(name, _)| described(name));
        if let Some(text) = words.and_then(|(_, value)| text_of(value)) {
            finding.push("claim", text);
        }
    }
    finding.place();
    finding
}

/// Returns whether an object under this name holds the place or the code of a finding.
fn is_place_or_code(name: &str, inner: &Map<String, Value>) -> bool {
    match field_of(name) {
        Some("evidence") => names(inner, "evidence"),
        Some("file") => names(inner, "file"),
        _ => false,
    }
}

/// Returns whether a place stands under its own name, too: `{"file": "a.py", "location": "a.py:4"}`.
fn is_named_better(object: &Map<String, Value>, name: &str, meant: &str) -> bool {
    let is_own = |name: &str| field(name) == Some(meant);
    matches!(meant, "file" | "line") && !is_own(name) && object.keys().any(|other| is_own(other))
}

/// Returns whether a finding's object itself gives a field as a text or a number.
fn is_given(object: &Map<String, Value>, field: &str) -> bool {
    let mut of_field = object.iter().filter(|(name, _)| field_of(name) == Some(field));
    of_field.any(|(_, value)| !value.is_object() && !value.is_null())
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

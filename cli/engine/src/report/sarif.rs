//! The review as SARIF 2.1.0, for code scanning and editors.

use std::collections::BTreeMap;

use conclave_shared::{severity::Severity, verdict::Verdict};
use serde_json::{Value, json};

use super::identity::fingerprints;
use crate::review::{CONTEXT_FILE, JudgedFinding, Review};

/// Where the schema of the format is.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// The name of our fingerprints; another way to make them needs another version.
const FINGERPRINT: &str = "conclave/v1";

/// The findings that stand as a SARIF log with one run. What was not reviewed is told in it: a consumer that reads
/// `executionSuccessful` does not take an incomplete review for a clean one, or a change without anything to review for a failure.
pub fn render_sarif(review: &Review) -> Value {
    let standing: Vec<&JudgedFinding> = review.surviving().collect();
    let mut rules: BTreeMap<&str, usize> = BTreeMap::new();
    let mut rule_list: Vec<Value> = Vec::new();
    for entry in &standing {
        rules.entry(&entry.finding.category).or_insert_with(|| {
            rule_list.push(rule(entry));
            rule_list.len() - 1
        });
    }
    let prints = fingerprints(review);
    let results: Vec<Value> = standing
        .iter()
        .zip(prints)
        .map(|(entry, print)| result(entry, rules.get(entry.finding.category.as_str()).copied(), &print))
        .collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "Conclave",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rule_list,
            }},
            "automationDetails": {"id": format!("conclave/{}", review.run_id)},
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": {"SRCROOT": {"description": {"text": "The root of the repository."}}},
            "invocations": [{
                "executionSuccessful": review.is_complete() || review.is_of_nothing(),
                "toolExecutionNotifications": notifications(review),
            }],
            "results": results,
            "properties": {
                "verdict": review.verdict,
                "baseSha": review.base_sha,
                "headSha": review.head_sha,
                "filesReviewed": review.coverage.reviewed.len(),
            },
        }],
    })
}

/// The same for GitHub's code scanning: only findings with a place in a file, which GitHub recognizes from run to run by their
/// fingerprints, in one category; and without links, which are written as `[text](target)` in it.
pub fn render_code_scanning(review: &Review) -> Value {
    let mut log = render_sarif(review);
    let run = &mut log["runs"][0];
    run["automationDetails"] = json!({"id": "conclave/"});
    if let Some(results) = run["results"].as_array_mut() {
        results.retain(|result| result.pointer("/locations/0/physicalLocation").is_some());
        for result in results {
            let print = result["partialFingerprints"][FINGERPRINT].take();
            result["partialFingerprints"] = json!({"primaryLocationLineHash": print});
            if let Some(text) = result["message"]["text"].as_str() {
                let text = text.replace('[', "\\[").replace(']', "\\]");
                result["message"]["text"] = json!(text);
            }
        }
    }
    log
}

fn notifications(review: &Review) -> Vec<Value> {
    let note = |level: &str, text: &str| json!({"level": level, "message": {"text": text}});
    let gaps = review.coverage.gaps.iter().map(|gap| {
        let level = if review.verdict == Verdict::Inconclusive {
            "error"
        } else {
            "warning"
        };
        note(level, &format!("Not reviewed: {gap}"))
    });
    let unproven = review.coverage.unproven.iter().map(|finding| {
        let severity = finding.severity_in_words();
        let text = format!(
            "A finding without proof ({severity}), at {}: {} ({})",
            finding.place(),
            finding.claim,
            finding.reason
        );
        note("error", &text)
    });
    let degraded = review
        .degraded
        .iter()
        .chain(&review.partial)
        .map(|text| note("warning", text));
    let nothing = review.is_of_nothing().then(|| note("note", &review.summary));
    gaps.chain(unproven)
        .chain(nothing)
        .chain(degraded)
        .chain(review.warnings.iter().map(|text| note("note", text)))
        .collect()
}

fn rule(entry: &JudgedFinding) -> Value {
    let category = &entry.finding.category;
    let mut rule = json!({
        "id": category,
        "name": category,
        "shortDescription": {"text": category.replace('-', " ")},
        "properties": {"tags": [entry.section.as_str()]},
    });
    if let Some(citation) = entry
        .finding
        .rule
        .as_ref()
        .filter(|rule| url::Url::parse(&rule.link).is_ok())
    {
        rule["helpUri"] = json!(citation.link);
    }
    rule
}

fn result(entry: &JudgedFinding, rule: Option<usize>, print: &str) -> Value {
    let finding = &entry.finding;
    let mut text = finding.claim.clone();
    if !finding.scenario.trim().is_empty() {
        text = format!("{text}\n\n{}", finding.scenario.trim());
    }
    let mut result = json!({
        "ruleId": finding.category,
        "level": level(finding.severity),
        "message": {"text": text},
        "locations": [location(&finding.file, finding.line, finding.end_line, &finding.evidence)],
        "partialFingerprints": {FINGERPRINT: print},
        "rank": (finding.confidence.clamp(0.0, 1.0) * 100.0).round(),
        "properties": {
            "severity": finding.severity,
            "productionRisk": entry.production_risk,
            "section": entry.section,
            "foundBy": finding.found_by,
        },
    });
    if let Some(rule) = rule {
        result["ruleIndex"] = json!(rule);
    }
    if let Some(second) = &finding.second {
        let mut related = location(&second.file, second.line, None, &second.code);
        related["message"] = json!({"text": "The claim rests on this place, too."});
        result["relatedLocations"] = json!([related]);
    }
    result
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "error",
        Severity::Warning => "warning",
        Severity::Suggestion => "note",
    }
}

fn location(file: &str, line: u32, end: Option<u32>, code: &str) -> Value {
    if file == CONTEXT_FILE {
        // The title, the description or a comment: no place in the repository.
        return json!({"message": {"text": "In what people wrote about the change, not in a file."}});
    }
    let line = line.max(1);
    let mut region = json!({"startLine": line, "snippet": {"text": code}});
    if let Some(end) = end.filter(|end| *end > line) {
        region["endLine"] = json!(end);
    }
    json!({"physicalLocation": {
        "artifactLocation": {"uri": uri(file), "uriBaseId": "SRCROOT"},
        "region": region,
    }})
}

/// The path as a relative URI reference.
fn uri(path: &str) -> String {
    use std::fmt::Write;
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'.' | b'_' | b'~') {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
#[path = "sarif_tests.rs"]
mod tests;

//! The coordinator of the demo model: spawns the reviewers, judges their findings, submits the review.

use super::LABEL;
use crate::model::{Answer, ModelRequest, Part};
use serde_json::{Value, json};

const SPAWN: &str = "spawn_reviewers";
const SUBMIT: &str = "submit_review";

/// Below this, a finding is speculation.
const SURE: f64 = 0.8;

pub(super) fn answer(request: &ModelRequest) -> Answer {
    let result_of = |tool: &str| {
        let exchanges = request.exchanges();
        let found = exchanges.iter().rev().find(|(call, _)| call.name == tool);
        found.and_then(|(_, result)| result.map(|(text, is_error)| (text.to_owned(), is_error)))
    };
    for tool in [SPAWN, SUBMIT] {
        if !request.offers(tool) {
            return Answer::text(format!(
                "The tool {tool} is not offered, so there is no review ({LABEL})."
            ));
        }
    }
    if let Some((text, is_error)) = result_of(SUBMIT) {
        let outcome = if is_error { "was not taken" } else { "is submitted" };
        let first = text
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .take(200)
            .collect::<String>();
        return Answer::text(format!("The review {outcome}: {first} ({LABEL})."));
    }
    let Some((text, is_error)) = result_of(SPAWN).or_else(|| given(request)) else {
        return Answer::call(SPAWN, json!({}));
    };
    match reviewers(&text) {
        // A call that was cut off, as by a switch of providers, is made again: it answers from what is there.
        None if is_error || ["abort", "interrupted"].iter().any(|word| text.contains(word)) => {
            Answer::call(SPAWN, json!({}))
        }
        Some(reviewers) => {
            let review = with_earlier(review(&reviewers), request, &reviewers);
            Answer::call(SUBMIT, with_questions(review, request))
        }
        None => Answer::text(format!(
            "The answer of {SPAWN} could not be read, so there is no review ({LABEL})."
        )),
    }
}

/// The panel's findings, where the message brings them along.
fn given(request: &ModelRequest) -> Option<(String, bool)> {
    let first = request.messages.first()?;
    first.parts.iter().rev().find_map(|part| match part {
        Part::Text(text) => Some((text[text.rfind("\n\n{\"reviewers\":")?..].to_owned(), false)),
        _ => None,
    })
}

/// The reviewers in the tool's result, which may have text around the JSON.
fn reviewers(text: &str) -> Option<Vec<Value>> {
    let json = &text[text.find('{')?..=text.rfind('}')?];
    let value: Value = serde_json::from_str(json).ok()?;
    value["reviewers"].as_array().cloned()
}

/// The review with a word on each open earlier finding whose code has changed, or that a member disagrees with: it is fixed
/// if nobody has found the like in its file again.
fn with_earlier(mut review: Value, request: &ModelRequest, reviewers: &[Value]) -> Value {
    let found_again = |file: &str, category: &str| {
        let mut findings = reviewers
            .iter()
            .flat_map(|reviewer| reviewer["findings"].as_array().into_iter().flatten());
        findings.any(|finding| finding["file"] == file && finding["category"] == category)
    };
    let mut words = Vec::new();
    for (entry, replies) in earlier_findings(request) {
        let [number, place, _, category, state, code] = entry[..] else {
            continue;
        };
        let id = format!("E{number}");
        let disagrees = replies
            .last()
            .is_some_and(|reply| reply.contains(", member]") && reply.contains("I disagree"));
        let changed = code == "code changed since";
        if state != "open" && state != "in our summary only" || !(changed || disagrees) {
            continue;
        }
        let file = place.rsplit_once(':').map_or(place, |(file, _)| file);
        let fixed = changed && !found_again(file, category);
        let mut word = json!({"id": id, "status": if fixed { "fixed" } else { "not_fixed" },
                              "reason": if fixed { "Nobody finds it any more." } else { "It is still there." }});
        if disagrees && !fixed {
            word["answer"] = json!(format!("The code still does what the finding says ({LABEL})."));
        }
        words.push(word);
    }
    if !words.is_empty() {
        review["earlier"] = json!(words);
    }
    review
}

/// The review with an entry for each question, and no answer, because the demo model knows none.
fn with_questions(mut review: Value, request: &ModelRequest) -> Value {
    let ids = lines(request).filter_map(|line| line.strip_prefix("- Q")?.split_once(" | "));
    let entries: Vec<Value> = ids.map(|(number, _)| json!({"id": format!("Q{number}")})).collect();
    if !entries.is_empty() {
        review["answers"] = json!(entries);
    }
    review
}

/// The lines of the messages.
fn lines(request: &ModelRequest) -> impl Iterator<Item = &str> {
    let texts = request.messages.iter().flat_map(|message| &message.parts);
    let texts = texts.filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.flat_map(str::lines)
}

/// The earlier findings in the coordinator's message: the parts of each one's line, and the replies below it.
fn earlier_findings(request: &ModelRequest) -> Vec<(Vec<&str>, Vec<&str>)> {
    let mut findings: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    for line in lines(request) {
        if let Some(entry) = line.strip_prefix("- E") {
            let parts: Vec<&str> = entry.split(" | ").collect();
            if parts.len() == 6 {
                findings.push((parts, Vec::new()));
            }
        } else if let (Some(reply), Some((_, replies))) = (line.strip_prefix("  ["), findings.last_mut()) {
            replies.push(reply);
        }
    }
    findings
}

/// What decides about a finding, and what the summary says of it.
struct Standing<'a> {
    id: &'a str,
    severity: &'a str,
    category: &'a str,
    file: &'a str,
    line: u64,
    /// Who reported it, the reports that were merged into it included.
    found_by: Vec<&'a str>,
}

fn review(reviewers: &[Value]) -> Value {
    let mut decisions = Vec::new();
    let mut kept: Vec<Standing> = Vec::new();
    let mut dropped = 0;
    for (reviewer, finding) in reviewers.iter().flat_map(|reviewer| {
        let findings = reviewer["findings"].as_array().into_iter().flatten();
        findings.map(|finding| (reviewer["name"].as_str().unwrap_or_default(), finding))
    }) {
        let text = |name: &str| finding[name].as_str().unwrap_or_default();
        let id = text("id");
        let same = |standing: &&mut Standing| {
            (standing.file, standing.line, standing.category) == (text("file"), line(finding), text("category"))
        };
        if let Some(first) = kept.iter_mut().find(same) {
            decisions.push(json!({"id": id, "action": "merge", "merge_into": first.id, "reason_code": "duplicate"}));
            if !first.found_by.contains(&reviewer) {
                first.found_by.push(reviewer);
            }
        } else if confidence(finding) < SURE && !weighs(finding) {
            decisions.push(json!({"id": id, "action": "drop", "reason_code": "speculative",
                                  "reason": format!("Confidence {:.2}, below {SURE:.2}.", confidence(finding))}));
            dropped += 1;
        } else {
            let mut decision = json!({"id": id, "action": "keep"});
            if text("severity") == "critical" {
                decision["production_risk"] = json!(true);
            }
            decisions.push(decision);
            kept.push(Standing {
                id,
                severity: text("severity"),
                category: text("category"),
                file: text("file"),
                line: line(finding),
                found_by: vec![reviewer],
            });
        }
    }
    json!({
        "summary": summary(reviewers, &kept, dropped),
        "decisions": decisions,
        "proposed_verdict": verdict(&kept),
    })
}

/// Returns whether it is dropped only with code that refutes it, which the demo model does not look for.
fn weighs(finding: &Value) -> bool {
    finding["severity"] == "critical" || finding["category"] == "prompt-injection"
}

/// The line, also when it came as text.
fn line(finding: &Value) -> u64 {
    let line = &finding["line"];
    line.as_u64()
        .or_else(|| line.as_str().and_then(|text| text.parse().ok()))
        .unwrap_or_default()
}

/// The confidence, also when it came as text; a finding without one counts as sure.
fn confidence(finding: &Value) -> f64 {
    let confidence = &finding["confidence"];
    confidence
        .as_f64()
        .or_else(|| confidence.as_str().and_then(|text| text.parse().ok()))
        .unwrap_or(1.0)
}

/// The rubric: any critical blocks; several warnings, or two of a kind in one file, are a pattern.
fn verdict(kept: &[Standing]) -> &'static str {
    let warnings: Vec<&Standing> = kept.iter().filter(|finding| finding.severity == "warning").collect();
    let alike = warnings.iter().enumerate().any(|(at, one)| {
        warnings[..at]
            .iter()
            .any(|other| other.category == one.category && other.file == one.file)
    });
    if kept.iter().any(|finding| finding.severity == "critical") {
        "significant_concerns"
    } else if warnings.len() >= 3 || alike {
        "minor_issues"
    } else if kept.is_empty() {
        "approved"
    } else {
        "approved_with_comments"
    }
}

fn summary(reviewers: &[Value], kept: &[Standing], dropped: usize) -> String {
    let (mut critical, other): (Vec<&Standing>, Vec<&Standing>) =
        kept.iter().partition(|finding| finding.severity == "critical");
    critical.sort_by_key(|finding| std::cmp::Reverse(finding.found_by.len()));
    let mut sentences = Vec::new();
    match (critical.len(), other.len()) {
        (0, 0) => sentences.push(format!(
            "{} looked at this change, and no finding stands.",
            count(reviewers.len(), "reviewer", "reviewers")
        )),
        (0, some) => sentences.push(format!(
            "Nothing here has to stop the merge. {} worth a look{}.",
            count(some, "point is", "points are"),
            places(&other)
        )),
        (some, _) => sentences.push(format!(
            "{} be fixed before this merges{}.",
            count(some, "problem should", "problems should"),
            places(&critical)
        )),
    }
    if !critical.is_empty() && !other.is_empty() {
        sentences.push(format!(
            "{} worth a look{}.",
            count(other.len(), "more is", "more are"),
            places(&other)
        ));
    }
    for finding in kept.iter().filter(|finding| finding.found_by.len() > 1) {
        let names: Vec<String> = finding.found_by.iter().map(|name| name.replace('_', " ")).collect();
        sentences.push(format!(
            "Found by {} independently: {}.",
            listed(&names),
            name(finding.category)
        ));
    }
    if dropped > 0 {
        sentences.push(format!(
            "{} dropped as too unsure.",
            count(dropped, "finding was", "findings were")
        ));
    }
    let failed: Vec<&str> = reviewers
        .iter()
        .filter(|reviewer| !matches!(reviewer["outcome"].as_str(), None | Some("ok" | "skipped")))
        .filter_map(|reviewer| reviewer["name"].as_str())
        .collect();
    if !failed.is_empty() {
        sentences.push(format!("Without a result: {}.", failed.join(", ")));
    }
    sentences.push(format!("Written by the {LABEL}."));
    sentences.join(" ")
}

/// Which findings, and where: `: SQL injection (a.py:1) and debug output (c.py:3)`, or `, all in a.py: ...`.
fn places(findings: &[&Standing]) -> String {
    let file = findings.first().map_or("", |first| first.file);
    let one_file = findings.len() > 1 && findings.iter().all(|finding| finding.file == file);
    let texts: Vec<String> = findings
        .iter()
        .map(|finding| {
            let name = name(finding.category);
            if one_file {
                format!("{name} (line {})", finding.line)
            } else {
                format!("{name} ({}:{})", finding.file, finding.line)
            }
        })
        .collect();
    let all_in = if one_file {
        format!(", all in {file}")
    } else {
        String::new()
    };
    format!("{all_in}: {}", listed(&texts))
}

/// `a, b and c`.
fn listed(texts: &[String]) -> String {
    match texts {
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => texts.concat(),
    }
}

/// A category as people write it.
fn name(category: &str) -> String {
    match category {
        "" => "a problem".to_owned(),
        "n-plus-one" => "N+1 queries".to_owned(),
        "secret-in-log" => "a secret in the log".to_owned(),
        "hard-coded-secret" => "a secret in the source".to_owned(),
        "dropped-remainder" => "a dropped remainder".to_owned(),
        other => {
            let words = other.split('-').map(|word| match word {
                "sql" | "tls" | "api" | "html" => word.to_uppercase(),
                _ => word.to_owned(),
            });
            words.collect::<Vec<_>>().join(" ")
        }
    }
}

/// A number, up to ten in words, with what is counted: `Two findings`.
fn count(number: usize, one: &str, many: &str) -> String {
    const WORDS: [&str; 11] = [
        "No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten",
    ];
    let noun = if number == 1 { one } else { many };
    match WORDS.get(number) {
        Some(word) => format!("{word} {noun}"),
        None => format!("{number} {noun}"),
    }
}

//! The evidence check: the quoted code must exist, and the line is corrected to where it stands.

use std::collections::HashMap;

use conclave_shared::{
    finding::{EvidenceStatus, Finding, Quote, RuleCitation, fingerprint},
    reviewer::ReviewerName,
    severity::Severity,
};

use super::RawFinding;
use crate::{
    diff::{ChangeKind, FileDiff},
    prompt::CONTEXT_FILE,
    rules::{RuleBook, RuleInForce},
};

/// Reads a file of the reviewed commit (or of the base, for a deleted file).
pub trait SourceReader {
    /// The content, or `None` if there is no such file or it is no text.
    fn read(&mut self, path: &str, at_base: bool) -> Option<String>;
}

/// A finding that did not pass, and why. It is counted and listed, never posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hallucinated {
    /// The claim, for the record.
    pub claim: String,
    /// What is wrong with it.
    pub reason: String,
}

/// What came out of a reviewer's findings.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Checked {
    /// Findings whose evidence stands in the code.
    pub findings: Vec<Finding>,
    /// Findings whose evidence does not.
    pub hallucinated: Vec<Hallucinated>,
    /// Findings that could not be read, in words.
    pub faults: Vec<String>,
}

/// Checks a reviewer's raw findings against the code.
///
/// Of several places where the quote stands the one nearest to the reported line is taken; among those, white space
/// does not matter. Ids are given later, when the panel is complete. A reviewer with `rules` has to cite one of them,
/// for a file that the rule is for; to others rules are none of their business.
pub fn check(
    reviewer: &ReviewerName,
    raw: &[RawFinding],
    files: &[FileDiff],
    rules: Option<&RuleBook>,
    source: &mut impl SourceReader,
) -> Checked {
    let by_path: HashMap<&str, &FileDiff> = files.iter().map(|file| (file.path.as_str(), file)).collect();
    let mut checked = Checked::default();
    for (index, raw) in raw.iter().enumerate() {
        match check_one(reviewer, raw, &by_path, rules, source) {
            Ok(finding) => checked.findings.push(finding),
            Err(Refusal::Unreadable(reason)) => {
                checked
                    .faults
                    .push(format!("finding {} cannot be read: {reason}", index + 1));
            }
            Err(Refusal::Hallucinated(reason)) => checked.hallucinated.push(Hallucinated {
                claim: raw.get("claim").unwrap_or_default().to_owned(),
                reason,
            }),
        }
    }
    checked
}

/// The category of text that tries to steer the review.
const PROMPT_INJECTION: &str = "prompt-injection";

enum Refusal {
    Unreadable(String),
    Hallucinated(String),
}

fn check_one(
    reviewer: &ReviewerName,
    raw: &RawFinding,
    files: &HashMap<&str, &FileDiff>,
    rules: Option<&RuleBook>,
    source: &mut impl SourceReader,
) -> Result<Finding, Refusal> {
    let required = |name: &str| {
        raw.get(name)
            .filter(|text| !text.is_empty())
            .ok_or_else(|| Refusal::Unreadable(format!("it has no <{name}>")))
    };
    let severity = required("severity")?;
    let severity = Severity::parse_lenient(severity)
        .ok_or_else(|| Refusal::Unreadable(format!("`{}` is not a severity", shorten(severity))))?;
    let path = normalise_path(required("file")?);
    let line = parse_line(required("line")?)?;
    let claim = required("claim")?.to_owned();
    let evidence = raw
        .code("evidence")
        .filter(|code| !code.trim().is_empty())
        .ok_or_else(|| Refusal::Unreadable("it has no <evidence>".into()))?;
    // Hostile text in a title or a comment stands in the context file, which is no part of the diff.
    let at_base = match files.get(path.as_str()) {
        Some(file) => file.kind == ChangeKind::Deleted,
        None if path == CONTEXT_FILE => false,
        None => {
            return Err(Refusal::Hallucinated(format!(
                "{} is not changed by this merge request",
                shorten(&path)
            )));
        }
    };
    let category = raw.get("category").map_or_else(|| "other".to_owned(), kebab);
    // Words that try to steer the review are everybody's to report; no rule of the organisation is about them.
    let rules = rules.filter(|_| category != PROMPT_INJECTION);
    let rule = rules.map(|rules| cited(raw, rules, &path)).transpose()?;
    let content = source
        .read(&path, at_base)
        .ok_or_else(|| Refusal::Hallucinated(format!("{} cannot be read as text", shorten(&path))))?;
    let Some(place) = locate(&content, evidence, line) else {
        return Err(Refusal::Hallucinated(format!(
            "the quoted code does not stand in {}",
            shorten(&path)
        )));
    };
    let reported_end = raw.get("end_line").and_then(|text| parse_line(text).ok());
    let length = reported_end.map_or(place.length, |end| {
        end.saturating_sub(line).saturating_add(1).min(place.length)
    });
    let end = place.line + length.max(1) - 1;
    let confidence = raw
        .get("confidence")
        .and_then(|text| text.parse::<f64>().ok())
        .unwrap_or(0.5);
    Ok(Finding {
        id: String::new(),
        reviewer: reviewer.clone(),
        found_by: vec![reviewer.clone()],
        severity: rule
            .and_then(|rule| rule.most)
            .map_or(severity, |most| severity.min(most)),
        rule: rule.map(|rule| RuleCitation {
            id: rule.id.clone(),
            link: rule.link.clone(),
        }),
        fingerprint: fingerprint(&path, &category, evidence),
        category,
        line: place.line,
        end_line: (end > place.line).then_some(end),
        claim,
        evidence: evidence.to_owned(),
        second: second_quote(raw, source),
        scenario: raw.get("scenario").unwrap_or_default().to_owned(),
        checked: raw.get("checked").unwrap_or_default().to_owned(),
        confidence: if confidence.is_finite() {
            confidence.clamp(0.0, 1.0)
        } else {
            0.5
        },
        fix: raw.code("fix").filter(|fix| !fix.trim().is_empty()).map(str::to_owned),
        evidence_status: if place.line == line {
            EvidenceStatus::Verified
        } else {
            EvidenceStatus::Moved
        },
        file: path,
    })
}

/// The rule that the finding cites. One that does not exist, or is for other files, is invented like code that does not
/// exist.
fn cited<'r>(raw: &RawFinding, rules: &'r RuleBook, path: &str) -> Result<&'r RuleInForce, Refusal> {
    let id = raw.get("rule").filter(|id| !id.is_empty());
    let id = id.ok_or_else(|| Refusal::Hallucinated("it cites no rule".into()))?;
    let rule = rules
        .find(id)
        .ok_or_else(|| Refusal::Hallucinated(format!("there is no rule `{}`", shorten(id))))?;
    if rule.files.contains(path) {
        return Ok(rule);
    }
    Err(Refusal::Hallucinated(format!(
        "the rule {} is not for {}",
        rule.id,
        shorten(path)
    )))
}

/// The second quote, if it stands where it says; a wrong one is left out, the finding then has to stand alone.
fn second_quote(raw: &RawFinding, source: &mut impl SourceReader) -> Option<Quote> {
    let file = normalise_path(raw.get("second_file")?);
    let code = raw.code("second_evidence").filter(|code| !code.trim().is_empty())?;
    let line = raw
        .get("second_line")
        .and_then(|text| parse_line(text).ok())
        .unwrap_or(1);
    let content = source.read(&file, false)?;
    let place = locate(&content, code, line)?;
    Some(Quote {
        file,
        line: place.line,
        code: code.to_owned(),
    })
}

struct Place {
    line: u32,
    length: u32,
}

/// Where the quoted lines stand, nearest to `near`. Lines are compared without white space at their ends and with runs
/// of it as one; a `+` or `-` that was copied out of a patch is allowed.
fn locate(content: &str, quote: &str, near: u32) -> Option<Place> {
    let lines: Vec<String> = content.lines().map(normalise).collect();
    let as_quoted: Vec<String> = quote.lines().map(normalise).collect();
    let from_patch: Vec<String> = quote
        .lines()
        .map(|line| normalise(line.trim_start().strip_prefix(['+', '-']).unwrap_or(line)))
        .collect();
    find(&lines, &as_quoted, near).or_else(|| find(&lines, &from_patch, near))
}

fn find(lines: &[String], quote: &[String], near: u32) -> Option<Place> {
    let start = quote.iter().position(|line| !line.is_empty())?;
    let end = quote.iter().rposition(|line| !line.is_empty())? + 1;
    let quote = &quote[start..end];
    if quote.len() > lines.len() {
        return None;
    }
    let whole = |window: &[String]| window == quote;
    // One quoted line may be a part of a line, if it is long enough to mean something.
    let part = |window: &[String]| quote.len() == 1 && quote[0].len() >= 6 && window[0].contains(&quote[0]);
    let nearest = |matches: &dyn Fn(&[String]) -> bool| {
        lines
            .windows(quote.len())
            .enumerate()
            .filter(|(_, window)| matches(window))
            .filter_map(|(index, _)| u32::try_from(index + 1).ok())
            .min_by_key(|line| line.abs_diff(near))
    };
    let line = nearest(&whole).or_else(|| nearest(&part))?;
    Some(Place {
        line,
        length: u32::try_from(quote.len()).unwrap_or(u32::MAX),
    })
}

fn normalise(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn normalise_path(path: &str) -> String {
    let path = path.trim().trim_matches('`');
    path.strip_prefix("./").unwrap_or(path).to_owned()
}

fn parse_line(text: &str) -> Result<u32, Refusal> {
    let digits: String = text
        .chars()
        .skip_while(|c| !c.is_ascii_digit())
        .take_while(char::is_ascii_digit)
        .collect();
    match digits.parse::<u32>() {
        Ok(line) if line > 0 => Ok(line),
        _ => Err(Refusal::Unreadable(format!("`{}` is not a line number", shorten(text)))),
    }
}

fn kebab(text: &str) -> String {
    let mut kebab = String::new();
    for character in text.chars().take(60) {
        if character.is_ascii_alphanumeric() {
            kebab.push(character.to_ascii_lowercase());
        } else if !kebab.is_empty() && !kebab.ends_with('-') {
            kebab.push('-');
        }
    }
    let kebab = kebab.trim_end_matches('-');
    if kebab.is_empty() {
        "other".to_owned()
    } else {
        kebab.to_owned()
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
#[path = "evidence_tests.rs"]
mod tests;

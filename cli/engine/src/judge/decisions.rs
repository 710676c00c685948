//! What the coordinator submits, and what it does to the findings.

use conclave_shared::{finding::Finding, reviewer::ReviewerName, severity::Severity};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::review::{Weight, weighs};

/// What to do with a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It stands.
    Keep,
    /// It is taken out.
    Drop,
    /// It is another report of the finding in `merge_into`.
    Merge,
}

/// The coordinator's word on one finding.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Decision {
    /// The finding.
    pub id: String,
    /// What to do with it.
    pub action: Action,
    /// The finding that it repeats, for [`Action::Merge`].
    #[serde(default)]
    pub merge_into: Option<String>,
    /// The section where it fits best.
    #[serde(default)]
    pub section: Option<ReviewerName>,
    /// A changed severity.
    #[serde(default)]
    pub severity: Option<Severity>,
    /// Whether it endangers production.
    #[serde(default)]
    pub production_risk: Option<bool>,
    /// Why it is dropped or merged; one of [`REASON_CODES`].
    #[serde(default)]
    pub reason_code: Option<String>,
    /// The same in a sentence.
    #[serde(default)]
    pub reason: Option<String>,
    /// The code that refutes the finding, as the coordinator wrote it.
    #[serde(default)]
    pub refuted_by: Option<Value>,
}

impl Decision {
    /// Returns the weight that the coordinator gives the finding. The severity of a breach is its rule's, not the coordinator's.
    pub fn weight_of(&self, finding: &Finding) -> Weight {
        let severity = self.severity.filter(|_| finding.on_breach().is_none());
        Weight {
            severity: severity.unwrap_or(finding.severity),
            production_risk: self.production_risk == Some(true),
        }
    }
}

/// The usable part of a submission.
#[derive(Debug, Clone, PartialEq)]
pub struct Submission {
    /// Two to four sentences for the author.
    pub summary: String,
    /// Its decisions. A finding without one is kept.
    pub decisions: Vec<Decision>,
    /// What it would conclude; shown beside the rubric's verdict, never instead of it.
    pub proposed_verdict: Option<String>,
    /// The unusable parts, in words for the model.
    pub faults: Vec<String>,
}

/// The codes that may explain a dropped or merged finding.
const REASON_CODES: [&str; 10] = [
    "duplicate",
    "speculative",
    "nitpick",
    "false_positive",
    "contradicts_convention",
    "out_of_scope",
    "already_handled",
    "praise_or_restatement",
    "verify_request",
    "preference",
];

/// Maximum length of a summary in characters, ten times what is asked for; the rest is cut off.
const MAX_SUMMARY: usize = 6_000;
/// Maximum number of faults that are named to the model at once.
const MAX_FAULTS: usize = 20;

/// A submission that cannot be used. The text goes back to the model, which may submit again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SubmissionFault(String);

/// The first faults, and the number of the others, in words for the model.
pub(crate) fn some_of(faults: &[String]) -> String {
    let named = faults.get(..MAX_FAULTS).unwrap_or(faults).join("; ");
    match faults.len().saturating_sub(MAX_FAULTS) {
        0 => named,
        more => format!("{named}; and {more} more"),
    }
}

impl Submission {
    /// Reads and checks the tool's arguments against the findings that exist. A decision that cannot be used is none; the others
    /// count, and without any finding the summary does.
    pub fn parse(mut arguments: Value, findings: &[Finding]) -> Result<Self, SubmissionFault> {
        let unreadable = |why: &str| SubmissionFault(format!("submit_review could not be read: {why}"));
        let fields = arguments
            .as_object_mut()
            .ok_or_else(|| unreadable("its arguments are not a JSON object"))?;
        let given = match fields.remove("decisions") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(given)) => given,
            Some(_) => return Err(unreadable("`decisions` is not a list of objects")),
        };
        let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
        let mut summary = text("summary").unwrap_or_default();
        if let Some((end, _)) = summary.char_indices().nth(MAX_SUMMARY) {
            summary.truncate(end);
            summary.push_str(" […]");
        }
        let mut faults = Vec::new();
        if summary.trim().is_empty() {
            summary.clear();
            faults.push("summary is empty".to_owned());
        }
        let decides = !given.is_empty() && !findings.is_empty();
        let mut read: Vec<Decision> = Vec::new();
        for value in given {
            let id = value["id"].as_str().unwrap_or("a decision without an id").to_owned();
            match serde_json::from_value(value) {
                Ok(decision) => read.push(decision),
                Err(error) => faults.push(format!("{id}: {error}")),
            }
        }
        let wrong: Vec<Option<String>> = read
            .iter()
            .map(|decision| fault_of(decision, &read, findings))
            .collect();
        let mut decisions = Vec::new();
        for (mut decision, fault) in read.into_iter().zip(wrong) {
            if let Some(fault) = fault {
                faults.push(fault);
                continue;
            }
            decision.reason_code = decision
                .reason_code
                .filter(|code| REASON_CODES.contains(&code.as_str()));
            decisions.push(decision);
        }
        if decisions.is_empty() && (decides || summary.is_empty()) {
            return Err(SubmissionFault(some_of(&faults)));
        }
        Ok(Self {
            summary,
            decisions,
            proposed_verdict: text("proposed_verdict"),
            faults,
        })
    }
}

/// Why a decision cannot be used, among all of its submission.
fn fault_of(decision: &Decision, all: &[Decision], findings: &[Finding]) -> Option<String> {
    let id = &decision.id;
    let Some(finding) = findings.iter().find(|finding| finding.id == *id) else {
        return Some(format!("there is no finding {id}"));
    };
    if all.iter().filter(|other| other.id == *id).count() > 1 {
        return Some(format!("{id} has two decisions; give it one"));
    }
    if decision.action != Action::Keep && weighs_at_all(decision, finding) {
        // What weighs is not taken out without a word that the account can name.
        match &decision.reason_code {
            Some(code) if REASON_CODES.contains(&code.as_str()) => {}
            Some(code) => {
                return Some(format!(
                    "{id}: `{code}` is not a reason code ({})",
                    REASON_CODES.join(", ")
                ));
            }
            None => return Some(format!("{id} needs a reason_code")),
        }
    }
    if decision.action != Action::Merge {
        return None;
    }
    let Some(target) = &decision.merge_into else {
        return Some(format!("{id} needs merge_into"));
    };
    let removes_target = |other: &Decision| other.id == *target && other.action != Action::Keep;
    if target == id {
        Some(format!("{id} cannot be merged into itself"))
    } else if !findings.iter().any(|finding| finding.id == *target) {
        Some(format!("{id}: there is no finding {target}"))
    } else if all.iter().any(removes_target) {
        Some(format!("{id}: {target} is not kept, merge into one that is"))
    } else {
        None
    }
}

/// Returns whether the finding weighs, as it was reported or as the decision says.
fn weighs_at_all(decision: &Decision, finding: &Finding) -> bool {
    let mut weight = decision.weight_of(finding);
    weight.severity = weight.severity.max(finding.severity);
    weighs(finding, weight)
}

/// The JSON Schema of `submit_review`.
pub fn submission_schema() -> Value {
    json!({
        "type": "object",
        "required": ["summary", "decisions", "proposed_verdict"],
        "properties": {
            "summary": {"type": "string", "description": "Two to four plain sentences for the author."},
            "decisions": {"type": "array", "items": {
                "type": "object",
                "required": ["id", "action"],
                "properties": {
                    "id": {"type": "string", "description": "A finding's id, as in F1."},
                    "action": {"type": "string", "enum": ["keep", "drop", "merge"]},
                    "merge_into": {"type": "string", "description": "For merge: the id of the finding that says it best."},
                    "section": {"type": "string", "description": "The reviewer in whose section it fits best."},
                    "severity": {"type": "string", "enum": ["critical", "warning", "suggestion"]},
                    "production_risk": {"type": "boolean"},
                    "reason_code": {"type": "string", "enum": REASON_CODES},
                    "reason": {"type": "string"},
                    "refuted_by": refuted_by_schema(
                        "Required to drop, merge or lower a finding that is critical, has production_risk, is \
                         prompt-injection or breaks a rule with on_breach review: the code at head that refutes it. Without it the finding stands.")
                }
            }},
            "proposed_verdict": {"type": "string",
                "enum": ["approved", "approved_with_comments", "minor_issues", "significant_concerns"]}
        }
    })
}

/// The JSON Schema of code that the judge quotes against a finding.
pub(crate) fn refuted_by_schema(description: &str) -> Value {
    json!({
        "type": "object",
        "description": description,
        "required": ["file", "lines", "quote"],
        "properties": {
            "file": {"type": "string", "description": "The file, relative to the repository's root."},
            "lines": {"type": "string", "description": "The quoted lines at head, as in 40 or 40-43."},
            "quote": {"type": "string", "description": "These lines of code, copied exactly and whole: none that a finding \
                        quotes, no comment, nothing left out, at most 60 lines, one of which uses a name that the finding's code \
                        uses too."}
        }
    })
}

#[cfg(test)]
#[path = "decisions_tests.rs"]
mod tests;

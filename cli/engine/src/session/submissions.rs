//! Checks of the coordinator's submissions: decisions that are missing, and those that a submission before it has made.

use std::collections::HashMap;

use conclave_shared::finding::Finding;
use serde_json::{Value, json};

use crate::{
    incremental::EarlierVerdicts,
    judge::Submission,
    review::{JudgedFinding, Weight},
};

/// The arguments, with what a submission before them said of findings and questions that they leave out: a coordinator that was asked
/// for the missing decisions may give those alone.
pub(super) fn completed(mut arguments: Value, before: Option<&Value>) -> Value {
    let (Some(before), Some(fields)) = (before, arguments.as_object_mut()) else {
        return arguments;
    };
    for name in ["summary", "earlier", "aside", "proposed_verdict"] {
        if let (false, Some(said)) = (fields.contains_key(name), before.get(name)) {
            fields.insert(name.to_owned(), said.clone());
        }
    }
    for name in ["decisions", "answers"] {
        let said = before.get(name).and_then(Value::as_array);
        let entries = fields.entry(name).or_insert_with(|| json!([]));
        if let (Some(said), Some(entries)) = (said, entries.as_array_mut()) {
            let new: Vec<Value> = entries.iter().map(|entry| entry["id"].clone()).collect();
            entries.extend(said.iter().filter(|entry| !new.contains(&entry["id"])).cloned());
        }
    }
    arguments
}

/// The findings without a decision.
pub(super) fn undecided<'f>(
    submission: &Submission,
    verdicts: &EarlierVerdicts,
    findings: &'f [Finding],
) -> Vec<&'f str> {
    let decided = |id: &str| {
        let repeats = verdicts.repeats.iter().any(|(repeated, _)| repeated == id);
        repeats || submission.decisions.iter().any(|decision| decision.id == id)
    };
    let ids = findings.iter().map(|finding| finding.id.as_str());
    ids.filter(|id| !decided(id)).collect()
}

/// The worst that the coordinator has said of each finding, with this submission.
pub(super) fn worst_said(
    mut said: HashMap<String, Weight>,
    submission: &Submission,
    findings: &[Finding],
) -> HashMap<String, Weight> {
    for decision in &submission.decisions {
        let Some(finding) = findings.iter().find(|finding| finding.id == decision.id) else {
            continue;
        };
        let mut weight = decision.weight_of(finding);
        weight.severity = weight.severity.max(finding.severity);
        let worst = said.get(&decision.id).map_or(weight, |known| known.max(weight));
        said.insert(decision.id.clone(), worst);
    }
    said
}

/// What the coordinator would have done and may not, in words for it.
pub(super) fn objections(judged: &[JudgedFinding]) -> Vec<String> {
    let overruled = judged
        .iter()
        .filter_map(|entry| Some((&entry.finding.id, entry.overruled.as_ref()?)));
    overruled
        .map(|(id, overruled)| format!("{id} stands, because {}", overruled.fault))
        .collect()
}
